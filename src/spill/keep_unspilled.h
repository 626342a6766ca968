/* Tensors that a plan has cut and that need no spill code: they keep their names. */
#ifndef SPILL_KEEP_UNSPILLED_H
#define SPILL_KEEP_UNSPILLED_H

#include "spill/rewrite.h"

/* Requires a rewrite of `from`, and names[t], the input's name of each tensor of that. Where no DMA
 * was inserted for a tensor, its working copies only say that it moves while no value is in it: the
 * first to appear is the tensor again, with all its blocks (what it does not use lies where its
 * first block does), unless its blocks are not the same in each iteration; the others are parts,
 * ROLE_PART. So are webs but for the first. Forgets live ranges where a declaration grows.
 * O(tensors + operands). */
void keep_unspilled(Rewritten *rewritten, const Func *from, const Str *names, Arena *arena);

#endif
