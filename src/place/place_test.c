/* Place: every choice of passes gives a legal placement, and more passes never a worse one. */
#include "place/place.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/count.h"
#include "test/nodes.h"

static bool share_granules(Rect a, Rect b) {
    return (a.mask & b.mask) && a.low < b.high && b.low < a.high;
}

/* No two blocks that live together overlap, but for those of fixed nodes. */
static void check_pair(const Nodes *nodes, const Placement *placement, uint32_t n, uint32_t m) {
    const Node *a = &nodes->items[n], *b = &nodes->items[m];
    if (!placement->rects[n] || !placement->rects[m] || (a->fixed && b->fixed)) return;
    for (uint32_t i = 0; i < a->blocks; i++)
        for (uint32_t j = 0; j < b->blocks; j++)
            if ((n != m || i != j) &&
                share_granules(placement->rects[n][i], placement->rects[m][j]))
                assert_false(live_overlap(node_block_range(a, i), node_block_range(b, j)));
}

static void check(const ColourProblem *problem, const Placed *found) {
    const Nodes *nodes = &problem->nodes;
    uint32_t unplaced = 0;
    double score = 0;
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Rect *rects = found->placement.rects[n];
        unplaced += !rects;
        score += rects ? 0 : nodes->items[n].cost;
        for (uint32_t b = 0; rects && !nodes->items[n].fixed && b < nodes->items[n].blocks; b++) {
            assert_true(rects[b].high <= problem->size);
            assert_int_equal(rects[b].high - rects[b].low, nodes->items[n].height);
            assert_int_equal(rects[b].low % nodes->items[n].align, 0);
        }
        for (uint32_t m = 0; m <= n; m++)
            check_pair(nodes, &found->placement, n, m);
    }
    assert_int_equal(found->placement.nfailed, unplaced);
    assert_int_equal(found->placed, unplaced == 0);
    if (isfinite(score)) assert_true(fabs(found->placement.score - score) <= 1e-9 * score);
}

/* Each adds a pass to the one before. */
static Placer placer_of(uint64_t seed, int passes) {
    return (Placer){.flat = seed % 2,
                    .metric = (int)(seed % 3),
                    .evict = passes >= 1,
                    .by_height = passes >= 2,
                    .other_metrics = passes >= 3,
                    .exact_steps = passes >= 4 ? 100000 : 0,
                    .exact_steps_of_each = 10000,
                    .seed = seed};
}

/* Places all, which must cost no more than `before`; counts what is placed, returns the score. */
static double place_no_worse(const ColourProblem *problem, const Placer *placer, double before,
                             uint32_t *placed, Arena *arena) {
    Pressure pressure = find_pressure(&problem->nodes, arena);
    PlaceProblem whole = {&problem->nodes, &pressure, problem->size};
    Placed found = place(&whole, placer, arena);
    check(problem, &found);
    assert_true(found.placement.score <= before);
    *placed += found.placed;
    return found.placement.score;
}

static void more_passes_are_never_worse(void **state) {
    (void)state;
    enum { CHOICES = 5 };
    uint32_t placed[CHOICES] = {0};
    for (uint64_t seed = 0; seed < 80 + test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        ColourProblem problem = random_nodes(seed, &arena);
        Pressure pressure = find_pressure(&problem.nodes, &arena);
        PlaceProblem whole = {&problem.nodes, &pressure, problem.size};
        double before = INFINITY;
        for (int passes = 0; passes < CHOICES; passes++) {
            Placer placer = placer_of(seed, passes);
            before = place_no_worse(&problem, &placer, before, &placed[passes], &arena);
            placer.crowded = true;
            Placed found = place(&whole, &placer, &arena);
            check(&problem, &found);
        }
        arena_free(&arena);
    }
    assert_true(placed[0] > 0 && placed[CHOICES - 1] > placed[0]);
}

/* Shuffled orders leave no more out, and find places where the others find none. */
static void shuffles_find_more(void **state) {
    (void)state;
    uint32_t placed[2] = {0};
    for (uint64_t seed = 0; seed < 160 + test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        ColourProblem problem = random_nodes(seed, &arena);
        double before = INFINITY;
        for (int shuffles = 0; shuffles < 2; shuffles++) {
            Placer placer = {.evict = true,
                             .by_height = true,
                             .must_fit = true,
                             .shuffle_steps = shuffles ? 4000000 : 0};
            before = place_no_worse(&problem, &placer, before, &placed[shuffles], &arena);
        }
        arena_free(&arena);
    }
    assert_true(placed[1] > placed[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(more_passes_are_never_worse),
                                       cmocka_unit_test(shuffles_find_more)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
