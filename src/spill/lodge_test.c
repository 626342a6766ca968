/* Lodging: random problems, checked pair by pair. */
#include "spill/lodge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "spill/lodge_sweep.h"
#include "test/chance.h"
#include "test/count.h"

enum { POINTS = 60, VALUES = 60, MOST_STAYS = 5, PER_POINT = 3, HIGHEST = 40, STEPS = 200000 };

static LiveRange range_of(uint32_t first, uint32_t last, Arena *arena) {
    if (last < first || last >= POINTS) return (LiveRange){NULL, 0};
    Interval *interval = NEW(arena, Interval);
    *interval = (Interval){first, last};
    return (LiveRange){interval, 1};
}

/* Values with a few stays each, at most PER_POINT at a point; all gaps had better be kept. Some
 * stays belong to no chain, some of those are fixed, in a part of the axis of their own. */
static LodgeProblem make_problem(uint64_t seed, uint32_t size, Arena *arena) {
    Chance chance = {seed};
    uint32_t used[POINTS] = {0};
    int64_t *store = RAW_ARRAY(arena, int64_t, VALUES);
    LodgeProblem problem = {.items = RAW_ARRAY(arena, Lodger, VALUES * MOST_STAYS + 1),
                            .store = store,
                            .nvalues = VALUES,
                            .npoints = POINTS,
                            .size = size};
    for (uint32_t v = 0; v < VALUES; v++) {
        Lodger like = {.height = (uint32_t)chance_between(&chance, 1, HIGHEST),
                       .align = chance_percent(&chance, 20) ? 4 : 1,
                       .class = (ShapeClass)chance_below(&chance, CLASS_COUNT),
                       .load = chance_between(&chance, 0, 500),
                       .value = chance_percent(&chance, 50) ? v : UINT32_MAX};
        store[v] = chance_between(&chance, 0, 500);
        uint32_t before = UINT32_MAX;
        for (uint32_t p = 0, count = 0; p < POINTS && count < MOST_STAYS; p++) {
            if (used[p] == PER_POINT || !chance_percent(&chance, 8)) continue;
            Lodger item = like;
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
        problem.items[problem.count++] = (Lodger){.points = range_of(10, 40, arena),
                                                  .height = HIGHEST,
                                                  .align = 1,
                                                  .class = CLASS_QUADRANT_0,
                                                  .fixed = true,
                                                  .rect = rect};
    }
    return problem;
}

/* Room for the stays of any point, however they stand: each spoils at most twice its height, less
 * one, of what is left for another, and the fixed one counts too. */
enum { ENOUGH = PER_POINT * 2 * (HIGHEST + 4) + 2 * HIGHEST };

static int64_t cost_of(const LodgeProblem *problem) {
    bool stored[VALUES] = {false};
    int64_t cost = 0;
    for (uint32_t i = 0; i < problem->count; i++) {
        const Lodger *item = &problem->items[i];
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

/* Where an item takes room: at its stay, and in the gap before it if that is kept. */
static bool lives_at(const Lodger *item, uint32_t point) {
    Interval one = {point, point};
    LiveRange range = {&one, 1};
    return live_overlap(item->points, range) || (item->kept && live_overlap(item->gap, range));
}

static void check(const LodgeProblem *problem) {
    for (uint32_t i = 0; i < problem->count; i++) {
        const Lodger *item = &problem->items[i];
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
        uint32_t others = item->kept ? i - 1 : i; /* it is one with the stay that it goes on from */
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
            LodgeProblem problem = make_problem(seed, ENOUGH, &arena);
            assert_true(lodge(&problem, (LodgeEffort){round ? STEPS : 0, 0}, &arena));
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
    LodgeProblem problem = make_problem(seed, ENOUGH, arena);
    assert_true(lodge(&problem, (LodgeEffort){steps_each * problem.count, 0}, arena));
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

/* ---- sweeps between two points ---- */

/* What one sweep over a problem found, and what sweeps over stretches of it did. */
typedef struct {
    LodgeProblem problem; /* its items have the places of `rects` and keep what `kept` says */
    Sweep *pass;
    Rect *rects;
    bool *kept;
    Chance chance;
} Stretched;

static void show_answer(Stretched *test, const Rect *rects, const bool *kept) {
    for (uint32_t i = 0; i < test->problem.count; i++) {
        test->problem.items[i].rect = rects[i];
        test->problem.items[i].kept = kept[i];
    }
}

static SweepOptions draw_options(Chance *chance) {
    return (SweepOptions){.width = (uint32_t)chance_between(chance, 1, 40),
                          .tries = (uint32_t)chance_between(chance, 1, 3),
                          .scale = 0.7,
                          .snug = 0.3,
                          .apart = (double)chance_below(chance, 2) / 2};
}

static Stretched begin_stretched(uint64_t seed, Arena *arena) {
    Stretched test = {.problem = make_problem(seed, ENOUGH, arena), .chance = {seed}};
    uint32_t count = test.problem.count;
    LodgePrices *prices = NEW(arena, LodgePrices);
    *prices = lodge_prices(&test.problem, 50, arena);
    LodgeProblem *problem = NEW(arena, LodgeProblem);
    *problem = test.problem;
    test.pass = sweep_begin(problem, prices, arena);
    test.rects = NEW_ARRAY(arena, Rect, count);
    test.kept = NEW_ARRAY(arena, bool, count);
    uint64_t used = 0;
    assert_true(sweep(test.pass, draw_options(&test.chance), test.rects, test.kept, &used));
    assert_true(used > 0);
    return test;
}

/* Outside of the stretch all is as it was, but for gaps across its end that were cut. */
static void check_outside(const Stretched *test, uint32_t from, uint32_t end, const Rect *rects,
                          const bool *kept) {
    const Lodger *items = test->problem.items;
    for (uint32_t i = 0; i < test->problem.count; i++) {
        uint32_t at = items[i].points.items[0].first;
        if (at >= from && at < end) continue;
        assert_memory_equal(&rects[i], &test->rects[i], sizeof *rects);
        bool across = at >= end && items[i].linked && items[i - 1].points.items[0].first < end;
        if (!across) assert_int_equal(kept[i], test->kept[i]);
        if (kept[i]) assert_true(test->kept[i]);
    }
}

/* Changes a stretch of the answer, and keeps that if it is no dearer. */
static void change_stretch(Stretched *test, Arena *arena) {
    uint32_t from = (uint32_t)chance_below(&test->chance, POINTS), count = test->problem.count;
    uint32_t end = (uint32_t)chance_between(&test->chance, from + 1, POINTS);
    Rect *rects = RAW_ARRAY(arena, Rect, count);
    bool *kept = RAW_ARRAY(arena, bool, count);
    memcpy(rects, test->rects, count * sizeof *rects);
    memcpy(kept, test->kept, count * sizeof *kept);
    show_answer(test, rects, kept);
    int64_t before = cost_of(&test->problem);
    uint64_t used = 0;
    if (!sweep_between(test->pass, draw_options(&test->chance), from, end, rects, kept, &used))
        return;
    check_outside(test, from, end, rects, kept);
    show_answer(test, rects, kept);
    check(&test->problem);
    if (cost_of(&test->problem) > before) return;
    memcpy(test->rects, rects, count * sizeof *rects);
    memcpy(test->kept, kept, count * sizeof *kept);
}

/* Each change leaves a whole answer, and together they save something: here a twentieth at least.
 */
static void stretches(void **state) {
    (void)state;
    int64_t before = 0, after = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        Arena arena;
        arena_init(&arena);
        Stretched test = begin_stretched(seed, &arena);
        show_answer(&test, test.rects, test.kept);
        check(&test.problem);
        before += cost_of(&test.problem);
        for (int k = 0; k < 40; k++)
            change_stretch(&test, &arena);
        show_answer(&test, test.rects, test.kept);
        after += cost_of(&test.problem);
        arena_free(&arena);
    }
    assert_true(after > 0 && after < before - before / 20);
}

/* ---- cases ---- */

/* Two stays with a gap between; the gap is kept if it can be. */
static void add_gap_pair(LodgeProblem *problem, uint32_t height, uint32_t first, LiveRange second,
                         Arena *arena) {
    Lodger item = {.points = range_of(first, first, arena),
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

/* Values that are there at entry and read from the first point on: both stays begin at one point,
 * and the first is over behind it. Later the most stand that ever do, and later yet there is not
 * enough room, so that there is something to search for. */
static void two_stays_at_one_point(void **state) {
    (void)state;
    enum { AT_ENTRY = 3, SMALL = 8, LARGE = 3 };
    Arena arena;
    arena_init(&arena);
    LodgeProblem problem = {.items = RAW_ARRAY(&arena, Lodger, 2 * (AT_ENTRY + SMALL + LARGE)),
                            .npoints = POINTS,
                            .size = (LARGE - 1) * HIGHEST + SMALL + AT_ENTRY};
    for (uint32_t i = 0; i < AT_ENTRY; i++)
        add_gap_pair(&problem, 1, 0, range_of(0, 5, &arena), &arena);
    for (uint32_t i = 0; i < SMALL; i++)
        add_gap_pair(&problem, 1, 10 + i, range_of(20 + i, 20 + i, &arena), &arena);
    for (uint32_t i = 0; i < LARGE; i++)
        add_gap_pair(&problem, HIGHEST, 40 + i, range_of(50 + i, 50 + i, &arena), &arena);
    assert_true(lodge(&problem, (LodgeEffort){(uint64_t)SEVERAL * problem.count, 0}, &arena));
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
        LodgeProblem problem = make_problem(seed, (VALUES + 2) * (HIGHEST + 4), &arena);
        assert_true(lodge(&problem, (LodgeEffort){STEPS, 0}, &arena));
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
        LodgeProblem small = make_problem(seed, ENOUGH, &arena), large;
        large = make_problem(seed, ENOUGH * FACTOR + FACTOR - 1, &arena);
        for (uint32_t i = 0; i < large.count; i++) {
            Lodger *item = &large.items[i];
            *item = small.items[i];
            item->height *= FACTOR;
            item->align = item->align > 1 ? item->align * FACTOR : DIVISOR;
            item->rect.low *= FACTOR;
            item->rect.high *= FACTOR;
        }
        LodgeEffort effort = {STEPS, 0};
        assert_true(lodge(&small, effort, &arena) && lodge(&large, effort, &arena));
        check(&large);
        for (uint32_t i = 0; i < small.count; i++) {
            assert_int_equal(large.items[i].rect.low, FACTOR * small.items[i].rect.low);
            assert_int_equal(large.items[i].kept, small.items[i].kept);
        }
        arena_free(&arena);
    }
}

/* A stay that is higher than the axis has no place; the others do. */
static void too_high(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    LodgeProblem problem = make_problem(1, ENOUGH, &arena);
    uint32_t count = problem.count;
    problem.items[problem.count++] = (Lodger){.points = range_of(3, 3, &arena),
                                              .height = ENOUGH + 1,
                                              .align = 1,
                                              .class = CLASS_FULL,
                                              .value = UINT32_MAX};
    assert_false(lodge(&problem, (LodgeEffort){STEPS, 0}, &arena));
    assert_int_equal(problem.items[count].rect.mask, 0);
    problem.count = count;
    check(&problem);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems), cmocka_unit_test(several_starts),
        cmocka_unit_test(stretches),       cmocka_unit_test(two_stays_at_one_point),
        cmocka_unit_test(ample_room),      cmocka_unit_test(units),
        cmocka_unit_test(too_high)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
