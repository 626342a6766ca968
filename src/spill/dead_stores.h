/* Dead stores: inserted ones to homes that nothing loads. */
#ifndef SPILL_DEAD_STORES_H
#define SPILL_DEAD_STORES_H

#include "spill/rewrite.h"

/* Takes them out of a result, but for those of inputs of the chip: without its store an input lives
 * at the first instruction, though nothing reads it. Leaves their homes, which keep_named() takes
 * out, and forgets ranges. False where there is none. O(instructions). */
bool drop_dead_stores(Rewritten *rewritten, Arena *arena);

#endif
