/* What a placed function carries besides its places. */
#ifndef IR_MARKS_H
#define IR_MARKS_H

#include "ir/ir.h"

/* Marks the header: `!ready_for_codegen`, and `!no_spill` where nothing was spilled. */
void mark_header(Func *func, bool spilled, Arena *arena);

/* Marks copies whose two ends share their places `!elided`, and no others. Requires places.
 * Owns the instructions if it changes one. */
void mark_copies(Func *func, Arena *arena);

/* The highest byte that a placed tensor that is named uses, plus one. */
int64_t high_water(const Func *func);

/* True if the function says that it is ready and every sb tensor in use has its places. */
bool is_placed(const Func *func);

#endif
