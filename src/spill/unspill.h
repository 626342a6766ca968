/* Unspill: cuts are taken back where there is room after all, once everything is placed. */
#ifndef SPILL_UNSPILL_H
#define SPILL_UNSPILL_H

#include "spill/state.h"

/* Requires a placed round with its graph. Looks, the dearest for its room first, at each cut between
 * two working copies of one block in the same loop body, and joins the two where one place is free
 * for both and for the gap between; the cut is taken out of the plan. Returns the places that
 * everything is to have when the plan is carried out anew, and how many cuts went. O(cuts times the
 * nodes that overlap them), at most a given number of looks. */
Transfer join_cuts(State *state, Arena *memory, uint32_t *joined);

/* Requires a state whose places are committed. Joins cuts, and keeps the result where it costs less.
 * Does nothing where reload elimination is off. Source: the seed's find_redundant_reloads. */
void unspill(State *state);

#endif
