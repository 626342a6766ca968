/* Which blocks of a spilled tensor a working copy holds, and how operands find them in it. */
#ifndef SPILL_BLOCK_RANGE_H
#define SPILL_BLOCK_RANGE_H

#include "ir/ir.h"

/* Blocks base + offsets[0], base + offsets[1], ... of the original, as blocks 0, 1, ... of the
 * copy. */
typedef struct {
    uint32_t level;   /* loop in whose body the copy lives, NO_LOOP for the function */
    Affine base;      /* terms over `level` and the loops around it, no constant; count 0: none; or
                         a remainder, with 0 as the only offset */
    int64_t *offsets; /* [count] ascending */
    int64_t count;
    bool loose;  /* operands' indices could not be told apart: the copy holds all that they can
                    name, and each names its blocks itself */
    Region part; /* of a copy in code: the part of each block that it holds; see shrink_parts() */
} BlockRange;

/* Blocks that one operand names in a block range, by offset, ends included. */
typedef struct {
    int64_t low, high;
    bool exact; /* it names just these on every run; else some of them */
} BlockExtent;

/* The block range that serves all `operands` (of one tensor, [count]), each standing at insts[i],
 * for a copy that lives in `level`. O(count plus blocks). */
BlockRange block_range_make(const Func *func, uint32_t level, const Operand *const *operands,
                            const Inst *const *insts, uint32_t count, Arena *arena);

/* The block range of the whole tensor. */
BlockRange block_range_whole(const Func *func, uint32_t tensor, Arena *arena);

/* What the operand names in it. Loose: everything. */
BlockExtent block_range_extent(const Func *func, const BlockRange *range, const Operand *operand);

/* The operand's blocks in the copy: NULL where it names all of it. */
const Blocks *blocks_in_range(const Func *func, const BlockRange *range, const Operand *operand,
                              Arena *arena);

/* Position in the copy of a block at `offset`, which it holds. O(log count). */
int64_t block_range_position(const BlockRange *range, int64_t offset);

/* Blocks [low, high] as an operand's index, relative to `base`; NULL where they are all `blocks`
 * of the tensor. */
const Blocks *blocks_between(Affine base, int64_t low, int64_t high, int64_t blocks, Arena *arena);

#endif
