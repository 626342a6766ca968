/* Prices of room for the residency problem: the dual (dual.h) of the linear program of solve.h.
 * Lanes are those of the choice, and each item takes room in the band of its owner, which changes
 * between passes. */
#ifndef SPILL_RESIDENCY_PRICES_H
#define SPILL_RESIDENCY_PRICES_H

#include "spill/dual.h"
#include "spill/residency/choice.h"

typedef struct {
    DualProblem problem;
    Dual dual;
} Prices;

/* All prices 0. Requires that `prices` is not moved. O(items + lanes * points). */
void prices_init(Prices *prices, const Choice *choice, Arena *scratch);

/* One step towards better prices, in the bands that owners have now; `cost` is that of the best
 * choice known. O(spans + lanes * points). */
void prices_improve(Prices *prices, Choice *choice, int64_t cost);

/* Makes ready the best prices, for prices_of(). */
void prices_settle(Prices *prices, Choice *choice);

/* Cycles that the room of the item costs in a band. */
double prices_of(const Prices *prices, uint32_t item, uint8_t band);

#endif
