/* Evict: places for what select left out, found by moving others. */
#include "place/evict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "place/select.h"
#include "test/count.h"
#include "test/nodes.h"

enum { STEPS = 100000 };

static bool share_granules(Rect a, Rect b) {
    return (a.mask & b.mask) && a.low < b.high && b.low < a.high;
}

static bool live_together(const Node *a, uint32_t i, const Node *b, uint32_t j) {
    return live_overlap(node_block_range(a, i), node_block_range(b, j));
}

static bool is_failed(const Placement *placement, uint32_t n) {
    for (uint32_t i = 0; i < placement->nfailed; i++)
        if (placement->failed[i] == n) return true;
    return false;
}

static void check_rect(const ColourProblem *problem, const Node *node, Rect rect) {
    Bands bands = class_bands(node->class);
    bool in_band = false;
    for (int b = 0; b < bands.count; b++)
        in_band |= rect.mask == bands.masks[b];
    assert_true(in_band);
    assert_int_equal(rect.high - rect.low, node->height);
    assert_int_equal(rect.low % node->align, 0);
    assert_true(rect.high <= problem->size);
}

/* Everything that has a place has a legal one, which nothing that lives with it touches. */
static void check(const ColourProblem *problem, const Placement *placement) {
    const Nodes *nodes = &problem->nodes;
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        if (node->fixed) continue;
        assert_int_equal(placement->rects[n] == NULL, is_failed(placement, n));
        for (uint32_t b = 0; placement->rects[n] && b < node->blocks; b++) {
            check_rect(problem, node, placement->rects[n][b]);
            for (uint32_t m = 0; m < nodes->count; m++) {
                const Node *other = &nodes->items[m];
                const Rect *rects = other->fixed ? other->rects : placement->rects[m];
                for (uint32_t c = 0; rects && m != n && c < other->blocks; c++)
                    assert_false(share_granules(placement->rects[n][b], rects[c]) &&
                                 live_together(node, b, other, c));
            }
        }
    }
}

static double cost_left_out(const ColourProblem *problem, const Placement *placement,
                            uint32_t *must_stay) {
    double cost = 0;
    *must_stay = 0;
    for (uint32_t i = 0; i < placement->nfailed; i++) {
        double one = problem->nodes.items[placement->failed[i]].cost;
        if (isinf(one))
            ++*must_stay;
        else
            cost += one + 1;
    }
    return cost;
}

/* Fixed nodes of random problems may lie over each other: those say nothing here. */
static bool has_clash(const ColourProblem *problem) {
    const Nodes *nodes = &problem->nodes;
    for (uint32_t n = 0; n < nodes->count; n++)
        for (uint32_t m = 0; m <= n; m++) {
            const Node *one = &nodes->items[n], *other = &nodes->items[m];
            if (!one->fixed || !other->fixed) continue;
            for (uint32_t b = 0; b < one->blocks; b++)
                for (uint32_t c = 0; c < other->blocks; c++)
                    if ((n != m || b != c) && share_granules(one->rects[b], other->rects[c]) &&
                        live_together(one, b, other, c))
                        return true;
        }
    return false;
}

/* Eviction moves nodes of one block: on odd seeds there are no others. */
static ColourProblem make_problem(uint64_t seed, Arena *arena) {
    ColourProblem problem = random_nodes(seed, arena);
    for (uint32_t n = 0; seed % 2 && n < problem.nodes.count; n++) {
        Node *node = &problem.nodes.items[n];
        node->blocks = 1;
        node->block_ranges = NULL;
    }
    return problem;
}

/* It never leaves out more than select did, and sometimes less; all it leaves is right. */
static void random_problems(void **state) {
    (void)state;
    uint32_t better = 0, complete = 0;
    for (uint64_t seed = 0; seed < test_count() + 500; seed++) {
        Arena arena;
        arena_init(&arena);
        ColourProblem problem = make_problem(seed, &arena);
        Axis axis = axis_make(problem.size);
        NodeStack stack = simplify(&problem.nodes, &problem.graph, &axis, 0, &arena);
        Placement placement = select_places(&problem.nodes, &problem.graph, &axis, &stack, &arena);
        if (placement.nfailed > 0 && !has_clash(&problem)) {
            uint32_t must_stay, must_stay_now;
            EvictLimits limits = {problem.size, STEPS, false};
            double before = cost_left_out(&problem, &placement, &must_stay);
            bool all = evict(&problem.nodes, &problem.graph, limits, &placement, &arena);
            double after = cost_left_out(&problem, &placement, &must_stay_now);
            assert_int_equal(all, placement.nfailed == 0);
            assert_true(must_stay_now <= must_stay);
            if (must_stay_now == must_stay) assert_true(after <= before);
            check(&problem, &placement);
            better += must_stay_now < must_stay || after < before;
            complete += all;
        }
        arena_free(&arena);
    }
    assert_true(better > 0 && complete > 0);
}

