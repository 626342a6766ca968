/* Weigh: how hard each node is to place beside all its neighbours, and what its removal gives them.
 */
#ifndef PLACE_WEIGH_H
#define PLACE_WEIGH_H

#include "analysis/interfere.h"
#include "place/capacity.h"

typedef struct {
    int64_t *caps;     /* [nodes] places left wherever the neighbours are */
    int64_t *reliefs;  /* [nodes] places that its removal gives back to neighbours */
    uint32_t *degrees; /* [nodes] neighbours without fixed ones */
} Weights;

/* Requires the graph of `nodes`. Fills the weights of all nodes that are not fixed. O(nodes +
 * points) where every node has one interval, none is fixed and none aligned: then a node's sums are
 * those of all that begins by its end less those of all that ends before it. Else O(edges). */
Weights weigh(const Nodes *nodes, const Graph *graph, const Axis *axis, Arena *arena);

#endif
