/* How a strategy starts: gaps of all spillable values compete. */
#ifndef SPILL_RESIDENCY_START_H
#define SPILL_RESIDENCY_START_H

#include "spill/residency/residency.h"
#include "spill/state.h"

/* The options of residency() for a state: all spillable tensors, its headroom, the percent that its
 * method leaves free. */
ResidencyOptions residency_options(const State *state);

/* Makes every spillable tensor a candidate and decides its residency. Requires a state; leaves
 * a closed plan; invalidates the code and the round. Costs one residency(). */
void start_residency(State *state);

#endif
