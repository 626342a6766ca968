#include "place/select_flat.h"

#include <assert.h>

#include "place/first_fit.h"

typedef struct {
    const Nodes *nodes;
    const Graph *graph;
    uint32_t size;
    Placement *placement;
    Arena scratch; /* of one node */
    Rect *taken;   /* what the block at hand may not overlap, sorted by low */
    uint32_t ntaken;
    size_t capacity; /* of taken */
} SelectFlat;

/* Collects what conflicts with a block: placed neighbours, and its own node's earlier blocks. */
static void gather(SelectFlat *pass, uint32_t n, uint32_t block, const Rect *own) {
    const Node *node = &pass->nodes->items[n];
    arena_reset(&pass->scratch);
    pass->taken = NULL;
    pass->capacity = 0;
    size_t count = 0;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(pass->graph, n); next_neighbour(&walk, &m);) {
        const Node *other = &pass->nodes->items[m];
        for (uint32_t b = 0; pass->placement->rects[m] && b < other->blocks; b++)
            if (blocks_meet(node, block, other, b))
                PUSH(&pass->scratch, pass->taken, count, pass->capacity,
                     pass->placement->rects[m][b]);
    }
    for (uint32_t b = 0; b < block; b++)
        if (blocks_meet(node, block, node, b))
            PUSH(&pass->scratch, pass->taken, count, pass->capacity, own[b]);
    pass->ntaken = (uint32_t)count;
    sort_by_low(pass->taken, pass->ntaken, &pass->scratch);
}

static bool place_node(SelectFlat *pass, uint32_t n, Rect *rects) {
    const Node *node = &pass->nodes->items[n];
    for (uint32_t b = 0, end; b < node->blocks; b = end) {
        end = node_alike_end(node, b);
        gather(pass, n, b, rects);
        RectList taken = {pass->taken, pass->ntaken}, alike = {rects + b, end - b};
        if (!first_fit_all(&taken, shape_of(node), pass->size, &alike)) return false;
    }
    return true;
}

Placement select_flat(const Nodes *nodes, const Graph *graph, const Axis *axis,
                      const NodeStack *stack, Arena *arena) {
    Placement placement = placement_of_fixed(nodes, arena);
    SelectFlat pass = {.nodes = nodes, .graph = graph, .size = axis->size, .placement = &placement};
    for (uint32_t i = stack->count; i-- > 0;) {
        uint32_t n = stack->items[i];
        if (n == SENTINEL) continue;
        assert(!placement.rects[n]);
        Rect *rects = RAW_ARRAY(arena, Rect, nodes->items[n].blocks);
        if (place_node(&pass, n, rects))
            placement.rects[n] = rects;
        else
            placement_fail(&placement, nodes, n);
    }
    arena_free(&pass.scratch);
    return placement;
}
