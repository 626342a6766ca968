/* One round: analysis and placement of the function as it is now. */
#ifndef DRIVER_ROUND_H
#define DRIVER_ROUND_H

#include "analysis/pressure.h"
#include "driver/options.h"
#include "place/place_coalesced.h"
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

/* The passes of place() that an effort stands for. `spilled`: this is not the input as it came. */
Placer placer_for(const Options *options, bool spilled);

/* place() for a round, by placer_for(). Requires an analysed round. */
void colour_round(const Options *options, uint32_t size, bool spilled, Arena *arena, Round *round);

/* place_coalesced() for a round of `rewritten`. On success fills the round as colour_round() does
 * and returns true; else the round is as before but for its count of groups. frozen[p]: the copy at
 * instruction p of the input is not coalesced, in this round or a later one. */
bool colour_together(const Options *options, uint32_t size, bool spilled,
                     const Rewritten *rewritten, bool *frozen, Arena *arena, Round *round);

#endif
