#include "place/capacity.h"

Axis axis_make(uint32_t size) {
    return (Axis){.size = size, .table = impact_table()};
}

int64_t placements(const Axis *axis, const Node *node) {
    if (node->height > axis->size) return 0;
    int64_t offsets = (int64_t)(axis->size - node->height) / node->align + 1;
    return class_bands(node->class).count * offsets;
}

static int64_t bands_taken(const Node *n, uint8_t mask) {
    Bands bands = class_bands(n->class);
    int64_t count = 0;
    for (int b = 0; b < bands.count; b++)
        count += (bands.masks[b] & mask) != 0;
    return count;
}

int64_t impact_of_all(const Axis *axis, const Node *n, const Node *m) {
    if (!m->fixed) return m->blocks * impact(axis, n, m);
    int64_t sum = 0;
    for (uint32_t b = 0; b < m->blocks; b++)
        sum += bands_taken(n, m->rects[b].mask) *
               offsets_taken(shape_of(n), m->rects[b].high - m->rects[b].low);
    return sum;
}

int64_t own_capacity(const Axis *axis, const Node *node) {
    int64_t step = ((int64_t)node->height + node->align - 1) / node->align;
    return placements(axis, node) - (int64_t)(node->blocks - 1) * step;
}
