/* Lodging: places and kept gaps of a whole plan, decided together. */
#ifndef DRIVER_LODGING_H
#define DRIVER_LODGING_H

#include "driver/carry.h"
#include "spill/reside.h"
#include "spill/lodge.h"

/* Requires a plan that reside() made and the round of its rewrite; of the round, nodes alone. Lets
 * the gaps of all values of one block compete anew, now for places, beside the nodes of all others,
 * which stay as the plan has them. The options are those that the plan was made with. Leaves a
 * closed plan and returns the places that the rewrite of it is to have; where one is missing, none
 * was found. */
Carry find_lodging(Plan *plan, const Sources *sources, const Live *live, const Target *target,
                   uint32_t size, const Rewritten *current, const Round *round,
                   ResideOptions options, LodgeEffort effort, Arena *memory);

#endif
