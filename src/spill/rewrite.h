/* Spill code: the function with a plan carried out. */
#ifndef SPILL_REWRITE_H
#define SPILL_REWRITE_H

#include "analysis/node.h"
#include "spill/block_range.h"
#include "spill/plan.h"
#include "spill/remat.h"

typedef enum {
    ROLE_KEPT, /* a tensor of the input */
    ROLE_HOME, /* the DRAM home of a spilled one */
    ROLE_COPY, /* a working copy */
    ROLE_PART, /* a part of one that was not spilled: keep_unspilled() tells */
    ROLE_COUNT
} Role;

#define INSERTED UINT32_MAX

/* What was placed where blocks live in time: one node for each block that does, over points of
 * time. Of the nodes tensor, height, align, class, rects where fixed, and range count. */
typedef struct {
    Nodes nodes;
    uint32_t *block; /* [nodes.count] of its tensor */
} TimeBlocks;

typedef struct {
    Func *func;
    uint32_t *origin; /* [ntensors] the tensor of the plan's function that it is or stands for */
    uint8_t *role;    /* [ntensors] Role */
    uint32_t
        *first_access;    /* [ntensors] of copies: the plan's accesses [first_access, end_access) */
    uint32_t *end_access; /* that one serves */
    const BlockRange **block_range; /* [ntensors] of copies: the blocks that one holds, NULL for
                              others; NULL where nothing was rewritten */
    uint32_t *origin_inst;          /* [ninsts] instruction of the plan's function, or INSERTED */
    uint32_t removed;  /* inserted DMAs that were found to be needless, and loads dropped */
    const Live *live;  /* ranges of func where they are known already, else NULL */
    bool in_time;      /* blocks leave in place, and those that never meet in time share places */
    TimeBlocks blocks; /* where in_time */
} Rewritten;

typedef struct {
    bool remat; /* values are loaded again from where a load found them, if they still lie there */
    bool store_inputs; /* the value of a spilled input is stored at entry even if no reload needs
                          it: then it is gone before the first instruction */
    const bool *dead;  /* [ninsts of the plan's function] loads to drop, or NULL */
} RewriteOptions;

/* Requires a closed plan. Makes the function in which each spilled tensor has a home in DRAM,
 * working copies, stores and reloads; then removes stores that no reload needs and loads that no
 * read needs, as well as those told, with the tensors that nothing but them names. What is moved of
 * each block is the part that is needed: see parts.h. New tensors have no names yet (name_added()
 * gives them) and no place. The plan's function is left as it is; what is not spilled is shared
 * with it. O(operands + accesses of spilled tensors times their blocks).
 */
Rewritten rewrite(const Plan *plan, const Sources *sources, RewriteOptions options, Arena *arena);

/* True if it has tensors that the plan's function has not. O(tensors). */
bool added_any(const Rewritten *rewritten);

/* True if it has the tensors of `from` and no others, and each has its name in `names`: none is a
 * web of another. O(tensors). */
bool is_as_declared(const Rewritten *rewritten, const Func *from, const Str *names);

/* Takes out the instructions where dead[p] is set. Forgets ranges. O(instructions). */
void drop_insts(Rewritten *rewritten, const bool *dead, Arena *arena);

/* A read that never finds a value needs a write before it in the text all the same: clears dead[p]
 * of the first load without which there would be none. O(operands). */
void keep_first_writes(const Func *func, bool *dead, Arena *arena);

/* The same for tensors whose first read stands before any write, for a later iteration to read:
 * early[t] is 1 + that read, 0 for none. Some write must stand behind it before the loops around it
 * end: clears dead[p] of the first load there if there would be no other. O(operands times depth).
 */
void keep_later_writes(const Func *func, const uint32_t *early, bool *dead, Arena *arena);

/* Keeps of the added tensors of a rewrite those that some operand names. Returns the new number of
 * each, or UINT32_MAX. Forgets ranges. O(operands). */
const uint32_t *keep_named(Rewritten *rewritten, Arena *arena);

/* The function as it stands, as a rewrite that changed nothing. Its tensors are copied so that they
 * can be placed; its instructions are those of `func` (see own_insts()). `live` are its ranges.
 * O(tensors + instructions). */
Rewritten rewrite_nothing(const Func *func, const Live *live, Arena *arena);

#endif
