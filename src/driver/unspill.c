#include "driver/unspill.h"

#include "driver/finish.h"
#include "ir/dma.h"
#include "driver/fixed.h"
#include "driver/refill.h"

/* True if no two places overlap while both are live. */
static bool is_legal(const State *state) {
    DiagQueue unheard;
    Arena scratch;
    arena_init(&scratch);
    diag_init(&unheard, &scratch);
    bool legal = check_fixed(state->code.func, &state->now.live, &unheard);
    arena_free(&scratch);
    return legal;
}

/* Rewrites with fewer cuts, nodes in the places found for them. True if that is legal and cheaper.
 */
static bool try_joined(State *state, const Carry *places, int64_t before) {
    rewrite_state(state);
    analyse_state(state);
    state->now.graph = build(&state->now.nodes, &state->round_memory);
    carry_places(places, &state->code, &state->now, &state->round_memory);
    if (!state->now.placed || sum_dmas(state->code.func, state->facts->target).cycles >= before)
        return false;
    commit_places(state);
    return is_legal(state);
}

void unspill_state(State *state) {
    if (!state->options.reload_elim || state->minimal || !state->now.graph.of ||
        !plan_spills(&state->plan))
        return;
    Rewritten code = state->code;
    double *cost = state->cost;
    int64_t before = sum_dmas(code.func, state->facts->target).cycles;
    PlanCuts cuts = plan_save(&state->plan, &state->memory);
    uint32_t joined;
    Carry places = refill(&state->plan, &state->code, &state->now, state->facts->target,
                          state->facts->size, &state->memory, &joined);
    if (joined > 0 && try_joined(state, &places, before)) return;
    plan_restore(&state->plan, &cuts);
    state->code = code;
    state->cost = cost;
}
