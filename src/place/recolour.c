#include "place/recolour.h"

#include <string.h>

#include "analysis/interfere.h"
#include "analysis/partners.h"
#include "support/sort.h"

typedef struct {
    Func *func;
    Nodes nodes;
    Graph graph;
    bool *frozen; /* [nodes] it shares the place of a partner and keeps it */
} Recolour;

static bool same_places(const Tensor *a, const Tensor *b) {
    for (int64_t i = 0; i < a->blocks; i++)
        if (a->at[i].partition != b->at[i].partition || a->at[i].byte != b->at[i].byte)
            return false;
    return true;
}

/* True if the tensor may have those places. */
static bool may_have(const Tensor *tensor, const Place *places) {
    for (int64_t b = 0; b < tensor->blocks; b++)
        if (places[b].byte % tensor->align != 0 ||
            (tensor->base >= 0 && places[b].partition != tensor->base))
            return false;
    return true;
}

/* A block at the place that it would have. */
typedef struct {
    LiveRange range;
    Rect rect;
} MovedBlock;

/* True if the block overlaps a block of the other, at those places, without `except`. */
static bool overlaps(const Recolour *pass, MovedBlock block, const Node *other, const Place *places,
                     uint32_t except) {
    const Tensor *tensor = &pass->func->tensors[other->tensor];
    for (uint32_t b = 0; b < other->blocks; b++)
        if (b != except && rects_meet(block.rect, tensor_rect(tensor, places[b])) &&
            live_overlap(block.range, node_block_range(other, b)))
            return true;
    return false;
}

/* True if node n can have those places, which are its partner's: each block may overlap the same
 * block of the partner. */
static bool is_free(const Recolour *pass, uint32_t n, uint32_t partner, const Place *places) {
    const Node *node = &pass->nodes.items[n];
    const Tensor *tensors = pass->func->tensors;
    for (uint32_t b = 0; b < node->blocks; b++) {
        MovedBlock block = {node_block_range(node, b),
                            tensor_rect(&tensors[node->tensor], places[b])};
        if (overlaps(pass, block, node, places, b)) return false;
        uint32_t m;
        for (NeighbourWalk walk = neighbours_of(&pass->graph, n); next_neighbour(&walk, &m);) {
            const Node *other = &pass->nodes.items[m];
            uint32_t except = m == partner ? b : UINT32_MAX;
            if (overlaps(pass, block, other, tensors[other->tensor].at, except)) return false;
        }
    }
    return true;
}

/* Moves node n to the place of its partner. */
static bool move(Recolour *pass, uint32_t n, uint32_t partner) {
    Tensor *tensor = &pass->func->tensors[pass->nodes.items[n].tensor];
    const Place *places = pass->func->tensors[pass->nodes.items[partner].tensor].at;
    if (tensor->fixed || pass->frozen[n] || !may_have(tensor, places) ||
        !is_free(pass, n, partner, places))
        return false;
    tensor->at = places;
    pass->frozen[n] = pass->frozen[partner] = true;
    return true;
}

/* Freezes partners that share a place already. */
static void freeze_shared(Recolour *pass, const Partners *partners) {
    for (uint32_t i = 0; i < partners->count; i++) {
        Partner partner = partners->items[i];
        const Tensor *tensors = pass->func->tensors;
        if (same_places(&tensors[pass->nodes.items[partner.dst].tensor],
                        &tensors[pass->nodes.items[partner.src].tensor]))
            pass->frozen[partner.dst] = pass->frozen[partner.src] = true;
    }
}

static uint32_t recolour_all(Recolour *pass, const Partners *partners, Arena *scratch) {
    SortKey *order = RAW_ARRAY(scratch, SortKey, partners->count);
    for (uint32_t i = 0; i < partners->count; i++) {
        uint32_t loop = pass->func->insts[partners->items[i].inst].loop;
        uint32_t depth = loop == NO_LOOP ? 0 : pass->func->loops[loop].depth + 1;
        order[i] = (SortKey){UINT32_MAX - depth, i};
    }
    sort_keys(order, partners->count, scratch);
    uint32_t moved = 0;
    for (uint32_t i = 0; i < partners->count; i++) {
        Partner partner = partners->items[order[i].id];
        const Tensor *tensors = pass->func->tensors;
        if (!same_places(&tensors[pass->nodes.items[partner.dst].tensor],
                         &tensors[pass->nodes.items[partner.src].tensor]))
            moved += move(pass, partner.dst, partner.src) || move(pass, partner.src, partner.dst);
    }
    return moved;
}

uint32_t recolour(Func *func, Arena *arena) {
    bool any = false;
    for (uint32_t p = 0; p < func->ninsts && !any; p++)
        any = copy_is_elidable(func, &func->insts[p]);
    if (!any) return 0;
    Live live = live_range(func, arena);
    Recolour pass = {.func = func, .nodes = renumber(func, &live, NULL, arena)};
    Handing handing = find_handing(func, &pass.nodes, arena);
    Partners partners = find_partners(&handing, arena);
    if (partners.count == 0) return 0;
    pass.graph = build(&pass.nodes, arena);
    pass.frozen = NEW_ARRAY(arena, bool, pass.nodes.count);
    freeze_shared(&pass, &partners);
    return recolour_all(&pass, &partners, arena);
}
