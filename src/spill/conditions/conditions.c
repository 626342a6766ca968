#include "spill/conditions/conditions.h"

#include <assert.h>

#include "spill/conditions/literals.h"
#include "spill/conditions/relax.h"
#include "spill/conditions/tree.h"
#include "support/checked.h"

enum { MOST_ROUNDS = 100, FIRST_SAMPLES = 24, WORK = 32, WORK_AT_LEAST = 8000000 };

typedef struct {
    const Samples *samples;
    RankedSamples ranked;
    SampleList all;
    uint32_t *few; /* the samples for which trees are sought */
    uint32_t nfew;
    bool *among_few;
    uint64_t work; /* a limit */
    Arena *scratch;
} Folding;

typedef struct {
    Cell cells[MOST_CONJUNCTIONS];
    uint32_t count;
} CellSet;

/* ---- the few samples ---- */

static void add_few(Folding *f, uint32_t sample) {
    if (f->among_few[sample]) return;
    f->among_few[sample] = true;
    f->few[f->nfew++] = sample;
}

/* Why a cell does not exclude an unwanted sample: wanted ones with each of its values. */
static void add_equals(Folding *f, SampleList list, uint32_t conflict) {
    const uint32_t *pivot = sample_ranks(&f->ranked, conflict);
    bool found[MOST_FEATURES] = {false};
    for (uint32_t i = 0; i < list.count; i++) {
        if (f->ranked.labels[list.ids[i]] != SAMPLE_WANTED) continue;
        const uint32_t *ranks = sample_ranks(&f->ranked, list.ids[i]);
        for (uint32_t k = 0; k < f->ranked.nfeatures; k++) {
            if (found[k] || ranks[k] != pivot[k]) continue;
            found[k] = true;
            add_few(f, list.ids[i]);
        }
    }
}

/* Why its box is so large: the wanted samples at its ends. */
static void add_extremes(Folding *f, SampleList list, const Cell *cell) {
    bool low[MOST_FEATURES] = {false}, high[MOST_FEATURES] = {false};
    for (uint32_t i = 0; i < list.count; i++) {
        if (f->ranked.labels[list.ids[i]] != SAMPLE_WANTED) continue;
        const uint32_t *ranks = sample_ranks(&f->ranked, list.ids[i]);
        for (uint32_t k = 0; k < f->ranked.nfeatures; k++) {
            bool lowest = !low[k] && ranks[k] == cell->low[k];
            bool highest = !high[k] && ranks[k] == cell->high[k];
            low[k] |= lowest;
            high[k] |= highest;
            if (lowest || highest) add_few(f, list.ids[i]);
        }
    }
}

/* Holes are chosen greedily: fewer samples may need more of them. All in the box, or some of many,
 * settle that. */
static void add_inside(Folding *f, SampleList list, const Cell *cell) {
    uint32_t step = list.count / 256 + 1;
    for (uint32_t i = 0; i < list.count; i += step)
        if (in_box(&f->ranked, cell, list.ids[i])) add_few(f, list.ids[i]);
}

/* What contradicts a cell that was just checked: its first, middle and last conflict. */
static void add_contradiction(Folding *f, SampleList list, const Cell *cell) {
    uint32_t before = f->nfew;
    uint32_t count = cell->nconflicts;
    uint32_t conflicts[3] = {f->ranked.inside[0], f->ranked.inside[count / 2],
                             f->ranked.inside[count - 1]};
    add_extremes(f, list, cell);
    for (uint32_t i = 0; i < 3; i++) {
        add_few(f, conflicts[i]);
        add_equals(f, list, conflicts[i]);
    }
    if (f->nfew == before) add_inside(f, list, cell);
}

/* ---- trees ---- */

static void add_path_holes(const DecisionTree *tree, const uint32_t *ranks, Cell *cell) {
    for (uint32_t at = 0; !tree->nodes[at].leaf;) {
        const TreeNode *node = &tree->nodes[at];
        bool inside = split_holds(node, ranks);
        if (!inside) add_path_hole(cell, node);
        at = inside ? at + 1 : node->outside;
    }
}

