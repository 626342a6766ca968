/* Residency: which gaps of spill candidates stay on chip, and which are cut. */
#ifndef SPILL_RESIDENCY_RESIDENCY_H
#define SPILL_RESIDENCY_RESIDENCY_H

#include "spill/state.h"

/* Granules of the byte axis for what is kept: all but the percent that the method leaves free. */
uint32_t residency_room(const State *state);

/* Decides which gaps of the spillable tensors to keep. Requires a state. Takes back all cuts that
 * are not permanent; then gaps compete, by the DMA cycles that they save, for the capacity that
 * everything else and the headroom leave. Where a value does not stay in a loop as a whole, opens
 * the loop, and its inner gaps compete at the next level. Leaves a closed plan; invalidates the
 * code and the round made from it. O(accesses log accesses) a level of loops, plus the search of
 * solve_gaps(). Source: Belady, "A study of replacement algorithms for a virtual-storage computer"
 * (1966), generalised to sizes, bands and costs; see solve.h. */
void residency(State *state);

/* One access of a tensor, or all its accesses in a loop where it stays on chip throughout. */
typedef struct {
    uint32_t tensor;
    uint32_t first, end; /* accesses of the plan */
    uint32_t loop;       /* that loop, or NO_LOOP for a single access */
    uint32_t level;      /* loop in whose body it lies */
    LiveRange points;    /* where it must be on chip */
    bool linked;         /* the value of the stretch before reaches it across a gap: */
    LiveRange gap;       /* the points between the two */
    int64_t load;        /* cycles of the reload that cutting the gap needs; >= 0 */
    uint32_t value;      /* the store that cutting it needs too; NO_VALUE: none */
} Stretch;

typedef struct {
    Stretch *items; /* in order of tensors, then of accesses */
    uint32_t count;
    int64_t *stores; /* [nstores] cycles */
    uint32_t nstores;
} Stretches;

/* Lists the stretches of spillable tensors of one block, in the loops as the plan has opened them:
 * what competed in residency(). Requires a closed plan, and leaves it as it is. They live in the
 * state's memory. O(accesses log accesses). */
Stretches list_stretches(State *state);

#endif
