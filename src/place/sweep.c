#include "place/sweep.h"

#include "place/capacity.h"
#include "place/sweep_repair.h"

/* A block that never lives conflicts with nobody. */
static void place_dead(const SweepPass *pass, const Alike *alike) {
    const Node *node = &pass->nodes->items[alike->node];
    Rect rect = {0, node->height, class_bands(node->class).masks[0]};
    for (uint32_t i = 0; i < alike->count; i++)
        pass->placement->rects[alike->node][alike->block + i] = rect;
}

static void add_node(SweepPass *pass, uint32_t n) {
    const Node *node = &pass->nodes->items[n];
    uint32_t step = node->block_ranges ? 1 : node->blocks;
    for (uint32_t b = 0; b < node->blocks; b += step) {
        Alike alike = {n, b, step, NOT_ALIKE};
        LiveRange range = alike_range(pass, &alike);
        if (range.count == 0) {
            place_dead(pass, &alike);
            continue;
        }
        uint64_t first = range.items[0].first;
        pass->order[pass->count] =
            (SortKey){first << 32 | (UINT32_MAX - node->height), (uint32_t)pass->count};
        pass->alike[pass->count++] = alike;
    }
}

/* All that is to be placed, and what is taken throughout. */
static void begin(SweepPass *pass, Arena *arena, Arena *scratch) {
    const Nodes *nodes = pass->nodes;
    size_t most = 0;
    for (uint32_t n = 0; n < nodes->count; n++)
        most += nodes->items[n].block_ranges ? nodes->items[n].blocks : 1;
    pass->alike = RAW_ARRAY(scratch, Alike, most);
    pass->order = RAW_ARRAY(scratch, SortKey, most);
    pass->ending = RAW_ARRAY(scratch, uint32_t, nodes->npoints);
    for (uint32_t p = 0; p < nodes->npoints; p++)
        pass->ending[p] = NOT_ALIKE;
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        for (uint32_t b = 0; node->fixed && b < node->blocks; b++) {
            Rect rect = node->rects[b];
            if (rect.high > pass->size) rect.high = pass->size;
            if (rect.low < rect.high) free_map_take(&pass->map, rect);
        }
        if (node->fixed) continue;
        pass->placement->rects[n] = RAW_ARRAY(arena, Rect, node->blocks);
        add_node(pass, n);
    }
    sort_keys(pass->order, pass->count, scratch);
}

/* The lowest place of `height` in any band of a node of full height; the highest one of others, so
 * that quadrants are not taken from what stays free in all. */
static bool find_place(const SweepPass *pass, const Node *node, uint32_t height, Rect *best) {
    Bands bands = class_bands(node->class);
    bool found = false, highest = node->class != CLASS_FULL;
    for (int b = 0; b < bands.count; b++) {
        Rect rect = {0, height, bands.masks[b]};
        if (!free_map_find(&pass->map, node->align, highest, &rect)) continue;
        if (!found || (highest ? rect.low > best->low : rect.low < best->low)) *best = rect;
        found = true;
    }
    return found;
}

/* Places blocks on each other, as many at a time as there is room for. */
static bool place_alike(SweepPass *pass, const Alike *alike) {
    const Node *node = &pass->nodes->items[alike->node];
    Rect *rects = pass->placement->rects[alike->node] + alike->block;
    uint32_t step = (uint32_t)align_up(node->height, node->align);
    for (uint32_t done = 0, pile = alike->count; done < alike->count;) {
        if (pile > alike->count - done) pile = alike->count - done;
        uint64_t height = (uint64_t)step * (pile - 1) + node->height;
        Rect rect;
        if (height > pass->map.span || !find_place(pass, node, (uint32_t)height, &rect)) {
            if (pile == 1) return false;
            pile /= 2;
            continue;
        }
        free_map_take(&pass->map, rect);
        for (uint32_t i = 0; i < pile; i++, rect.low += step)
            rects[done++] = (Rect){rect.low, rect.low + node->height, rect.mask};
    }
    return true;
}

/* Gives blocks back, those that touch each other at once. */
static void give_back(SweepPass *pass, const Alike *alike) {
    const Rect *rects = pass->placement->rects[alike->node] + alike->block;
    Rect rect = rects[0];
    for (uint32_t i = 1; i < alike->count; i++) {
        if (rects[i].low == rect.high && rects[i].mask == rect.mask) {
            rect.high = rects[i].high;
            continue;
        }
        free_map_give(&pass->map, rect);
        rect = rects[i];
    }
    free_map_give(&pass->map, rect);
}

static bool place_in_order(SweepPass *pass) {
    uint32_t point = 0;
    for (size_t i = 0; i < pass->count; i++) {
        Alike *alike = &pass->alike[pass->order[i].id];
        LiveRange range = alike_range(pass, alike);
        for (; point < range.items[0].first; point++)
            for (uint32_t e = pass->ending[point]; e != NOT_ALIKE; e = pass->alike[e].next)
                give_back(pass, &pass->alike[e]);
        if (!place_alike(pass, alike) && !sweep_repair(pass, i)) return false;
        uint32_t last = range.items[range.count - 1].last;
        if (last > pass->reach) pass->reach = last;
        alike->next = pass->ending[last];
        pass->ending[last] = pass->order[i].id;
    }
    return true;
}

bool sweep(const Nodes *nodes, uint32_t size, Placement *placement, Arena *arena) {
    enum { LEAST_REPAIRS = 256, FOR_A_REPAIR = 64 };
    Arena scratch, memory;
    arena_init(&scratch);
    arena_init(&memory);
    *placement = placement_of_fixed(nodes, arena);
    SweepPass pass = {
        .nodes = nodes, .size = size, .map = free_map_make(size, &memory), .placement = placement};
    begin(&pass, arena, &scratch);
    pass.repairs = LEAST_REPAIRS + pass.count / FOR_A_REPAIR;
    bool placed = place_in_order(&pass);
    arena_free(&scratch);
    arena_free(&memory);
    return placed;
}
