/* Explain: why one tensor lies where it does, or was spilled, in plain sentences. */
#ifndef DRIVER_EXPLAIN_H
#define DRIVER_EXPLAIN_H

#include "analysis/live.h"
#include "driver/options.h"
#include "driver/stable.h"

/* A finished allocation, and what it was made from. */
typedef struct {
    const Options
        *options; /* with `explain`, and `source` where instructions are to be told by line */
    const Target *target;
    const Func *func;        /* the plan's */
    const Str *names;        /* [func->ntensors] the input's name of each tensor */
    const Earlier *earlier;  /* of --previous; its func is NULL without */
    const Plan *plan;        /* carried out in `result` */
    const Rewritten *result; /* placed */
    const Live *live;        /* of the result */
} Explained;

/* The lines about the tensor of that name: one of the input (all its parts, where it was split), a
 * part, a working copy or a home. Empty where the function has none such. O(tensors times intervals
 * + accesses log accesses). */
Str explain(const Explained *about, Arena *arena);

#endif
