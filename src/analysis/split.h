/* Split: each web of a tensor becomes a tensor of its own. */
#ifndef ANALYSIS_SPLIT_H
#define ANALYSIS_SPLIT_H

#include "ir/ir.h"

typedef struct {
    const Func *func;       /* the input itself where nothing is split */
    const uint32_t *parent; /* [func->ntensors] the input's tensor that each is a part of */
    uint32_t added;         /* tensors more than in the input; they follow the input's */
} Split;

/* Cuts each sb tensor into its webs: values joined by some common read, or by a write that keeps a
 * part of what was there. The first web in program order (with an `input`'s entry value) keeps the
 * name and declaration, the others become `m_SplitN` with `!of=m`. Fixed, pinned and output tensors
 * stay whole. Values that meet in one instruction stay together: apart they would need room twice
 * there. Blocks are not told apart: a value ends where all blocks are written, by one instruction,
 * by a run of them, or by a loop over the blocks.
 * Loads where dead[i] is set ([ninsts], NULL for none) join nothing: nothing reads what they bring.
 * Requires: a checked function. Instructions and loops keep their numbers. O(accesses log accesses
 * + accesses times loops around them). */
Split split_webs(const Func *func, const bool *dead, Arena *arena);

#endif
