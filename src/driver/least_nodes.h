/* LeastNodes nodes: what must be on chip at each point, whatever is spilled. */
#ifndef DRIVER_LEAST_NODES_H
#define DRIVER_LEAST_NODES_H

#include "analysis/same_value.h"
#include "spill/facts.h"

/* `nodes`: those that stay, for as long as they live, then those of the operands of each
 * instruction that may be spilled, of one point each, in order of points. What copies may have
 * given one value takes room once, so that no placement needs less. */
typedef struct {
    Nodes nodes;
    uint32_t staying;
} LeastNodes;

/* True if blocks of a tensor that stays may lie in one place, as they need not live together in
 * loops: at a point only those that the instruction names are surely there. */
bool blocks_may_share(const Func *func, uint32_t tensor);

/* `lying`: all nodes of the facts' function, with places where they are fixed; where fixed ones may
 * lie over each other those places count but once, see share_fixed(). O(operands log operands +
 * intervals). */
LeastNodes find_least_nodes(const Facts *facts, const Nodes *lying, Arena *arena);

/* A fixed tensor may touch the last granule, which need not be whole; the others share what is left
 * of the whole ones. */
void clip_fixed(Nodes *nodes, uint32_t size, Arena *arena);

/* Fixed tensors that lie over each other take room once: the check of fixed places has let them, so
 * that they are never there at once, or have one value. Never counts too much. O(intervals log
 * intervals). */
void share_fixed(Nodes *nodes, Arena *arena);

/* True if the instruction may find two tensors in one place: it writes neither, or copies one to
 * the other. Requires the values before it. */
bool may_share_place(SameValues *values, uint32_t a, uint32_t b);

#endif
