/* Place: finds places for the nodes of a function, without spilling. The one entry of this layer.
 */
#ifndef PLACE_PLACE_H
#define PLACE_PLACE_H

#include "analysis/interfere.h"
#include "analysis/pressure.h"
#include "place/exact/pack.h"
#include "place/select.h"

/* What is to be placed. */
typedef struct {
    const Nodes *nodes; /* with costs */
    const Pressure *pressure;
    uint32_t size; /* granules of the byte axis */
} PlaceProblem;

/* Which passes run, in the order of place(). Each runs only where those before it left a node
 * without a place. */
typedef struct {
    bool flat;          /* select as the flat allocator does: first fit, whatever a node's size */
    int metric;         /* of the first stack, 0 to 2: see simplify() */
    bool evict;         /* after each select() move other nodes where some found no place */
    bool by_height;     /* a second stack: the highest node first */
    bool other_metrics; /* stacks of the two other metrics */
    bool must_fit;      /* nothing is to be left out, whatever it costs */
    uint64_t shuffle_steps; /* of eviction from nothing, in orders that are shuffled */
    bool crowded; /* something is spilled, so most nodes are hard to place: large functions are
                     placed by height alone, only small ones by other metrics, and the exact search
                     runs last, where few nodes failed */
    uint64_t exact_steps;         /* of the exact search; 0: it does not run */
    uint64_t exact_steps_of_each; /* and at most this times the number of rectangles */
    uint64_t seed;                /* of the exact search */
    double deadline; /* seconds of the monotonic clock when the exact search ends; 0: never */
} Placer;

typedef struct {
    Graph graph;
    NodeStack stack;     /* the first one; its counts are what --stats reports */
    Placement placement; /* the one with the least score; legal */
    bool placed;         /* every node has its place */
} Placed;

/* Builds the interference graph and places the nodes: simplify and select, evict, then the placer's
 * other stacks and the exact search, until every node has its place. Eviction and exact search run
 * only where no point is over capacity. Same input, same result. O(edges log degree) for a stack,
 * and the steps of eviction (some for each edge and node) and of the exact search. */
Placed place(const PlaceProblem *problem, const Placer *placer, Arena *arena);

/* One block of a node, for the exact search. */
PackItem pack_item(const Node *node, uint32_t block);

#endif
