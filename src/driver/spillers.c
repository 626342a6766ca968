#include "driver/spillers.h"

#include "driver/chaitin.h"
#include "driver/lodging.h"
#include "driver/part.h"

enum { CHOICE_STEPS = 30000000 /* budget of one choice of gaps */ };

/* From this round on cuts are permanent, so that the rounds come to an end. */
enum { PATIENT_ROUNDS = 6 };

static ResideOptions choice_options(const State *state) {
    uint32_t size = state->facts->size;
    return (ResideOptions){.candidate = state->candidate,
                           .tax = state->headroom.held,
                           .size = size - (uint32_t)((uint64_t)size * state->percent / 100),
                           .steps = CHOICE_STEPS,
                           .remat = state->options.remat,
                           .keep = state->options.reload_elim};
}

static void choose(State *state) {
    reside(&state->plan, &state->facts->sources, state->live, state->facts->target,
           choice_options(state));
}

static void let_all_compete(State *state) {
    for (uint32_t t = 0; t < state->plan.func->ntensors; t++)
        state->candidate[t] = state->plan.spillable[t];
}

void start_with_choice(State *state) {
    let_all_compete(state);
    choose(state);
}

/* The choice decides which loops stay whole, and is where the search begins. */
void start_jointly(State *state) {
    start_with_choice(state);
    rewrite_state(state);
    analyse_state(state);
    LodgeEffort effort = {state->steps, state->facts->deadline};
    state->hints = find_lodging(&state->plan, &state->facts->sources, state->live,
                                state->facts->target, state->facts->size, &state->code,
                                &state->now, choice_options(state), effort, &state->memory);
    state->hinted = true;
}

/* Far over capacity the graph is not built: there the choice of gaps relieves the points first. */
bool spill_by_chaitin(State *state) {
    if (state->now.graph.of) return spill_failed(&state->plan, &state->code, &state->now);
    PlanCuts before = plan_save(&state->plan, &state->round_memory);
    headroom_overload(&state->headroom, &state->code, &state->now);
    let_all_compete(state);
    choose(state);
    return !plan_is_saved(&state->plan, &before);
}

/* The choice is made again with more and more room held back, until it is another. */
static bool choose_another(State *state) {
    PlanCuts before = plan_save(&state->plan, &state->round_memory);
    do {
        headroom_failed(&state->headroom, &state->code, &state->now);
        choose(state);
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

bool spill_by_conflicts(State *state) {
    uint32_t cuts = part_failed(&state->plan, &state->code, state->facts->target,
                                state->facts->size, &state->now, &state->memory);
    state->hints = carry_note(&state->code, &state->now, NULL, &state->memory);
    state->hinted = true;
    return cuts > 0 || spill_failed(&state->plan, &state->code, &state->now);
}
