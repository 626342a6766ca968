/* Spilling in time: blocks of loops leave one by one, in place, in the iterations in which they
 * have to. */
#ifndef SPILL_TIME_TIME_H
#define SPILL_TIME_TIME_H

#include "spill/state.h"

/* Lays the function out in time, decides which gaps of each block are kept, finds one place for
 * each block, moves blocks while that pays, and folds the decisions into the text: then `code` is
 * the placed text. Returns NULL, or why that was not possible. Requires a state in which nothing is
 * decided. O(points + accesses) and the steps of the searches. */
const char *spill_in_time(State *state);

#endif
