/* The last touch on spill code: names and marks. */
#ifndef SPILL_LEGALIZE_H
#define SPILL_LEGALIZE_H

#include "spill/rewrite.h"

/* Names homes `m_SpillSaveN` and working copies `m_ReloadStoreN`, N counting up from 1 apart, names
 * of the input skipped, and marks both with `!of=m`. `names[t]` is the input's name for tensor t of
 * the plan's function. O(tensors). */
void legalize(Rewritten *rewritten, const Str *names, Arena *arena);

#endif
