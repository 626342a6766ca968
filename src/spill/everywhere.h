/* Spill-everywhere: what is tried last, and what everything else is measured against. */
#ifndef SPILL_EVERYWHERE_H
#define SPILL_EVERYWHERE_H

#include "place/exact/pack.h"
#include "spill/rewrite.h"

typedef struct {
    bool placed;
    uint32_t inst; /* of the plan's function: where no place was found; ENTRY: at entry */
    bool proved;   /* no placement exists there beside what must stay */
} Everywhere;

/* Lets every value live in DRAM but those of fixed, pinned and output tensors. Those keep their
 * places or are stacked first-fit in declaration order; each instruction's copies are then placed
 * first-fit beside them, and where that fails by an exact search with a budget of steps.
 * Requires a plan (its cuts are lost: everything is cut). Fills the places of `result`. Whatever
 * literal stacking can run is placed. O(accesses log accesses + copies times what stays). */
Everywhere everywhere(Plan *plan, const Sources *sources, const Target *target, Arena *arena,
                       Rewritten *result);

#endif