/* ---- by hand ---- */

enum { SIZE = 4 };

/* Nodes of full height that all live at one point, with one block each. */
static Nodes make_nodes(uint32_t count, const uint32_t *heights, Arena *arena) {
    Nodes nodes = {.items = NEW_ARRAY(arena, Node, count), .count = count, .npoints = 1};
    for (uint32_t n = 0; n < count; n++)
        nodes.items[n] = (Node){.tensor = n,
                                .blocks = 1,
                                .height = heights[n],
                                .align = 1,
                                .class = CLASS_FULL,
                                .cost = 1000,
                                .range = {NEW(arena, Interval), 1}};
    return nodes;
}

/* The first node stands at `low`, the second has no place. */
static Placement make_placement(uint32_t low, Arena *arena) {
    Placement placement = {.rects = NEW_ARRAY(arena, Rect *, 2),
                           .failed = NEW_ARRAY(arena, uint32_t, 2),
                           .nfailed = 1,
                           .score = 1000};
    placement.rects[0] = NEW(arena, Rect);
    placement.rects[0][0] = (Rect){low, low + 1, 15};
    placement.failed[0] = 1;
    return placement;
}

/* Three granules of four, with one in the middle taken by what may move. */
static void moves_what_is_in_the_way(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    Nodes nodes = make_nodes(2, (const uint32_t[]){1, 3}, &arena);
    Graph graph = plain_graph(&nodes, &arena);
    Placement placement = make_placement(1, &arena);
    assert_true(evict(&nodes, &graph, (EvictLimits){SIZE, STEPS, false}, &placement, &arena));
    assert_int_equal(placement.nfailed, 0);
    assert_true(placement.score == 0);
    assert_false(share_granules(placement.rects[0][0], placement.rects[1][0]));
    arena_free(&arena);
}

/* Nothing is left changed where it cannot help: no room, a fixed one in the way, no steps. */
static void leaves_what_it_cannot_better(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        Arena arena;
        arena_init(&arena);
        Nodes nodes = make_nodes(
            2, kind == 0 ? (const uint32_t[]){1, SIZE} : (const uint32_t[]){1, 3}, &arena);
        Graph graph = plain_graph(&nodes, &arena);
        EvictLimits limits = {SIZE, kind == 2 ? 0 : STEPS, false};
        Placement placement = make_placement(1, &arena);
        if (kind == 1) {
            nodes.items[0].fixed = true;
            nodes.items[0].rects = placement.rects[0];
        }
        assert_false(evict(&nodes, &graph, limits, &placement, &arena));
        assert_int_equal(placement.nfailed, 1);
        assert_int_equal(placement.failed[0], 1);
        assert_true(placement.score == 1000);
        assert_int_equal(placement.rects[0][0].low, 1);
        assert_null(placement.rects[1]);
        arena_free(&arena);
    }
}

/* What must not be spilled stays where something else can go: then that is left out in its place.
 */
static void what_must_stay_comes_first(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    Nodes nodes = make_nodes(2, (const uint32_t[]){1, SIZE}, &arena);
    nodes.items[1].cost = INFINITY;
    Graph graph = plain_graph(&nodes, &arena);
    Placement placement = make_placement(1, &arena);
    placement.score = INFINITY;
    assert_false(evict(&nodes, &graph, (EvictLimits){SIZE, STEPS, false}, &placement, &arena));
    assert_int_equal(placement.nfailed, 1);
    assert_int_equal(placement.failed[0], 0);
    assert_true(placement.score == 1000);
    assert_non_null(placement.rects[1]);
    arena_free(&arena);
}

/* Where nothing may be left out, what must not be spilled moves too: else the second node waits for
 * ever. */
static void any_may_move(void **state) {
    (void)state;
    for (int any = 0; any < 2; any++) {
        Arena arena;
        arena_init(&arena);
        Nodes nodes = make_nodes(2, (const uint32_t[]){1, 3}, &arena);
        nodes.items[0].cost = INFINITY;
        Graph graph = plain_graph(&nodes, &arena);
        Placement placement = make_placement(1, &arena);
        EvictLimits limits = {SIZE, STEPS, any};
        assert_int_equal(evict(&nodes, &graph, limits, &placement, &arena), any);
        assert_int_equal(placement.nfailed, !any);
        if (any) assert_false(share_granules(placement.rects[0][0], placement.rects[1][0]));
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems), cmocka_unit_test(moves_what_is_in_the_way),
        cmocka_unit_test(leaves_what_it_cannot_better),
        cmocka_unit_test(what_must_stay_comes_first), cmocka_unit_test(any_may_move)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
