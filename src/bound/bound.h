/* The bound: what no allocation of a function can cost less than. */
#ifndef BOUND_BOUND_H
#define BOUND_BOUND_H

#include "bound/prices.h"

typedef struct {
    bool known;
    int64_t cycles; /* `spill_cycles` of any result are no less */
    RowProblem problem;
    RowPrices prices; /* that prove it */
} Bound;

/* How long prices are looked for. */
typedef struct {
    int64_t reached; /* cycles of some allocation: the search ends when that is proved the least */
    uint64_t steps;  /* one is a visit to an item or a row */
} BoundSearch;

enum { BOUND_STEPS = 20000000 /* usually */ };

/* Requires a checked function. Unknown where the function takes too long to run through.
 * Everything lives in `arena`. O(steps + points + accesses).
 *
 * Source: Lagrangian relaxation; Wolsey, "Integer Programming", 1998, chapter 10. */
Bound find_bound(const Func *func, const Target *target, BoundSearch search, Arena *arena);

#endif
