/* Select: pops the stack and lays each node's rectangles where its placed neighbours leave room. */
#ifndef PLACE_SELECT_H
#define PLACE_SELECT_H

#include "place/simplify.h"

typedef struct {
    Rect **rects;     /* [nodes] the blocks' places, or NULL where the node found none */
    uint32_t *failed; /* [nfailed] nodes without a place, in the order popped */
    uint32_t nfailed;
    double score; /* sum of their costs; lower is better, INFINITY where one must not be spilled */
} Placement;

/* Requires a stack of simplify(). Small nodes pack from the bottom, large ones from the top, each
 * in the pool that wastes least of a taller band; the last search of a node looks at all free bytes
 * of each of its bands, so that a node pushed as colourable always finds a place. O(edges log
 * degree). Source: the seed's select. */
Placement select_places(const Nodes *nodes, const Graph *graph, const Axis *axis,
                        const NodeStack *stack, Arena *arena);

#endif
