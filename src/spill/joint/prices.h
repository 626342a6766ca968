/* Prices of room for the joint search: what area is worth at each point, whatever its place. */
#ifndef SPILL_JOINT_PRICES_H
#define SPILL_JOINT_PRICES_H

#include "spill/joint/problem.h"
#include "support/arena.h"

typedef struct {
    double *sums; /* [npoints + 1] cycles that a granule of one quadrant is worth before a point */
    double *stored; /* [nvalues] how likely a value is stored whatever else is decided, 0 to 1 */
} JointPrices;

/* The dual of the problem without places (dual.h), after a number of passes: one lane, whose
 * capacity is the area that segments leave at a point, and all gaps without a value in one group.
 * No cost of a solution is known yet, so the length of a step follows the bound. Gaps of no points
 * take no room and do not count. O(passes * (segments + points)). */
JointPrices joint_prices(const JointProblem *problem, uint32_t passes, Arena *memory);

#endif
