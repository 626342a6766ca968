/* Select of the flat allocator: first fit, whatever the size of a node. */
#ifndef PLACE_SELECT_FLAT_H
#define PLACE_SELECT_FLAT_H

#include "place/select.h"

/* As select_places(), but places each block at the lowest free place. A node pushed as colourable
 * always finds a place. O(edges log degree). Source: the seed's flat selectNode, whose reserved
 * intervals of each quadrant give the same places. */
Placement select_flat(const Nodes *nodes, const Graph *graph, const Axis *axis,
                      const NodeStack *stack, Arena *arena);

#endif
