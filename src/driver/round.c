#include "driver/round.h"

#include "analysis/opaque.h"
#include "place/cost.h"
#include "place/evict.h"
#include "place/exact/pack.h"
#include "place/select_flat.h"
#include "support/sort.h"

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
    if (flat)
        find_costs_flat(func, &round->nodes, target, minimal, options->dma_optlevel > 4, &scratch);
    else
        find_costs(func, &round->nodes, target, minimal, &scratch);
    round->meetings = count_meetings(&round->nodes, &scratch);
    arena_free(&scratch);
    round->pressure = find_pressure(&round->nodes, arena);
}

/* Places of a search, as select would have given them. */
static void take_places(Round *round, const PackItem *items, Arena *arena) {
    Placement *placement = &round->placement;
    placement->nfailed = 0;
    placement->score = 0;
    const PackItem *next = items;
    for (uint32_t n = 0; n < round->nodes.count; n++) {
        uint32_t blocks = round->nodes.items[n].blocks;
        placement->rects[n] = RAW_ARRAY(arena, Rect, blocks);
        for (uint32_t b = 0; b < blocks; b++) {
            const Node *node = &round->nodes.items[n];
            if (node->fixed) {
                placement->rects[n][b] = node->rects[b];
            } else if (node_block_range(node, b).count == 0) {
                /* A block that never lives needs a place but keeps nobody from it. */
                placement->rects[n][b] = (Rect){0, node->height, class_bands(node->class).masks[0]};
            } else {
                placement->rects[n][b] =
                    (Rect){next->offset, next->offset + next->height, next->band};
            }
            next += node_block_range(node, b).count > 0;
        }
    }
}

/* Steps of the search: the effort's, at most so many for each rectangle, as small problems that
 * resist are not worth a large one's time; a part of them once something is spilled, when another
 * round costs less than a longer search. */
static uint64_t search_steps(const Options *options, size_t rectangles, bool spilled) {
    enum { PART = 100, PER_RECTANGLE = 4000000 };
    uint64_t steps = pack_default_steps(options->effort), most = PER_RECTANGLE * rectangles;
    for (int level = 2; level < options->effort; level++)
        most = most > UINT64_MAX / 10 ? UINT64_MAX : most * 10;
    return (steps < most ? steps : most) / (spilled ? PART : 1);
}

/* A search over so many nodes finds nothing that repair does not. */
enum { MOST_SEARCHED = 4000, FEW_NODES = 500, FEW_FAILED = 8 };

static void search_round(const Options *options, uint32_t size, bool spilled, Arena *arena,
                         Round *round) {
    Arena scratch;
    arena_init(&scratch);
    size_t count = 0;
    for (uint32_t n = 0; n < round->nodes.count; n++)
        count += round->nodes.items[n].blocks;
    PackProblem problem = {RAW_ARRAY(&scratch, PackItem, count), 0, size};
    for (uint32_t n = 0; n < round->nodes.count; n++) {
        const Node *node = &round->nodes.items[n];
        for (uint32_t b = 0; b < node->blocks; b++) {
            PackItem item = {.class = node->class,
                             .height = node->height,
                             .align = node->align,
                             .range = node_block_range(node, b)};
            if (node->fixed) {
                item.height = node->rects[b].high - node->rects[b].low;
                item.fixed = true;
                item.band = node->rects[b].mask;
                item.offset = node->rects[b].low;
            }
            if (item.range.count > 0) problem.items[problem.count++] = item;
        }
    }
    uint64_t used;
    PackOptions pack_options = {.steps = search_steps(options, count, spilled),
                                .seed = options->seed,
                                .deadline = options->deadline};
    if (pack(&problem, pack_options, &scratch, &used) == PACK_FOUND) {
        take_places(round, problem.items, arena);
        round->placed = true;
    }
    arena_free(&scratch);
}

