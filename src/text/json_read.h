/* Reads a module as JSON: grammar/lf.schema.json says what it looks like. */
#ifndef TEXT_JSON_READ_H
#define TEXT_JSON_READ_H

#include "ir/ir.h"
#include "support/diag.h"

/* Loops nested deeper than this are refused, in reading and in writing. */
enum { DEEPEST_JSON_NEST = 1000 };

/* True for a source that is JSON: its first byte is `{`. */
bool source_is_json(const Source *source);

/* As parse_lf(), for JSON. Texts of the diagnostics do not name the path yet:
 * json_name_paths() does, for these and for those that later stages queue. */
bool parse_json(const Source *source, Arena *arena, DiagQueue *diags, Module *module);

/* Puts the path of the place, `functions[0].tensors[3].shape: `, before the text of each
 * diagnostic that has one. O(length of the source + diagnostics log diagnostics). */
void json_name_paths(const Source *source, DiagQueue *diags);

#endif
