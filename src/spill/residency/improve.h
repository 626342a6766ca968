/* Local search on a choice: a few gaps near a point are cut, and others kept in their room. */
#ifndef SPILL_RESIDENCY_IMPROVE_H
#define SPILL_RESIDENCY_IMPROVE_H

#include "spill/prices.h"

/* The best choice so far. */
typedef struct {
    uint8_t *kept; /* [count] */
    uint8_t *band; /* [nowners] */
    int64_t cost;
    uint32_t cut;
} Best;

/* True if the choice is cheaper than the best, or as cheap with fewer gaps cut. */
bool is_better(const Choice *choice, const Best *best);

/* Betters `best` within `steps` steps; stops early at a cost that `bound` shows to be least.
 * `prices`, settled, order the items that are tried. Starts from the best and leaves the choice
 * anyhow. Ruin and recreate with a falling threshold (Schrimpf and others, "Record
 * breaking optimization results using the ruin and recreate principle", 2000). */
void improve_choice(Choice *choice, Best *best, const Prices *prices, int64_t bound, uint64_t steps,
                    Arena *scratch);

#endif
