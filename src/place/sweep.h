/* Sweep: places nodes in order of their first points, without an interference graph. */
#ifndef PLACE_SWEEP_H
#define PLACE_SWEEP_H

#include "place/placement.h"

/* Gives each block, in order of first points and the higher ones first, the lowest place that is
 * free there, and keeps that from its first point to its last; fixed nodes keep theirs throughout.
 * For functions whose graph would be large. Fills a placement of all nodes, or returns false where
 * one found no place: it may have one elsewhere. O(intervals + blocks log size), memory O(blocks).
 * Source: Poletto and Sarkar, Linear Scan Register Allocation. */
bool sweep(const Nodes *nodes, uint32_t size, Placement *placement, Arena *arena);

#endif
