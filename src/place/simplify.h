/* Simplify: takes nodes out of the graph one by one; the order of removal is the stack. */
#ifndef PLACE_SIMPLIFY_H
#define PLACE_SIMPLIFY_H

#include "analysis/interfere.h"
#include "place/capacity.h"

#define SENTINEL UINT32_MAX

typedef struct {
    uint32_t
        *items; /* [count] in order of removal; SENTINEL after those that surely find a place */
    uint32_t count;
    uint32_t low, high, infinite; /* nodes that began colourable, spillable, and neither */
} NodeStack;

/* Requires costs, and the graph of `nodes`. Fills a stack of all nodes that are not fixed, each
 * once. Removes colourable nodes (cap > 0: a place is left wherever their neighbours are); where
 * there is none, the spillable node with the least cost for the relief that it gives: metric 0 cost
 * / relief, 1 cost / relief^2, 2 cost / degree^2; ties go to a node that is no copy, then to the
 * larger relief, then to the smaller number. Nodes that must not be spilled and never became
 * colourable are flushed last. Fixed nodes stay in the graph and are not on the stack.
 * O(edges + nodes log nodes). Source: the seed's simplify; relief in place of its residual. */
NodeStack simplify(const Nodes *nodes, const Graph *graph, const Axis *axis, int metric,
                   Arena *arena);

#endif
