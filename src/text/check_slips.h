/* Warnings about what is legal but looks like a slip. */
#ifndef TEXT_CHECK_SLIPS_H
#define TEXT_CHECK_SLIPS_H

#include "ir/ir.h"
#include "support/diag.h"

/* Queues a warning for each opcode that is almost `load`, `save` or `copy` and has their operands,
 * each load and save of the program whose two sides differ in bytes, and each psum tensor that does
 * not fit PSUM. Tensors that `vague` marks are left out [func->ntensors]; NULL: there are none.
 * Requires no more than that `func` was built. O(size of the function). */
void check_slips(const Func *func, const bool *vague, DiagQueue *diags);

#endif
