/* Recolour: copies that can be made to do nothing once everything has its place. */
#ifndef PLACE_RECOLOUR_H
#define PLACE_RECOLOUR_H

#include "ir/ir.h"

/* Moves one end of a copy to the place of the other where that is free for it, copies in deep loops
 * first. Requires places of all sb tensors that live; changes nothing else. Returns the number of
 * moves. O(accesses log accesses + edges of the graph + neighbours of each copy's ends). Source:
 * biased colouring (Briggs, Cooper and Torczon, 1994), after the fact. */
uint32_t recolour(Func *func, Arena *arena);

#endif
