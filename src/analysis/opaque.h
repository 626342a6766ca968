/* Loops taken as one: what the flat allocator thinks of live ranges. */
#ifndef ANALYSIS_OPAQUE_H
#define ANALYSIS_OPAQUE_H

#include "analysis/live.h"

/* Each interval that touches a loop grows to cover the whole outermost loop, for all tensors but
 * those where exempt[t] is set (may be NULL). O(intervals + points). */
void make_loops_opaque(const Func *func, const bool *exempt, Live *live, Arena *arena);

#endif
