#include "place/select_flat.h"

#include "support/sort.h"

/* Granules [low, high) that somebody has. */
typedef struct {
    uint32_t low, high;
} Reserved;

/* Those of one quadrant, by low; they may overlap. */
typedef struct {
    Reserved *items;
    size_t count, capacity;
} Reservations;

typedef struct {
    const Nodes *nodes;
    const Graph *graph;
    uint32_t size;
    Placement *placement;
    Arena scratch; /* of one node */
    Reservations reservations[QUADRANTS];
} Flat;

static void reserve(Flat *flat, Rect rect) {
    for (int q = 0; q < QUADRANTS; q++) {
        if (!(rect.mask & (1 << q))) continue;
        Reservations *list = &flat->reservations[q];
        Reserved taken = {rect.low, rect.high};
        PUSH(&flat->scratch, list->items, list->count, list->capacity, taken);
    }
}

static void sort_reservations(Flat *flat) {
    for (int q = 0; q < QUADRANTS; q++) {
        Reservations *list = &flat->reservations[q];
        SortKey *order = RAW_ARRAY(&flat->scratch, SortKey, list->count);
        for (uint32_t i = 0; i < list->count; i++)
            order[i] = (SortKey){list->items[i].low, i};
        sort_keys(order, list->count, &flat->scratch);
        Reserved *sorted = RAW_ARRAY(&flat->scratch, Reserved, list->count);
        for (uint32_t i = 0; i < list->count; i++)
            sorted[i] = list->items[order[i].id];
        list->items = sorted;
        list->capacity = list->count;
    }
}

/* What stands where the block may not, its own node's earlier blocks included. */
static void gather(Flat *flat, uint32_t n, uint32_t block, const Rect *own) {
    const Node *node = &flat->nodes->items[n];
    arena_reset(&flat->scratch);
    for (int q = 0; q < QUADRANTS; q++)
        flat->reservations[q] = (Reservations){0};
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(flat->graph, n); next_neighbour(&walk, &m);) {
        const Node *other = &flat->nodes->items[m];
        for (uint32_t b = 0; flat->placement->rects[m] && b < other->blocks; b++)
            if (blocks_meet(node, block, other, b)) reserve(flat, flat->placement->rects[m][b]);
    }
    for (uint32_t b = 0; b < block; b++)
        if (blocks_meet(node, block, node, b)) reserve(flat, own[b]);
    sort_reservations(flat);
}

/* The lowest offset in a band, past the end where there is none: each quadrant in turn pushes it up
 * to where none of its reservations is in the way. */
static uint64_t lowest_in_band(const Flat *flat, const Node *node, uint8_t band) {
    size_t at[QUADRANTS] = {0};
    uint64_t offset = 0;
    for (bool moved = true; moved && offset + node->height <= flat->size;) {
        moved = false;
        for (int q = 0; q < QUADRANTS; q++) {
            const Reservations *list = &flat->reservations[q];
            if (!(band & (1 << q))) continue;
            for (; at[q] < list->count && list->items[at[q]].low < offset + node->height; at[q]++) {
                if (list->items[at[q]].high <= offset) continue;
                offset = ((uint64_t)list->items[at[q]].high + node->align - 1) / node->align *
                         node->align;
                moved = true;
            }
        }
    }
    return offset;
}

static bool place_block(const Flat *flat, const Node *node, Rect *rect) {
    Bands bands = class_bands(node->class);
    bool found = false;
    for (int b = 0; b < bands.count; b++) {
        uint64_t offset = lowest_in_band(flat, node, bands.masks[b]);
        if (offset + node->height > flat->size || (found && offset >= rect->low)) continue;
        *rect = (Rect){(uint32_t)offset, (uint32_t)offset + node->height, bands.masks[b]};
        found = true;
    }
    return found;
}

static bool place_node(Flat *flat, uint32_t n, Rect *rects) {
    const Node *node = &flat->nodes->items[n];
    for (uint32_t b = 0; b < node->blocks; b++) {
        if (b == 0 || node->block_ranges) {
            gather(flat, n, b, rects);
        } else {
            reserve(flat, rects[b - 1]);
            sort_reservations(flat);
        }
        if (!place_block(flat, node, &rects[b])) return false;
    }
    return true;
}

Placement select_places_flat(const Nodes *nodes, const Graph *graph, const Axis *axis,
                             const NodeStack *stack, Arena *arena) {
    Placement placement = {.rects = NEW_ARRAY(arena, Rect *, nodes->count),
                           .failed = RAW_ARRAY(arena, uint32_t, nodes->count)};
    Flat flat = {.nodes = nodes, .graph = graph, .size = axis->size, .placement = &placement};
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        if (!node->fixed) continue;
        placement.rects[n] = RAW_ARRAY(arena, Rect, node->blocks);
        for (uint32_t b = 0; b < node->blocks; b++)
            placement.rects[n][b] = node->rects[b];
    }
    for (uint32_t i = stack->count; i-- > 0;) {
        uint32_t n = stack->items[i];
        if (n == SENTINEL) continue;
        Rect *rects = RAW_ARRAY(arena, Rect, nodes->items[n].blocks);
        if (place_node(&flat, n, rects)) {
            placement.rects[n] = rects;
        } else {
            placement.failed[placement.nfailed++] = n;
            placement.score += nodes->items[n].cost;
        }
    }
    arena_free(&flat.scratch);
    return placement;
}
