/* The first choice of a strategy: which gaps of all values are kept on chip. */
#ifndef SPILL_RESIDENCY_START_H
#define SPILL_RESIDENCY_START_H

#include "spill/residency/residency.h"
#include "spill/state.h"

/* The options of a choice as the state has them: candidates, headroom, the percent left free. */
ResideOptions choice_options(const State *state);

/* Lets the gaps of all values that may be spilled compete for room. Leaves a closed plan. */
void start_with_choice(State *state);

#endif
