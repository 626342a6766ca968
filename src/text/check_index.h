/* Whether an index leaves its tensor in an iteration in which its instruction runs. */
#ifndef TEXT_CHECK_INDEX_H
#define TEXT_CHECK_INDEX_H

#include "ir/ir.h"

/* The first iteration in which an operand names a block that its tensor does not have. */
typedef struct {
    bool found;
    int64_t block;          /* the first such block */
    const uint32_t *loops;  /* [nloops] those that index and condition name, outermost first */
    const int64_t *indices; /* by loop */
    uint32_t nloops;
} Stray;

/* What the checks of one function share. */
typedef struct {
    const Func *func;
    Arena *arena;
    int64_t *indices;    /* [func->nloops] */
    int64_t *low, *high; /* [func->nloops] the loop's indices that the condition leaves, both ends
                            included; valid for the concerned ones */
    bool *concerned;     /* [func->nloops] */
    uint32_t *loops;     /* the concerned ones, outermost first */
    uint32_t nloops;
    int64_t budget; /* iterations that may still be tried */
} IndexChecker;

void index_checker_init(IndexChecker *checker, const Func *func, Arena *arena);

/* Requires blocks none of whose sums overflows, of a tensor of `count`. The extremes of the index
 * decide where they can: without a condition, or where each comparison bounds one loop's index or
 * the index itself. Else the iterations of the loops concerned are tried, of remainders one period,
 * ten million in a function at most: where they are more, only the first are. What is found is
 * valid until the next call. O(terms + depth) or O(iterations tried times terms). */
Stray find_stray(IndexChecker *checker, const Inst *inst, const Blocks *blocks, int64_t count);

#endif
