/* Prices of room for lodge(): what area is worth at each point, whatever its place. */
#ifndef SPILL_LODGE_PRICES_H
#define SPILL_LODGE_PRICES_H

#include "spill/lodge.h"
#include "support/arena.h"

typedef struct {
    double *sums; /* [npoints + 1] cycles that a granule of one quadrant is worth before a point */
    double *stored; /* [nvalues] how likely a value is stored whatever else is decided, 0 to 1 */
} LodgePrices;

/* The dual of the problem without places, where each point has room for its area: prices rise where
 * more is kept than fits and fall elsewhere, `passes` times (the volume algorithm, as in prices.h).
 * O(passes * (items + points)). */
LodgePrices lodge_prices(const LodgeProblem *problem, uint32_t passes, Arena *memory);

/* Granules times quadrants. */
double lodger_area(const Lodger *item);

#endif
