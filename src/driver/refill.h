/* Refill: takes back cuts whose values have room on chip after all, once everything is placed. */
#ifndef DRIVER_REFILL_H
#define DRIVER_REFILL_H

#include "driver/carry.h"

/* Requires a round that placed everything with a plan carried out, and its graph. Looks, the
 * dearest for its room first, at each cut between two working copies of one block in the same loop
 * body, and joins the two where one place is free for both and for the gap between; the cut is
 * taken out of the plan. Returns the places that everything is to have when the plan is carried out
 * anew, and how many cuts went. O(cuts times the nodes that meet them), at most a given number of
 * looks. */
Carry refill(Plan *plan, const Rewritten *current, const Round *round, const Target *target,
             uint32_t size, Arena *memory, uint32_t *joined);

#endif
