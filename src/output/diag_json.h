/* Diagnostics as JSON lines, for programs. */
#ifndef OUTPUT_DIAG_JSON_H
#define OUTPUT_DIAG_JSON_H

#include "support/diag.h"
#include "support/writer.h"

/* Writes what diag_print() would print, one object a line: `{"file", "line", "column", "severity",
 * "message"}`, severity `error`, `warning` or `note`. What is about the file as a whole has null
 * for line and column, and so has a last note of how many more errors or warnings there were. */
void write_diags_json(const DiagQueue *queue, const Source *source, bool quiet, Writer *out);

#endif
