#include "spill/transfer.h"

#include <assert.h>
#include <string.h>

#include "place/first_fit.h"
#include "place/overlap.h"
#include "support/sort.h"

typedef struct TransferredPlace {
    uint64_t identity;
    const Rect *rects;
    uint32_t blocks;
} TransferredPlace;

/* The tensor above, below the copy's first access plus one; 0 where it is the tensor itself. */
static uint64_t identity_of(const Rewritten *rewritten, uint32_t tensor) {
    uint64_t origin = (uint64_t)rewritten->origin[tensor] << 32;
    return rewritten->role[tensor] == ROLE_COPY ? origin | (rewritten->first_access[tensor] + 1)
                                                : origin;
}

Transfer transfer_note(const Rewritten *code, const Round *round, const uint32_t *root,
                       Arena *arena) {
    const Nodes *nodes = &round->nodes;
    SortKey *order = RAW_ARRAY(arena, SortKey, nodes->count);
    for (uint32_t n = 0; n < nodes->count; n++)
        order[n] = (SortKey){identity_of(code, nodes->items[n].tensor), n};
    sort_keys(order, nodes->count, arena);
    Transfer transfer = {RAW_ARRAY(arena, TransferredPlace, nodes->count), 0};
    for (uint32_t i = 0; i < nodes->count; i++) {
        uint32_t n = order[i].id, blocks = nodes->items[n].blocks;
        const Rect *rects = round->placement.rects[root ? root[n] : n];
        if (!rects) continue;
        Rect *kept = RAW_ARRAY(arena, Rect, blocks);
        memcpy(kept, rects, blocks * sizeof(Rect));
        transfer.items[transfer.count++] = (TransferredPlace){order[i].key, kept, blocks};
    }
    return transfer;
}

TransferList transfer_begin(uint32_t most, Arena *arena) {
    return (TransferList){{RAW_ARRAY(arena, TransferredPlace, most), 0}};
}

void transfer_access(TransferList *list, uint32_t tensor, uint32_t access, const Rect *rect) {
    list->transfer.items[list->transfer.count++] =
        (TransferredPlace){(uint64_t)tensor << 32 | (access + 1), rect, 1};
}

void transfer_node(TransferList *list, const Rewritten *code, const Node *node, const Rect *rects) {
    list->transfer.items[list->transfer.count++] =
        (TransferredPlace){identity_of(code, node->tensor), rects, node->blocks};
}

Transfer transfer_committed(const Rewritten *code, Arena *arena) {
    const Func *func = code->func;
    TransferList list = transfer_begin(func->ntensors, arena);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        if (tensor->space != SPACE_SB || !tensor->at) continue;
        Rect *rects = RAW_ARRAY(arena, Rect, tensor->blocks);
        for (int64_t b = 0; b < tensor->blocks; b++)
            rects[b] = tensor_rect(tensor, tensor->at[b]);
        list.transfer.items[list.transfer.count++] =
            (TransferredPlace){identity_of(code, t), rects, (uint32_t)tensor->blocks};
    }
    return transfer_end(&list, arena);
}

Transfer transfer_end(TransferList *list, Arena *arena) {
    uint32_t count = list->transfer.count;
    SortKey *order = RAW_ARRAY(arena, SortKey, count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = (SortKey){list->transfer.items[i].identity, i};
    sort_keys(order, count, arena);
    Transfer transfer = {RAW_ARRAY(arena, TransferredPlace, count), count};
    for (uint32_t i = 0; i < count; i++)
        transfer.items[i] = list->transfer.items[order[i].id];
    return transfer;
}

/* The last place of the tensor at or before the identity, else the first behind it. */
static const TransferredPlace *find_place(const Transfer *transfer, uint64_t identity) {
    uint32_t low = 0, high = transfer->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (transfer->items[middle].identity <= identity)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && transfer->items[low - 1].identity >> 32 == identity >> 32)
        return &transfer->items[low - 1];
    bool behind = low < transfer->count && transfer->items[low].identity >> 32 == identity >> 32;
    return behind ? &transfer->items[low] : NULL;
}

