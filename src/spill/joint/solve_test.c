/* The joint search: random problems, checked pair by pair. */
#include "spill/joint/solve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "spill/joint/beam.h"
#include "test/chance.h"
#include "test/count.h"

enum { POINTS = 60, VALUES = 60, MOST_SEGMENTS = 5, PER_POINT = 3, HIGHEST = 40, STEPS = 200000 };

static LiveRange range_of(uint32_t first, uint32_t last, Arena *arena) {
    if (last < first || last >= POINTS) return (LiveRange){NULL, 0};
    Interval *interval = NEW(arena, Interval);
    *interval = (Interval){first, last};
    return (LiveRange){interval, 1};
}

/* Values with a few segments each, at most PER_POINT at a point; all gaps are preferred. Some
 * segments have no value; some of those are fixed, in a part of the axis of their own. */
static JointProblem make_problem(uint64_t seed, uint32_t size, Arena *arena) {
    Chance chance = {seed};
    uint32_t used[POINTS] = {0};
    int64_t *store = RAW_ARRAY(arena, int64_t, VALUES);
    JointProblem problem = {.items = RAW_ARRAY(arena, JointSegment, VALUES * MOST_SEGMENTS + 1),
                            .store = store,
                            .nvalues = VALUES,
                            .npoints = POINTS,
                            .size = size};
    for (uint32_t v = 0; v < VALUES; v++) {
        JointSegment like = {.height = (uint32_t)chance_between(&chance, 1, HIGHEST),
                             .align = chance_percent(&chance, 20) ? 4 : 1,
                             .class = (ShapeClass)chance_below(&chance, CLASS_COUNT),
                             .load = chance_between(&chance, 0, 500),
                             .value = chance_percent(&chance, 50) ? v : UINT32_MAX};
        store[v] = chance_between(&chance, 0, 500);
        uint32_t before = UINT32_MAX;
        for (uint32_t p = 0, count = 0; p < POINTS && count < MOST_SEGMENTS; p++) {
            if (used[p] == PER_POINT || !chance_percent(&chance, 8)) continue;
            JointSegment item = like;
            used[p]++;
            item.points = range_of(p, p, arena);
            item.linked = item.kept = count++ > 0;
            if (item.linked) item.gap = range_of(before + 1, p - 1, arena);
            before = p;
            problem.items[problem.count++] = item;
        }
    }
    if (chance_percent(&chance, 50)) {
        Rect rect = {size - HIGHEST, size, 1};
        problem.items[problem.count++] = (JointSegment){.points = range_of(10, 40, arena),
                                                        .height = HIGHEST,
                                                        .align = 1,
                                                        .class = CLASS_QUADRANT_0,
                                                        .fixed = true,
                                                        .rect = rect};
    }
    return problem;
}

/* Room for the segments of any point, wherever they are: each spoils at most twice its height, less
 * one, of what is left for another, and the fixed one counts too. */
enum { ENOUGH = PER_POINT * 2 * (HIGHEST + 4) + 2 * HIGHEST };

static int64_t cost_of(const JointProblem *problem) {
    bool stored[VALUES] = {false};
    int64_t cost = 0;
    for (uint32_t i = 0; i < problem->count; i++) {
        const JointSegment *item = &problem->items[i];
        if (!item->linked || item->kept) continue;
        cost += item->load;
        if (item->value == UINT32_MAX || stored[item->value]) continue;
        stored[item->value] = true;
        cost += problem->store[item->value];
    }
    return cost;
}

static bool share_granules(Rect a, Rect b) {
    return (a.mask & b.mask) && a.low < b.high && b.low < a.high;
}

/* Where an item takes room: at its segment, and in the gap before it if that is kept. */
static bool lives_at(const JointSegment *item, uint32_t point) {
    Interval one = {point, point};
    LiveRange range = {&one, 1};
    return live_overlap(item->points, range) || (item->kept && live_overlap(item->gap, range));
}

static void check(const JointProblem *problem) {
    for (uint32_t i = 0; i < problem->count; i++) {
        const JointSegment *item = &problem->items[i];
        Bands bands = class_bands(item->class);
        bool in_band = false;
        for (int b = 0; b < bands.count; b++)
            in_band |= item->rect.mask == bands.masks[b];
        assert_true(in_band);
        assert_true(item->rect.high <= problem->size && item->rect.low % item->align == 0);
        assert_int_equal(item->rect.high - item->rect.low, item->height);
        if (item->kept) {
            assert_true(item->linked);
            assert_int_equal(item->rect.low, item[-1].rect.low);
            assert_int_equal(item->rect.mask, item[-1].rect.mask);
        }
        uint32_t others = item->kept ? i - 1 : i; /* it is one with the segment before */
        for (uint32_t j = 0; j < others; j++)
            if (share_granules(item->rect, problem->items[j].rect))
                for (uint32_t p = 0; p < POINTS; p++)
                    assert_false(lives_at(item, p) && lives_at(&problem->items[j], p));
    }
}

