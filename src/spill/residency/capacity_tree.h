/* Room by point: how far each point is from being full, with sums over ranges of points.
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
} Room;

/* Room for points 0 to npoints - 1, nothing used; capacity >= 0. O(npoints). */
void room_init(Room *room, const uint32_t *capacity, uint32_t npoints, Arena *arena);

/* Back to nothing used. */
void room_clear(Room *room, const uint32_t *capacity, uint32_t npoints);

/* Uses `amount` more (or, negative, less) at points first to last. O(log npoints). */
void room_add(Room *room, uint32_t first, uint32_t last, int64_t amount);

/* The most of used less capacity over those points: at most 0 where all is well. O(log npoints). */
int64_t room_most(const Room *room, uint32_t first, uint32_t last);

#endif
