#include "spill/conditions/tree.h"

#include <assert.h>

#include "support/search.h"

typedef struct {
    RankedSamples *ranked;
    DecisionTree tree;
    TreeLimits limits;
    uint32_t *stack; /* lists of samples, those of inner calls last */
    uint32_t top;
    DecisionTree *found;
    uint32_t nfound;
} TreeSearch;

/* Samples to cover by so many leaves. */
typedef struct {
    SampleList list;
    Cell cell;
    uint32_t leaves;
} Part;

uint32_t tree_leaf(const DecisionTree *tree, const uint32_t *ranks) {
    uint32_t at = 0;
    while (!tree->nodes[at].leaf)
        at = split_holds(&tree->nodes[at], ranks) ? at + 1 : tree->nodes[at].outside;
    return at;
}

static bool cover(TreeSearch *search, SampleList list, uint32_t leaves);

/* ---- one split ---- */

/* The samples of one side, on the stack. */
static SampleList take_side(TreeSearch *search, SampleList list, const TreeNode *split,
                            bool inside) {
    uint32_t *ids = search->stack + search->top, count = 0;
    for (uint32_t i = 0; i < list.count; i++)
        if (split_holds(split, sample_ranks(search->ranked, list.ids[i])) == inside)
            ids[count++] = list.ids[i];
    search->top += count;
    search->ranked->work += list.count;
    return (SampleList){ids, count};
}

static bool side_covered(TreeSearch *search, SampleList list, const TreeNode *split,
                         uint32_t leaves, bool inside) {
    uint32_t top = search->top;
    bool covered = cover(search, take_side(search, list, split, inside), leaves);
    search->top = top;
    return covered;
}

/* The tree is complete: it is kept, and the search goes on for others until there are enough. */
static bool keep_tree(TreeSearch *search) {
    search->found[search->nfound++] = search->tree;
    return search->nfound == search->limits.trees;
}

/* Covers the inside with so many leaves and the outside with the rest; if not, takes both back. */
static bool try_split(TreeSearch *search, const Part *part, TreeNode split, uint32_t inside) {
    uint32_t at = search->tree.count++;
    search->tree.nodes[at] = split;
    if (side_covered(search, part->list, &split, inside, true)) {
        search->tree.nodes[at].outside = search->tree.count;
        if (side_covered(search, part->list, &split, part->leaves - inside, false)) {
            if (part->leaves < search->limits.leaves || keep_tree(search)) return true;
        }
    }
    search->tree.count = at;
    return false;
}

/* ---- thresholds ---- */

/* A probe that leaves no trace in the tree. */
static bool can_cover(TreeSearch *search, SampleList list, TreeNode split, uint32_t leaves) {
    uint32_t count = search->tree.count;
    bool covered = side_covered(search, list, &split, leaves, true);
    search->tree.count = count;
    return covered;
}

/* The threshold in the middle of the gap of values that `end` ends, so that as few samples as can
 * be contradict it. */
static uint32_t middle_of_gap(const TreeSearch *search, SampleList list, uint32_t feature,
                              uint32_t end) {
    uint32_t below = 0, above = UINT32_MAX;
    for (uint32_t i = 0; i < list.count; i++) {
        uint32_t rank = sample_ranks(search->ranked, list.ids[i])[feature];
        if (rank < end && rank > below) below = rank;
        if (rank >= end && rank < above) above = rank;
    }
    return below + (above - below + 1) / 2;
}

/* The longest prefix that `leaves` cover, then the rest. */
static bool try_prefix(TreeSearch *search, const Part *part, uint32_t feature, uint32_t leaves) {
    uint32_t low = part->cell.low[feature] + 1, end;
    FIND_FIRST(end, low, part->cell.high[feature] + 1,
               !can_cover(search, part->list, (TreeNode){false, feature, 0, end, 0}, leaves));
    if (end == low) return false;
    end = middle_of_gap(search, part->list, feature, end - 1);
    return try_split(search, part, (TreeNode){false, feature, 0, end, 0}, leaves);
}

static bool try_suffix(TreeSearch *search, const Part *part, uint32_t feature, uint32_t leaves) {
    uint32_t end = part->cell.high[feature] + 1, begin;
    FIND_FIRST(
        begin, part->cell.low[feature] + 1, end,
        can_cover(search, part->list, (TreeNode){false, feature, begin, UINT32_MAX, 0}, leaves));
    if (begin == end) return false;
    begin = middle_of_gap(search, part->list, feature, begin);
    return try_split(search, part, (TreeNode){false, feature, begin, UINT32_MAX, 0}, leaves);
}

static bool try_thresholds(TreeSearch *search, const Part *part) {
    for (uint32_t leaves = 1; leaves <= part->leaves / 2; leaves++)
        for (uint32_t f = 0; f < search->ranked->nfeatures; f++) {
            if (try_prefix(search, part, f, leaves)) return true;
            if (2 * leaves < part->leaves && try_suffix(search, part, f, leaves)) return true;
        }
    return false;
}

/* ---- bands ---- */

static void widen_band(TreeNode *band, uint32_t rank) {
    if (rank < band->low) band->low = rank;
    if (rank >= band->high) band->high = rank + 1;
}

