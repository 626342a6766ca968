/* Partners together: places for a round in which copies do nothing. */
#ifndef DRIVER_TOGETHER_H
#define DRIVER_TOGETHER_H

#include "driver/round.h"

/* Looks for places where partners share a node. Groups that find none are taken apart, and the rest
 * is tried again a few times. Where some point is over capacity but for copies, whatever may be
 * merged is. On success fills the round as colour_round() does and returns true; else the round is
 * as before but for its count of groups. apart[p]: the copy at instruction p of the input was taken
 * apart, in this round or an earlier one. Requires an analysed round of `rewritten`. */
bool colour_together(const Options *options, uint32_t size, bool spilled,
                     const Rewritten *rewritten, bool *apart, Arena *arena, Round *round);

#endif
