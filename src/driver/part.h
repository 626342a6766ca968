/* Parting: cuts of a value only the gaps that stand in others' way, and leaves its rest where it
 * fits. */
#ifndef DRIVER_PART_H
#define DRIVER_PART_H

#include "driver/round.h"

/* For each node that a round's placement has left out: looks for the place where the gaps of its
 * value that meet others cost least, cuts those for good, and notes the place, which its parts will
 * have to themselves. Where the node cannot be cut, or meets others at its own accesses, the gaps
 * of the others there are cut instead. Nodes of one block whose accesses lie in one loop body; all
 * others are left to cut_for_good(). Leaves a closed plan, and in the placement the noted places;
 * returns how many gaps were cut. O(left out times neighbours squared). */
uint32_t part_failed(Plan *plan, const Rewritten *current, const Target *target, uint32_t size,
                     Round *round, Arena *memory);

#endif
