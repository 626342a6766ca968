/* Feasible: what can be allocated at all, and what is told where something cannot. */
#ifndef DRIVER_FEASIBLE_H
#define DRIVER_FEASIBLE_H

#include "driver/would_fit.h"
#include "spill/facts.h"
#include "support/diag.h"

/* The instruction whose operands, beside the fixed, pinned and output tensors that are live there,
 * need more granules than there are by the sums of bands alone, and most so; UINT32_MAX if there is
 * none. What copies have given one value counts once. A lower bound: what it names is infeasible,
 * what it passes may be infeasible still. O(operands + intervals). */
uint32_t infeasible_instruction(const Facts *facts);

/* The first instruction whose operands, beside what stays, have no places together, as exact
 * searches prove within a budget of steps; UINT32_MAX if none was found. For what nothing else
 * could place: O(instructions times what stays + steps). */
uint32_t impossible_instruction(const Facts *facts);

/* True if some placement may need less there than the search of the last resort counts: copies may
 * let tensors that are named, or that stay, lie in one place, and loads that bring what nothing
 * reads are dropped. O(operands). */
bool may_need_less(const Facts *facts, uint32_t inst);

/* Queues the error for the instruction `inst` of `func` (UINT32_MAX: entry, where the inputs come
 * in): its operands, how much each needs, what else must be there, and by how much that is too
 * much. `proved`: there is no placement; else the search for one has run out of steps. Returns who
 * takes the room, in the arena. */
typedef struct {
    const Func *func;
    const Live *live;
    const Target *target;
    uint32_t inst;
    bool proved;
} Infeasible;
Shortage report_infeasible(const Infeasible *what, DiagQueue *diags, Arena *arena);

#endif
