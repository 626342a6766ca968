#include "driver/peak_shared.h"

#include "support/sort.h"

enum { LISTED, LOW, HIGH, MASK, KEYS }; /* the last count most */

/* Blocks with a place that live at a point. */
typedef struct {
    uint64_t *rows; /* [count * KEYS] where it lies, and where its tensor is listed */
    uint32_t count;
} PlacedBlocks;

static PlacedBlocks blocks_at(const Peak *peak, const Occupancy *all, uint32_t point,
                              Arena *scratch) {
    PlacedBlocks placed = {RAW_ARRAY(scratch, uint64_t, (size_t)KEYS * nodes_blocks(&all->nodes)),
                           0};
    uint32_t *listed = RAW_ARRAY(scratch, uint32_t, all->func->ntensors);
    for (uint32_t i = 0; i < peak->count; i++)
        listed[peak->tensors[i].tensor] = i;
    for (uint32_t n = 0; n < all->nodes.count; n++) {
        const Node *node = &all->nodes.items[n];
        for (uint32_t b = 0; node->fixed && b < node->blocks; b++) {
            if (!live_at(node_block_range(node, b), point)) continue;
            uint64_t *row = &placed.rows[(size_t)KEYS * placed.count++];
            row[LOW] = node->rects[b].low;
            row[HIGH] = node->rects[b].high;
            row[MASK] = node->rects[b].mask;
            row[LISTED] = listed[node->tensor];
        }
    }
    return placed;
}

static bool is_one_place(const uint64_t *a, const uint64_t *b) {
    return a[LOW] == b[LOW] && a[HIGH] == b[HIGH] && a[MASK] == b[MASK];
}

void find_shared_places(Peak *peak, const Occupancy *all, uint32_t point, Arena *scratch) {
    PlacedBlocks placed = blocks_at(peak, all, point, scratch);
    uint32_t *order = RAW_ARRAY(scratch, uint32_t, placed.count);
    for (uint32_t i = 0; i < placed.count; i++)
        order[i] = i;
    sort_rows(placed.rows, KEYS, order, placed.count, scratch);
    const uint64_t *first = NULL; /* of its place */
    for (uint32_t i = 0; i < placed.count; i++) {
        const uint64_t *row = &placed.rows[(size_t)KEYS * order[i]];
        if (!first || !is_one_place(first, row)) {
            first = row;
            continue;
        }
        PeakTensor *one = &peak->tensors[row[LISTED]];
        if (one->shared == 0) one->shares = peak->tensors[first[LISTED]].tensor;
        one->shared += all->func->tensors[one->tensor].bytes;
    }
}
