/* Round: analysis of the function as it is now. */
#ifndef SPILL_ROUND_H
#define SPILL_ROUND_H

#include "place/cost.h"
#include "place/place_coalesced.h"
#include "spill/rewrite.h"

typedef struct {
    const Func *func;
    Live live;
    Nodes nodes; /* costs filled in */
    Pressure pressure;
    uint64_t conflicts; /* pairs of intervals that overlap: what the graph costs */
    /* Of placement; empty after analysis. */
    Graph graph;
    NodeStack stack;
    Placement placement; /* the best found */
    bool placed;
    uint32_t groups;    /* accumulation groups among partners */
    uint32_t coalesced; /* pairs of partners that share their place */
} Round;

/* Pairs of intervals of nodes that overlap. O(intervals + points). */
uint64_t count_conflicts(const Nodes *nodes, Arena *scratch);

/* Live ranges as a cost model sees them: `live`, or with loops opaque for the flat allocator. */
Live model_ranges(const Func *func, const Live *live, bool flat, Arena *arena);

/* Live ranges, nodes, costs and pressure of `code`, which carries out `plan`. Loops are opaque to
 * the flat model. O(accesses log accesses). Source: the seed's renumber_locations, live_range and
 * find_costs. */
void analyse_round(const Rewritten *code, const Plan *plan, CostModel model, Arena *arena,
                   Round *round);

/* The same by the loop model for a function in which nothing is spilled, whose ranges are `live`.
 */
Round analyse_uncut(const Func *func, const Live *live, const Target *target, Arena *arena);

#endif
