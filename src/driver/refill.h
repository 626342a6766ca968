/* Refill: takes back cuts whose values have room on chip after all, once everything is placed. */
#ifndef DRIVER_REFILL_H
#define DRIVER_REFILL_H

#include "driver/round.h"

/* Requires a round that placed everything with a plan carried out. Looks, the dearest for its room
 * first, at each cut between two working copies of one block in the same loop body, and joins the
 * two where one place is free for both and for the gap between; the cut is taken out of the plan.
 * Returns how many went; refill_places() then gives everything its place in the function as
 * rewritten anew. O(cuts times the nodes that meet them). */
typedef struct Refill Refill;
Refill *refill(Plan *plan, const Rewritten *current, const Round *round, const Target *target,
               uint32_t size, Arena *memory, uint32_t *joined);

/* Sets round->placement for the rewritten function from what refill() decided. False where
 * something has no counterpart. O(nodes log nodes). */
bool refill_places(const Refill *decided, const Rewritten *rewritten, Round *round, Arena *arena);

#endif
