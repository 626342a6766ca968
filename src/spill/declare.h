/* The order of declarations: the input's, then what was added. */
#ifndef SPILL_DECLARE_H
#define SPILL_DECLARE_H

#include "spill/rewrite.h"

/* Requires a rewrite with names, and names[t], the name in `input` of each tensor of the function
 * that it was made of. Puts the declarations in order: those of the input as they were; then, by
 * the tensor that they are of, its parts, homes and copies, each by its number. Tensors get new
 * ids, in all that the rewrite holds. Returns the new id of each, in the arena, NULL where all
 * stay. O(tensors log tensors + operands). */
const uint32_t *order_declarations(Rewritten *rewritten, const Func *input, const Str *names,
                                   Arena *arena);

#endif
