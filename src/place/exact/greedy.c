/* Greedy placement in an order, with failed items moved to the front and the order tried again
 * ("squeaky wheel"): finds most placements that are not tight, fast. */
#include <string.h>

#include "place/exact/internal.h"
#include "support/sort.h"

/* Granules [low, high) that are taken. */
typedef struct {
    uint32_t low, high;
} Block;

typedef struct {
    const PackPart *part;
    Budget *budget;
    PackPlaces *places;
    Block *blocks;    /* [most neighbours] taken by placed neighbours of the item at hand */
    uint32_t *order;  /* [part.count] ids */
    uint32_t *failed; /* [part.count] ids */
    uint8_t *mark;    /* [problem->count] all zero between calls */
} Greedy;

/* Shell sort by `low`: in place, short lists. Equal keys may come in any order. */
static void sort_blocks(Block *blocks, uint32_t count) {
    for (uint32_t gap = count / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (uint32_t i = gap; i < count; i++) {
            Block block = blocks[i];
            uint32_t k = i;
            for (; k >= gap && blocks[k - gap].low > block.low; k -= gap)
                blocks[k] = blocks[k - gap];
            blocks[k] = block;
        }
}

/* The blocks in `band` of the placed neighbours of item `id`. */
static uint32_t gather(Greedy *greedy, uint32_t id, uint8_t band) {
    const PackGraph *neighbours = greedy->part->neighbours;
    uint32_t count = 0;
    for (uint32_t k = neighbours->start[id]; k < neighbours->start[id + 1]; k++) {
        uint32_t other = neighbours->list[k];
        if (!(greedy->places->band[other] & band)) continue;
        uint32_t low = greedy->places->offset[other];
        greedy->blocks[count++] = (Block){low, low + greedy->part->problem->items[other].height};
    }
    greedy->budget->used += neighbours->start[id + 1] - neighbours->start[id] + 2 * count + 1;
    return count;
}

/* The lowest place between the sorted blocks, or UINT32_MAX. */
static uint32_t lowest_gap(const PackItem *item, const Block *blocks, uint32_t count,
                           uint32_t capacity) {
    uint64_t y = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (y + item->height <= blocks[k].low) break;
        if (blocks[k].high > y) y = align_up(blocks[k].high, item->align);
    }
    return y + item->height <= capacity ? (uint32_t)y : UINT32_MAX;
}

/* Puts the item as low as it can go; the first of equal bands. */
static bool place_lowest(Greedy *greedy, uint32_t id) {
    const PackItem *item = &greedy->part->problem->items[id];
    Bands bands = class_bands(item->class);
    uint32_t best = UINT32_MAX;
    for (uint32_t b = 0; b < bands.count; b++) {
        uint32_t count = gather(greedy, id, bands.masks[b]);
        sort_blocks(greedy->blocks, count);
        uint32_t y = lowest_gap(item, greedy->blocks, count, greedy->part->capacity);
        if (y >= best) continue;
        best = y;
        greedy->places->offset[id] = y;
        greedy->places->band[id] = bands.masks[b];
    }
    return best != UINT32_MAX;
}

/* Places what it can in order; returns how many failed. */
static uint32_t place_all(Greedy *greedy) {
    uint32_t failed = 0;
    for (uint32_t k = 0; k < greedy->part->count; k++)
        greedy->places->band[greedy->order[k]] = 0;
    for (uint32_t k = 0; k < greedy->part->count; k++)
        if (!place_lowest(greedy, greedy->order[k])) greedy->failed[failed++] = greedy->order[k];
    return failed;
}

typedef enum { BY_AREA, BY_HEIGHT, BY_LENGTH, BY_CROWD, BY_START, ORDER_COUNT } Order;

static uint64_t length_of(const PackItem *item) {
    uint64_t length = 0;
    for (uint32_t k = 0; k < item->range.count; k++)
        length += (uint64_t)item->range.items[k].last - item->range.items[k].first + 1;
    return length;
}

static uint32_t columns_of(const PackItem *item) {
    return (uint32_t)class_quadrants(item->class);
}

/* Items with large keys are placed first. */
static uint64_t rank(const Greedy *greedy, uint32_t id, Order order) {
    const PackItem *item = &greedy->part->problem->items[id];
    uint64_t columns = columns_of(item);
    uint64_t degree = greedy->part->neighbours->start[id + 1] - greedy->part->neighbours->start[id];
    switch (order) {
    case BY_AREA: {
        uint64_t area;
        if (__builtin_mul_overflow(length_of(item), columns * item->height, &area))
            area = UINT64_MAX;
        return area;
    }
    case BY_HEIGHT:
        return columns * item->height;
    case BY_LENGTH:
        return length_of(item);
    case BY_CROWD:
        return degree * columns * item->height;
    default:
        return UINT32_MAX - (uint64_t)item->range.items[0].first;
    }
}

static void set_order(Greedy *greedy, Order order, Arena *scratch) {
    uint32_t count = greedy->part->count;
    SortKey *keys = RAW_ARRAY(scratch, SortKey, count);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t id = greedy->part->ids[k];
        uint64_t key = rank(greedy, id, order);
        keys[k] = (SortKey){UINT64_MAX - key, id};
    }
    sort_keys(keys, count, scratch);
    for (uint32_t k = 0; k < count; k++)
        greedy->order[k] = keys[k].id;
    greedy->budget->used += count;
}

/* Moves the failed items to the front of the order, and keeps their own order. */
static void failed_first(Greedy *greedy, uint32_t failed) {
    uint8_t *mark = greedy->mark;
    uint32_t count = greedy->part->count, to = count;
    for (uint32_t k = 0; k < failed; k++)
        mark[greedy->failed[k]] = 1;
    for (uint32_t k = count; k-- > 0;)
        if (!mark[greedy->order[k]]) greedy->order[--to] = greedy->order[k];
    memcpy(greedy->order, greedy->failed, failed * sizeof *greedy->order);
    for (uint32_t k = 0; k < failed; k++)
        mark[greedy->failed[k]] = 0;
}

static uint32_t largest_degree(const PackPart *part) {
    const uint32_t *start = part->neighbours->start;
    uint32_t most = 0;
    for (uint32_t k = 0; k < part->count; k++) {
        uint32_t degree = start[part->ids[k] + 1] - start[part->ids[k]];
        if (degree > most) most = degree;
    }
    return most;
}

bool pack_greedy(const PackPart *part, uint32_t rounds, Budget *budget, Arena *scratch,
                 PackPlaces *places) {
    Greedy greedy = {.part = part,
                     .budget = budget,
                     .places = places,
                     .blocks = RAW_ARRAY(scratch, Block, largest_degree(part)),
                     .order = RAW_ARRAY(scratch, uint32_t, part->count),
                     .failed = RAW_ARRAY(scratch, uint32_t, part->count),
                     .mark = NEW_ARRAY(scratch, uint8_t, part->problem->count)};
    for (Order order = 0; order < ORDER_COUNT; order++) {
        set_order(&greedy, order, scratch);
        for (uint32_t round = 0; round < rounds; round++) {
            uint32_t failed = place_all(&greedy);
            if (!failed) return true;
            if (!budget_spend(budget, 0)) return false;
            failed_first(&greedy, failed);
        }
    }
    return false;
}
