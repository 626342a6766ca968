#include "driver/occupancy.h"

#include "analysis/partners.h"
#include "analysis/pressure.h"
#include "spill/time/place_cells.h"
#include "support/sort.h"

/* ---- ranges ---- */

/* The function with what is placed as fixed. */
static const Func *with_fixed(const Func *func, Arena *arena) {
    Func *fixed = NEW(arena, Func);
    *fixed = *func;
    fixed->tensors = RAW_ARRAY(arena, Tensor, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        fixed->tensors[t] = func->tensors[t];
        fixed->tensors[t].fixed = func->tensors[t].space == SPACE_SB && func->tensors[t].at;
    }
    return fixed;
}

static bool lay_out_in_time(Occupancy *all, Arena *arena) {
    TimeOptions options = {.full = 30000,
                           .most_points = 2000000,
                           .most_accesses = 16000000,
                           .remat = all->of->remat,
                           .keeps_loads = true};
    TimeFacts *facts = &all->facts;
    if (all->func->nloops == 0 ||
        !find_cell_facts(all->func, all->of->target, options, arena, facts))
        return false;
    all->nodes = cell_nodes(facts, all_gaps(facts, arena), arena);
    return true;
}

static void find_ranges(Occupancy *all, Arena *arena) {
    all->in_time = lay_out_in_time(all, arena);
    if (!all->in_time) all->nodes = renumber(all->func, all->of->live, NULL, arena);
}

/* ---- what is needed ---- */

/* One fixed block as a node of its own. */
static Node node_of_block(const Node *node, uint32_t block) {
    Node one = *node;
    one.blocks = 1;
    one.rects = &node->rects[block];
    one.height = one.rects->high - one.rects->low;
    one.range = node_block_range(node, block);
    one.block_ranges = NULL;
    return one;
}

/* The order of rectangles on the chip: those that are the same are neighbours. */
static const uint32_t *order_by_place(const Node *items, uint32_t count, Arena *arena) {
    enum { KEYS = 3 };
    uint64_t *rows = RAW_ARRAY(arena, uint64_t, (size_t)KEYS * count);
    uint32_t *order = RAW_ARRAY(arena, uint32_t, count);
    for (uint32_t n = 0; n < count; n++) {
        Rect rect = *items[n].rects;
        uint64_t *row = &rows[(size_t)KEYS * n];
        row[0] = rect.low;
        row[1] = rect.high;
        row[2] = rect.mask;
        order[n] = n;
    }
    sort_rows(rows, KEYS, order, count, arena);
    return order;
}

/* Joins the ranges of items that are one rectangle, pairs of neighbours at a time so that each
 * interval is looked at O(log items) times. */
static LiveRange join_all(const Node *items, const uint32_t *order, uint32_t count, Arena *arena) {
    LiveRange *ranges = RAW_ARRAY(arena, LiveRange, count);
    for (uint32_t i = 0; i < count; i++)
        ranges[i] = items[order[i]].range;
    for (; count > 1; count = (count + 1) / 2)
        for (uint32_t i = 0; i < count; i += 2)
            ranges[i / 2] = i + 1 < count ? live_union(ranges[i], ranges[i + 1], arena) : ranges[i];
    return ranges[0];
}

/* What lies at one place takes room once: the two ends of a copy that does nothing. */
static Nodes share_places(const Nodes *nodes, Arena *arena) {
    Nodes shared = {.items = RAW_ARRAY(arena, Node, nodes_blocks(nodes)),
                    .npoints = nodes->npoints};
    Node *fixed = RAW_ARRAY(arena, Node, nodes_blocks(nodes));
    uint32_t nfixed = 0;
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        if (!node->fixed) shared.items[shared.count++] = *node;
        for (uint32_t b = 0; node->fixed && b < node->blocks; b++)
            fixed[nfixed++] = node_of_block(node, b);
    }
    const uint32_t *order = order_by_place(fixed, nfixed, arena);
    for (uint32_t i = 0, end; i < nfixed; i = end) {
        Node one = fixed[order[i]];
        for (end = i + 1; end < nfixed && rects_same(*one.rects, *fixed[order[end]].rects) &&
                          one.rects->high == fixed[order[end]].rects->high;)
            end++;
        one.range = join_all(fixed, &order[i], end - i, arena);
        shared.items[shared.count++] = one;
    }
    return shared;
}

/* Leaves out what is written by copies that may do nothing. Of what is left no two could have one
 * place: they hold values of their own where both live. */
static void leave_out_copied(Occupancy *all, Arena *arena) {
    bool *copied = NEW_ARRAY(arena, bool, all->func->ntensors);
    for (uint32_t p = 0; p < all->func->ninsts; p++) {
        const Inst *inst = &all->func->insts[p];
        if (copy_is_elidable(all->func, inst)) copied[inst_dst(inst)->tensor] = true;
    }
    for (uint32_t n = 0; n < all->nodes.count; n++) {
        Node *node = &all->nodes.items[n];
        if (!copied[node->tensor]) continue;
        node->range = (LiveRange){NULL, 0};
        node->block_ranges = NULL;
    }
}

static void find_needs(Occupancy *all, Arena *arena) {
    Arena scratch;
    arena_init(&scratch);
    Nodes shared = share_places(&all->nodes, &scratch);
    Pressure pressure = find_pressure(&shared, &scratch);
    all->needs = quadrant_needs(&shared, &pressure, arena);
    uint32_t most = 0;
    for (uint32_t p = 0; p < shared.npoints; p++) {
        if (all->needs[p] <= most) continue;
        most = all->needs[p];
        all->peak = p;
    }
    arena_free(&scratch);
}

uint32_t *needs_of_insts(const Occupancy *all, Arena *arena) {
    uint32_t *most = NEW_ARRAY(arena, uint32_t, all->func->ninsts);
    for (uint32_t p = 0; p < all->nodes.npoints; p++) {
        uint32_t *one = &most[occupied_inst(all, p)];
        if (all->needs[p] > *one) *one = all->needs[p];
    }
    return most;
}

Occupancy find_occupancy(const PeakOf *of, Arena *arena) {
    Occupancy all = {.of = of, .func = of->func, .peak = UINT32_MAX};
    if (of->placed) all.func = with_fixed(of->func, arena);
    find_ranges(&all, arena);
    if (of->least) leave_out_copied(&all, arena);
    find_needs(&all, arena);
    return all;
}