/* The samples of each leaf, one leaf after another; starts[leaf] to starts[leaf + 1]. */
static const uint32_t *group_by_leaf(Folding *f, SampleList list, const DecisionTree *tree,
                                     uint32_t starts[TREE_NODES + 1]) {
    uint32_t *ids = RAW_ARRAY(f->scratch, uint32_t, list.count), next[TREE_NODES] = {0};
    uint8_t *leaves = RAW_ARRAY(f->scratch, uint8_t, list.count);
    for (uint32_t i = 0; i < list.count; i++)
        next[leaves[i] = (uint8_t)tree_leaf(tree, sample_ranks(&f->ranked, list.ids[i]))]++;
    starts[0] = 0;
    for (uint32_t n = 0; n < TREE_NODES; n++) {
        starts[n + 1] = starts[n] + next[n];
        next[n] = starts[n];
    }
    for (uint32_t i = 0; i < list.count; i++)
        ids[next[leaves[i]]++] = list.ids[i];
    return ids;
}

/* The cells of a tree's leaves; false if one has a conflict, which is added to the few. */
static bool check_tree(Folding *f, SampleList list, const DecisionTree *tree, CellSet *set) {
    uint32_t starts[TREE_NODES + 1];
    const uint32_t *ids = group_by_leaf(f, list, tree, starts);
    bool fits = true;
    set->count = 0;
    for (uint32_t n = 0; n < tree->count; n++) {
        SampleList leaf = {ids + starts[n], starts[n + 1] - starts[n]};
        Cell cell = check_cell(&f->ranked, leaf);
        if (cell.nwanted == 0) continue;
        if (cell.nconflicts > 0) add_contradiction(f, leaf, &cell);
        fits &= cell.nconflicts == 0;
        add_path_holes(tree, sample_ranks(&f->ranked, leaf.ids[0]), &cell);
        set->cells[set->count++] = cell;
    }
    return fits;
}

static uint32_t shorten_cells(Folding *f, SampleList list, const CellSet *set,
                              RankConjunction *conjunctions) {
    for (uint32_t c = 0; c < set->count; c++)
        conjunctions[c] = cell_conjunction(&f->ranked, &set->cells[c]);
    return shorten_conjunctions(&f->ranked, list, conjunctions, set->count, f->scratch);
}

static uint32_t literals_of(Folding *f, SampleList list, const DecisionTree *tree) {
    RankConjunction conjunctions[MOST_CONJUNCTIONS];
    CellSet set;
    if (!check_tree(f, list, tree, &set)) return UINT32_MAX;
    return shorten_cells(f, list, &set, conjunctions);
}

/* Of the trees for the few samples, takes the one with the fewest literals, if it holds for all. */
static void improve_cells(Folding *f, uint32_t leaves, const DecisionTree *known, CellSet *set) {
    DecisionTree trees[MOST_TREES];
    SampleList few = {f->few, f->nfew};
    uint32_t least = literals_of(f, few, known);
    TreeLimits limits = {leaves, MOST_TREES, f->ranked.work + f->work / 4};
    uint32_t count = find_trees(&f->ranked, few, limits, trees, f->scratch);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t literals = literals_of(f, few, &trees[i]);
        CellSet other;
        if (literals >= least || !check_tree(f, f->all, &trees[i], &other)) continue;
        least = literals;
        *set = other;
    }
}

/* Cells without a conflict from a tree of that many leaves. */
static bool find_cells(Folding *f, uint32_t leaves, CellSet *set) {
    DecisionTree tree;
    for (uint32_t round = 0; round < MOST_ROUNDS; round++) {
        TreeLimits limits = {leaves, 1, f->work};
        if (!find_trees(&f->ranked, (SampleList){f->few, f->nfew}, limits, &tree, f->scratch))
            return false;
        uint32_t before = f->nfew;
        if (check_tree(f, f->all, &tree, set)) {
            improve_cells(f, leaves, &tree, set);
            return true;
        }
        if (f->nfew == before) return false;
    }
    return false;
}

/* ---- the result ---- */

static Literal literal_of(const RankedSamples *ranked, RankLiteral literal) {
    int64_t value = rank_value(ranked, literal.feature, literal.rank);
    if (literal.comparison == CMP_LE) return (Literal){literal.feature, CMP_LT, value + 1};
    return (Literal){literal.feature, literal.comparison, value};
}

