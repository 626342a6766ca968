/* What it costs to keep a range in DRAM. */
#ifndef PLACE_COST_H
#define PLACE_COST_H

#include "analysis/access.h"
#include "analysis/node.h"

/* Fills the cost of each node: cycles of the stores and loads that its tensor would need if it
 * lived in DRAM, blocks and trip counts multiplied; a read right behind another access costs
 * nothing, nor does the store of what a load brought from DRAM that nothing writes. INFINITY:
 * fixed, pinned, output, `minimal[t]` (a copy that cannot be cut; may be NULL), read nowhere, or
 * live at two neighbouring points at most. Finite costs stay below DBL_MAX. Requires nodes of one
 * tensor each. O(accesses + loops). Source: the seed's find_costs, loop family. */
void find_costs(const Func *func, Nodes *nodes, const Target *target, const bool *minimal,
                Arena *scratch);

/* The same by the flat family's formula, without weights for loops' trips: each write costs a
 * latency(SB), each read one too or, in a loop, a latency(DRAM). What loads made costs one
 * latency(SB) in all, and with `remat_reads` one more for each read of it that could be loaded
 * again. Latencies are those of the whole tensor. Source: the seed's find_costs, flat family. */
void find_costs_flat(const Func *func, Nodes *nodes, const Target *target, const bool *minimal,
                     bool remat_reads, Arena *scratch);

#endif
