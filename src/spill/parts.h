/* Parts: how much of its blocks a spilled tensor moves between the chip and DRAM. */
#ifndef SPILL_PARTS_H
#define SPILL_PARTS_H

#include "spill/plan.h"
#include "spill/rewrite.h"

/* The part of a tensor's blocks that an access of the plan names, widened. O(operands). */
Region access_part(const Plan *plan, uint32_t tensor, uint32_t access);

/* Cycles of one DMA of that part of one block. */
int64_t part_dma(const Target *target, Region part);

/* Requires what rewrite() has made of `from`, with nothing needless in it. A copy that is reloaded
 * shrinks to the part of its blocks that its accesses name and its stores move. A reload fills its
 * copy; a store moves what the reloads from its home move together. The home keeps its shape, both
 * sides name the part. What a load of another form is repeated for stays whole. Sets `part` of the
 * copies' block ranges. O(operands + tensors). */
void shrink_parts(Rewritten *rewritten, const Func *from, Arena *arena);

#endif
