/* Dead stores: inserted ones to homes that nothing loads. */
#ifndef SPILL_DEAD_STORES_H
#define SPILL_DEAD_STORES_H

#include "spill/rewrite.h"

/* Takes them out of a result. Leaves their homes, which keep_named() takes out, and forgets ranges.
 * False where there is none. O(instructions). */
bool drop_dead_stores(Rewritten *rewritten, Arena *arena);

#endif
