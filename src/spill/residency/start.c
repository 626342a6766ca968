#include "spill/residency/start.h"

/* The first choice is the one that counts most; those after it differ little. */
ResideOptions choice_options(const State *state) {
    enum { FIRST = 30000000, LATER = 10000000 };
    uint64_t size = state->facts->size;
    return (ResideOptions){.live = &state->live,
                           .candidate = state->candidate,
                           .held = state->headroom.held,
                           .size = (uint32_t)(size - size * state->method.percent / 100),
                           .steps = (state->rounds == 0 ? FIRST : LATER) * state->method.scale};
}

void start_with_choice(State *state) {
    for (uint32_t t = 0; t < state->plan.func->ntensors; t++)
        state->candidate[t] = state->plan.spillable[t];
    reside(state->facts, choice_options(state), &state->plan);
}
