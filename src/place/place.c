#include "place/place.h"

#include <assert.h>

#include "place/evict.h"
#include "place/exact/pack.h"
#include "place/select_flat.h"
#include "support/clock.h"
#include "support/rng.h"
#include "support/sort.h"

/* Limits of a crowded function. Above MOST_STACKED nodes only the stack by height packs well, and
 * the exact search finds nothing that eviction does not. */
enum { MOST_STACKED = 4000, MOST_OTHER_METRICS = 500, MOST_FAILED = 8 };

typedef struct {
    const PlaceProblem *problem;
    const Placer *placer;
    Axis axis;
    Placed best;
    Arena *arena;
} PlacePass;

/* ---- stacks ---- */

/* For each edge of the graph, and for each node up to a limit. */
static uint64_t evict_steps(const PlacePass *pass) {
    enum { PER_EDGE = 10, PER_NODE = 10000, MOST = 4000000 };
    uint64_t own = (uint64_t)PER_NODE * pass->problem->nodes->count;
    return (own < MOST ? own : MOST) + PER_EDGE * pass->best.graph.edges;
}

static bool is_over_capacity(const PlacePass *pass) {
    return pass->problem->pressure->peak > pass->problem->size;
}

/* True if the placement leaves less out than the best so far. */
static bool is_better(const Placement *placement, const Placement *best) {
    if (!best->rects) return true;
    if (placement->score != best->score) return placement->score < best->score;
    return placement->nfailed < best->nfailed;
}

static void note_placement(PlacePass *pass, Placement placement) {
    if (!is_better(&placement, &pass->best.placement)) return;
    pass->best.placement = placement;
    pass->best.placed = placement.nfailed == 0;
}

static void try_stack(PlacePass *pass, const NodeStack *stack) {
    const Nodes *nodes = pass->problem->nodes;
    const Graph *graph = &pass->best.graph;
    Placement placement = pass->placer->flat
                              ? select_flat(nodes, graph, &pass->axis, stack, pass->arena)
                              : select_places(nodes, graph, &pass->axis, stack, pass->arena);
    EvictLimits limits = {pass->problem->size, evict_steps(pass), pass->placer->must_fit};
    if (placement.nfailed > 0 && pass->placer->evict && !is_over_capacity(pass))
        evict(nodes, graph, limits, &placement, pass->arena);
    note_placement(pass, placement);
}

/* The node with the largest key is popped first. */
static NodeStack stack_by(const SortKey *order, const Nodes *nodes, Arena *arena) {
    NodeStack stack = {.items = RAW_ARRAY(arena, uint32_t, nodes->count)};
    for (uint32_t i = 0; i < nodes->count; i++)
        if (!nodes->items[order[i].id].fixed) stack.items[stack.count++] = order[i].id;
    return stack;
}

/* The highest node is popped first; `rng`: heights count up to a half more, by chance. */
static NodeStack stack_by_height(const Nodes *nodes, uint64_t *rng, Arena *arena) {
    enum { UNIT = 1024, MORE = 512 };
    SortKey *order = RAW_ARRAY(arena, SortKey, nodes->count);
    for (uint32_t n = 0; n < nodes->count; n++) {
        uint64_t height = nodes->items[n].height;
        order[n] = (SortKey){rng ? height * (UNIT + rng_below(rng, MORE)) : height, n};
    }
    sort_keys(order, nodes->count, arena);
    return stack_by(order, nodes, arena);
}

static void try_by_height(PlacePass *pass) {
    if (pass->best.placed || !pass->placer->by_height) return;
    NodeStack stack = stack_by_height(pass->problem->nodes, NULL, pass->arena);
    try_stack(pass, &stack);
}

/* Nodes of several blocks, which do not move, have places; all others wait for one, the first of
 * the stack first. */
static Placement place_few(PlacePass *pass, const NodeStack *stack) {
    const Nodes *nodes = pass->problem->nodes;
    NodeStack few = {.items = RAW_ARRAY(pass->arena, uint32_t, nodes->count)};
    for (uint32_t i = 0; i < stack->count; i++)
        if (nodes->items[stack->items[i]].blocks > 1) few.items[few.count++] = stack->items[i];
    Placement placement = select_places(nodes, &pass->best.graph, &pass->axis, &few, pass->arena);
    for (uint32_t i = stack->count; i-- > 0;)
        if (nodes->items[stack->items[i]].blocks == 1)
            placement_fail(&placement, nodes, stack->items[i]);
    return placement;
}

/* Eviction from nothing, again and again: it ends in another place each time. */
static void try_shuffled(PlacePass *pass) {
    EvictLimits limits = {pass->problem->size, evict_steps(pass), true};
    uint64_t rng = pass->placer->seed | 1, most = pass->placer->shuffle_steps;
    if (is_over_capacity(pass)) return;
    for (uint64_t used = 0; used < most && !pass->best.placed; used += limits.steps) {
        if (clock_is_past(pass->placer->deadline)) return;
        NodeStack stack = stack_by_height(pass->problem->nodes, &rng, pass->arena);
        Placement placement = place_few(pass, &stack);
        evict(pass->problem->nodes, &pass->best.graph, limits, &placement, pass->arena);
        note_placement(pass, placement);
    }
}

