#include "spill/state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/dma.h"
#include "place/evict.h"
#include "place/sweep.h"
#include "spill/headroom.h"
#include "spill/names.h"
#include "support/clock.h"

State *state_make(const Facts *facts, Method method) {
    State *state = heap_alloc(sizeof *state);
    *state = (State){.facts = facts, .method = method};
    arena_init(&state->memory);
    arena_init(&state->round_memory);
    writer_to_memory(&state->log);
    uint32_t ninsts = facts->func->ninsts;
    state->live = model_ranges(facts->func, &facts->live, method.flat, &state->memory);
    state->plan = plan_copy(&facts->plan, &state->memory);
    state->frozen = NEW_ARRAY(&state->memory, bool, ninsts);
    state->headroom = headroom_make(ninsts, &state->memory);
    return state;
}

void state_free(State *state) {
    writer_free(&state->log);
    arena_free(&state->memory);
    arena_free(&state->round_memory);
    free(state);
}

Decision state_decision(State *state) {
    return (Decision){plan_save(&state->plan, &state->memory), state->code, state->cost};
}

void return_to_decision(State *state, const Decision *decision) {
    plan_restore(&state->plan, &decision->cuts);
    state->code = decision->code;
    state->cost = decision->cost;
}

int64_t state_cycles(const State *state) {
    return sum_dmas(state->code.func, state->facts->target).cycles;
}

/* ---- code ---- */

/* True if the code differs from the function. */
static bool changes_code(const State *state) {
    return state->facts->dead || plan_spills(&state->plan);
}

void rewrite_state(State *state) {
    double begin = clock_now();
    const Facts *facts = state->facts;
    RewriteOptions options = {.remat = facts->remat, .dead = facts->dead};
    state->code = changes_code(state)
                      ? rewrite(&state->plan, &facts->sources, options, &state->memory)
                      : rewrite_nothing(facts->func, &facts->live, &state->memory);
    if (facts->named)
        name_added(&state->code, facts->names, facts->func->ntensors, NULL, &state->memory);
    state->seconds.spill += clock_now() - begin;
}

/* For the assert: each tensor of the code has its origin in the plan, and a copy serves accesses of
 * it. */
static inline bool code_is_sound(const Rewritten *code, const Plan *plan) {
    for (uint32_t t = 0; t < code->func->ntensors; t++) {
        uint32_t origin = code->origin[t];
        if (origin >= plan->func->ntensors) return false;
        if (code->role[t] != ROLE_COPY) continue;
        if (!plan->spilled[origin] || code->first_access[t] < plan->first[origin] ||
            code->first_access[t] >= code->end_access[t] ||
            code->end_access[t] > plan->first[origin + 1])
            return false;
    }
    return true;
}

void analyse_state(State *state) {
    assert(code_is_sound(&state->code, &state->plan));
    double begin = clock_now();
    const Facts *facts = state->facts;
    CostModel model = {facts->target, state->method.flat, facts->remat_reads};
    arena_free(&state->round_memory);
    if (changes_code(state) || state->method.flat)
        analyse_round(&state->code, &state->plan, model, &state->round_memory, &state->now);
    else
        state->now = *facts->uncut;
    state->now.func = state->code.func;
    state->seconds.analyse += clock_now() - begin;
}

/* ---- places ---- */

/* Steps of the exact search: a hundredth of them once something is spilled, when another round
 * costs less than a longer search. */
static void set_exact_steps(const State *state, bool spilled, Placer *placer) {
    enum { OF_EACH = 4, THOUSAND = 1000, PART = 100 };
    placer->exact_steps = state->method.exact_steps / (spilled ? PART : 1) * state->method.scale;
    placer->exact_steps_of_each = placer->exact_steps / THOUSAND * OF_EACH;
}

/* Where nothing is to be spilled. Text with spill code had places before, so it is worth a longer
 * search: where it finds none, what is spilled is spilled anew. */
static void set_shuffles(const State *state, Placer *placer) {
    enum { SHUFFLE_STEPS = 400000000 };
    if (!state->method.must_fit || !has_spill_code(state->facts->func)) return;
    placer->must_fit = true;
    if (state->method.place == PLACE_EXACT)
        placer->shuffle_steps = SHUFFLE_STEPS * state->method.scale;
}

Placer state_placer(const State *state, bool spilled) {
    const Method *method = &state->method;
    bool more = method->place >= PLACE_EVICT;
    Placer placer = {.flat = method->flat,
                     .metric = method->metric,
                     .evict = more,
                     .by_height = more,
                     .other_metrics = more,
                     .crowded = spilled && more,
                     .seed = state->facts->seed,
                     .deadline = state->facts->deadline};
    if (method->place == PLACE_EXACT) set_exact_steps(state, spilled, &placer);
    if (!spilled) set_shuffles(state, &placer);
    return placer;
}

static bool take_placed(Round *round, const Placed *found) {
    round->graph = found->graph;
    round->stack = found->stack;
    round->placement = found->placement;
    return round->placed = found->placed;
}

