/* Residence: which gaps of the values that may leave are kept on chip, and which are cut. */
#ifndef SPILL_RESIDENCY_RESIDENCY_H
#define SPILL_RESIDENCY_RESIDENCY_H

#include "spill/facts.h"

typedef struct {
    const Live *live;      /* of the facts' function, as the cost model sees it */
    const bool *candidate; /* [ntensors] its gaps may be cut; must be spillable */
    const uint32_t *held;  /* [npoints] granules held back at each point */
    uint32_t size;         /* granules of the byte axis that may be used */
    uint64_t steps;        /* budget of the choice */
} ResideOptions;

/* Takes back this round's cuts and decides anew, beside
 * those that last: gaps compete for the room that everything else leaves, by the DMA cycles that
 * they save; a loop whose value goes as a whole is opened and its inner gaps compete in turn.
 * Leaves a closed plan. O(accesses log accesses) a level of loops, plus the choice. Returns the
 * cycles that it thinks the cuts cost. */
int64_t reside(const Facts *facts, ResideOptions options, Plan *plan);

/* One access, or all accesses in a loop that stays on chip as a whole. */
typedef struct {
    uint32_t tensor;
    uint32_t first, end; /* accesses of the plan */
    LiveRange points;    /* where it must be on chip */
    bool linked;         /* it carries on the value of the stretch before, which may be kept: */
    LiveRange gap;       /* the points between the two */
    int64_t load;        /* cycles of the reload that cutting the gap needs; >= 0 */
    uint32_t value;      /* which store cutting it needs too; NO_VALUE: none */
} Stretch;

typedef struct {
    Stretch *items; /* in order of tensors, then of accesses */
    uint32_t count;
    int64_t *stores; /* [nstores] cycles */
    uint32_t nstores;
} Stretches;

/* Lists the stretches of the candidates of one block, as the plan has opened loops by now: what
 * reside() has let compete. O(accesses log accesses). */
Stretches list_stretches(const Facts *facts, ResideOptions options, Plan *plan, Arena *arena);

#endif
