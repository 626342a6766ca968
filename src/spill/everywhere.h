/* Spill everywhere: the last resort, and what all else is measured against. */
#ifndef SPILL_EVERYWHERE_H
#define SPILL_EVERYWHERE_H

#include "place/exact/pack.h"
#include "spill/rewrite.h"

typedef struct {
    bool placed;
    uint32_t inst; /* of the plan's function: where no place was found; ENTRY: at entry */
    bool proved;   /* no placement exists there, wherever else what must stay may lie */
} Everywhere;

/* Keeps every value in DRAM, except those of fixed, pinned and output tensors. Those keep their
 * places or are stacked first-fit in order of declaration; then first-fit places the copies of each
 * instruction beside them, and where that fails, an exact search with a budget of steps. Places
 * whatever literal stacking can. Requires a plan and its sources; cuts everything permanently.
 * Fills `result` and its places. O(accesses log accesses + copies times what stays). Source: the
 * seed's spill-everywhere. */
Everywhere everywhere(Plan *plan, const Sources *sources, const Target *target, Arena *arena,
                      Rewritten *result);

#endif
