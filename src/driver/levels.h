/* Spilling when something must go: how much room to leave free, and what is cut when that fails. */
#ifndef DRIVER_LEVELS_H
#define DRIVER_LEVELS_H

#include "driver/relieve.h"

/* What the rounds work on; owned by the caller. */
typedef struct {
    Plan *plan;
    const Sources *sources;
    Relief *relief;
    const Target *target;
    const Options *options;
    Rewritten *current; /* the function as rewritten last */
    Round *round;       /* and its places */
    Arena *arena;       /* of the function */
    Arena *memory;      /* of these rounds */
    uint32_t rounds;    /* rewrites made */
    bool hopeful;       /* of the choice that runs: see ResideOptions */
} Levels;

/* Requires an analysed function that has no placement. Lets the gaps of all values compete for the
 * State Buffer less some percent of it, a few percents in turn. Each time the choice is coloured
 * where the function is small, and then places and kept gaps are decided anew together; that goes
 * on from the attempt that costs least when what found no place is counted at its cost. What found
 * none there is cut for good, everything else keeps its place, until all have one. True if they
 * have: then `current` and `round` are the result, and the plan is what made it. */
bool spill_by_levels(Levels *levels);

#endif
