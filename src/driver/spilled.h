/* Who was spilled: each tensor of which something leaves, what that takes, and what forced it. */
#ifndef DRIVER_SPILLED_H
#define DRIVER_SPILLED_H

#include "driver/allocate.h"
#include "driver/report.h"

/* Requires the figures of the result, and the occupancy of what it was made from. Fills
 * report->spilled in order of declaration. `live`: ranges of the result. O(instructions + intervals
 * log instructions, and find_next_best()). */
void find_spilled_tensors(const Reported *result, const Live *live, const Occupancy *before,
                          Report *report, Arena *arena);

#endif
