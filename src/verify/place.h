/* Whether every tensor of a result lies where it may. */
#ifndef VERIFY_PLACE_H
#define VERIFY_PLACE_H

#include "verify/match.h"

/* Queues an error for each tensor that leaves the State Buffer, its bands, its base or alignment;
 * for each output without a place; for each fixed tensor that has moved; for each home that is
 * misaligned or overlaps a `dram` tensor that came with an `at`. `placed`: places in the State
 * Buffer are wanted at all. That what is used has a place only the run can tell: what never runs
 * needs none. Returns true if no error was queued. O(blocks of the result, homes log homes). */
bool check_places(const Match *match, const Target *target, bool placed, Arena *arena,
                  DiagQueue *diags);

#endif