/* Everything has a legal place, steps never make it dearer, and both happen with gaps cut. */
static void random_problems(void **state) {
    (void)state;
    uint32_t cutting = 0, better = 0;
    for (uint64_t seed = 0; seed < test_count() / 10 + 20; seed++) {
        Arena arena;
        arena_init(&arena);
        int64_t cost[2];
        for (int round = 0; round < 2; round++) {
            JointProblem problem = make_problem(seed, ENOUGH, &arena);
            assert_true(solve_joint(&problem, (JointEffort){round ? STEPS : 0, 0}, &arena));
            check(&problem);
            cost[round] = cost_of(&problem);
        }
        assert_true(cost[1] <= cost[0]);
        cutting += cost[1] > 0;
        better += cost[1] < cost[0];
        arena_free(&arena);
    }
    assert_true(cutting > 0 && better > 0);
}

/* Steps for each item: enough for several searches from starts of their own. */
enum { SEVERAL = 60000 };

static int64_t search_cost(uint64_t seed, uint64_t steps_each, Arena *arena) {
    JointProblem problem = make_problem(seed, ENOUGH, arena);
    assert_true(solve_joint(&problem, (JointEffort){steps_each * problem.count, 0}, arena));
    check(&problem);
    return cost_of(&problem);
}

/* With steps for several starts all is right too, and the same twice. */
static void several_starts(void **state) {
    (void)state;
    int64_t sum = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        Arena arena;
        arena_init(&arena);
        int64_t cost = search_cost(seed, SEVERAL, &arena);
        if (seed < 3) assert_int_equal(cost, search_cost(seed, SEVERAL, &arena));
        assert_true(cost <= search_cost(seed, 0, &arena));
        sum += cost;
        arena_free(&arena);
    }
    assert_true(sum > 0);
}

/* Begins where a solution lies; in disorder with every fifth segment at the bottom. */
static JointProblem begin_placed(const JointProblem *solved, bool disorder, Arena *arena) {
    JointProblem problem = *solved;
    problem.placed = true;
    problem.items = RAW_ARRAY(arena, JointSegment, problem.count);
    memcpy(problem.items, solved->items, problem.count * sizeof *problem.items);
    for (uint32_t i = 0; disorder && i < problem.count; i += 5) {
        JointSegment *item = &problem.items[i];
        if (!item->fixed) item->rect = (Rect){0, item->height, item->rect.mask};
    }
    return problem;
}

/* A solution is kept where it is, and made no dearer; what is no solution is repaired. */
static void placed_problems(void **state) {
    (void)state;
    uint32_t better = 0;
    for (uint64_t seed = 0; seed < test_count() / 20 + 20; seed++) {
        Arena arena;
        arena_init(&arena);
        JointProblem solved = make_problem(seed, ENOUGH, &arena);
        assert_true(solve_joint(&solved, (JointEffort){STEPS / 4, 0}, &arena));
        JointProblem same = begin_placed(&solved, false, &arena);
        assert_true(solve_joint(&same, (JointEffort){0, 0}, &arena));
        check(&same);
        assert_true(cost_of(&same) <= cost_of(&solved));
        JointProblem more = begin_placed(&solved, false, &arena);
        assert_true(solve_joint(&more, (JointEffort){STEPS, 0}, &arena));
        check(&more);
        assert_true(cost_of(&more) <= cost_of(&same));
        better += cost_of(&more) < cost_of(&solved);
        JointProblem repaired = begin_placed(&solved, true, &arena);
        assert_true(solve_joint(&repaired, (JointEffort){STEPS, 0}, &arena));
        check(&repaired);
        arena_free(&arena);
    }
    assert_true(better > 0);
}

/* ---- beam searches between two points ---- */

/* A solution by one beam search, parts of which are then decided again. */
typedef struct {
    JointProblem problem; /* its items show the solution */
    Beam *beam;
    JointSolution now;
    Chance chance;
} Partial;

static void show_solution(Partial *test, const JointSolution *solution) {
    for (uint32_t i = 0; i < test->problem.count; i++) {
        test->problem.items[i].rect = solution->rects[i];
        test->problem.items[i].kept = solution->kept[i];
    }
}

static void copy_solution(JointSolution *to, const JointSolution *from, uint32_t count) {
    memcpy(to->rects, from->rects, count * sizeof *to->rects);
    memcpy(to->kept, from->kept, count * sizeof *to->kept);
}

