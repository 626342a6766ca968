/* The spill cost of a node: what it costs to keep its values in DRAM. */
#ifndef PLACE_COST_H
#define PLACE_COST_H

#include "analysis/access.h"
#include "analysis/node.h"

/* Which of the seed's two cost models. */
typedef struct {
    const Target *target;
    bool flat;        /* the flat allocator's */
    bool remat_reads; /* flat: a read of what could be loaded again costs a latency(SB) more */
} CostModel;

/* Fills the cost of each node: cycles of the saves and loads that its tensor would need if its home
 * were DRAM. INFINITY: fixed, pinned, output, `minimal[t]` (a copy that cannot be split; may be
 * NULL), never read, or live at two neighbouring points at most. Finite costs are below DBL_MAX.
 * Requires nodes of one tensor each. O(accesses + loops).
 *
 * The loop allocator's model multiplies blocks and trip counts. A read right after another access
 * is free, and so is the save of a value that was loaded from DRAM that nothing writes.
 *
 * The flat allocator's model ignores trip counts. A write costs a latency(SB), a read one too or,
 * in a loop, a latency(DRAM); a tensor that only loads write costs one latency(SB) in all.
 * Latencies are those of the whole tensor.
 *
 * Source: the seed's find_costs, loop and flat family. */
void find_costs(const Func *func, Nodes *nodes, CostModel model, const bool *minimal,
                Arena *scratch);

#endif
