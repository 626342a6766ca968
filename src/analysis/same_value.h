/* Same value: which tensors may hold one value at an instruction, since copies have put it there.
 *
 * Says no only where the values surely differ. A block of the text is what runs without a jump; in
 * it writes are followed in order, before it all that copies relate may be alike. */
#ifndef ANALYSIS_SAME_VALUE_H
#define ANALYSIS_SAME_VALUE_H

#include "ir/ir.h"

typedef struct {
    const Func *func;
    uint32_t *group; /* [ntensors] union-find: those that copies relate */
    bool *copied;    /* [ntensors] an end of a copy that could do nothing */
    bool any;        /* there are such copies */
    /* At the instruction that comes next. */
    uint32_t *value; /* [ntensors] what it holds; see same_value.c */
    uint32_t *block; /* [ntensors] 1 + the first instruction of the block in which it was written */
    uint32_t begin;  /* the first instruction of this block */
    uint32_t next;
} SameValues;

/* Before the first instruction. O(operands + tensors). */
SameValues same_values_begin(const Func *func, Arena *arena);

/* Goes on to the next instruction. O(operands of the one before). */
void same_values_next(SameValues *values);

/* True if the two may hold one value before that instruction, each in all that it holds. */
bool may_hold_same(SameValues *values, uint32_t a, uint32_t b);

/* True unless the tensor was written in part, or under a condition, since the block began. */
bool is_value_known(const SameValues *values, uint32_t tensor);

#endif