static Conjunction write_conjunction(const RankedSamples *ranked, const RankConjunction *from,
                                     Arena *arena) {
    Literal *literals = NEW_ARRAY(arena, Literal, from->count);
    for (uint32_t i = 0; i < from->count; i++)
        literals[i] = literal_of(ranked, from->literals[i]);
    return (Conjunction){literals, from->count};
}

/* In order of the first wanted sample that each covers; sums up what they cover that is unwanted.
 */
static Conditions write_conditions(Folding *f, const CellSet *set, Arena *arena) {
    RankConjunction conjunctions[MOST_CONJUNCTIONS];
    bool written[MOST_CONJUNCTIONS] = {false};
    Conjunction *items = NEW_ARRAY(arena, Conjunction, set->count);
    Conditions result = {.items = items, .exact = true};
    shorten_cells(f, f->all, set, conjunctions);
    for (uint32_t i = 0; i < f->all.count; i++) {
        uint32_t c = 0;
        while (c < set->count && !conjunction_holds(&conjunctions[c], sample_ranks(&f->ranked, i)))
            c++;
        if (c == set->count) continue;
        if (f->samples->labels[i] == SAMPLE_UNWANTED) {
            result.exact = false;
            result.extra = saturating_add(result.extra, f->ranked.weights[i]);
        }
        if (f->samples->labels[i] != SAMPLE_WANTED || written[c]) continue;
        written[c] = true;
        items[result.count++] = write_conjunction(&f->ranked, &conjunctions[c], arena);
    }
    return result;
}

/* ---- entry ---- */

static Folding begin(const Samples *samples, bool may_exceed, Arena *scratch) {
    Folding f = {.samples = samples, .ranked = rank_samples(samples, scratch), .scratch = scratch};
    uint32_t *ids = RAW_ARRAY(scratch, uint32_t, samples->count);
    for (uint32_t i = 0; i < samples->count; i++) {
        ids[i] = i;
        bool free = may_exceed && f.ranked.weights[i] == 0;
        if (free && f.ranked.labels[i] == SAMPLE_UNWANTED) f.ranked.labels[i] = SAMPLE_EITHER;
    }
    f.all = (SampleList){ids, samples->count};
    f.few = RAW_ARRAY(scratch, uint32_t, samples->count);
    f.among_few = NEW_ARRAY(scratch, bool, samples->count);
    return f;
}

/* The samples that say why one cell is not enough, and some from everywhere. */
static void choose_few(Folding *f, const Cell *whole) {
    add_contradiction(f, f->all, whole);
    for (uint32_t i = 0; i < FIRST_SAMPLES; i++)
        add_few(f, (uint32_t)((uint64_t)i * f->all.count / FIRST_SAMPLES));
    f->work = f->ranked.work + (uint64_t)f->all.count * f->ranked.nfeatures * WORK + WORK_AT_LEAST;
}

static bool any_wanted(const Samples *samples) {
    for (uint32_t i = 0; i < samples->count; i++)
        if (samples->labels[i] == SAMPLE_WANTED) return true;
    return false;
}

Conditions find_conditions(const Samples *samples, uint32_t most, bool may_exceed, Arena *arena,
                           Arena *scratch) {
    assert(samples->nfeatures <= MOST_FEATURES && most >= 1 && most <= MOST_CONJUNCTIONS);
    if (!any_wanted(samples)) return (Conditions){.exact = true};
    Folding f = begin(samples, may_exceed, scratch);
    CellSet set = {.cells = {check_cell(&f.ranked, f.all)}, .count = 1};
    if (set.cells[0].nconflicts == 0) return write_conditions(&f, &set, arena);
    choose_few(&f, &set.cells[0]);
    for (uint32_t leaves = 2; leaves <= most; leaves++)
        if (find_cells(&f, leaves, &set)) return write_conditions(&f, &set, arena);
    if (!may_exceed) return (Conditions){.exact = false};
    set.count = relax_cells(&f.ranked, f.all, most, set.cells, scratch);
    return write_conditions(&f, &set, arena);
}
