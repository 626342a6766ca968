/* Explain: why tensors lie where it do, or were spilled, in plain sentences. */
#ifndef DRIVER_EXPLAIN_H
#define DRIVER_EXPLAIN_H

#include "analysis/live.h"
#include "driver/allocate.h"
#include "driver/stable.h"
#include "support/writer.h"

/* A finished allocation, and what it was made from. */
typedef struct {
    const Options
        *options; /* with `explain`, and `source` where instructions are to be told by line */
    const Target *target;
    const Func *input;       /* the user's */
    const Func *func;        /* the plan's */
    const Str *names;        /* [func->ntensors] the input's name of each tensor */
    const Earlier *earlier;  /* of --previous; its func is NULL without */
    const Plan *plan;        /* carried out in `result` */
    const Rewritten *result; /* placed */
    const Live *live;        /* of the result */
    const uint32_t *need;    /* [func->ninsts] granules, as in Peak */
    const Report *report;    /* of the result */
    bool taken;              /* those that the result takes */
} Explained;

/* The lines about each tensor asked for, in the order of asking: one of the input (all its parts,
 * where it was split), a part, a working copy or a home. Sets `found` [options->explain.count] for
 * those that the function has. `out` gathers in memory. O(tensors times intervals + accesses log
 * accesses) for each. */
void explain(const Explained *about, bool *found, Writer *out);

#endif
