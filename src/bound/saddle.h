/* Saddle: prices of room by a primal-dual method for the linear program of rows.
 *
 * What is kept, as fractions, and prices change in turn: more is kept where room is cheap, prices
 * rise where more is kept than fits. Both end at the optimum of the linear program. */
#ifndef BOUND_SADDLE_H
#define BOUND_SADDLE_H

#include "bound/rows.h"

/* Parts of a cycle for a granule of each lane at each row. */
typedef struct {
    double *price[QUADRANTS]; /* [lanes][nrows] */
    double bound;             /* parts that they prove, but for rounding errors */
} RealPrices;

/* The best prices found within a number of steps, each of which is a visit to an item or a row;
 * ends once `enough` is proved. O(steps).
 *
 * Source: PDHG (Chambolle and Pock, "A first-order primal-dual algorithm for convex problems",
 * 2011) with diagonal step lengths (Pock and Chambolle 2011), averages, restarts and weights
 * (Applegate and others, "Practical large-scale linear programming using primal-dual hybrid
 * gradient", 2021). */
RealPrices find_saddle(const RowProblem *problem, double enough, uint64_t steps, Arena *arena);

#endif
