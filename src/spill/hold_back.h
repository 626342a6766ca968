/* Spilling by headroom: room is held back where placement failed, and the choice is made again. */
#ifndef SPILL_HOLD_BACK_H
#define SPILL_HOLD_BACK_H

#include "spill/state.h"

/* After a round that failed: holds more and more room back along the nodes without a place until
 * the choice of gaps is another one. Where that is in vain, and after some rounds, what failed is
 * cut as by Chaitin, permanently, so that the rounds come to an end. Leaves a closed plan. False
 * where nothing is left to cut. The cost of a few choices. */
bool spill_by_headroom(State *state);

#endif
