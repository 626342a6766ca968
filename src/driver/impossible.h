/* Tells why a function cannot be allocated. */
#ifndef DRIVER_IMPOSSIBLE_H
#define DRIVER_IMPOSSIBLE_H

#include "analysis/live.h"
#include "support/diag.h"

/* Queues the error for the instruction `inst` of `func` (UINT32_MAX: entry, where the inputs come
 * in): its operands, how much each needs, what else must be there, and by how much that is too
 * much. `proved`: there is no placement; else the search for one has run out of steps. */
void report_impossible(const Func *func, const Live *live, const Target *target, uint32_t inst,
                       bool proved, DiagQueue *diags);

#endif
