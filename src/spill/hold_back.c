#include "spill/hold_back.h"

#include "spill/chaitin.h"
#include "spill/residency/start.h"

enum { PATIENT_ROUNDS = 6 };

static bool choose_another(State *state) {
    PlanCuts before = plan_save(&state->plan, &state->round_memory);
    do {
        headroom_failed(&state->headroom, &state->code, &state->now);
        start_residency(state);
        if (!plan_is_saved(&state->plan, &before)) return true;
    } while (state->headroom.failures < PATIENT_ROUNDS);
    return false;
}

bool spill_by_headroom(State *state) {
    if (state->now.pressure.peak > state->facts->size)
        headroom_overload(&state->headroom, &state->code, &state->now);
    if (state->rounds < PATIENT_ROUNDS && choose_another(state)) return true;
    return spill_failed(&state->plan, &state->code, &state->now);
}
