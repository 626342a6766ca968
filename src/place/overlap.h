/* Overlaps: rectangles that share bytes while both are live. */
#ifndef PLACE_OVERLAP_H
#define PLACE_OVERLAP_H

#include "analysis/live.h"
#include "ir/geometry.h"

/* A rectangle for one interval of its owner's life. */
typedef struct {
    Interval interval;
    Rect rect;
    uint32_t owner; /* the caller's number */
} Stay;

/* What the caller thinks of two stays that share a point and a granule; `later` begins at
 * `later->interval.first`, when `earlier` is there already. True: they may. */
typedef bool OverlapJudge(void *context, const Stay *earlier, const Stay *later);

/* Asks the judge of each stay that finds its place held, at most until the first `false` for that
 * stay, in order of their first points (ties: position in `stays`). Returns true if all answers
 * were true. A sweep over time, with a segment tree over the byte axis for each quadrant: O(count
 * log count + answers log count). */
bool stays_are_apart(const Stay *stays, size_t count, OverlapJudge *judge, void *context);

#endif
