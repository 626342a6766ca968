/* Lodging: places and kept gaps of a whole plan, decided together. */
#ifndef SPILL_LODGING_H
#define SPILL_LODGING_H

#include "spill/state.h"

/* Requires a state whose gaps were chosen (choose_gaps.h). Decides kept gaps and places together: the gaps of all values
 * of one block compete anew, for places, beside the nodes of all others, which stay as the choice
 * has them. Where no place is found a hint is missing. Leaves a closed plan, and hints for the
 * next round. The cost of the method's joint steps. */
void search_jointly(State *state);

#endif
