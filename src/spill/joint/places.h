/* Places for a bundle: free ones, and those that cost least to clear. */
#ifndef SPILL_JOINT_PLACES_H
#define SPILL_JOINT_PLACES_H

#include "spill/joint/search.h"

/* The free place for a bundle that wastes least room beside it. `over_movable`: segments that can
 * move do not count as taken. O(conflicts * height + size / 64). */
bool find_free(JointSearch *search, const Bundle *bundle, bool over_movable, Rect *best);

/* The place where it costs least to evict what is in the way, and that cost; INFINITY where there
 * is none. O(bands * (conflicts + size)). */
double find_cheapest(JointSearch *search, const Bundle *bundle, Rect *best);

#endif
