#include "driver/carry.h"

#include <string.h>

#include "place/overlap.h"
#include "support/sort.h"

typedef struct CarriedPlace {
    uint64_t identity;
    const Rect *rects;
    uint32_t blocks;
} CarriedPlace;

/* The tensor above, below the copy's first access plus one; 0 where it is the tensor itself. */
static uint64_t identity_of(const Rewritten *rewritten, uint32_t tensor) {
    uint64_t origin = (uint64_t)rewritten->origin[tensor] << 32;
    return rewritten->role[tensor] == ROLE_COPY ? origin | (rewritten->first_access[tensor] + 1)
                                                : origin;
}

Carry carry_note(const Rewritten *current, const Round *round, const uint32_t *root, Arena *arena) {
    const Nodes *nodes = &round->nodes;
    SortKey *order = RAW_ARRAY(arena, SortKey, nodes->count);
    for (uint32_t n = 0; n < nodes->count; n++)
        order[n] = (SortKey){identity_of(current, nodes->items[n].tensor), n};
    sort_keys(order, nodes->count, arena);
    Carry carry = {RAW_ARRAY(arena, CarriedPlace, nodes->count), 0};
    for (uint32_t i = 0; i < nodes->count; i++) {
        uint32_t n = order[i].id, blocks = nodes->items[n].blocks;
        const Rect *rects = round->placement.rects[root ? root[n] : n];
        if (!rects) continue;
        Rect *kept = RAW_ARRAY(arena, Rect, blocks);
        memcpy(kept, rects, blocks * sizeof(Rect));
        carry.items[carry.count++] = (CarriedPlace){order[i].key, kept, blocks};
    }
    return carry;
}

CarryList carry_begin(uint32_t most, Arena *arena) {
    return (CarryList){{RAW_ARRAY(arena, CarriedPlace, most), 0}};
}

void carry_access(CarryList *list, uint32_t tensor, uint32_t access, const Rect *rect) {
    list->carry.items[list->carry.count++] =
        (CarriedPlace){(uint64_t)tensor << 32 | (access + 1), rect, 1};
}

void carry_node(CarryList *list, const Rewritten *current, const Node *node, const Rect *rects) {
    list->carry.items[list->carry.count++] =
        (CarriedPlace){identity_of(current, node->tensor), rects, node->blocks};
}

Carry carry_end(CarryList *list, Arena *arena) {
    uint32_t count = list->carry.count;
    SortKey *order = RAW_ARRAY(arena, SortKey, count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = (SortKey){list->carry.items[i].identity, i};
    sort_keys(order, count, arena);
    Carry carry = {RAW_ARRAY(arena, CarriedPlace, count), count};
    for (uint32_t i = 0; i < count; i++)
        carry.items[i] = list->carry.items[order[i].id];
    return carry;
}

/* The last place of the tensor at or before the identity, else the first behind it. */
static const CarriedPlace *find_place(const Carry *carry, uint64_t identity) {
    uint32_t low = 0, high = carry->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (carry->items[middle].identity <= identity)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && carry->items[low - 1].identity >> 32 == identity >> 32)
        return &carry->items[low - 1];
    bool behind = low < carry->count && carry->items[low].identity >> 32 == identity >> 32;
    return behind ? &carry->items[low] : NULL;
}

static bool is_in_the_way(const Round *round, uint32_t n, uint32_t m) {
    return nodes_meet(&round->nodes.items[n], round->placement.rects[n], &round->nodes.items[m],
                      round->placement.rects[m]);
}

static bool never(void *context, const PlacedInterval *earlier, const PlacedInterval *later) {
    (void)context, (void)earlier, (void)later;
    return false;
}

/* Two blocks of one node that live together but stand in one place. */
static bool is_in_its_own_way(const Round *round, uint32_t n, Arena *scratch) {
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

static void leave_out(Round *round, uint32_t n) {
    Placement *placement = &round->placement;
    placement->rects[n] = NULL;
    placement->failed[placement->nfailed++] = n;
    placement->score += round->nodes.items[n].cost;
}

void carry_places(const Carry *carry, const Rewritten *rewritten, Round *round, Arena *arena) {
    Nodes *nodes = &round->nodes;
    round->placement = (Placement){.rects = NEW_ARRAY(arena, Rect *, nodes->count),
                                   .failed = RAW_ARRAY(arena, uint32_t, nodes->count)};
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        const CarriedPlace *place = find_place(carry, identity_of(rewritten, node->tensor));
        const Rect *rects = node->fixed ? node->rects : place ? place->rects : NULL;
        if (!rects || (!node->fixed && place->blocks != node->blocks)) continue;
        round->placement.rects[n] = RAW_ARRAY(arena, Rect, node->blocks);
        memcpy(round->placement.rects[n], rects, node->blocks * sizeof(Rect));
    }
    Arena scratch;
    arena_init(&scratch);
    for (uint32_t n = 0; n < nodes->count; n++) {
        bool stays = round->placement.rects[n] &&
                     (nodes->items[n].fixed || !is_in_its_own_way(round, n, &scratch));
        NeighbourWalk walk = neighbours_of(&round->graph, n);
        for (uint32_t m; stays && !nodes->items[n].fixed && next_neighbour(&walk, &m);) {
            bool earlier = m < n || nodes->items[m].fixed;
            if (earlier && round->placement.rects[m] && is_in_the_way(round, n, m)) stays = false;
        }
        if (!stays) leave_out(round, n);
    }
    arena_free(&scratch);
    round->placed = round->placement.nfailed == 0;
}
