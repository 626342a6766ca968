/* The first solution of the joint search. */
#ifndef SPILL_JOINT_START_H
#define SPILL_JOINT_START_H

#include "spill/joint/search.h"

/* Places bundles where the problem has them, if it is placed; else in order of time, each where it
 * wastes least room. Takes apart those that fit
 * nowhere, evicts what is cheapest for their segments, and joins cut gaps again where they fit.
 * Returns false where some segment found no place. Source: best fit by start time, with eviction
 * as in iterated register allocators. O(bundles * pieces that conflict with one). */
bool first_solution(JointSearch *search);

#endif
