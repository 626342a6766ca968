/* Rematerialisation: where in DRAM a value still lies that a `load` brought in. */
#ifndef SPILL_REMAT_H
#define SPILL_REMAT_H

#include "spill/block_range.h"
#include "spill/plan.h"

/* Writes of each dram tensor, in program order, and each access's neighbours among the writes. */
typedef struct {
    const Func *func;
    uint32_t *first;      /* [ntensors + 1] */
    uint32_t *writes;     /* instructions that write dram tensor t: [first[t], first[t + 1]) */
    uint32_t *last_write; /* [accesses of the plan] the last write of the tensor before this access,
                             UINT32_MAX if none */
    uint32_t *next_write; /* the first write after it */
} Sources;

/* Requires a plan (cuts do not matter). O(operands). */
Sources sources_make(const Plan *plan, Arena *arena);

/* A block of a spilled tensor that can be loaded again. */
typedef struct {
    uint32_t access; /* of the plan: the load that brought it */
    uint32_t tensor; /* the dram tensor that it lies in */
    Affine index;    /* its block there; in terms of loops around the reload */
    bool same_form;  /* the reload may repeat the load's own source operand, whatever its shape, if
                        it  fetches just what the load wrote */
    bool alike;      /* block for block of one shape: any part may be fetched by index */
} DramSource;

/* Looks for the source of the block at `offset` of `range`, for a reload before instruction
 * `point` in the body of loop range->level that serves accesses from `access` on. Legal only if
 * one plain unconditional load reaches it, unchanged in both places on every path, back edges
 * included. O(writes scanned), at most a bounded number; false where there is none or the search is
 * cut. */
bool source_find(const Plan *plan, const Sources *sources, uint32_t tensor, uint32_t access,
                 const BlockRange *range, int64_t offset, uint32_t point, Arena *arena,
                 DramSource *source);

#endif
