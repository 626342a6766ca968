/* Residence: which gaps of the values that may leave are kept on chip, and which are cut. */
#ifndef SPILL_RESIDE_H
#define SPILL_RESIDE_H

#include "analysis/live.h"
#include "spill/plan.h"
#include "spill/source.h"

typedef struct {
    const bool *candidate; /* [ntensors] its gaps may be cut; must be spillable */
    const uint32_t *tax;   /* [npoints] granules held back at each point, or NULL */
    uint32_t size;         /* granules of the byte axis */
    uint64_t steps;        /* budget of the choice */
    bool remat;            /* values may be loaded again from where a load found them */
    bool hopeful;          /* opening a loop is weighed as if loops in it then stayed whole */
    bool keep; /* false: every gap that has room to give is cut (no reload elimination) */
} ResideOptions;

/* Requires `live` of the plan's function. Takes back this round's cuts and decides anew, beside
 * those that last: gaps compete for the room that everything else leaves, by the DMA cycles that
 * they save; a loop whose value goes as a whole is opened and its inner gaps compete in turn.
 * Leaves a closed plan. O(accesses log accesses) a level of loops, plus the choice. Returns the
 * cycles that it thinks the cuts cost. */
int64_t reside(Plan *plan, const Sources *sources, const Live *live, const Target *target,
               ResideOptions options);

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
Stretches list_stretches(Plan *plan, const Sources *sources, const Live *live, const Target *target,
                         ResideOptions options, Arena *arena);

#endif
