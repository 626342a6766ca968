/* Who was spilled: each tensor of which something leaves, what that takes, and what forced it. */
#ifndef DRIVER_SPILLED_H
#define DRIVER_SPILLED_H

#include "driver/allocate.h"
#include "driver/report.h"

/* Requires the figures of the result. Fills report->spilled in order of declaration. `live`: ranges
 * of the result; `source` as in PeakOf. O(instructions + points where spilled tensors live + what
 * find_text_need() takes). */
void find_spilled_tensors(const Reported *result, const Live *live, const Source *source,
                          Report *report, Arena *arena);

#endif
