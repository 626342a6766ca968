/* Chaitin's spilling: what select left out goes to memory. */
#ifndef SPILL_CHAITIN_H
#define SPILL_CHAITIN_H

#include "spill/state.h"

/* Cuts every gap and loop of what each failed node of a round stands for, permanently; of one that
 * must not be spilled, of the neighbours that can go. Requires a coloured round of `code`. Leaves a
 * closed plan. False where nothing new was cut: no further round will do better. O(neighbours of
 * the failed nodes + their accesses). Sources: Chaitin, "Register allocation and spilling via graph
 * coloring" (1982); the seed's insert_spill_code(). */
bool spill_failed(Plan *plan, const Rewritten *code, const Round *round);

/* spill_failed() for the round of a state. Where a point is so far over capacity that the graph was
 * not built, a choice of gaps relieves it first. */
bool spill_by_chaitin(State *state);

#endif
