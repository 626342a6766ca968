#include "spill/residency/start.h"

/* The first residency counts most; later ones differ little. */
ResidencyOptions residency_options(const State *state) {
    enum { FIRST = 30000000, LATER = 10000000 };
    uint64_t size = state->facts->size;
    return (ResidencyOptions){.live = &state->live,
                              .candidate = state->plan.spillable,
                              .headroom = state->headroom.granules,
                              .size = (uint32_t)(size - size * state->method.percent / 100),
                              .steps = (state->rounds == 0 ? FIRST : LATER) * state->method.scale};
}

void start_residency(State *state) {
    residency(state->facts, residency_options(state), &state->plan);
}
