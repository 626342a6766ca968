/* Rematerialisation: where in DRAM a value lies that a `load` brought in or a `save` put there. */
#ifndef SPILL_REMAT_H
#define SPILL_REMAT_H

#include "spill/block_range.h"
#include "spill/plan.h"
#include "support/sort.h"

/* Writes of each dram tensor, in program order, and each access's neighbours among the writes. */
typedef struct {
    const Func *func;
    uint32_t *first;       /* [ntensors + 1] */
    uint32_t *writes;      /* instructions that write dram tensor t: [first[t], first[t + 1]) */
    SortKey *block_writes; /* [nblock_writes] the same by blocks: see remat.c */
    size_t nblock_writes;
    uint32_t *placed; /* [nplaced] dram tensors that came with an `at` */
    uint32_t nplaced;
    uint32_t *last_write; /* [accesses of the plan] the last write of the tensor before this access,
                             UINT32_MAX if none */
    uint32_t *next_write; /* the first write after it */
    uint32_t *last_event; /* like last_write, of writes and cleaning saves: see is_cleaning() */
} Sources;

/* Requires a plan (cuts do not matter). O(operands log operands). */
Sources sources_make(const Plan *plan, Arena *arena);

/* A block of a spilled tensor that can be loaded again. */
typedef struct {
    uint32_t access; /* of the plan: the load that brought it, or the save that put it there */
    bool saved;      /* that is a save */
    uint32_t tensor; /* the dram tensor that it lies in */
    Affine index;    /* its block there; in terms of loops around the reload */
    bool same_form;  /* the reload may repeat the load's own source operand, whatever its shape, if
                        it fetches just what the load wrote */
    bool alike;      /* block for block of one shape: any part may be fetched by index */
} DramSource;

/* A block that a reload wants. */
typedef struct {
    const Plan *plan;
    const Sources *sources; /* of the plan */
    uint32_t tensor;
    uint32_t access;         /* of the plan: the first that the reload serves */
    const BlockRange *range; /* of the copy that is reloaded */
    int64_t offset;          /* of the block in it */
    uint32_t point;          /* the instruction before which the reload goes */
} RematQuery;

/* Looks for a load that the reload may repeat: one plain, unconditional load that reaches it, both
 * places unchanged on every path, back edges included. Else for a save whose target still holds the
 * value: one plain, unconditional save, block for block of one form, that runs before the reload in
 * each iteration of the loops around both, neither place written since. Fills `source` and returns
 * true where there is one; false also where the scan reaches its limit. O(accesses scanned times
 * log writes), a limited number. Source: Briggs, Cooper and Torczon, "Rematerialization" (1992),
 * for loads. */
bool remat(const RematQuery *query, Arena *arena, DramSource *source);

#endif
