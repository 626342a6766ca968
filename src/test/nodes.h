/* Random colouring problems: nodes with ranges and shapes, without a function around them. */
#ifndef TEST_NODES_H
#define TEST_NODES_H

#include "analysis/interfere.h"
#include "test/chance.h"

typedef struct {
    Nodes nodes;
    Graph graph;   /* built by comparing all pairs */
    uint32_t size; /* granules of the byte axis */
} ColourProblem;

/* A few to some forty nodes of all classes, some of several blocks (alike, or each with a range of
 * its own), aligned, fixed, or of infinite cost, on an axis that is ample, tight or too small. The
 * same for the same seed. */
ColourProblem random_nodes(uint64_t seed, Arena *arena);

/* The graph by its definition: two nodes are joined if their ranges share a point. O(nodes^2). */
Graph plain_graph(const Nodes *nodes, Arena *arena);

#endif
