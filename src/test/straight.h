/* Large regular programs: for measures of time, and of spill code against what is known. */
#ifndef TEST_STRAIGHT_H
#define TEST_STRAIGHT_H

#include "ir/ir.h"

/* Each returns a module of one function in `arena`, the same for the same arguments. "Room for m"
 * is a State Buffer of just m of its tensors. */

/* `count` instructions that define one tensor each, of varied size and band, about `live` of them
 * live at once, each read by one to three later ones; the last is a save. The State Buffer has
 * `percent` of the peak demand, and an eighth of it more where that is 100 or above, but always
 * holds the operands of any one instruction. O(count). */
Module *straight_code(Arena *arena, uint32_t count, uint32_t live, uint32_t percent, uint64_t seed);

/* The same with all tensors in 128 partitions. */
Module *even_straight_code(Arena *arena, uint32_t count, uint32_t live, uint32_t percent,
                           uint64_t seed);

/* `count` equal tensors, read in order again and again, `rounds` times; room for `room`. They are
 * loaded, or made on chip where `dirty`. */
Module *cyclic_stream(Arena *arena, uint32_t count, uint32_t rounds, uint32_t room, bool dirty);

/* `count` values, each made from the one before; then each is read again in reverse order. Room for
 * `room`. */
Module *forward_backward(Arena *arena, uint32_t count, uint32_t room);

/* `count` equal tensors, all written, then all read in that order. Room for `room`. */
Module *all_live(Arena *arena, uint32_t count, uint32_t room);

/* Loops nested `depth` deep, every hundredth of them of `trips` iterations and the others of one,
 * with a tensor that is made outside and read in the innermost. Room for `room`. */
Module *deep_nest(Arena *arena, uint32_t depth, uint32_t trips, uint32_t room);

/* One tensor read by `count` instructions. */
Module *many_uses(Arena *arena, uint32_t count);

/* A chain: each of `count` tensors is made from the one before, so lives for two points. */
Module *two_points(Arena *arena, uint32_t count);

/* `count` tensors, each read right after it is written: no two are live together. */
Module *disjoint_ranges(Arena *arena, uint32_t count);

#endif
