/* Gaps of time: between accesses of one block that its value crosses. What is kept on chip is
 * decided gap by gap. */
#ifndef SPILL_TIME_GAPS_H
#define SPILL_TIME_GAPS_H

#include "spill/time/time_facts.h"

/* Requires cells. Fills facts->gaps. `remat`: values may come from where the program's own loads
 * and saves have them (Briggs, Cooper and Torczon, "Rematerialization", 1992, for loads). False
 * where some access needs a value that nothing before it has made. O(accesses times runs around
 * them, and writes of DRAM looked at, a bounded number each). */
bool find_gaps(TimeFacts *facts, bool remat, Arena *arena);

#endif
