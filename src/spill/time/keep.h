/* Keep: which gaps of time are kept, so that what is cut in one place of the text folds into few
 * conditions. */
#ifndef SPILL_TIME_KEEP_H
#define SPILL_TIME_KEEP_H

#include "spill/time/time_facts.h"

typedef struct {
    const TimeFacts *facts;
    const uint32_t *headroom; /* [npoints] granules to leave free */
    uint64_t steps;           /* of the search: one is a visit to a gap or a tree node */
    uint64_t seed;
    double deadline; /* seconds of the monotonic clock when searches end; 0: never */
} KeepProblem;

/* Sets kept[g] of each gap, such that the kept ones fit beside what must be on chip at every point,
 * as far as the sums of heights tell, at the least cost of reloads and stores that it finds. Gaps
 * of tensors that must stay are kept. First the choice as in straight code (residency/solve.h);
 * then the gaps of each class are chosen anew, as runs of like iterations (large-neighbourhood
 * search). Returns the cost. Deterministic. O(steps + gaps log gaps + points). Source: see
 * improve.h. */
int64_t keep_gaps(const KeepProblem *problem, bool *kept, Arena *scratch);

#endif
