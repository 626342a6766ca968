/* Unspill: once everything is placed, takes back cuts where the value fits across the gap after
 * all. */
#ifndef SPILL_UNSPILL_H
#define SPILL_UNSPILL_H

#include "spill/state.h"

/* Requires a placed round with its graph. Looks at each cut between two working copies of one block
 * in the same loop body, the one that saves most for its area first; where one place is free for
 * both copies and the gap between, joins the two and takes the cut out of the plan. Returns the
 * places of everything for the plan's next rewrite, and how many cuts went. O(cuts times the nodes
 * that overlap them), a limit of probes at most. */
Transfer join_cuts(State *state, Arena *memory, uint32_t *joined);

/* Requires a state whose places are committed. Joins cuts, and keeps the result if its DMAs cost
 * less; else leaves plan, code and costs as they were. Invalidates the round. Does nothing where
 * reload elimination is off. The cost of join_cuts(), a rewrite and an analysis. Source: the seed's
 * find_redundant_reloads. */
void unspill(State *state);

#endif
