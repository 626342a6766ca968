#include "driver/round.h"

#include <assert.h>

#include "analysis/opaque.h"
#include "place/cost.h"

/* A copy that serves one access and lives beside it cannot be cut any further. */
static bool is_minimal(const Rewritten *rewritten, const Plan *plan, uint32_t tensor) {
    uint32_t first = rewritten->first_access[tensor];
    if (rewritten->role[tensor] != ROLE_COPY || rewritten->end_access[tensor] != first + 1)
        return false;
    uint32_t loop = plan->accesses[first].loop;
    return loop == NO_LOOP || plan_loop(plan, rewritten->origin[tensor], loop)->cut;
}

static uint64_t count_meetings(const Nodes *nodes, Arena *scratch) {
    int64_t *change = NEW_ARRAY(scratch, int64_t, (size_t)nodes->npoints + 1);
    uint32_t *starts = NEW_ARRAY(scratch, uint32_t, nodes->npoints);
    for (uint32_t n = 0; n < nodes->count; n++)
        for (uint32_t i = 0; i < nodes->items[n].range.count; i++) {
            Interval interval = nodes->items[n].range.items[i];
            starts[interval.first]++;
            change[interval.last + 1]--;
        }
    uint64_t active = 0, meetings = 0;
    for (uint32_t p = 0; p < nodes->npoints; p++) {
        active += (uint64_t)change[p];
        meetings += starts[p] * active + (uint64_t)starts[p] * (starts[p] - (starts[p] > 0)) / 2;
        active += starts[p];
    }
    return meetings;
}

/* Fixed tensors are where they are, and a copy made by spilling lives within one iteration unless
 * it says otherwise. */
static void make_opaque(const Func *func, const bool *copy, Live *live, Arena *arena) {
    bool *exempt = NEW_ARRAY(arena, bool, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        exempt[t] = (copy && copy[t]) || func->tensors[t].fixed;
    make_loops_opaque(func, exempt, live, arena);
}

Live live_as_coloured(const Func *func, const Live *live, const Options *options, Arena *arena) {
    if (options->allocator != ALLOCATOR_FLAT) return *live;
    Live opaque = live_range(func, arena);
    make_opaque(func, NULL, &opaque, arena);
    return opaque;
}

void analyse_round(const Rewritten *rewritten, const Plan *plan, const Target *target,
                   const Options *options, Arena *arena, Round *round) {
    const Func *func = rewritten->func;
    bool *copy = NEW_ARRAY(arena, bool, func->ntensors);
    bool *minimal = NEW_ARRAY(arena, bool, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        copy[t] = rewritten->role[t] == ROLE_COPY;
        minimal[t] = is_minimal(rewritten, plan, t);
    }
    bool flat = options->allocator == ALLOCATOR_FLAT;
    *round = (Round){.func = func};
    round->live = rewritten->live && !flat ? *rewritten->live : live_range(func, arena);
    if (flat) make_opaque(func, copy, &round->live, arena);
    round->nodes = renumber(func, &round->live, copy, arena);
    Arena scratch;
    arena_init(&scratch);
    CostModel model = {target, flat, options->dma_optlevel > 4};
    find_costs(func, &round->nodes, model, minimal, &scratch);
    round->meetings = count_meetings(&round->nodes, &scratch);
    arena_free(&scratch);
    round->pressure = find_pressure(&round->nodes, arena);
}

/* Steps of the exact search: ten times more at each level of effort; a hundredth of them once
 * something is spilled, when another round costs less than a longer search. */
static void set_exact_steps(Placer *placer, int effort, bool spilled) {
    enum { STEPS = 1000000000, OF_EACH = 4000000, PART = 100 };
    placer->exact_steps = STEPS / (spilled ? PART : 1);
    placer->exact_steps_of_each = OF_EACH / (spilled ? PART : 1);
    for (int level = 2; level < effort; level++) {
        placer->exact_steps *= 10;
        placer->exact_steps_of_each *= 10;
    }
}

Placer placer_for(const Options *options, bool spilled) {
    bool more = options->effort >= 1;
    Placer placer = {.flat = options->allocator == ALLOCATOR_FLAT,
                     .metric = options->metric,
                     .evict = more,
                     .by_height = more,
                     .other_metrics = more,
                     .crowded = spilled && more,
                     .seed = options->seed,
                     .deadline = options->deadline};
    if (options->effort >= 2) set_exact_steps(&placer, options->effort, spilled);
    return placer;
}

static void take_placed(Round *round, const Placed *found) {
    round->graph = found->graph;
    round->stack = found->stack;
    round->placement = found->placement;
    round->placed = found->placed;
}

void colour_round(const Options *options, uint32_t size, bool spilled, Arena *arena, Round *round) {
    PlaceProblem problem = {&round->nodes, &round->pressure, size};
    Placer placer = placer_for(options, spilled);
    Placed found = place(&problem, &placer, arena);
    take_placed(round, &found);
}

bool colour_together(const Options *options, uint32_t size, bool spilled,
                     const Rewritten *rewritten, bool *frozen, Arena *arena, Round *round) {
    static_assert(INSERTED == UINT32_MAX, "an inserted copy is never frozen");
    PlaceProblem problem = {&round->nodes, &round->pressure, size};
    Placer placer = placer_for(options, spilled);
    Freeze freeze = {frozen, rewritten->origin_inst};
    Coalesced found = place_coalesced(round->func, &problem, &placer, &freeze, arena);
    round->groups = found.groups;
    if (!found.places.placed) return false;
    take_placed(round, &found.places);
    round->coalesced = found.merges;
    return true;
}
