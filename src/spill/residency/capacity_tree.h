/* The capacity tree: how far each point is from being full, with sums over ranges of points.
 *
 * A segment tree whose additions stay where they are made: no step pushes them down. */
#ifndef SPILL_RESIDENCY_CAPACITY_TREE_H
#define SPILL_RESIDENCY_CAPACITY_TREE_H

#include <stdint.h>

#include "support/arena.h"

typedef struct {
    int64_t *most; /* [2 * leaves] the most of used less capacity below a node, its own `add` in */
    int64_t *add;  /* [2 * leaves] what was added to the whole node; unused at leaves */
    uint32_t leaves; /* a power of two, npoints + 2 at least */
    uint32_t levels; /* of the tree: steps of one question */
} CapacityTree;

/* A tree for points 0 to npoints - 1, nothing used; capacity >= 0. O(npoints). */
void tree_init(CapacityTree *tree, const uint32_t *capacity, uint32_t npoints, Arena *arena);

/* Nothing used again. O(npoints). */
void tree_clear(CapacityTree *tree, const uint32_t *capacity, uint32_t npoints);

/* Uses `amount` more (or, negative, less) at points first to last. O(log npoints). */
void tree_add(CapacityTree *tree, uint32_t first, uint32_t last, int64_t amount);

/* The most of used less capacity over those points: at most 0 where all is well. O(log npoints). */
int64_t tree_most(const CapacityTree *tree, uint32_t first, uint32_t last);

#endif
