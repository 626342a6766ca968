#include "driver/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "place/evict.h"
#include "spill/legalize.h"
#include "support/clock.h"

Rewritten rewrite_nothing(const Func *func, const Live *live, Arena *arena) {
    Rewritten same = {.func = NEW(arena, Func),
                      .origin = RAW_ARRAY(arena, uint32_t, func->ntensors),
                      .role = NEW_ARRAY(arena, uint8_t, func->ntensors),
                      .first_access = NEW_ARRAY(arena, uint32_t, func->ntensors),
                      .end_access = NEW_ARRAY(arena, uint32_t, func->ntensors),
                      .origin_inst = RAW_ARRAY(arena, uint32_t, func->ninsts),
                      .live = live};
    *same.func = *func;
    same.func->tensors = RAW_ARRAY(arena, Tensor, func->ntensors);
    if (func->ntensors) memcpy(same.func->tensors, func->tensors, func->ntensors * sizeof(Tensor));
    same.func->insts = RAW_ARRAY(arena, Inst, func->ninsts);
    if (func->ninsts) memcpy(same.func->insts, func->insts, func->ninsts * sizeof(Inst));
    for (uint32_t t = 0; t < func->ntensors; t++)
        same.origin[t] = t;
    for (uint32_t i = 0; i < func->ninsts; i++)
        same.origin_inst[i] = i;
    return same;
}

State *state_make(const Facts *facts, const char *strategy, Options options, PlaceEffort place) {
    State *state = malloc(sizeof *state);
    if (!state) out_of_memory();
    *state = (State){.facts = facts, .strategy = strategy, .options = options, .place = place};
    arena_init(&state->memory);
    arena_init(&state->round_memory);
    writer_to_memory(&state->log);
    uint32_t ninsts = facts->func->ninsts;
    state->live = NEW(&state->memory, Live);
    *state->live = live_as_coloured(facts->func, &facts->live, &state->options, &state->memory);
    state->plan = plan_copy(&facts->plan, &state->memory);
    state->candidate = NEW_ARRAY(&state->memory, bool, facts->func->ntensors);
    state->frozen = NEW_ARRAY(&state->memory, bool, ninsts);
    state->headroom = headroom_make(ninsts, facts->size, &state->memory);
    return state;
}

void state_free(State *state) {
    writer_free(&state->log);
    arena_free(&state->memory);
    arena_free(&state->round_memory);
    free(state);
}

bool is_late(const Facts *facts) {
    return clock_is_past(facts->deadline);
}

void rewrite_state(State *state) {
    double begin = clock_now();
    const Facts *facts = state->facts;
    RewriteOptions options = {.remat = state->options.remat};
    state->code = plan_spills(&state->plan)
                      ? rewrite(&state->plan, &facts->sources, options, &state->memory)
                      : rewrite_nothing(facts->func, &facts->live, &state->memory);
    if (state->options.verbose) legalize(&state->code, facts->names, &state->memory);
    state->seconds.spill += clock_now() - begin;
}

void analyse_state(State *state) {
    double begin = clock_now();
    arena_free(&state->round_memory);
    analyse_round(&state->code, &state->plan, state->facts->target, &state->options,
                  &state->round_memory, &state->now);
    state->seconds.analyse += clock_now() - begin;
}

/* ---- places ---- */

/* A larger graph is not built: where a point is that far over capacity, places are out of reach. */
enum { LARGEST_GRAPH = 1 << 28 };

/* Partners share a place before anything is spilled, or where all else has failed; in between, room
 * for the values comes first (see recolour()). */
static void place_anywhere(State *state) {
    const Facts *facts = state->facts;
    Round *now = &state->now;
    bool spilled = plan_spills(&state->plan);
    bool first = !spilled || state->place == PLACE_SELECT, coalesce = state->options.coalesce;
    if (coalesce && first &&
        colour_together(&state->options, facts->size, spilled, &state->code, state->frozen,
                        &state->round_memory, now))
        return;
    if (now->meetings <= LARGEST_GRAPH)
        colour_round(&state->options, facts->size, spilled, &state->round_memory, now);
    if (coalesce && !first && !now->placed)
        colour_together(&state->options, facts->size, spilled, &state->code, state->frozen,
                        &state->round_memory, now);
}

/* Steps of eviction: plenty for small functions, in proportion to the graph for large ones. */
static EvictLimits evict_limits(const State *state) {
    enum { LEAST = 2000000, PER_EDGE = 10 };
    return (EvictLimits){state->facts->size, LEAST + PER_EDGE * state->now.graph.edges};
}

/* Nodes go where the hints say; those without a place evict others. */
static void place_as_hinted(State *state) {
    Round *now = &state->now;
    now->graph = build(&now->nodes, &state->round_memory);
    carry_places(&state->hints, &state->code, now, &state->round_memory);
    if (!now->placed && state->rounds > 0)
        now->placed = evict(&now->nodes, &now->graph, evict_limits(state), &now->placement,
                            &state->round_memory);
}

bool place_state(State *state) {
    double begin = clock_now();
    if (state->hinted)
        place_as_hinted(state);
    else
        place_anywhere(state);
    if (!state->now.placed) state->score = state->now.placement.score;
    state->seconds.colour += clock_now() - begin;
    return state->now.placed;
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
    Func *func = state->code.func;
    const Nodes *nodes = &state->now.nodes;
    state->cost = RAW_ARRAY(&state->memory, double, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        state->cost[t] = nodes->of[t] == NO_NODE ? INFINITY : nodes->items[nodes->of[t]].cost;
    for (uint32_t n = 0; n < nodes->count; n++)
        if (!nodes->items[n].fixed)
            func->tensors[nodes->items[n].tensor].at = node_places(&state->now, n, &state->memory);
}
