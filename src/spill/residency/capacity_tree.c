#include "spill/residency/capacity_tree.h"

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Below any sum, and far enough from the end that additions do not wrap. */
static const int64_t NOTHING = INT64_MIN / 2;

void tree_init(CapacityTree *tree, const uint32_t *capacity, uint32_t npoints, Arena *arena) {
    tree->leaves = 2;
    tree->levels = 2;
    while (tree->leaves < (uint64_t)npoints + 2) {
        tree->leaves *= 2;
        tree->levels++;
    }
    tree->most = RAW_ARRAY(arena, int64_t, (size_t)tree->leaves * 2);
    tree->add = RAW_ARRAY(arena, int64_t, (size_t)tree->leaves * 2);
    tree_clear(tree, capacity, npoints);
}

void tree_clear(CapacityTree *tree, const uint32_t *capacity, uint32_t npoints) {
    uint32_t leaves = tree->leaves;
    for (uint32_t i = 0; i < leaves; i++) {
        tree->most[leaves + i] = i >= 1 && i <= npoints ? -(int64_t)capacity[i - 1] : NOTHING;
        tree->add[leaves + i] = 0;
    }
    for (uint32_t node = leaves - 1; node >= 1; node--) {
        tree->most[node] = larger(tree->most[2 * node], tree->most[2 * node + 1]);
        tree->add[node] = 0;
    }
}

static void pull(CapacityTree *tree, uint32_t node) {
    tree->most[node] = larger(tree->most[2 * node], tree->most[2 * node + 1]) + tree->add[node];
}

static void add_node(CapacityTree *tree, uint32_t node, int64_t amount) {
    tree->most[node] += amount;
    tree->add[node] += amount;
}

/* Leaf i + 1 is point i, so that there is a leaf on either side of any range: climb from those two.
 */
void tree_add(CapacityTree *tree, uint32_t first, uint32_t last, int64_t amount) {
    uint32_t left = first + tree->leaves, right = last + 2 + tree->leaves;
    for (; (left ^ right) != 1; left >>= 1, right >>= 1) {
        if (!(left & 1)) add_node(tree, left ^ 1, amount);
        if (right & 1) add_node(tree, right ^ 1, amount);
        pull(tree, left >> 1);
        pull(tree, right >> 1);
    }
    for (left >>= 1; left >= 1; left >>= 1)
        pull(tree, left);
}

int64_t tree_most(const CapacityTree *tree, uint32_t first, uint32_t last) {
    uint32_t left = first + tree->leaves, right = last + 2 + tree->leaves;
    int64_t most_left = NOTHING, most_right = NOTHING;
    for (; (left ^ right) != 1; left >>= 1, right >>= 1) {
        if (!(left & 1)) most_left = larger(most_left, tree->most[left ^ 1]);
        if (right & 1) most_right = larger(most_right, tree->most[right ^ 1]);
        most_left += tree->add[left >> 1];
        most_right += tree->add[right >> 1];
    }
    int64_t most = larger(most_left, most_right);
    for (left >>= 1; left >= 1; left >>= 1)
        most += tree->add[left];
    return most;
}
