/* Places for a pending segment of a state of the beam. */
#ifndef SPILL_JOINT_BEAM_PLACES_H
#define SPILL_JOINT_BEAM_PLACES_H

#include "spill/joint/beam_state.h"

/* Adds to the choices the best places for the first pending segment of a state, at most `tries`:
 * those that touch something or an end of the axis, ranked by what they evict and what room they
 * waste. O(bands * residents * (tries + residents)). */
void find_beam_places(Beam *beam, uint32_t state);

#endif
