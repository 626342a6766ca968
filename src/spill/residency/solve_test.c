#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "spill/residency/solve.h"
#include "test/chance.h"
#include "test/gaps.h"

enum { MOST_GAPS = 14, STEPS = 2000000 };

/* Costs and bands of a small problem: what an exhaustive search needs. */
typedef struct {
    const GapProblem *problem;
    uint8_t band[MOST_GAPS]; /* of each gap; owners' gaps have one */
    bool cut[MOST_GAPS];
    int64_t least;
} Exhaustive;

static bool all_fits(const Exhaustive *search) {
    const GapProblem *problem = search->problem;
    for (uint32_t p = 0; p < problem->npoints; p++)
        for (int q = 0; q < 4; q++) {
            int64_t used = 0, room = (int64_t)problem->size - problem->taken[p * 4 + q];
            for (uint32_t g = 0; g < problem->count; g++) {
                const Gap *gap = &problem->gaps[g];
                if (search->cut[g] || !(search->band[g] >> q & 1)) continue;
                for (uint32_t i = 0; i < gap->points.count; i++)
                    if (gap->points.items[i].first <= p && p <= gap->points.items[i].last)
                        used += gap->height;
            }
            if (used > 0 && used > room) return false;
        }
    return true;
}

static int64_t cost_of(const GapProblem *problem, const bool *cut) {
    bool stored[MOST_GAPS] = {false};
    int64_t cost = 0;
    for (uint32_t g = 0; g < problem->count; g++) {
        const Gap *gap = &problem->gaps[g];
        if (!cut[g]) continue;
        cost += gap->load;
        if (gap->value == UINT32_MAX || stored[gap->value]) continue;
        stored[gap->value] = true;
        cost += problem->store[gap->value];
    }
    return cost;
}

/* Tries all bands of all owners from gap `g` on, recursion as deep as there are gaps. */
static void try_bands(Exhaustive *search, uint32_t g) {
    const GapProblem *problem = search->problem;
    if (g == problem->count) {
        int64_t cost = cost_of(problem, search->cut);
        if (cost < search->least && all_fits(search)) search->least = cost;
        return;
    }
    if (g > 0 && problem->gaps[g - 1].owner == problem->gaps[g].owner) {
        search->band[g] = search->band[g - 1];
        try_bands(search, g + 1);
        return;
    }
    Bands bands = class_bands((ShapeClass)problem->gaps[g].class);
    for (int b = 0; b < bands.count; b++) {
        search->band[g] = bands.masks[b];
        try_bands(search, g + 1);
    }
}

static int64_t least_cost(const GapProblem *problem) {
    Exhaustive search = {.problem = problem, .least = INT64_MAX};
    for (uint32_t set = 0; set < 1U << problem->count; set++) {
        bool possible = true;
        for (uint32_t g = 0; g < problem->count; g++) {
            search.cut[g] = set >> g & 1;
            possible = possible && (search.cut[g] || !problem->gaps[g].cut);
        }
        if (possible) try_bands(&search, 0);
    }
    return search.least;
}

