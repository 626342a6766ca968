/* Select: pops the stack and places each node where its placed neighbours leave room. */
#ifndef PLACE_SELECT_H
#define PLACE_SELECT_H

#include "place/placement.h"
#include "place/simplify.h"

/* Requires a stack of nodes that are not fixed, each once, as simplify() makes it. Packs small
 * nodes from the bottom and large ones from the top, each in the pool that wastes least of a wider
 * band. The last search for a node looks at all free bytes of each of its bands, so that a node
 * pushed as colourable always finds a place. A node with several blocks is placed first fit.
 * Returns a legal placement. O(edges log degree). Source: the seed's select. */
Placement select_places(const Nodes *nodes, const Graph *graph, const Axis *axis,
                        const NodeStack *stack, Arena *arena);

#endif
