/* What each instruction needs at the least, whatever is spilled. */
#ifndef DRIVER_DEMAND_H
#define DRIVER_DEMAND_H

#include "analysis/live.h"
#include "spill/plan.h"

/* The instruction whose operands, beside the fixed, pinned and output tensors that are live there,
 * need more than `size` granules by the sums of bands alone, and most so; UINT32_MAX if there is
 * none. A lower bound: what it names is impossible, what it passes may be impossible still.
 * O(operands + intervals). */
uint32_t impossible_instruction(const Plan *plan, const Live *live, uint32_t size);

#endif
