/* Evict: places the few nodes that select left without a place, by moving others. */
#ifndef PLACE_EVICT_H
#define PLACE_EVICT_H

#include "place/placement.h"
#include "place/simplify.h"

typedef struct {
    uint32_t size;  /* granules of the byte axis */
    uint64_t steps; /* a step is one neighbour looked at */
    bool any;       /* nothing may be left out: any node may evict what must not be spilled */
} EvictLimits;

/* Takes a legal placement and places its failed nodes: each at the cheapest rectangle, from which
 * it evicts the neighbours that overlap it. Those look for new places in turn. The price of a
 * neighbour is its height, higher each time that it is evicted. Moves only nodes of one block that
 * are not fixed; what must not be spilled only for its like, or `any`. Keeps the best placement on
 * the way, the one before if none is better. Returns true if it is complete. Deterministic.
 * O(steps). Prices rise as in negotiated congestion (McMurchie and Ebeling, "PathFinder", 1995). */
bool evict(const Nodes *nodes, const Graph *graph, EvictLimits limits, Placement *placement,
           Arena *arena);

#endif
