#include "place/recolour.h"

#include <string.h>

#include "analysis/interfere.h"
#include "analysis/partners.h"
#include "support/sort.h"

typedef struct {
    Func *func;
    Nodes nodes;
    Graph graph;
    bool *drawn; /* [nodes] it lies where a partner lies: it stays there */
} Draw;

static bool same_places(const Tensor *a, const Tensor *b) {
    for (int64_t i = 0; i < a->blocks; i++)
        if (a->at[i].partition != b->at[i].partition || a->at[i].byte != b->at[i].byte)
            return false;
    return true;
}

/* True if the tensor may stand at those places by itself. */
static bool may_stand(const Tensor *tensor, const Place *places) {
    for (int64_t b = 0; b < tensor->blocks; b++)
        if (places[b].byte % tensor->align != 0 ||
            (tensor->base >= 0 && places[b].partition != tensor->base))
            return false;
    return true;
}

/* True if a block of `node`, at `rect`, meets a block of the other but `except`. */
static bool meets(const Draw *draw, const Node *node, uint32_t block, Rect rect, const Node *other,
                  const Place *places, uint32_t except) {
    const Tensor *tensor = &draw->func->tensors[other->tensor];
    for (uint32_t b = 0; b < other->blocks; b++)
        if (b != except && rects_meet(rect, tensor_rect(tensor, places[b])) &&
            live_overlap(node_block_range(node, block), node_block_range(other, b)))
            return true;
    return false;
}

/* True if those places, its partner's, are free for node n: its partner may be in its own place for
 * each block. */
static bool is_free(const Draw *draw, uint32_t n, uint32_t partner, const Place *places) {
    const Node *node = &draw->nodes.items[n];
    const Tensor *tensor = &draw->func->tensors[node->tensor];
    for (uint32_t b = 0; b < node->blocks; b++) {
        Rect rect = tensor_rect(tensor, places[b]);
        if (meets(draw, node, b, rect, node, places, b)) return false;
        uint32_t m;
        for (NeighbourWalk walk = neighbours_of(&draw->graph, n); next_neighbour(&walk, &m);) {
            const Node *other = &draw->nodes.items[m];
            if (meets(draw, node, b, rect, other, draw->func->tensors[other->tensor].at,
                      m == partner ? b : UINT32_MAX))
                return false;
        }
    }
    return true;
}

/* Moves node n to where its partner lies. */
static bool move(Draw *draw, uint32_t n, uint32_t partner) {
    Tensor *tensor = &draw->func->tensors[draw->nodes.items[n].tensor];
    const Place *places = draw->func->tensors[draw->nodes.items[partner].tensor].at;
    if (tensor->fixed || draw->drawn[n] || !may_stand(tensor, places) ||
        !is_free(draw, n, partner, places))
        return false;
    tensor->at = places;
    draw->drawn[n] = draw->drawn[partner] = true;
    return true;
}

/* Partners that lie together already stay so. */
static void note_drawn(Draw *draw, const Partners *partners) {
    for (uint32_t i = 0; i < partners->count; i++) {
        Partner partner = partners->items[i];
        const Tensor *tensors = draw->func->tensors;
        if (same_places(&tensors[draw->nodes.items[partner.dst].tensor],
                        &tensors[draw->nodes.items[partner.src].tensor]))
            draw->drawn[partner.dst] = draw->drawn[partner.src] = true;
    }
}

static uint32_t draw_all(Draw *draw, const Partners *partners, Arena *scratch) {
    SortKey *order = RAW_ARRAY(scratch, SortKey, partners->count);
    for (uint32_t i = 0; i < partners->count; i++) {
        uint32_t loop = draw->func->insts[partners->items[i].inst].loop;
        uint32_t depth = loop == NO_LOOP ? 0 : draw->func->loops[loop].depth + 1;
        order[i] = (SortKey){UINT32_MAX - depth, i};
    }
    sort_keys(order, partners->count, scratch);
    uint32_t moved = 0;
    for (uint32_t i = 0; i < partners->count; i++) {
        Partner partner = partners->items[order[i].id];
        const Tensor *tensors = draw->func->tensors;
        if (!same_places(&tensors[draw->nodes.items[partner.dst].tensor],
                         &tensors[draw->nodes.items[partner.src].tensor]))
            moved += move(draw, partner.dst, partner.src) || move(draw, partner.src, partner.dst);
    }
    return moved;
}

uint32_t recolour(Func *func, Arena *arena) {
    bool any = false;
    for (uint32_t p = 0; p < func->ninsts && !any; p++)
        any = copy_is_elidable(func, &func->insts[p]);
    if (!any) return 0;
    Live live = live_range(func, arena);
    Draw draw = {.func = func, .nodes = renumber(func, &live, NULL, arena)};
    Handing handing = find_handing(func, &draw.nodes, arena);
    Partners partners = find_partners(&handing, arena);
    if (partners.count == 0) return 0;
    draw.graph = build(&draw.nodes, arena);
    draw.drawn = NEW_ARRAY(arena, bool, draw.nodes.count);
    note_drawn(&draw, &partners);
    return draw_all(&draw, &partners, arena);
}
