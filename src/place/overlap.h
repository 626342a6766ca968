/* Overlaps: rectangles that share bytes while both are live. */
#ifndef PLACE_OVERLAP_H
#define PLACE_OVERLAP_H

#include "analysis/live.h"
#include "ir/geometry.h"

/* A rectangle that its owner takes during one interval. */
typedef struct {
    Interval interval;
    Rect rect;
    uint32_t owner; /* the caller's number */
} PlacedInterval;

/* Says whether two of them may overlap; `later` begins at `later->interval.first`, when `earlier`
 * is live already. */
typedef bool OverlapJudge(void *context, const PlacedInterval *earlier,
                          const PlacedInterval *later);

/* Asks the judge about each one and those that it overlaps at its first point, until the first
 * `false` for that one; in order of first points, among equals of positions in `placed`. Returns
 * true if all answers were true. A sweep over time, with a segment tree over the byte axis for each
 * quadrant: O(count log count + answers log count). */
bool check_overlaps(const PlacedInterval *placed, size_t count, OverlapJudge *judge, void *context);

#endif
