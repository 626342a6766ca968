/* Simplify against its contract: each step of the stack is judged by sums made anew. */
#include "place/simplify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/count.h"
#include "test/nodes.h"

typedef struct {
    const ColourProblem *problem;
    ImpactTable table;
    bool *gone; /* [nodes] removed already */
    uint64_t seed;
    int metric;
} Judge;

static int64_t up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* Places of one rectangle of n that one of m can spoil. */
static int64_t spoils(const Judge *judge, const Node *n, const Node *m) {
    return judge->table.bands[m->class][n->class] *
           up((int64_t)n->height + m->height - 1, n->align);
}

static int64_t fixed_spoil(const Node *n, const Node *m) {
    Bands bands = class_bands(n->class);
    int64_t sum = 0;
    for (uint32_t b = 0; b < m->blocks; b++)
        for (int i = 0; i < bands.count; i++)
            if (bands.masks[i] & m->rects[b].mask)
                sum += up((int64_t)n->height + m->rects[b].high - m->rects[b].low - 1, n->align);
    return sum;
}

static bool are_neighbours(const Judge *judge, uint32_t n, uint32_t m) {
    const Node *items = judge->problem->nodes.items;
    return n != m && !judge->gone[m] && live_overlap(items[n].range, items[m].range);
}

/* Places left whatever the neighbours still there do. */
static int64_t capacity(const Judge *judge, uint32_t id) {
    const Nodes *nodes = &judge->problem->nodes;
    const Node *n = &nodes->items[id];
    int64_t offsets =
        judge->problem->size < n->height ? 0 : (judge->problem->size - n->height) / n->align + 1;
    int64_t cap = class_bands(n->class).count * offsets;
    cap -= (n->blocks - 1) * up(n->height, n->align);
    for (uint32_t m = 0; m < nodes->count; m++) {
        if (!are_neighbours(judge, id, m)) continue;
        const Node *other = &nodes->items[m];
        cap -= other->fixed ? fixed_spoil(n, other) : other->blocks * spoils(judge, n, other);
    }
    return cap;
}

/* What a spillable node is chosen by. */
typedef struct {
    double ratio;
    bool copy;
    int64_t relief;
    uint32_t id;
} Rank;

static Rank rank_of(const Judge *judge, uint32_t id) {
    const Nodes *nodes = &judge->problem->nodes;
    const Node *n = &nodes->items[id];
    int64_t relief = 0, degree = 0;
    for (uint32_t m = 0; m < nodes->count; m++) {
        if (!are_neighbours(judge, id, m) || nodes->items[m].fixed) continue;
        relief += n->blocks * spoils(judge, &nodes->items[m], n);
        degree++;
    }
    double by = judge->metric == 2 ? (double)degree * (double)degree
                                   : (double)relief * (judge->metric ? (double)relief : 1);
    return (Rank){by > 0 ? n->cost / by : INFINITY, n->copy, relief, id};
}

static bool comes_first(Rank a, Rank b) {
    if (a.ratio != b.ratio) return a.ratio < b.ratio;
    if (a.copy != b.copy) return b.copy;
    if (a.relief != b.relief) return a.relief > b.relief;
    return a.id < b.id;
}

/* Nodes still there that are colourable, or NO_NODE. */
static uint32_t any_colourable(const Judge *judge) {
    for (uint32_t n = 0; n < judge->problem->nodes.count; n++)
        if (!judge->gone[n] && !judge->problem->nodes.items[n].fixed && capacity(judge, n) > 0)
            return n;
    return NO_NODE;
}

/* The spillable node to take where none is colourable, or NO_NODE. */
static uint32_t best_candidate(const Judge *judge) {
    Rank best = {0, false, 0, NO_NODE};
    for (uint32_t n = 0; n < judge->problem->nodes.count; n++) {
        const Node *node = &judge->problem->nodes.items[n];
        if (judge->gone[n] || node->fixed || isinf(node->cost)) continue;
        Rank rank = rank_of(judge, n);
        if (best.id == NO_NODE || comes_first(rank, best)) best = rank;
    }
    return best.id;
}

static void check_sentinel(const Judge *judge) {
    uint32_t left = any_colourable(judge);
    if (left != NO_NODE)
        fail_msg("seed %llu: node %u is colourable, but stands behind the sentinel",
                 (unsigned long long)judge->seed, left);
}

/* Once only nodes of infinite cost are left, their order is free. */
static void check_choice(const Judge *judge, uint32_t id, bool behind) {
    if (capacity(judge, id) > 0) return;
    if (!behind)
        fail_msg("seed %llu: node %u is not colourable, but stands before the sentinel",
                 (unsigned long long)judge->seed, id);
    uint32_t best = best_candidate(judge);
    if (best == NO_NODE) return;
    check_sentinel(judge);
    if (id != best)
        fail_msg("seed %llu, metric %d: node %u was taken where %u is cheaper",
                 (unsigned long long)judge->seed, judge->metric, id, best);
}

static void check_counts(const Judge *judge, const NodeStack *stack) {
    uint32_t low = 0, high = 0, infinite = 0;
    for (uint32_t n = 0; n < judge->problem->nodes.count; n++) {
        const Node *node = &judge->problem->nodes.items[n];
        if (node->fixed) continue;
        bool colourable = capacity(judge, n) > 0;
        low += colourable;
        high += !colourable && !isinf(node->cost);
        infinite += !colourable && isinf(node->cost);
    }
    assert_int_equal(stack->low, low);
    assert_int_equal(stack->high, high);
    assert_int_equal(stack->infinite, infinite);
}

static void judge_stack(uint64_t seed, int metric) {
    Arena arena;
    arena_init(&arena);
    ColourProblem problem = random_nodes(seed, &arena);
    Axis axis = axis_make(problem.size);
    NodeStack stack = simplify(&problem.nodes, &problem.graph, &axis, metric, &arena);
    Judge judge = {&problem, impact_table(), NEW_ARRAY(&arena, bool, problem.nodes.count), seed,
                   metric};
    check_counts(&judge, &stack);
    uint32_t sentinels = 0, removed = 0, fixed = 0;
    for (uint32_t i = 0; i < stack.count; i++) {
        if (stack.items[i] == SENTINEL) {
            check_sentinel(&judge);
            sentinels++;
            continue;
        }
        assert_true(stack.items[i] < problem.nodes.count);
        assert_false(judge.gone[stack.items[i]]);
        assert_false(problem.nodes.items[stack.items[i]].fixed);
        check_choice(&judge, stack.items[i], sentinels > 0);
        judge.gone[stack.items[i]] = true;
        removed++;
    }
    for (uint32_t n = 0; n < problem.nodes.count; n++)
        fixed += problem.nodes.items[n].fixed;
    assert_int_equal(sentinels, 1);
    assert_int_equal(removed + fixed, problem.nodes.count);
    arena_free(&arena);
}

static void each_step_is_right(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++)
        for (int metric = 0; metric < 3; metric++)
            judge_stack(seed, metric);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_step_is_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
