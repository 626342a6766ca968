/* Kernels small enough to run byte by byte. */
#ifndef TEST_SHRINK_H
#define TEST_SHRINK_H

#include "ir/ir.h"

/* Divides the rows of all tensors, rounded up, so that the longest of the State Buffer has at most
 * `longest` bytes: they are bytes then, of two dimensions. False, and nothing is changed, where a
 * region has bytes that do not divide so, or a tensor came placed. */
bool shrink_rows(Func *func, int64_t longest, Arena *arena);

/* Leaves each loop so many trips at most. */
void shrink_loops(Func *func, int64_t trips, Arena *arena);

/* The rooms, in bytes of a partition, in which the small function fits just with all of its spills,
 * between, all but without any, and without any: at most four, in order. Sets the target's size to
 * try. Returns how many. */
uint32_t shrink_rooms(const Func *func, Target *target, int64_t rooms[4]);

#endif
