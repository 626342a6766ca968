/* Dead loads: what is left out because nothing reads it. */
#ifndef SPILL_DEAD_LOADS_H
#define SPILL_DEAD_LOADS_H

#include "spill/rewrite.h"

/* [ninsts] loads of tensors that may leave the chip whose value no read receives, where needed[p]
 * says that what instruction p writes is needed later; NULL where there is none. Those stay without
 * which the text would have a read before any write, and the first instruction beside an input of
 * the chip that nothing reads: what would come first needs room beside it. O(operands). */
const bool *find_dead_loads(const Func *func, const Live *live, const bool *needed, Arena *arena);

/* Takes dead loads out of a result, the program's own and inserted ones, until there is none. Sets
 * the ranges of what is left. O(live_range()), most often once. */
void drop_dead_loads(Rewritten *rewritten, Arena *arena);

#endif