/* Partners share a place; true if all nodes have one so. */
static bool place_partners(State *state, const PlaceProblem *problem, const Placer *placer) {
    static_assert(INSERTED == UINT32_MAX, "an inserted copy is never frozen");
    Round *now = &state->now;
    Freeze freeze = {state->frozen, state->code.origin_inst};
    Coalesced found = place_coalesced(now->func, problem, placer, &freeze, &state->round_memory);
    now->groups = found.groups;
    if (!found.places.placed) return false;
    now->coalesced = found.merges;
    return take_placed(now, &found.places);
}

/* Pairs from which on a graph is not built where places are found without it: where nothing is
 * spilled and no copies could be elided, or else; and from which on none is ever built. */
enum { LARGE_GRAPH = 1 << 22, HUGE_GRAPH = 1 << 25, LARGEST_GRAPH = 1 << 28 };

static bool has_elidable_copies(State *state) {
    const Round *now = &state->now;
    return state->facts->coalesce &&
           find_handing(now->func, &now->nodes, &state->round_memory).count > 0;
}

/* True if all nodes have a place. */
static bool place_by_sweep(State *state) {
    Round *now = &state->now;
    if (now->conflicts <= LARGE_GRAPH || now->pressure.peak > state->facts->size) return false;
    if (now->conflicts <= HUGE_GRAPH &&
        (plan_spills(&state->plan) || state->method.place == PLACE_SELECT ||
         has_elidable_copies(state)))
        return false;
    Placement placement;
    if (!sweep(&now->nodes, state->facts->size, &placement, &state->round_memory)) return false;
    now->placement = placement;
    return now->placed = true;
}

/* Partners share a place before anything is spilled, or where all else has failed; in between, room
 * for the values comes first (see recolour()). */
static void place_anywhere(State *state) {
    Round *now = &state->now;
    bool spilled = plan_spills(&state->plan), coalesce = state->facts->coalesce;
    bool first = !spilled || state->method.place == PLACE_SELECT;
    PlaceProblem problem = {&now->nodes, &now->pressure, state->facts->size};
    Placer placer = state_placer(state, spilled);
    if (place_by_sweep(state)) return;
    if (coalesce && first && place_partners(state, &problem, &placer)) return;
    bool hopeless = state->method.must_fit && now->pressure.peak > state->facts->size;
    if (now->conflicts <= LARGEST_GRAPH && !hopeless) {
        Placed found = place(&problem, &placer, &state->round_memory);
        take_placed(now, &found);
    }
    if (coalesce && !first && !now->placed) place_partners(state, &problem, &placer);
}

/* Steps of eviction: plenty for small functions, in proportion to the graph for large ones. */
static EvictLimits evict_limits(const State *state) {
    enum { LEAST = 2000000, PER_EDGE = 10 };
    uint64_t steps = LEAST + PER_EDGE * state->now.graph.edges;
    return (EvictLimits){state->facts->size, steps * state->method.scale, false};
}

/* Nodes go where the hints say; after the first round those without a place evict others. */
static void place_as_hinted(State *state) {
    Round *now = &state->now;
    now->graph = build(&now->nodes, &state->round_memory);
    transfer_places(&state->hints, &state->code, now, &state->round_memory);
    if (!now->placed && state->rounds > 0)
        now->placed = evict(&now->nodes, &now->graph, evict_limits(state), &now->placement,
                            &state->round_memory);
}

bool place_state(State *state) {
    assert(state->now.func == state->code.func && !state->now.placed);
    double begin = clock_now();
    if (state->hinted)
        place_as_hinted(state);
    else
        place_anywhere(state);
    if (!state->now.placed) state->score = state->now.placement.score;
    state->seconds.colour += clock_now() - begin;
    return state->now.placed;
}

bool place_exactly(State *state) {
    Round *now = &state->now;
    if (now->pressure.peak > state->facts->size) return false;
    double begin = clock_now();
    PlaceProblem problem = {&now->nodes, &now->pressure, state->facts->size};
    Placer placer = state_placer(state, true);
    placer.evict = placer.by_height = true;
    placer.crowded = false;
    set_exact_steps(state, true, &placer);
    Placed found = place(&problem, &placer, &state->round_memory);
    take_placed(now, &found);
    state->seconds.colour += clock_now() - begin;
    return now->placed;
}

static Place *node_places(const Round *round, uint32_t n, Arena *arena) {
    uint32_t blocks = round->nodes.items[n].blocks;
    Place *places = RAW_ARRAY(arena, Place, blocks);
    for (uint32_t b = 0; b < blocks; b++) {
        Rect rect = round->placement.rects[n][b];
        places[b] = place_at(rect.low, rect.mask);
    }
    return places;
}

void commit_places(State *state) {
    assert(state->now.placed && state->now.func == state->code.func);
    Func *func = state->code.func;
    const Nodes *nodes = &state->now.nodes;
    state->cost = RAW_ARRAY(&state->memory, double, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        state->cost[t] = nodes->of[t] == NO_NODE ? INFINITY : nodes->items[nodes->of[t]].cost;
    for (uint32_t n = 0; n < nodes->count; n++)
        if (!nodes->items[n].fixed)
            func->tensors[nodes->items[n].tensor].at = node_places(&state->now, n, &state->memory);
}
