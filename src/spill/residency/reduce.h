/* Reduces a problem of gaps to those that compete and the points where they do. */
#ifndef SPILL_RESIDENCY_REDUCE_H
#define SPILL_RESIDENCY_REDUCE_H

#include "spill/residency/choice.h"

/* Requires a choice that is zeroed except for its steps. Fills it: nothing kept, each owner in its
 * lowest band. Leaves out gaps that must be cut, that take no room, or that pass no point where not
 * all fit; sets `cut` of those that fit nowhere. O(gaps + intervals log points + points). */
void reduce(Choice *choice, GapProblem *problem, Arena *scratch);

#endif
