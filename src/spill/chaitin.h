/* Chaitin's spilling: every access of what select left out gets a copy of its own. */
#ifndef SPILL_CHAITIN_H
#define SPILL_CHAITIN_H

#include "spill/state.h"

/* Cuts every gap and loop of what each failed node stands for, permanently; where a node must not
 * be spilled, those of its neighbours that may be. Requires a round of `code` that placement left
 * incomplete, with its graph. Leaves a closed plan; invalidates the code and the round. False where
 * nothing new was cut: no further round will do better. O(neighbours of the failed nodes + their
 * accesses). Sources: Chaitin, "Register allocation and spilling via graph coloring" (1982); the
 * seed's insert_spill_code(). */
bool spill_failed(Plan *plan, const Rewritten *code, const Round *round);

/* spill_failed() for the round of a state. Where a point is so far over capacity that no graph was
 * built, decides a residency instead. */
bool spill_by_chaitin(State *state);

#endif
