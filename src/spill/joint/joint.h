/* Joint spilling and placement: kept gaps and places of a whole plan, decided together. */
#ifndef SPILL_JOINT_JOINT_H
#define SPILL_JOINT_JOINT_H

#include "spill/state.h"

/* Requires a state whose gaps were chosen (residency/residency.h), or with the plan and, as hints,
 * the places of a result, from which the search then begins. The gaps of all candidates of
 * one block compete again, for places instead of bytes, beside the nodes of all others, which keep
 * their gaps. Leaves a closed plan, and hints for the next round: none where no place was found.
 * Invalidates `code` and `now`. The cost of the method's joint steps, see solve.h. */
void search_jointly(State *state);

#endif
