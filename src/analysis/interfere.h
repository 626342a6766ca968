/* The interference graph, and how full the State Buffer is at each point. */
#ifndef ANALYSIS_INTERFERE_H
#define ANALYSIS_INTERFERE_H

#include "analysis/node.h"

/* Compressed adjacency: neighbours of node n are adjacent[first[n] .. first[n + 1]), each once. */
typedef struct {
    uint64_t *first; /* [nodes + 1] */
    uint32_t *adjacent;
    uint64_t edges; /* pairs */
    uint32_t max_degree;
} Graph;

/* Two nodes interfere if their ranges share a point. A sweep over interval starts.
 * O(intervals log intervals + pairs of intervals that meet), memory O(the same pairs). */
Graph build(const Nodes *nodes, Arena *arena);

/* Granules needed at each point if bands packed without waste: the larger of each quadrant's own
 * load and the even share of all. */
typedef struct {
    uint32_t *need; /* [npoints] granules; saturated */
    uint32_t peak;  /* the largest: the high-water mark that no placement can go below */
    uint32_t peak_point;
} Pressure;

/* O(intervals + points). A lower bound of the bytes that any placement needs. */
Pressure find_pressure(const Nodes *nodes, Arena *arena);

#endif
