/* The interference graph. */
#ifndef ANALYSIS_INTERFERE_H
#define ANALYSIS_INTERFERE_H

#include "analysis/node.h"

/* Neighbours of one node: listed[from .. end), then by_start[run .. run_end). */
typedef struct {
    uint64_t from, end;
    uint32_t run, run_end;
} Adjacent;

/* Compressed adjacency. Where every node has one interval, only neighbours that begin before a node
 * are listed: those that begin within it are a run of the nodes in order of their beginning, so
 * that each pair is stored once. Elsewhere runs are empty. */
typedef struct {
    bool built;         /* the rest is filled */
    Adjacent *of;       /* [nodes] */
    uint32_t *listed;   /* nodes */
    uint32_t *by_start; /* [nodes] by first point, then by number; NULL where runs are empty */
    uint64_t edges;     /* pairs */
    uint32_t max_degree;
} Graph;

/* Two nodes interfere if their ranges share a point. A sweep over interval starts.
 * O(intervals log intervals + pairs of intervals that meet), memory O(the same
 * pairs, those of nodes where these are few beside the intervals). */
Graph build(const Nodes *nodes, Arena *arena);

static inline uint32_t degree_of(const Graph *graph, uint32_t n) {
    const Adjacent *of = &graph->of[n];
    return (uint32_t)(of->end - of->from) + (of->run_end - of->run);
}

/* A walk over neighbours, each once:
 * for (NeighbourWalk walk = neighbours_of(graph, n); next_neighbour(&walk, &m);) */
typedef struct {
    const uint32_t *next, *end, *run, *run_end;
} NeighbourWalk;

static inline NeighbourWalk neighbours_of(const Graph *graph, uint32_t n) {
    const Adjacent *of = &graph->of[n];
    NeighbourWalk walk = {.next = graph->listed + of->from, .end = graph->listed + of->end};
    if (graph->by_start) {
        walk.run = graph->by_start + of->run;
        walk.run_end = graph->by_start + of->run_end;
    }
    return walk;
}

static inline bool next_neighbour(NeighbourWalk *walk, uint32_t *neighbour) {
    if (walk->next == walk->end) {
        if (walk->run == walk->run_end) return false;
        walk->next = walk->run;
        walk->end = walk->run = walk->run_end;
    }
    *neighbour = *walk->next++;
    return true;
}

#endif
