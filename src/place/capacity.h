/* The geometric K: how many places a rectangle has, and how many of them one
 * neighbour can take. */
#ifndef PLACE_CAPACITY_H
#define PLACE_CAPACITY_H

#include "analysis/node.h"

typedef struct {
    uint32_t size; /* granules of the byte axis */
    ImpactTable table;
} Axis;

Axis axis_make(uint32_t size);

/* Offsets times bands where one rectangle of the node can be placed; 0 if it is too high. */
int64_t placements(const Axis *axis, const Node *node);

/* What the impact of a node depends on; small, as simplify() looks at very many. */
typedef struct {
    uint32_t height, align; /* granules */
    uint32_t blocks;
    ShapeClass class;
} Shape;

static inline Shape shape_of(const Node *node) {
    return (Shape){node->height, node->align, node->blocks, node->class};
}

/* Offsets of a rectangle of n, in one band, at which it overlaps given `height` granules. */
static inline int64_t offsets_taken(Shape n, uint32_t height) {
    int64_t span = (int64_t)n.height + height - 1;
    return n.align == 1 ? span : (span + n.align - 1) / n.align;
}

/* The most places of one rectangle of n that one rectangle of m can take:
 * impact_bands[m][n] * ceil((h + g - 1) / a). m is not fixed. Inline: simplify() asks it
 * twice for each edge. */
static inline int64_t shape_impact(const Axis *axis, Shape n, Shape m) {
    return axis->table.bands[m.class][n.class] * offsets_taken(n, m.height);
}

static inline int64_t impact(const Axis *axis, const Node *n, const Node *m) {
    return shape_impact(axis, shape_of(n), shape_of(m));
}

/* The same for all rectangles of m together; fixed ones count in the bands that each takes. */
int64_t impact_of_all(const Axis *axis, const Node *n, const Node *m);

/* Places that are left for one block when the others of its node have theirs: placements less their
 * heights. */
int64_t own_capacity(const Axis *axis, const Node *node);

#endif
