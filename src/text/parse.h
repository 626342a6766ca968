/* Reads a `.lf` file: scanner (grammar/lf.l), parser (grammar/lf.y), names resolved. */
#ifndef TEXT_PARSE_H
#define TEXT_PARSE_H

#include "ir/ir.h"
#include "support/diag.h"

/* Parses `source` into `module`, everything in `arena` (names point into it or into the source).
 * Queues every error and returns true if there was none. The target is the file's or the default
 * trn2. Checks that need the target or the whole function are check_module()'s, for a module that
 * was read without error; after errors the caller stops, and this has run those of the checks that
 * still make sense, so that all errors come together. O(length of the source). The source's buffer
 * is changed while it runs, and restored. */
bool parse_lf(Source *source, Arena *arena, DiagQueue *diags, Module *module);

#endif