/* The values of feature `f` of the wanted samples whose values of `other` are at least, at most, or
 * just the conflict's: without them it could be excluded. */
static void find_bands(const RankedSamples *ranked, SampleList list, uint32_t conflict,
                       TreeNode bands[3], uint32_t other) {
    uint32_t pivot = sample_ranks(ranked, conflict)[other], f = bands[0].feature;
    for (uint32_t i = 0; i < list.count; i++) {
        if (ranked->labels[list.ids[i]] != SAMPLE_WANTED) continue;
        const uint32_t *ranks = sample_ranks(ranked, list.ids[i]);
        if (ranks[other] >= pivot) widen_band(&bands[0], ranks[f]);
        if (ranks[other] <= pivot) widen_band(&bands[1], ranks[f]);
        if (ranks[other] == pivot) widen_band(&bands[2], ranks[f]);
    }
}

/* The values of feature `f` of what is unwanted. */
static TreeNode find_hole(const RankedSamples *ranked, SampleList list, const Cell *cell,
                          uint32_t f) {
    TreeNode band = {false, f, UINT32_MAX, 0, 0};
    for (uint32_t i = 0; i < list.count; i++)
        if (ranked->labels[list.ids[i]] == SAMPLE_UNWANTED && in_box(ranked, cell, list.ids[i]))
            widen_band(&band, sample_ranks(ranked, list.ids[i])[f]);
    return band;
}

/* Appends a band of few values that lies within the box: at its ends it would be a threshold. */
static uint32_t add_band(const Cell *cell, TreeNode band, TreeNode *bands, uint32_t count) {
    uint32_t f = band.feature;
    if (band.low >= band.high || band.high - band.low > MOST_BAND) return count;
    if (band.low <= cell->low[f] || band.high > cell->high[f]) return count;
    for (uint32_t i = 0; i < count; i++)
        if (bands[i].feature == f && bands[i].low == band.low && bands[i].high == band.high)
            return count;
    bands[count] = band;
    return count + 1;
}

uint32_t suggest_bands(RankedSamples *ranked, SampleList list, const Cell *cell, TreeNode *bands) {
    uint32_t count = 0, n = ranked->nfeatures;
    for (uint32_t f = 0; f < n; f++) {
        uint32_t rank = sample_ranks(ranked, cell->conflict)[f];
        count = add_band(cell, (TreeNode){false, f, rank, rank + 1, 0}, bands, count);
        count = add_band(cell, find_hole(ranked, list, cell, f), bands, count);
        for (uint32_t other = 0; other < n; other++) {
            if (other == f) continue;
            TreeNode none = {false, f, UINT32_MAX, 0, 0}, found[3] = {none, none, none};
            find_bands(ranked, list, cell->conflict, found, other);
            for (uint32_t k = 0; k < 3; k++)
                count = add_band(cell, found[k], bands, count);
        }
    }
    ranked->work += (uint64_t)list.count * n * n;
    return count;
}

static bool try_bands(TreeSearch *search, const Part *part) {
    TreeNode bands[MOST_BANDS];
    uint32_t count = suggest_bands(search->ranked, part->list, &part->cell, bands);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t leaves = 1; leaves < part->leaves; leaves++)
            if (try_split(search, part, bands[i], leaves)) return true;
    return false;
}

/* ---- the search ---- */

/* What a split need not look at goes: samples outside the box, and those that do not matter. */
static SampleList take_inside(TreeSearch *search, SampleList list, const Cell *cell) {
    uint32_t *ids = search->stack + search->top, count = 0;
    for (uint32_t i = 0; i < list.count; i++)
        if (search->ranked->labels[list.ids[i]] != SAMPLE_EITHER &&
            in_box(search->ranked, cell, list.ids[i]))
            ids[count++] = list.ids[i];
    search->top += count;
    return (SampleList){ids, count};
}

/* Covers the wanted samples of a list with at most so many leaves, which are appended to the tree.
 * The recursion is as deep as there are leaves. */
static bool cover(TreeSearch *search, SampleList list, uint32_t leaves) {
    if (search->ranked->work > search->limits.work) return false;
    Part part = {list, check_cell(search->ranked, list), leaves};
    if (part.cell.nconflicts == 0) {
        search->tree.nodes[search->tree.count++] = (TreeNode){.leaf = true};
        if (leaves == search->limits.leaves) keep_tree(search);
        return true;
    }
    if (leaves == 1) return false;
    uint32_t top = search->top;
    part.list = take_inside(search, list, &part.cell);
    bool covered = try_thresholds(search, &part) || try_bands(search, &part);
    search->top = top;
    return covered;
}

uint32_t find_trees(RankedSamples *ranked, SampleList list, TreeLimits limits, DecisionTree *found,
                    Arena *scratch) {
    assert(limits.leaves >= 2 && limits.leaves <= MOST_CONJUNCTIONS);
    assert(limits.trees >= 1 && limits.trees <= MOST_TREES);
    TreeSearch search = {.ranked = ranked, .limits = limits, .found = found};
    search.stack = RAW_ARRAY(scratch, uint32_t, 2 * (size_t)limits.leaves * list.count);
    cover(&search, list, limits.leaves);
    return search.nfound;
}
