/* Select of the flat allocator: reserved intervals, one vector a quadrant. */
#ifndef PLACE_SELECT_FLAT_H
#define PLACE_SELECT_FLAT_H

#include "place/select.h"

/* As select_places(), but each block goes to the lowest place that the reserved intervals of its
 * band's quadrants leave, whatever its size. A node pushed as colourable always finds a place.
 * O(edges log degree). Source: the seed's flat selectNode. */
Placement select_places_flat(const Nodes *nodes, const Graph *graph, const Axis *axis,
                             const NodeStack *stack, Arena *arena);

#endif
