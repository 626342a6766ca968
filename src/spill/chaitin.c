#include "spill/chaitin.h"

#include <assert.h>
#include <math.h>

#include "spill/headroom.h"
#include "spill/residency/residency.h"

/* Cuts the gap before an access; true if that is new. */
static bool cut_gap(Plan *plan, uint32_t tensor, uint32_t access) {
    bool new = !plan->accesses[access].permanent;
    plan_cut_gap(plan, tensor, access, true);
    return new;
}

static bool cut_loop(Plan *plan, uint32_t tensor, PlanLoop *loop) {
    bool new = !loop->permanent;
    plan_cut_loop(plan, tensor, loop, true);
    return new;
}

/* Cuts all gaps of a working copy, and the loops around the accesses that it serves. */
static bool cut_copy(Plan *plan, const Rewritten *code, uint32_t copy) {
    uint32_t origin = code->origin[copy];
    uint32_t first = code->first_access[copy], end = code->end_access[copy];
    bool any = false;
    for (uint32_t a = first + 1; a < end; a++)
        any |= cut_gap(plan, origin, a);
    for (uint32_t a = first; a < end; a++) {
        uint32_t loop = plan->accesses[a].loop;
        PlanLoop *entry = loop == NO_LOOP ? NULL : plan_loop(plan, origin, loop);
        if (entry) any |= cut_loop(plan, origin, entry);
    }
    return any;
}

static bool cut_tensor(Plan *plan, uint32_t tensor) {
    bool any = false;
    for (uint32_t a = plan->first[tensor] + 1; a < plan->first[tensor + 1]; a++)
        any |= cut_gap(plan, tensor, a);
    for (uint32_t l = plan->first_loop[tensor]; l < plan->first_loop[tensor + 1]; l++)
        any |= cut_loop(plan, tensor, &plan->loops[l]);
    return any;
}

static bool cut_node(Plan *plan, const Rewritten *code, const Node *node) {
    uint32_t origin = code->origin[node->tensor];
    if (code->role[node->tensor] == ROLE_COPY) return cut_copy(plan, code, node->tensor);
    return plan->spillable[origin] && cut_tensor(plan, origin);
}

static bool cut_neighbours(Plan *plan, const Rewritten *code, const Round *round, uint32_t n) {
    bool any = false;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(&round->graph, n); next_neighbour(&walk, &m);) {
        const Node *other = &round->nodes.items[m];
        if (!isinf(other->cost)) any |= cut_node(plan, code, other);
    }
    return any;
}

bool spill_failed(Plan *plan, const Rewritten *code, const Round *round) {
    assert(round->func == code->func && (round->graph.built || round->placement.nfailed == 0));
    bool any = false;
    for (uint32_t i = 0; i < round->placement.nfailed; i++) {
        uint32_t n = round->placement.failed[i];
        const Node *node = &round->nodes.items[n];
        bool cut = !isinf(node->cost) && cut_node(plan, code, node);
        any |= cut || cut_neighbours(plan, code, round, n) || cut_node(plan, code, node);
    }
    plan_close_all(plan);
    return any;
}

bool spill_by_chaitin(State *state) {
    if (state->now.graph.built) return spill_failed(&state->plan, &state->code, &state->now);
    PlanCuts before = plan_save(&state->plan, &state->round_memory);
    headroom_overload(state);
    residency(state);
    for (uint32_t t = 0; t < state->plan.func->ntensors && !state->facts->reload_elim; t++)
        if (state->plan.spilled[t]) plan_cut_all(&state->plan, t);
    return !plan_is_saved(&state->plan, &before);
}
