/* Bundles placed and joined. */
#ifndef SPILL_JOINT_ASSIGN_H
#define SPILL_JOINT_ASSIGN_H

#include "spill/joint/search.h"

/* Gives segments lo to hi one place that is free; false if there is none. */
bool try_bundle(JointSearch *search, uint32_t lo, uint32_t hi);

/* Keeps what it can of some cut gaps, in order of worth, while there are steps. */
void join_by_worth(JointSearch *search, const uint32_t *gaps, size_t count);

/* Gives all unplaced segments a place again and evicts others for it; false after `limit`
 * evictions. */
bool assign_unplaced(JointSearch *search, uint32_t limit);

#endif
