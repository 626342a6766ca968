#include "spill/restore.h"

#include "ir/dma.h"
#include "support/checked.h"
#include "support/sort.h"

/* Spilled tensors, the one whose inserted DMAs cost most first. */
static const SortKey *order_spilled(State *state, uint32_t *count) {
    const Plan *plan = &state->plan;
    const Rewritten *code = &state->code;
    int64_t *cycles = NEW_ARRAY(&state->memory, int64_t, plan->func->ntensors);
    for (uint32_t p = 0; p < code->func->ninsts; p++) {
        const Inst *inst = &code->func->insts[p];
        if (code->origin_inst[p] != INSERTED) continue;
        int64_t *sum = &cycles[code->origin[dma_on_chip(inst)->tensor]];
        *sum = saturating_add(*sum, sum_dma(code->func, inst, state->facts->target).cycles);
    }
    SortKey *order = RAW_ARRAY(&state->memory, SortKey, plan->func->ntensors);
    *count = 0;
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spilled[t] && cycles[t] > 0)
            order[(*count)++] = (SortKey){UINT64_MAX - (uint64_t)cycles[t], t};
    sort_keys(order, *count, &state->memory);
    return order;
}

/* True if the state spills less now, and everything has its place. */
static bool place_without(State *state, int64_t before) {
    rewrite_state(state);
    if (state_cycles(state) >= before) return false;
    analyse_state(state);
    if (state->now.pressure.peak > state->facts->size || !place_state(state)) return false;
    commit_places(state);
    return true;
}

static void try_restore(State *state, uint32_t tensor) {
    Decision decision = state_decision(state);
    int64_t before = state_cycles(state);
    plan_uncut_all(&state->plan, tensor);
    if (!place_without(state, before)) return_to_decision(state, &decision);
}

void restore_tensors(State *state) {
    enum { MOST_TRIES = 8, MOST_INSTS = 2000 };
    const Func *func = state->facts->func;
    if (func->nloops == 0 || func->ninsts > MOST_INSTS || state->minimal) return;
    if (!state->facts->reload_elim || !plan_spills(&state->plan)) return;
    uint32_t count;
    const SortKey *order = order_spilled(state, &count);
    for (uint32_t i = 0; i < count && i < MOST_TRIES; i++)
        try_restore(state, order[i].id);
}
