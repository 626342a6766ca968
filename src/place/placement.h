/* A placement: the places of nodes, and the nodes that have none. */
#ifndef PLACE_PLACEMENT_H
#define PLACE_PLACEMENT_H

#include "analysis/interfere.h"

typedef struct {
    Rect **rects;     /* [nodes] the blocks' places, or NULL where the node has none */
    uint32_t *failed; /* [nfailed] nodes without a place, in the order popped */
    uint32_t nfailed;
    double score; /* sum of their costs; lower is better, INFINITY where one must not be spilled */
} Placement;

/* Where only the fixed nodes have their places, with room for all nodes to fail. O(nodes). */
Placement placement_of_fixed(const Nodes *nodes, Arena *arena);

/* Enters a node that found no place. */
void placement_fail(Placement *placement, const Nodes *nodes, uint32_t n);

/* True if no two placed blocks overlap, but for pairs of fixed nodes, which are as they came. For
 * asserts: the seed's check of all pairs, by the graph of the nodes where it is built and each has
 * one block (O(edges)), else as a sweep (O(intervals log intervals)). */
bool placement_is_legal(const Nodes *nodes, const Graph *graph, const Placement *placement);

#endif
