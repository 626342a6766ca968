/* Whether every tensor of a result lies where it may. */
#ifndef VERIFY_PLACE_H
#define VERIFY_PLACE_H

#include "verify/match.h"

/* Queues an error for each tensor that has no place and needs one, or that leaves the State Buffer,
 * its bands, its base or alignment; for each fixed tensor that has moved; for each home that is
 * misaligned or overlaps a `dram` tensor that came with an `at`. `placed`: places are wanted at
 * all. Returns true if none was queued. O(blocks and operands of the result, homes log homes). */
bool check_places(const Match *match, const Target *target, bool placed, Arena *arena,
                  DiagQueue *diags);

#endif