static BeamOptions draw_options(Chance *chance) {
    return (BeamOptions){.width = (uint32_t)chance_between(chance, 1, 40),
                         .tries = (uint32_t)chance_between(chance, 1, 3),
                         .scale = 0.7,
                         .snug = 0.3,
                         .apart = (double)chance_below(chance, 2) / 2};
}

static Partial begin_partial(uint64_t seed, Arena *arena) {
    Partial test = {.problem = make_problem(seed, ENOUGH, arena), .chance = {seed}};
    uint32_t count = test.problem.count;
    JointPrices prices = joint_prices(&test.problem, 50, arena);
    JointProblem *problem = NEW(arena, JointProblem);
    *problem = test.problem;
    test.beam = beam_make(problem, prices, arena);
    test.now = (JointSolution){NEW_ARRAY(arena, Rect, count), NEW_ARRAY(arena, bool, count), 0};
    assert_true(beam_search(test.beam, draw_options(&test.chance), &test.now));
    assert_true(beam_steps(test.beam) > 0);
    return test;
}

/* Outside of the points all is as it was, but for gaps across their end that were cut. */
static void check_outside(const Partial *test, uint32_t from, uint32_t end,
                          const JointSolution *changed) {
    const JointSegment *items = test->problem.items;
    for (uint32_t i = 0; i < test->problem.count; i++) {
        uint32_t at = items[i].points.items[0].first;
        if (at >= from && at < end) continue;
        assert_memory_equal(&changed->rects[i], &test->now.rects[i], sizeof(Rect));
        bool across = at >= end && items[i].linked && items[i - 1].points.items[0].first < end;
        if (!across) assert_int_equal(changed->kept[i], test->now.kept[i]);
        if (changed->kept[i]) assert_true(test->now.kept[i]);
    }
}

/* Decides some points again, and keeps that if it is no dearer. */
static void change_points(Partial *test, Arena *arena) {
    uint32_t from = (uint32_t)chance_below(&test->chance, POINTS), count = test->problem.count;
    uint32_t end = (uint32_t)chance_between(&test->chance, from + 1, POINTS);
    JointSolution changed = {RAW_ARRAY(arena, Rect, count), RAW_ARRAY(arena, bool, count), 0};
    copy_solution(&changed, &test->now, count);
    show_solution(test, &changed);
    int64_t before = cost_of(&test->problem);
    if (!beam_search_between(test->beam, draw_options(&test->chance), from, end, &changed)) return;
    check_outside(test, from, end, &changed);
    show_solution(test, &changed);
    check(&test->problem);
    if (cost_of(&test->problem) <= before) copy_solution(&test->now, &changed, count);
}

/* Each change leaves a whole solution, and together they save something: here a twentieth at
 * least. */
static void between_points(void **state) {
    (void)state;
    int64_t before = 0, after = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        Arena arena;
        arena_init(&arena);
        Partial test = begin_partial(seed, &arena);
        show_solution(&test, &test.now);
        check(&test.problem);
        before += cost_of(&test.problem);
        for (int k = 0; k < 40; k++)
            change_points(&test, &arena);
        show_solution(&test, &test.now);
        after += cost_of(&test.problem);
        arena_free(&arena);
    }
    assert_true(after > 0 && after < before - before / 20);
}

/* ---- cases ---- */

/* Two segments with a gap between; the gap is kept if it can be. */
static void add_gap_pair(JointProblem *problem, uint32_t height, uint32_t first, LiveRange second,
                         Arena *arena) {
    JointSegment item = {.points = range_of(first, first, arena),
                         .height = height,
                         .align = 1,
                         .class = CLASS_FULL,
                         .load = 100,
                         .value = UINT32_MAX};
    problem->items[problem->count++] = item;
    item.gap = range_of(first + 1, second.items[0].first - 1, arena);
    item.points = second;
    item.linked = item.kept = true;
    problem->items[problem->count++] = item;
}

/* Values that are there at entry and read from the first point on: both segments begin at one
 * point, and the first ends there. Later comes the point with most residents, and later yet there
 * is not enough room, so that there is something to search for. */
