#include "place/placement.h"

#include <string.h>

#include "place/overlap.h"

Placement placement_of_fixed(const Nodes *nodes, Arena *arena) {
    Placement placement = {.rects = NEW_ARRAY(arena, Rect *, nodes->count),
                           .failed = RAW_ARRAY(arena, uint32_t, nodes->count)};
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        if (!node->fixed) continue;
        placement.rects[n] = RAW_ARRAY(arena, Rect, node->blocks);
        memcpy(placement.rects[n], node->rects, node->blocks * sizeof(Rect));
    }
    return placement;
}

void placement_fail(Placement *placement, const Nodes *nodes, uint32_t n) {
    placement->failed[placement->nfailed++] = n;
    placement->score += nodes->items[n].cost;
}

static bool both_fixed(void *context, const PlacedInterval *earlier, const PlacedInterval *later) {
    const Nodes *const *nodes = context;
    return (*nodes)->items[earlier->owner].fixed && (*nodes)->items[later->owner].fixed;
}

/* Blocks of one node may overlap too, and pairs of blocks may be too many: only the sweep will do.
 */
static bool sweep_is_clean(const Nodes *nodes, const Placement *placement) {
    Arena scratch;
    arena_init(&scratch);
    PlacedInterval *placed = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t n = 0; n < nodes->count; n++)
        for (uint32_t b = 0; placement->rects[n] && b < nodes->items[n].blocks; b++) {
            LiveRange range = node_block_range(&nodes->items[n], b);
            for (uint32_t i = 0; i < range.count; i++) {
                PlacedInterval one = {range.items[i], placement->rects[n][b], n};
                PUSH(&scratch, placed, count, capacity, one);
            }
        }
    bool legal = check_overlaps(placed, count, both_fixed, &nodes);
    arena_free(&scratch);
    return legal;
}

/* The same for nodes of one block. */
static bool edges_are_clean(const Nodes *nodes, const Graph *graph, const Placement *placement) {
    Arena scratch;
    arena_init(&scratch);
    Rect *rects = NEW_ARRAY(&scratch, Rect, nodes->count);
    for (uint32_t n = 0; n < nodes->count; n++)
        if (placement->rects[n]) rects[n] = placement->rects[n][0];
    bool clean = true;
    for (uint32_t n = 0; n < nodes->count; n++) {
        uint32_t m;
        for (NeighbourWalk walk = neighbours_of(graph, n); next_neighbour(&walk, &m);)
            if (m > n && rects_meet(rects[n], rects[m]))
                clean &= nodes->items[n].fixed && nodes->items[m].fixed;
    }
    arena_free(&scratch);
    return clean;
}

bool placement_is_legal(const Nodes *nodes, const Graph *graph, const Placement *placement) {
    for (uint32_t n = 0; n < nodes->count; n++)
        if (nodes->items[n].blocks > 1 || !graph->built) return sweep_is_clean(nodes, placement);
    return edges_are_clean(nodes, graph, placement);
}
