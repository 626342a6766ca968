/* A peak in words, for -v, --explain and errors. */
#ifndef DRIVER_PEAK_TEXT_H
#define DRIVER_PEAK_TEXT_H

#include "driver/peak.h"
#include "support/writer.h"

typedef struct {
    Str *items;
    uint32_t count;
} TextLines;

/* One line about the point, one for each of the tensors that take most there, and one about what is
 * free. `source` names the file; NULL: instructions are told by point. */
TextLines peak_lines(const Peak *peak, const Source *source, Arena *arena);

/* True if a moment is told with an iteration: iterations are told apart, and there are loops. */
bool has_iteration(const Func *func, Moment moment);

/* `i = 3, j = 0`: the iteration of the loops around an instruction, outermost first; nothing where
 * there is none. */
void write_iteration(const Func *func, Moment moment, Writer *out);

/* `kernel.lf:12 (add), i = 3`. */
void write_moment_in_full(const Func *func, const Source *source, Moment moment, Writer *out);

#endif