static void two_segments_at_one_point(void **state) {
    (void)state;
    enum { AT_ENTRY = 3, SMALL = 8, LARGE = 3 };
    Arena arena;
    arena_init(&arena);
    JointProblem problem = {.items =
                                RAW_ARRAY(&arena, JointSegment, 2 * (AT_ENTRY + SMALL + LARGE)),
                            .npoints = POINTS,
                            .size = (LARGE - 1) * HIGHEST + SMALL + AT_ENTRY};
    for (uint32_t i = 0; i < AT_ENTRY; i++)
        add_gap_pair(&problem, 1, 0, range_of(0, 5, &arena), &arena);
    for (uint32_t i = 0; i < SMALL; i++)
        add_gap_pair(&problem, 1, 10 + i, range_of(20 + i, 20 + i, &arena), &arena);
    for (uint32_t i = 0; i < LARGE; i++)
        add_gap_pair(&problem, HIGHEST, 40 + i, range_of(50 + i, 50 + i, &arena), &arena);
    assert_true(solve_joint(&problem, (JointEffort){(uint64_t)SEVERAL * problem.count, 0}, &arena));
    check(&problem);
    assert_int_equal(cost_of(&problem), 100);
    arena_free(&arena);
}

/* Room for all side by side: nothing is cut. */
static void ample_room(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        Arena arena;
        arena_init(&arena);
        JointProblem problem = make_problem(seed, (VALUES + 2) * (HIGHEST + 4), &arena);
        assert_true(solve_joint(&problem, (JointEffort){STEPS, 0}, &arena));
        check(&problem);
        assert_int_equal(cost_of(&problem), 0);
        arena_free(&arena);
    }
}

/* Heights that share a factor are placed as without it, at the same cost. */
static void units(void **state) {
    (void)state;
    enum { FACTOR = 24, DIVISOR = 8 };
    for (uint64_t seed = 0; seed < 6; seed++) {
        Arena arena;
        arena_init(&arena);
        JointProblem small = make_problem(seed, ENOUGH, &arena), large;
        large = make_problem(seed, ENOUGH * FACTOR + FACTOR - 1, &arena);
        for (uint32_t i = 0; i < large.count; i++) {
            JointSegment *item = &large.items[i];
            *item = small.items[i];
            item->height *= FACTOR;
            item->align = item->align > 1 ? item->align * FACTOR : DIVISOR;
            item->rect.low *= FACTOR;
            item->rect.high *= FACTOR;
        }
        JointEffort effort = {STEPS, 0};
        assert_true(solve_joint(&small, effort, &arena) && solve_joint(&large, effort, &arena));
        check(&large);
        for (uint32_t i = 0; i < small.count; i++) {
            assert_int_equal(large.items[i].rect.low, FACTOR * small.items[i].rect.low);
            assert_int_equal(large.items[i].kept, small.items[i].kept);
        }
        arena_free(&arena);
    }
}

/* Heights of odd numbers of granules on an axis of 8 GiB: it is not walked granule by granule. A
 * solution that comes in stays. */
static void long_axis(void **state) {
    (void)state;
    enum { TIMES = 1000001, MOST_BYTES = 16 << 20 };
    for (uint64_t seed = 0, done = 0; done < test_count() / 10; seed++) {
        Arena arena;
        arena_init(&arena);
        JointProblem problem = make_problem(seed, ENOUGH, &arena);
        bool fixed = problem.items[problem.count - 1].fixed;
        for (uint32_t i = 0; i < problem.count && !fixed; i++)
            problem.items[i].height = problem.items[i].height * TIMES + i;
        problem.size *= TIMES + 1000;
        size_t before = arena.bytes;
        if (!fixed) {
            assert_true(solve_joint(&problem, (JointEffort){STEPS, 0}, &arena));
            assert_true(arena.bytes - before < MOST_BYTES);
            check(&problem);
            JointProblem same = begin_placed(&problem, false, &arena);
            assert_true(solve_joint(&same, (JointEffort){STEPS, 0}, &arena));
            assert_true(cost_of(&same) <= cost_of(&problem));
            check(&same);
            done++;
        }
        arena_free(&arena);
    }
}

/* A segment that is higher than the axis has no place; the others do. */
static void too_high(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    JointProblem problem = make_problem(1, ENOUGH, &arena);
    uint32_t count = problem.count;
    problem.items[problem.count++] = (JointSegment){.points = range_of(3, 3, &arena),
                                                    .height = ENOUGH + 1,
                                                    .align = 1,
                                                    .class = CLASS_FULL,
                                                    .value = UINT32_MAX};
    assert_false(solve_joint(&problem, (JointEffort){STEPS, 0}, &arena));
    assert_int_equal(problem.items[count].rect.mask, 0);
    problem.count = count;
    check(&problem);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_problems),
                                       cmocka_unit_test(several_starts),
                                       cmocka_unit_test(placed_problems),
                                       cmocka_unit_test(between_points),
                                       cmocka_unit_test(two_segments_at_one_point),
                                       cmocka_unit_test(ample_room),
                                       cmocka_unit_test(units),
                                       cmocka_unit_test(long_axis),
                                       cmocka_unit_test(too_high)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