/* A few owners with a few gaps each, heights near the size, some cut from the start. */
static GapProblem small_problem(Chance *chance, bool narrow, Arena *arena) {
    GapProblem problem = {.npoints = 12, .size = 10};
    problem.gaps = NEW_ARRAY(arena, Gap, MOST_GAPS);
    uint32_t *taken = NEW_ARRAY(arena, uint32_t, problem.npoints * 4);
    for (uint32_t i = 0; i < problem.npoints * 4; i++)
        taken[i] = (uint32_t)chance_below(chance, 5) + (chance_percent(chance, 3) ? 10 : 0);
    problem.taken = taken;
    int64_t *store = NEW_ARRAY(arena, int64_t, MOST_GAPS);
    problem.store = store;
    uint32_t owners = narrow ? 4 : 6;
    for (uint32_t owner = 0; owner < owners; owner++) {
        uint32_t at = (uint32_t)chance_below(chance, 4);
        uint32_t height = (uint32_t)chance_between(chance, 1, 7);
        ShapeClass class = narrow ? (ShapeClass)chance_below(chance, CLASS_COUNT) : CLASS_FULL;
        store[owner] = chance_between(chance, 0, 100);
        for (int i = 0; i < 3 && at < problem.npoints && problem.count < 10; i++) {
            uint32_t last = at + (uint32_t)chance_below(chance, 4);
            if (last >= problem.npoints) last = problem.npoints - 1;
            Interval *interval = NEW_ARRAY(arena, Interval, 1);
            *interval = (Interval){at, last};
            problem.gaps[problem.count++] =
                (Gap){.points = {interval, chance_percent(chance, 90)},
                      .owner = owner * 7,
                      .height = height,
                      .class = (uint8_t) class,
                      .load = chance_between(chance, 0, 100),
                      .value = chance_percent(chance, 30) ? UINT32_MAX : owner,
                      .cut = chance_percent(chance, 5)};
            at = last + 2;
        }
    }
    problem.nvalues = owners;
    return problem;
}

/* Small problems are solved exactly nearly always, and never below the least cost. */
static void check_small(bool narrow) {
    Arena arena;
    arena_init(&arena);
    Chance chance = {narrow ? 2 : 1};
    int missed = 0;
    for (int i = 0; i < 150; i++) {
        GapProblem problem = small_problem(&chance, narrow, &arena);
        bool forced[MOST_GAPS];
        for (uint32_t g = 0; g < problem.count; g++)
            forced[g] = problem.gaps[g].cut;
        int64_t least = least_cost(&problem);
        int64_t cost = solve_gaps(&problem, STEPS, &arena);
        bool cut[MOST_GAPS];
        for (uint32_t g = 0; g < problem.count; g++) {
            cut[g] = problem.gaps[g].cut;
            assert_true(cut[g] || !forced[g]);
        }
        assert_int_equal(cost, cost_of(&problem, cut));
        assert_true(cost >= least);
        missed += cost > least;
        arena_free(&arena);
    }
    assert_true(missed <= 3);
}

static void solves_small_problems(void **state) {
    (void)state;
    check_small(false);
}

static void solves_small_problems_of_all_classes(void **state) {
    (void)state;
    check_small(true);
}

/* What is kept fits in some choice of bands: tried for the small ones in all ways. */
static void keeps_what_fits(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    Chance chance = {3};
    for (int i = 0; i < 300; i++) {
        GapProblem problem = small_problem(&chance, true, &arena);
        solve_gaps(&problem, 20000, &arena);
        Exhaustive search = {.problem = &problem, .least = INT64_MAX};
        for (uint32_t g = 0; g < problem.count; g++)
            search.cut[g] = problem.gaps[g].cut;
        try_bands(&search, 0);
        assert_true(search.least < INT64_MAX);
        arena_free(&arena);
    }
}

static void keeps_everything_where_it_fits(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    for (int kind = 0; kind < GAPS_KINDS; kind++) {
        GapProblem problem = gaps_make((GapsKind)kind, 1, 200, &arena);
        problem.size = 1000000;
        assert_int_equal(solve_gaps(&problem, 0, &arena), 0);
        for (uint32_t g = 0; g < problem.count; g++)
            assert_false(problem.gaps[g].cut);
    }
    arena_free(&arena);
}

static void is_never_above_simple_methods(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    for (int kind = 0; kind < GAPS_KINDS; kind++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            GapProblem problem = gaps_make((GapsKind)kind, seed, 150, &arena);
            int64_t farthest = gaps_farthest(&problem, &arena),
                    whole = gaps_whole(&problem, &arena);
            int64_t cost = solve_gaps(&problem, STEPS, &arena);
            const char *fault = gaps_fault(&problem, cost, &arena);
            if (fault) fail_msg("%s", fault);
            if (!gaps_are_full(&problem)) continue;
            assert_true(cost <= farthest);
            assert_true(cost <= whole);
        }
    arena_free(&arena);
}

