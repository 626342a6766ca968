/* Rounds a bound up to what DMAs can cost. */
#ifndef BOUND_ROUND_H
#define BOUND_ROUND_H

#include "bound/rows.h"

/* The least sum of loads and stores of the problem that is not below `parts`, as far as it is
 * found with a limited number of steps; at least 0. O(items log items + steps). */
int64_t round_to_sums(const RowProblem *problem, int64_t parts, Arena *scratch);

#endif
