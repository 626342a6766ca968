/* Prices of room: what a granule is worth at each point and lane.
 *
 * The dual of the linear program of choose.h. Given prices, each value decides alone; the prices
 * rise where more is kept than fits and fall elsewhere. The volume algorithm (Barahona and Anbil,
 * "The volume algorithm: producing primal solutions with a subgradient method", 2000). */
#ifndef SPILL_PRICES_H
#define SPILL_PRICES_H

#include "spill/choice.h"

typedef struct {
    double *best[QUADRANTS];   /* [lanes][npoints] the best prices so far, cycles per granule */
    double *trial[QUADRANTS];  /* those that are tried */
    double *sums[QUADRANTS];   /* [lanes][npoints + 1] sums of `trial` before each point */
    double *use[QUADRANTS];    /* [lanes][npoints] granules used, an average over passes */
    double *change[QUADRANTS]; /* [lanes][npoints + 1] scratch */
    float *share;              /* [count] how much of each item is kept, an average over passes */
    double bound;              /* the least cost that the best prices prove */
    double stride;             /* relative length of a step */
    uint32_t idle;             /* passes since the bound last rose */
    uint32_t passes;
} Prices;

/* All prices 0. */
void prices_init(Prices *prices, const Choice *choice, Arena *scratch);

/* One step towards better prices, in the bands that owners have now; `cost` is that of the best
 * choice known. O(spans + lanes * points). */
void prices_improve(Prices *prices, Choice *choice, int64_t cost);

/* Makes `sums` those of the best prices, for prices_of(). */
void prices_settle(Prices *prices, Choice *choice);

/* Cycles that the room of the item costs in a band, by `sums`. */
double prices_of(const Prices *prices, const Choice *choice, uint32_t item, uint8_t band);

#endif
