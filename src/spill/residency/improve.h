/* Large-neighbourhood search on a choice: cuts a few gaps near a point, keeps others instead. */
#ifndef SPILL_RESIDENCY_IMPROVE_H
#define SPILL_RESIDENCY_IMPROVE_H

#include "spill/residency/prices.h"

/* The best choice so far. */
typedef struct {
    uint8_t *kept; /* [count] */
    uint8_t *band; /* [nowners] */
    int64_t cost;
    uint32_t cut;
} Best;

/* True if the choice is cheaper than the best, or as cheap with fewer gaps cut. */
bool is_better(const Choice *choice, const Best *best);

/* Improves `best`, from which it starts, within the steps that the choice has left; stops early
 * where the cost is at most `bound`, which no choice is below. Requires settled prices: they order
 * the items that are tried. Leaves the choice in any state. Deterministic. O(steps). Ruin and
 * recreate with a falling temperature (Schrimpf and others, "Record breaking optimization results
 * using the ruin and recreate principle", 2000). */
void improve(Choice *choice, Best *best, const Prices *prices, int64_t bound, Arena *scratch);

#endif
