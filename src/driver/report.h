/* The lines of -v, and the figures of --stats. */
#ifndef DRIVER_REPORT_H
#define DRIVER_REPORT_H

#include "driver/allocate.h"
#include "driver/stable.h"
#include "spill/state.h"

/* The first lines. */
void report_begin(const Func *func, const Options *options, Writer *log);

/* Figures of the input, before anything is spilled: tensors, edges, degree, need. O(edges), where
 * these are not too many. */
void report_input(const Facts *facts, Report *report);

/* Adds the lines of a round to the state's log. */
void report_round(State *state);

/* The line that says that strategies run with so many copies joined. */
void report_joined(const Facts *facts, uint32_t copies, Writer *log);

/* The line that says that strategies run on what is left of a function without some loads. */
void report_rest(const Facts *facts, Writer *log);

/* The line of a strategy that has run. `why` it gave up; NULL: everything has its place. */
void report_tried(const State *state, const char *why, Writer *log);

/* What the report tells of the result. */
typedef struct {
    const Func *input;
    const Facts *facts;
    const Rewritten *code; /* placed, or rewritten alone for --emit=spilled */
    const Plan *plan;      /* that it carries out */
    const KeepCount *kept; /* places of the earlier allocation; NULL without one */
} Reported;

/* [tensors of the plan] how many blocks of each have spill code: all of one that has working
 * copies, those that leave in place of another. A value that only changes its place while nothing
 * is in it is not spilled. O(instructions). */
int64_t *count_spilled(const Reported *result, Arena *scratch);

/* Figures of the result. O(instructions). */
void report_result(const Reported *result, Report *report);

/* The last lines, of these figures. */
void report_end(const Reported *result, const Report *report, Writer *log);

/* `there it costs 1124 cycles, the next best choice, %b, would cost 2248`. Requires one->priced.
 * `there`: how that begins. */
void write_next_best(const SpilledTensor *one, const char *there, Writer *out);

/* The lines of the tensors that were spilled and of the peaks, where they were looked for. */
void report_peaks(const Func *func, const Source *source, const Report *report, Writer *log);

#endif
