/* Nodes: what is coloured. Tensors that live, renumbered densely; partners share one. */
#ifndef ANALYSIS_NODE_H
#define ANALYSIS_NODE_H

#include "analysis/live.h"

typedef struct {
    uint32_t tensor;  /* the one with the smallest id of those that share the node */
    uint32_t blocks;  /* rectangles, each placed by itself */
    uint32_t height;  /* granules of each; where fixed: of the largest, by granules touched */
    uint32_t align;   /* granules */
    ShapeClass class; /* bands where it may stand */
    bool fixed;       /* its places are given */
    bool copy;        /* made by spilling */
    LiveRange range;  /* points where any block of any of its tensors is live */
    LiveRange *block_ranges; /* [blocks], or NULL where all blocks are alike */
    const Rect *rects;       /* [blocks] where fixed */
    double cost;             /* cycles that spilling it costs; INFINITY: must not be spilled */
    uint32_t partner;        /* 1 + the next node of its ring of partners; 0: it has none */
} Node;

#define NO_NODE UINT32_MAX

typedef struct {
    Node *items; /* [count] */
    uint32_t count;
    uint32_t *of;     /* [ntensors] node of a tensor, or NO_NODE */
    uint32_t npoints; /* instructions of the function */
} Nodes;

/* Renumbers: one node for each sb tensor with a live range, in order of declaration. Fills all of a
 * node but its cost; `copy` is taken from is_copy[t] (may be NULL). O(tensors + blocks). */
Nodes renumber(const Func *func, const Live *live, const bool *is_copy, Arena *arena);

/* Blocks of all nodes. */
uint32_t nodes_blocks(const Nodes *nodes);

/* Range of one block of a node. */
LiveRange node_block_range(const Node *node, uint32_t block);

/* The first block behind `block` that does not live at just its points. O(blocks between, times
 * their intervals). */
uint32_t node_alike_end(const Node *node, uint32_t block);

/* True if block i of a and block j of b are live at a common point. */
bool blocks_meet(const Node *a, uint32_t i, const Node *b, uint32_t j);

/* True if the nodes, with their blocks at these places, share a granule at some point. O(blocks of
 * both, multiplied). */
bool nodes_meet(const Node *a, const Rect *a_rects, const Node *b, const Rect *b_rects);

#endif