/* Steps of repair: for each edge of the graph, and beside that for each node up to a limit. */
static uint64_t repair_steps(const Round *round) {
    enum { PER_EDGE = 10, PER_NODE = 10000, MOST = 4000000 };
    uint64_t own = (uint64_t)PER_NODE * round->nodes.count;
    return (own < MOST ? own : MOST) + PER_EDGE * round->graph.edges;
}

/* Whether a placement leaves less out than the best so far. */
static bool is_better(const Placement *placement, const Placement *best) {
    if (!best->rects) return true;
    if (placement->score != best->score) return placement->score < best->score;
    return placement->nfailed < best->nfailed;
}

/* The highest nodes first: what a stack says little about packs best so. */
static NodeStack by_height(const Nodes *nodes, Arena *arena) {
    SortKey *order = RAW_ARRAY(arena, SortKey, nodes->count);
    NodeStack stack = {.items = RAW_ARRAY(arena, uint32_t, nodes->count)};
    for (uint32_t n = 0; n < nodes->count; n++)
        order[n] = (SortKey){nodes->items[n].height, n};
    sort_keys(order, nodes->count, arena);
    for (uint32_t i = 0; i < nodes->count; i++)
        if (!nodes->items[order[i].id].fixed) stack.items[stack.count++] = order[i].id;
    return stack;
}

static void try_stack(const Options *options, NodeStack stack, const Axis *axis, Arena *arena,
                      Round *round) {
    Placement placement =
        options->allocator == ALLOCATOR_FLAT
            ? select_places_flat(&round->nodes, &round->graph, axis, &stack, arena)
            : select_places(&round->nodes, &round->graph, axis, &stack, arena);
    if (placement.nfailed > 0 && options->effort >= 1 && round->pressure.peak <= axis->size)
        repair(&round->nodes, &round->graph, axis, repair_steps(round), &placement, arena);
    if (!is_better(&placement, &round->placement)) return;
    round->placement = placement;
    round->placed = placement.nfailed == 0;
}

static void try_other_metrics(const Options *options, const Axis *axis, Arena *arena,
                              Round *round) {
    enum { METRICS = 3 };
    for (int i = 1; i < METRICS && !round->placed; i++)
        try_stack(
            options,
            simplify(&round->nodes, &round->graph, axis, (options->metric + i) % METRICS, arena),
            axis, arena, round);
}

/* Once something is spilled nearly every node is hard to place, and a stack says little: large
 * functions are placed by height alone. */
static void colour_spilled(const Options *options, const Axis *axis, Arena *arena, Round *round) {
    round->stack = simplify(&round->nodes, &round->graph, axis, options->metric, arena);
    if (round->nodes.count <= MOST_SEARCHED) try_stack(options, round->stack, axis, arena, round);
    if (!round->placed) try_stack(options, by_height(&round->nodes, arena), axis, arena, round);
    if (round->nodes.count <= FEW_NODES) try_other_metrics(options, axis, arena, round);
    bool nearly = round->placement.nfailed <= FEW_FAILED && round->nodes.count <= MOST_SEARCHED;
    if (!round->placed && options->effort >= 2 && nearly && round->pressure.peak <= axis->size)
        search_round(options, axis->size, true, arena, round);
}

void colour_round(const Options *options, uint32_t size, bool spilled, Arena *arena, Round *round) {
    Axis axis = axis_make(size);
    round->graph = build(&round->nodes, arena);
    if (spilled && options->effort >= 1) {
        colour_spilled(options, &axis, arena, round);
        return;
    }
    round->stack = simplify(&round->nodes, &round->graph, &axis, options->metric, arena);
    try_stack(options, round->stack, &axis, arena, round);
    if (!round->placed && options->effort >= 1)
        try_stack(options, by_height(&round->nodes, arena), &axis, arena, round);
    if (!round->placed && options->effort >= 2 && round->pressure.peak <= size)
        search_round(options, size, spilled, arena, round);
    if (options->effort >= 1) try_other_metrics(options, &axis, arena, round);
}
