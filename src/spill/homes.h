/* Places of spill homes in DRAM. */
#ifndef SPILL_HOMES_H
#define SPILL_HOMES_H

#include "spill/rewrite.h"

/* Gives each home its offset: aligned to 64 bytes, clear of dram tensors that came with an `at`,
 * and shared by homes whose values are never needed together. Returns the end of the last home in
 * bytes. O(homes log homes + homes times free pieces looked at, a bounded number). */
int64_t place_homes(Rewritten *rewritten, Arena *scratch);

#endif
