#include "analysis/node.h"

#include <math.h>

/* More blocks than this are taken as alike, live wherever any of them is: pairs would be too many.
 */
enum { MOST_RANGED = 4096 };

static const Rect *fixed_rects(const Tensor *tensor, uint32_t *height, Arena *arena) {
    Rect *rects = RAW_ARRAY(arena, Rect, (size_t)tensor->blocks);
    *height = 0;
    for (int64_t b = 0; b < tensor->blocks; b++) {
        rects[b] = tensor_rect(tensor, tensor->at[b]);
        if (rects[b].high - rects[b].low > *height) *height = rects[b].high - rects[b].low;
    }
    return rects;
}

Nodes renumber(const Func *func, const Live *live, const bool *is_copy, Arena *arena) {
    Nodes nodes = {.items = RAW_ARRAY(arena, Node, func->ntensors),
                   .of = RAW_ARRAY(arena, uint32_t, func->ntensors),
                   .npoints = func->ninsts};
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        nodes.of[t] = NO_NODE;
        if (live->whole[t].count == 0) continue;
        Node node = {.tensor = t,
                     .blocks = (uint32_t)tensor->blocks,
                     .height = tensor_height(tensor),
                     .align = tensor_align(tensor),
                     .class = shape_class(tensor->partitions, tensor->base),
                     .fixed = tensor->fixed,
                     .copy = is_copy && is_copy[t],
                     .range = live->whole[t],
                     .block_ranges = tensor->blocks <= MOST_RANGED ? live->blocks[t] : NULL,
                     .cost = INFINITY};
        if (node.fixed) node.rects = fixed_rects(tensor, &node.height, arena);
        nodes.of[t] = nodes.count;
        nodes.items[nodes.count++] = node;
    }
    return nodes;
}

uint32_t nodes_blocks(const Nodes *nodes) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < nodes->count; n++)
        count += nodes->items[n].blocks;
    return count;
}

LiveRange node_block_range(const Node *node, uint32_t block) {
    return node->block_ranges ? node->block_ranges[block] : node->range;
}

static bool same_points(LiveRange a, LiveRange b) {
    if (a.count != b.count) return false;
    for (uint32_t i = 0; i < a.count && a.items != b.items; i++)
        if (a.items[i].first != b.items[i].first || a.items[i].last != b.items[i].last)
            return false;
    return true;
}

uint32_t node_alike_end(const Node *node, uint32_t block) {
    if (!node->block_ranges) return node->blocks;
    uint32_t end = block + 1;
    while (end < node->blocks && same_points(node->block_ranges[end], node->block_ranges[block]))
        end++;
    return end;
}

bool blocks_meet(const Node *a, uint32_t i, const Node *b, uint32_t j) {
    if (!a->block_ranges && !b->block_ranges) return true; /* they are neighbours */
    return live_overlap(node_block_range(a, i), node_block_range(b, j));
}

bool nodes_meet(const Node *a, const Rect *a_rects, const Node *b, const Rect *b_rects) {
    for (uint32_t i = 0; i < a->blocks; i++)
        for (uint32_t j = 0; j < b->blocks; j++)
            if (rects_meet(a_rects[i], b_rects[j]) && blocks_meet(a, i, b, j)) return true;
    return false;
}
