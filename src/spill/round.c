#include "spill/round.h"

#include "analysis/opaque.h"

/* A copy that serves one access and lives beside it cannot be cut any further. */
static bool is_minimal(const Rewritten *code, const Plan *plan, uint32_t tensor) {
    uint32_t first = code->first_access[tensor];
    if (code->role[tensor] != ROLE_COPY || code->end_access[tensor] != first + 1) return false;
    uint32_t loop = plan->accesses[first].loop;
    return loop == NO_LOOP || plan_loop(plan, code->origin[tensor], loop)->cut;
}

uint64_t count_conflicts(const Nodes *nodes, Arena *scratch) {
    int64_t *change = NEW_ARRAY(scratch, int64_t, (size_t)nodes->npoints + 1);
    uint32_t *starts = NEW_ARRAY(scratch, uint32_t, nodes->npoints);
    for (uint32_t n = 0; n < nodes->count; n++)
        for (uint32_t i = 0; i < nodes->items[n].range.count; i++) {
            Interval interval = nodes->items[n].range.items[i];
            starts[interval.first]++;
            change[interval.last + 1]--;
        }
    uint64_t active = 0, conflicts = 0;
    for (uint32_t p = 0; p < nodes->npoints; p++) {
        active += (uint64_t)change[p];
        conflicts += starts[p] * active + (uint64_t)starts[p] * (starts[p] - (starts[p] > 0)) / 2;
        active += starts[p];
    }
    return conflicts;
}

/* Fixed tensors are where they are, and a copy made by spilling lives within one iteration unless
 * it says otherwise. */
static void make_opaque(const Func *func, const bool *copy, Live *live, Arena *arena) {
    bool *exempt = NEW_ARRAY(arena, bool, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        exempt[t] = (copy && copy[t]) || func->tensors[t].fixed;
    make_loops_opaque(func, exempt, live, arena);
}

Live model_ranges(const Func *func, const Live *live, bool flat, Arena *arena) {
    if (!flat) return *live;
    Live opaque = live_range(func, arena);
    make_opaque(func, NULL, &opaque, arena);
    return opaque;
}

/* Fills what follows from the live ranges of the round's function. */
static void analyse_live(CostModel model, const bool *copy, const bool *minimal, Arena *arena,
                         Round *round) {
    round->nodes = renumber(round->func, &round->live, copy, arena);
    Arena scratch;
    arena_init(&scratch);
    find_costs(round->func, &round->nodes, model, minimal, &scratch);
    round->conflicts = count_conflicts(&round->nodes, &scratch);
    arena_free(&scratch);
    round->pressure = find_pressure(&round->nodes, arena);
}

void analyse_round(const Rewritten *code, const Plan *plan, CostModel model, Arena *arena,
                   Round *round) {
    const Func *func = code->func;
    bool *copy = NEW_ARRAY(arena, bool, func->ntensors);
    bool *minimal = NEW_ARRAY(arena, bool, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        copy[t] = code->role[t] == ROLE_COPY;
        minimal[t] = is_minimal(code, plan, t);
    }
    *round = (Round){.func = func};
    round->live = code->live && !model.flat ? *code->live : live_range(func, arena);
    if (model.flat) make_opaque(func, copy, &round->live, arena);
    analyse_live(model, copy, minimal, arena, round);
}

Round analyse_uncut(const Func *func, const Live *live, const Target *target, Arena *arena) {
    Round round = {.func = func, .live = *live};
    analyse_live((CostModel){.target = target}, NULL, NULL, arena, &round);
    return round;
}
