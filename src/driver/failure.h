/* Failure: why a function cannot be allocated, or not without spilling, and what would help. */
#ifndef DRIVER_FAILURE_H
#define DRIVER_FAILURE_H

#include "driver/peak.h"
#include "driver/would_fit.h"
#include "spill/facts.h"
#include "support/diag.h"

/* What was to be allocated, and where errors go. */
typedef struct {
    const Func *func; /* the input */
    const Target *target;
    const Options *options;
    double deadline; /* by clock_now(); 0: none */
    DiagQueue *diags;
    Arena *arena; /* of the function */
} Subject;

/* The input's peak; `least`: what no placement can do without. See find_peak(). */
const Peak *find_own_peak(const Subject *subject, bool least);

/* True if something surely leaves, wherever it lies. `peak`: the input's. */
bool must_spill(const Subject *subject, const Peak *peak);

/* Queues the error of --no-spill where something would have to leave. */
void report_spilled_anyway(const Subject *subject, const Peak *peak);

/* Queues the error for an instruction that cannot have its operands on chip together, in the
 * input's own names: its instructions are numbered like those of the facts. See
 * report_infeasible(). */
void report_failure(const Subject *subject, uint32_t inst, bool proved);

#endif
