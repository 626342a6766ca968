/* Parting: cuts of a value only the gaps that stand in others' way, and leaves its rest where it
 * fits. */
#ifndef SPILL_CONFLICTS_H
#define SPILL_CONFLICTS_H

#include "spill/state.h"

/* For each node that a round's placement has left out: looks for the place where the gaps of its
 * value that overlap others cost least, cuts those permanently, and gives it the place. Where the
 * node cannot be cut, or overlaps others at its own accesses, the gaps of the others there are cut
 * instead. Nodes of one block whose accesses lie in one loop body; where none can be split so, as
 * by Chaitin. All other nodes keep their places: leaves hints, and a closed plan. False where
 * nothing is left to cut. O(failed nodes times neighbours squared). */
bool spill_by_conflicts(State *state);

#endif
