/* One round: analysis and colouring of the function as it stands. */
#ifndef DRIVER_ROUND_H
#define DRIVER_ROUND_H

#include "driver/options.h"
#include "place/select.h"
#include "spill/rewrite.h"

typedef struct {
    const Func *func;
    Live live;
    Nodes nodes; /* costs filled in */
    Pressure pressure;
    uint64_t meetings; /* pairs of intervals that meet: what the graph costs */
    Graph graph;
    NodeStack stack;
    Placement placement; /* the best found */
    bool placed;
    uint32_t groups;    /* accumulation groups among partners */
    uint32_t coalesced; /* pairs of partners that share their place */
} Round;

/* Live ranges of the input, which are `live`; loops are opaque to the flat allocator. */
Live live_as_coloured(const Func *func, const Live *live, const Options *options, Arena *arena);

/* Live ranges, nodes, costs and pressure of `rewritten`; loops are opaque to the flat allocator.
 * O(accesses log accesses). */
void analyse_round(const Rewritten *rewritten, const Plan *plan, const Target *target,
                   const Options *options, Arena *arena, Round *round);

/* Builds the graph and looks for places: simplify and select, then from effort 1 on repair and the
 * other metrics, from effort 2 on the placement search where no point is over capacity. `spilled`:
 * this is not the input as it came. */
void colour_round(const Options *options, uint32_t size, bool spilled, Arena *arena, Round *round);

#endif
