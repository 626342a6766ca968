/* Coalescing: partners that share one node. */
#ifndef PLACE_COALESCE_H
#define PLACE_COALESCE_H

#include "analysis/interfere.h"
#include "analysis/partners.h"
#include "place/capacity.h"

typedef struct {
    Nodes nodes;    /* partners merged; costs are sums */
    uint32_t *into; /* [nodes before] the node that each became a part of */
    uint32_t merges;
} Merged;

/* Merges partners, those in deep loops first, where their ranges meet nowhere but at copies between
 * them, the whole fits the State Buffer, and (with a graph) the merged node is still colourable
 * whatever its neighbours do, or brings no neighbour to one of its ends that could stand in that
 * one's way. Without a graph wherever it is legal. A partner of a fixed node must be able to stand
 * just there. apart[i]: partner i is left alone. Nodes that stay partners are linked in rings.
 * O(partners times (neighbours + intervals of their groups)). Sources: Briggs, Cooper and Torczon,
 * "Improvements to graph coloring register allocation" (1994); George and Appel, "Iterated register
 * coalescing" (1996). */
Merged coalesce(const Handing *handing, const Partners *partners, const bool *apart,
                const Graph *graph, const Axis *axis, Arena *arena);

#endif
