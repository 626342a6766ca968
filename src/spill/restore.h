/* Restore: once everything is placed, puts back whole tensors that have room after all. */
#ifndef SPILL_RESTORE_H
#define SPILL_RESTORE_H

#include "spill/state.h"

/* Requires a state whose places are committed. Takes all cuts of one spilled tensor back, the one
 * whose DMAs cost most first, looks for places anew, and keeps the result if its DMAs cost less;
 * else leaves plan, code and costs as they were. unspill() joins cuts within one loop body; this
 * finds a value that was cut around loops of which nothing is left that needs the room. Invalidates
 * the round. Does nothing in straight code, and in long functions. A limited number of rewrites,
 * analyses and searches for places. */
void restore_tensors(State *state);

#endif
