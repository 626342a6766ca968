/* Unspill: cuts are taken back where there is room after all. */
#ifndef DRIVER_UNSPILL_H
#define DRIVER_UNSPILL_H

#include "driver/state.h"

/* Requires a state whose places are committed. Joins working copies across cuts as refill() finds
 * room, and keeps the result where it costs less. Does nothing where reload elimination is off. */
void unspill_state(State *state);

#endif
