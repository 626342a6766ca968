/* Splitting at conflicts: cuts only those gaps of a value that overlap others, and keeps the rest
 * where it fits. */
#ifndef SPILL_CONFLICTS_H
#define SPILL_CONFLICTS_H

#include "spill/state.h"

/* For each node that placement left out, finds the place where the gaps that overlap others cost
 * least, cuts those permanently, and gives the node that place. Where it cannot be split, or
 * overlaps others at its own accesses, cuts the gaps of the others there instead. Splits nodes of
 * one block whose accesses lie in one loop body; where none can be split, spills as Chaitin does.
 * Requires a round that failed. Leaves a closed plan, and all places as hints; invalidates the code
 * and the round. False where nothing is left to cut. O(failed nodes times neighbours squared times
 * gaps). Related: the splitting of live ranges where they interfere (Cooper and Simpson, "Live
 * range splitting in a graph coloring register allocator", 1998), for rectangles. */
bool spill_by_conflicts(State *state);

#endif
