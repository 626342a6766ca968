/* Live in time: where blocks live as the loops run. */
#ifndef SPILL_TIME_LIVE_IN_TIME_H
#define SPILL_TIME_LIVE_IN_TIME_H

#include "analysis/live.h"

/* Live ranges of a checked function as it stands: a block is live at an instruction where it is in
 * some iteration, with conditions evaluated. `own` are those of live_range(), which are returned
 * where there is no loop, or the layout would be too large. The cost of find_time_facts() and
 * project_live(), which are limited. */
Live live_in_time(const Func *func, const Target *target, const Live *own, Arena *arena);

#endif
