/* The spillers: the ways in which a strategy decides what is cut next. */
#ifndef DRIVER_SPILLERS_H
#define DRIVER_SPILLERS_H

#include "driver/state.h"

/* What is cut before the first round. */

/* A choice of gaps under a model of room, with the strategy's percent left free. */
void start_with_choice(State *state);

/* That choice, then gaps and places together; leaves hints. */
void start_jointly(State *state);

/* What is cut after a round that failed: each adds split points to the plan, so that the next round
 * has a better chance, and leaves it closed. False where nothing is left to cut. */

/* What select left out is cut at every access, permanently. */
bool spill_by_chaitin(State *state);

/* Room is held back where placement failed, until the choice is another; where that is in vain, and
 * after some rounds, as by Chaitin. */
bool spill_by_headroom(State *state);

/* Nodes without a place are split at conflicts; all others keep theirs, by hints. */
bool spill_by_conflicts(State *state);

#endif