/* Sixteen equal tensors in turn, room for twelve, of which one is the operand: in each gap of
 * fifteen points eleven are kept, so of fifteen accesses four reload. */
static void reloads_few_of_a_cyclic_stream(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    GapProblem problem = gaps_make(GAPS_CYCLIC, 1, 16 * 20, &arena);
    solve_gaps(&problem, STEPS, &arena);
    uint32_t cut = 0;
    for (uint32_t g = 0; g < problem.count; g++)
        cut += problem.gaps[g].cut;
    assert_in_range(cut, 16 * 19 * 4 / 15 - 4, 16 * 19 * 4 / 15 + 4);
    arena_free(&arena);
}

/* The store is paid once: better both gaps of one value than one gap of two. */
static void shares_a_store(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    Interval first = {0, 0}, second = {2, 2};
    LiveRange early = {&first, 1}, late = {&second, 1};
    Gap gaps[] = {{early, 0, 6, CLASS_FULL, 10, 0, false},
                  {late, 0, 6, CLASS_FULL, 10, 0, false},
                  {early, 1, 6, CLASS_FULL, 9, 1, false},
                  {late, 2, 6, CLASS_FULL, 9, 2, false}};
    int64_t store[] = {10, 10, 10};
    uint32_t taken[3 * 4] = {0};
    GapProblem problem = {gaps, 4, store, 3, 3, taken, 10};
    assert_int_equal(solve_gaps(&problem, STEPS, &arena), 30);
    assert_true(gaps[0].cut && gaps[1].cut && !gaps[2].cut && !gaps[3].cut);
    arena_free(&arena);
}

/* Loads near the end of the number range do not wrap. */
static void survives_large_costs(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    Interval first = {0, 0};
    LiveRange points = {&first, 1};
    Gap gaps[] = {{points, 0, 8, CLASS_FULL, INT64_MAX, 0, true},
                  {points, 1, 8, CLASS_FULL, INT64_MAX, 0, false},
                  {points, 2, 8, CLASS_FULL, 1, UINT32_MAX, false}};
    int64_t store[] = {INT64_MAX};
    uint32_t taken[4] = {0};
    GapProblem problem = {gaps, 3, store, 1, 1, taken, 10};
    assert_int_equal(solve_gaps(&problem, STEPS, &arena), INT64_MAX);
    assert_true(gaps[0].cut && !gaps[1].cut && gaps[2].cut);
    arena_free(&arena);
}

static void gives_the_same_again(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    for (int kind = 0; kind < GAPS_KINDS; kind++) {
        GapProblem one = gaps_make((GapsKind)kind, 9, 300, &arena);
        GapProblem two = gaps_make((GapsKind)kind, 9, 300, &arena);
        assert_int_equal(solve_gaps(&one, STEPS, &arena), solve_gaps(&two, STEPS, &arena));
        for (uint32_t g = 0; g < one.count; g++)
            assert_int_equal(one.gaps[g].cut, two.gaps[g].cut);
    }
    arena_free(&arena);
}

static void takes_no_gaps(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    GapProblem problem = {0};
    assert_int_equal(solve_gaps(&problem, STEPS, &arena), 0);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_small_problems),
        cmocka_unit_test(solves_small_problems_of_all_classes),
        cmocka_unit_test(keeps_what_fits),
        cmocka_unit_test(keeps_everything_where_it_fits),
        cmocka_unit_test(is_never_above_simple_methods),
        cmocka_unit_test(reloads_few_of_a_cyclic_stream),
        cmocka_unit_test(shares_a_store),
        cmocka_unit_test(survives_large_costs),
        cmocka_unit_test(gives_the_same_again),
        cmocka_unit_test(takes_no_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
