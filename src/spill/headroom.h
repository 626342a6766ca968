/* Spilling by headroom: capacity is left free where placement failed, and residency is decided
 * again. */
#ifndef SPILL_HEADROOM_H
#define SPILL_HEADROOM_H

#include "spill/state.h"

/* Requires a round that failed. Leaves more and more headroom along the nodes without a place until
 * residency() decides otherwise. Where that is in vain, and after some rounds, cuts what failed as
 * Chaitin does, permanently, so that the rounds end. Leaves a closed plan; invalidates the code and
 * the round. False where nothing is left to cut. The cost of a few residencies. */
bool spill_by_headroom(State *state);

/* No headroom yet, for a function of so many instructions. */
Headroom headroom_make(uint32_t ninsts, Arena *arena);

/* Where the round's code needs more than there is, residency() has estimated the copies too low:
 * adds what was missing to the headroom. Requires an analysed round. O(points). */
void headroom_overload(State *state);

#endif
