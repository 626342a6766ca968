/* The names of what spilling and splitting have added. */
#ifndef SPILL_NAMES_H
#define SPILL_NAMES_H

#include "spill/rewrite.h"

/* Names homes `m_SpillSaveN`, working copies `m_ReloadStoreN` and parts `m_SplitN`, and marks them
 * with `!of=m`: N counts up from 1 for each m and each of the three, in order of first appearance
 * in the statements; names of the input are skipped. `names[t]` is the input's name of tensor t of
 * the plan's function, [count], also of those that the rewrite has left out. wanted[t], [ntensors]
 * of the rewritten function, is a name to be given rather, if nobody has it; empty for none, NULL
 * for none at all. O(tensors + operands). */
void name_added(Rewritten *rewritten, const Str *names, uint32_t count, const Str *wanted,
                Arena *arena);

#endif
