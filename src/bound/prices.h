/* Prices of room that prove a bound. */
#ifndef BOUND_PRICES_H
#define BOUND_PRICES_H

#include "bound/rows.h"

/* Prices of a granule of each lane at each row: whole numbers, so that sums are exact. */
typedef struct {
    int64_t *price[QUADRANTS]; /* [lanes][nrows], each >= 0 */
    int bits;                  /* 2^bits make a part of a cycle */
} RowPrices;

/* Looks for prices that prove much, with a limited number of steps; stops once `enough` parts are
 * proved, which is also what the length of steps goes by. O(steps + rows + items). */
RowPrices find_prices(const RowProblem *problem, int64_t enough, uint64_t steps, Arena *arena);

/* The parts that these prices prove, rounded up: whatever is kept costs no less. INT64_MIN where
 * sums do not fit in 64 bits. The constant is left out. O(rows + items). */
int64_t proved_parts(const RowProblem *problem, const RowPrices *prices, Arena *scratch);

#endif