static const Rect *find_rects(const Transfer *transfer, uint64_t identity, uint32_t blocks) {
    const TransferredPlace *place = find_place(transfer, identity);
    return place && place->blocks == blocks ? place->rects : NULL;
}

const Rect *transfer_find_access(const Transfer *transfer, uint32_t tensor, uint32_t access) {
    return find_rects(transfer, (uint64_t)tensor << 32 | (access + 1), 1);
}

const Rect *transfer_find_node(const Transfer *transfer, const Rewritten *code, const Node *node) {
    return find_rects(transfer, identity_of(code, node->tensor), node->blocks);
}

static bool overlap_in_place(const Round *round, uint32_t n, uint32_t m) {
    return nodes_meet(&round->nodes.items[n], round->placement.rects[n], &round->nodes.items[m],
                      round->placement.rects[m]);
}

static bool never(void *context, const PlacedInterval *earlier, const PlacedInterval *later) {
    (void)context, (void)earlier, (void)later;
    return false;
}

/* True if two blocks of one node that are live together overlap in place. */
static bool overlaps_itself(const Round *round, uint32_t n, Arena *scratch) {
    const Node *node = &round->nodes.items[n];
    if (node->blocks == 1) return false;
    PlacedInterval *placed = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t b = 0; b < node->blocks; b++) {
        LiveRange range = node_block_range(node, b);
        for (uint32_t i = 0; i < range.count; i++) {
            PlacedInterval one = {range.items[i], round->placement.rects[n][b], b};
            PUSH(scratch, placed, count, capacity, one);
        }
    }
    bool apart = check_overlaps(placed, count, never, NULL);
    arena_reset(scratch);
    return !apart;
}

static void leave_unplaced(Round *round, uint32_t n) {
    Placement *placement = &round->placement;
    placement->rects[n] = NULL;
    placement->failed[placement->nfailed++] = n;
    placement->score += round->nodes.items[n].cost;
}

/* The places of a node: a copy may hold a smaller part of its blocks than before. False where they
 * do not fit. */
static bool take_places(const Node *node, const Rect *rects, Rect *taken) {
    if (node->fixed) {
        memcpy(taken, rects, node->blocks * sizeof *taken);
        return true;
    }
    for (uint32_t b = 0; b < node->blocks; b++)
        if (!fit_in_place(rects[b], shape_of(node), &taken[b])) return false;
    return true;
}

void transfer_places(const Transfer *transfer, const Rewritten *rewritten, Round *round,
                     Arena *arena) {
    assert(round->graph.built);
    Nodes *nodes = &round->nodes;
    round->placement = (Placement){.rects = NEW_ARRAY(arena, Rect *, nodes->count),
                                   .failed = RAW_ARRAY(arena, uint32_t, nodes->count)};
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        const Rect *rects =
            node->fixed ? node->rects : transfer_find_node(transfer, rewritten, node);
        if (!rects) continue;
        Rect *taken = RAW_ARRAY(arena, Rect, node->blocks);
        if (take_places(node, rects, taken)) round->placement.rects[n] = taken;
    }
    Arena scratch;
    arena_init(&scratch);
    for (uint32_t n = 0; n < nodes->count; n++) {
        bool stays = round->placement.rects[n] &&
                     (nodes->items[n].fixed || !overlaps_itself(round, n, &scratch));
        NeighbourWalk walk = neighbours_of(&round->graph, n);
        for (uint32_t m; stays && !nodes->items[n].fixed && next_neighbour(&walk, &m);) {
            bool earlier = m < n || nodes->items[m].fixed;
            if (earlier && round->placement.rects[m] && overlap_in_place(round, n, m))
                stays = false;
        }
        if (!stays) leave_unplaced(round, n);
    }
    arena_free(&scratch);
    round->placed = round->placement.nfailed == 0;
}
