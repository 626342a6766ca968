/* Answers to lodge() that decide places and kept gaps point by point. */
#ifndef SPILL_LODGE_SWEEP_H
#define SPILL_LODGE_SWEEP_H

#include "spill/lodge_prices.h"

typedef struct {
    uint32_t width;  /* states carried from point to point, at least 1 */
    uint32_t tries;  /* places tried for each stay, at least 1 */
    double scale;    /* of prices: the lower, the more a gap that stands is worth */
    double snug;     /* what a narrow hole beside a place costs, in prices of its room */
    double broken;   /* the same for room in other quadrants that no taller one can use any more */
    double apart;    /* how strongly what lasts is drawn to the low end, and all else to the high */
    double deadline; /* by clock_now(), when it gives up; 0: no clock is looked at */
} SweepOptions;

typedef struct Sweep Sweep;

/* What all sweeps over one problem share. O(items log items). */
Sweep *sweep_begin(const LodgeProblem *problem, const LodgePrices *prices, Arena *memory);

/* Goes through the points in order with the best few states of the chip found so far. Each stay
 * that begins stands where it stood, if nothing has put it out since; else it is loaded to where
 * what it puts out is worth least, by the prices, several places being tried. Sets rects and kept
 * [items] and returns true; or false where some stay found no place or the time was up. A stay is
 * taken to fill all points from its first to its last. Adds to `steps` (one is a look at something
 * that stands). O(stays * width * tries * what stands at once). */
bool sweep(Sweep *pass, SweepOptions options, Rect *rects, bool *kept, uint64_t *steps);

/* The same between two points, of an answer that is whole: what stands when the first begins and
 * when the last has passed stays as it is. Where something that was kept beyond the end does not
 * stand in its place then, it is cut. Sets rects and kept of the stays between and of those cut.
 * Only where each stay and each gap is one interval. Adds O(items) to the cost above. */
bool sweep_between(Sweep *pass, SweepOptions options, uint32_t from, uint32_t end, Rect *rects,
                   bool *kept, uint64_t *steps);

#endif
