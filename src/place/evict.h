/* Repair: finds places for the few nodes that select left out, by moving others. */
#ifndef PLACE_EVICT_H
#define PLACE_EVICT_H

#include "place/select.h"

/* Takes a placement of select and tries to place its failed nodes: each is put where the neighbours
 * in its way are least and have moved least, and those look for new places in turn. Works on nodes
 * of one block; fixed ones never move. A step is one neighbour looked at. On success `placement` is
 * complete and true is returned; else it is as before. Deterministic. O(steps). */
bool repair(const Nodes *nodes, const Graph *graph, const Axis *axis, uint64_t steps,
            Placement *placement, Arena *arena);

#endif
