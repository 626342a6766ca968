/* Fixed tensors that overlap. */
#ifndef DRIVER_CHECK_FIXED_H
#define DRIVER_CHECK_FIXED_H

#include "analysis/live.h"
#include "support/diag.h"

/* Queues an error for each sb tensor with places that overlaps another, or itself, while both are
 * live, and returns true if there was none. The two ends of an `!elided` copy may overlap while
 * they have one value. O(intervals of all blocks, times their log); only where live ranges overlap
 * the function is run, and what it does not find then is told. */
bool check_fixed(const Func *func, const Live *live, DiagQueue *diags);

#endif
