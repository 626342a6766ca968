/* What spilling adds to a function: DMAs, homes and working copies. */
#ifndef SPILL_INSERTED_H
#define SPILL_INSERTED_H

#include "ir/ir.h"

/* A DMA to insert. */
typedef struct {
    OpKind kind; /* OP_LOAD: a reload; OP_SAVE: a store */
    Operand dst, src;
    const Condition *condition;
    const Inst *served; /* the instruction of the input that it serves, or NULL */
} SpillDma;

/* Its instruction: `!reload` or `!spill`, and the `!loc` and the place of what it serves. */
Inst inserted_dma(SpillDma dma, Arena *arena);

/* A tensor that stands for `blocks` blocks of another: without a name, a place, or what ties the
 * other to one. */
Tensor added_tensor(const Tensor *original, Space space, int64_t blocks);

#endif