static void try_other_metrics(PlacePass *pass) {
    enum { METRICS = 3 };
    for (int i = 1; i < METRICS && pass->placer->other_metrics && !pass->best.placed; i++) {
        NodeStack stack = simplify(pass->problem->nodes, &pass->best.graph, &pass->axis,
                                   (pass->placer->metric + i) % METRICS, pass->arena);
        try_stack(pass, &stack);
    }
}

/* ---- the exact search ---- */

PackItem pack_item(const Node *node, uint32_t block) {
    PackItem item = {.class = node->class,
                     .height = node->height,
                     .align = node->align,
                     .range = node_block_range(node, block)};
    if (!node->fixed) return item;
    item.height = node->rects[block].high - node->rects[block].low;
    item.fixed = true;
    item.band = node->rects[block].mask;
    item.offset = node->rects[block].low;
    return item;
}

/* The blocks that live, in order of nodes. */
static PackProblem pack_problem(const PlaceProblem *problem, Arena *arena) {
    const Nodes *nodes = problem->nodes;
    PackProblem packed = {RAW_ARRAY(arena, PackItem, nodes_blocks(nodes)), 0, problem->size};
    for (uint32_t n = 0; n < nodes->count; n++)
        for (uint32_t b = 0; b < nodes->items[n].blocks; b++) {
            PackItem item = pack_item(&nodes->items[n], b);
            if (item.range.count > 0) packed.items[packed.count++] = item;
        }
    return packed;
}

/* A block that never lives needs a place, but conflicts with nobody. */
static Rect place_of_dead(const Node *node) {
    return (Rect){0, node->height, class_bands(node->class).masks[0]};
}

/* The places that the search found become the placement. */
static Placement unpack(const Nodes *nodes, const PackItem *next, Arena *arena) {
    Placement placement = placement_of_fixed(nodes, arena);
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        Rect *rects = node->fixed ? NULL : RAW_ARRAY(arena, Rect, node->blocks);
        if (rects) placement.rects[n] = rects;
        for (uint32_t b = 0; b < node->blocks; b++) {
            bool lives = node_block_range(node, b).count > 0;
            if (rects && lives)
                rects[b] = (Rect){next->offset, next->offset + next->height, next->band};
            else if (rects)
                rects[b] = place_of_dead(node);
            next += lives;
        }
    }
    return placement;
}

/* Small problems that resist are not worth the time of a large one. */
static uint64_t exact_steps(const PlacePass *pass) {
    uint64_t each = pass->placer->exact_steps_of_each, steps = pass->placer->exact_steps;
    uint64_t count = nodes_blocks(pass->problem->nodes);
    return count > 0 && each <= steps / count ? each * count : steps;
}

static void try_exact(PlacePass *pass) {
    if (pass->best.placed || pass->placer->exact_steps == 0 || is_over_capacity(pass)) return;
    Arena scratch;
    arena_init(&scratch);
    PackProblem problem = pack_problem(pass->problem, &scratch);
    PackOptions options = {
        .steps = exact_steps(pass), .seed = pass->placer->seed, .deadline = pass->placer->deadline};
    if (pack(&problem, options, &scratch, NULL) == PACK_FOUND) {
        pass->best.placement = unpack(pass->problem->nodes, problem.items, pass->arena);
        pass->best.placed = true;
    }
    arena_free(&scratch);
}

/* ---- the order of passes ---- */

static void place_all(PlacePass *pass) {
    try_stack(pass, &pass->best.stack);
    try_by_height(pass);
    try_shuffled(pass);
    try_exact(pass);
    try_other_metrics(pass);
}

static void place_crowded(PlacePass *pass) {
    uint32_t count = pass->problem->nodes->count;
    if (count <= MOST_STACKED || !pass->placer->by_height) try_stack(pass, &pass->best.stack);
    try_by_height(pass);
    if (count <= MOST_OTHER_METRICS) try_other_metrics(pass);
    if (count <= MOST_STACKED && pass->best.placement.nfailed <= MOST_FAILED) try_exact(pass);
}

Placed place(const PlaceProblem *problem, const Placer *placer, Arena *arena) {
    PlacePass pass = {.problem = problem,
                      .placer = placer,
                      .axis = axis_make(problem->size),
                      .best.graph = build(problem->nodes, arena),
                      .arena = arena};
    pass.best.stack = simplify(problem->nodes, &pass.best.graph, &pass.axis, placer->metric, arena);
    if (placer->crowded)
        place_crowded(&pass);
    else
        place_all(&pass);
    assert(!pass.best.placed ||
           placement_is_legal(problem->nodes, &pass.best.graph, &pass.best.placement));
    return pass.best;
}
