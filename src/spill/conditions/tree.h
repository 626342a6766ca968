/* Decision trees over ranked samples: each leaf is a cell without unwanted samples. */
#ifndef SPILL_CONDITIONS_TREE_H
#define SPILL_CONDITIONS_TREE_H

#include "spill/conditions/cell.h"

enum {
    TREE_NODES = 2 * MOST_CONJUNCTIONS,
    MOST_TREES = 24,
    MOST_BANDS = 3 * MOST_FEATURES * MOST_FEATURES
};

/* A leaf, or a split: samples whose rank of the feature is low to high - 1 go to the next node, the
 * others to `outside`. */
typedef struct {
    bool leaf;
    uint32_t feature, low, high;
    uint32_t outside;
} TreeNode;

typedef struct {
    TreeNode nodes[TREE_NODES]; /* the root first, in preorder */
    uint32_t count;
} DecisionTree;

static inline bool split_holds(const TreeNode *node, const uint32_t *ranks) {
    return ranks[node->feature] >= node->low && ranks[node->feature] < node->high;
}

/* The leaf of a sample. */
uint32_t tree_leaf(const DecisionTree *tree, const uint32_t *ranks);

/* Bands of few values that a cell with a conflict may be split around: at most MOST_BANDS.
 * O(list * nfeatures^2). */
uint32_t suggest_bands(RankedSamples *ranked, SampleList list, const Cell *cell, TreeNode *bands);

typedef struct {
    uint32_t leaves; /* at least 2 */
    uint32_t trees;  /* 1 to MOST_TREES: with different splits at the root */
    uint64_t work;   /* it gives up where ranked->work is above it */
} TreeLimits;

/* Finds trees of `leaves` leaves whose cells have no conflict. Where thresholds do, one is found if
 * there is one: what a tree covers it still covers with fewer samples, so the longest side that few
 * leaves cover is the best (binary search). Bands are tried where a conflict suggests them. Returns
 * how many were found. */
uint32_t find_trees(RankedSamples *ranked, SampleList list, TreeLimits limits, DecisionTree *found,
                    Arena *scratch);

#endif
