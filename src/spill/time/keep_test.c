/* The choice of gaps against its constraints, point by point, and against all choices of small
 * problems. */
#include "spill/time/keep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#include "spill/time/cells.h"
#include "spill/time/classes.h"
#include "spill/time/gaps.h"
#include "spill/time/sources.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"

enum { AMPLE = 1000000, STEPS = 3000000, MOST_GAPS = 14 };

static bool facts_of(const Module *module, uint32_t full, TimeFacts *facts, Arena *arena) {
    TimeOptions options = {
        .full = full, .most_points = AMPLE, .most_accesses = AMPLE, .remat = true};
    return find_time_facts(module->funcs, &module->target, options, arena, facts);
}

static bool range_has(LiveRange range, uint32_t point) {
    for (uint32_t i = 0; i < range.count; i++)
        if (range.items[i].first <= point && point <= range.items[i].last) return true;
    return false;
}

/* True if the cell is on chip at a point: accessed, or in a gap that is kept. */
static bool is_there(const TimeFacts *facts, const bool *kept, uint32_t cell, uint32_t point) {
    const Cells *cells = &facts->cells;
    for (uint32_t a = cells->first[cell]; a < cells->first[cell + 1]; a++) {
        if (cells->accesses[a].point == point) return true;
        uint32_t g = facts->gaps.of[a];
        if (g != UINT32_MAX && kept[g] && range_has(facts->gaps.gaps[g].points, point)) return true;
    }
    return false;
}

/* Granules times quadrants on chip at a point. */
static uint64_t area_at(const TimeFacts *facts, const bool *kept, uint32_t point) {
    uint64_t area = 0;
    for (uint32_t c = 0; c < facts->cells.ncells; c++) {
        if (!is_there(facts, kept, c, point)) continue;
        const Tensor *tensor = &facts->func->tensors[facts->cells.tensor[c]];
        ShapeClass class = shape_class(tensor->partitions, tensor->base);
        area += (uint64_t)tensor_height(tensor) * (uint64_t)class_quadrants(class);
    }
    return area;
}

/* False where what must be there is too much by itself: then the choice adds nothing to it. */
static bool fits(const TimeFacts *facts, const bool *kept) {
    for (uint32_t p = 0; p < facts->timeline.npoints; p++)
        if (area_at(facts, kept, p) > (uint64_t)QUADRANTS * facts->size) return false;
    return true;
}

static int64_t cost_of(const TimeFacts *facts, const bool *kept, Arena *arena) {
    const TimeGaps *gaps = &facts->gaps;
    bool *stored = NEW_ARRAY(arena, bool, (size_t)gaps->nvalues + 1);
    int64_t cost = 0;
    for (uint32_t g = 0; g < gaps->count; g++) {
        const TimeGap *gap = &gaps->gaps[g];
        if (kept[g]) continue;
        cost += gap->load;
        if (gap->source != NO_SOURCE || stored[gap->value]) continue;
        stored[gap->value] = true;
        cost += gaps->store[gap->value];
    }
    return cost;
}

static int64_t keep(const TimeFacts *facts, uint64_t seed, bool *kept, Arena *arena) {
    KeepProblem problem = {.facts = facts,
                           .headroom = NEW_ARRAY(arena, uint32_t, facts->timeline.npoints),
                           .steps = STEPS,
                           .seed = seed};
    return keep_gaps(&problem, kept, arena);
}

static bool is_resident(const TimeFacts *facts, uint32_t g) {
    return facts->gaps.resident[facts->cells.tensor[facts->gaps.gaps[g].cell]];
}

/* What must be kept is; the cost is that of what is cut; capacity is kept wherever it can be. */
static void check_choice(const TimeFacts *facts, uint64_t seed, Arena *arena) {
    bool *kept = NEW_ARRAY(arena, bool, facts->gaps.count);
    bool *least = NEW_ARRAY(arena, bool, facts->gaps.count);
    int64_t cost = keep(facts, seed, kept, arena);
    assert_int_equal(cost, cost_of(facts, kept, arena));
    for (uint32_t g = 0; g < facts->gaps.count; g++) {
        least[g] = is_resident(facts, g);
        if (least[g]) assert_true(kept[g]);
    }
    for (uint32_t p = 0; p < facts->timeline.npoints; p++) {
        uint64_t area = area_at(facts, kept, p), must = area_at(facts, least, p);
        if (area > (uint64_t)QUADRANTS * facts->size) assert_int_equal(area, must);
    }
}

static void capacity_is_kept(void **unused) {
    (void)unused;
    for (uint64_t seed = 1; seed <= test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.room = ROOM_SPILLING,
                             .size = SIZE_SMALL,
                             .code = seed % 2 ? CODE_ANY : CODE_BLOCK_LOOPS};
        TimeFacts facts;
        if (facts_of(random_module(&arena, seed, shape), seed % 4 < 2 ? 0 : AMPLE, &facts, &arena))
            check_choice(&facts, seed, &arena);
        arena_free(&arena);
    }
}

/* The least cost of all choices. */
static int64_t least_cost(const TimeFacts *facts, Arena *arena) {
    int64_t least = INT64_MAX;
    bool kept[MOST_GAPS];
    for (uint32_t bits = 0; bits < UINT32_C(1) << facts->gaps.count; bits++) {
        for (uint32_t g = 0; g < facts->gaps.count; g++)
            kept[g] = bits >> g & 1;
        if (!fits(facts, kept)) continue;
        int64_t cost = cost_of(facts, kept, arena);
        if (cost < least) least = cost;
    }
    return least;
}

/* Straight code of one band: few gaps, no classes with more than one member, so that nothing has to
 * fold. The choice is the least of all. */
static void least_of_all_choices(void **unused) {
    (void)unused;
    static const char *const bodies[] = {
        "%a = f\n%b = f\n%c = f\ng %a, %b\ng %b, %c\ng %c, %a\ng %a, %b",
        "%a = f\n%b = f\n%c = f\n%d = f\ng %a\ng %b\ng %c\ng %d\ng %d\ng %c\ng %b\ng %a",
        "%a = load %x[0]\n%b = f\n%c = load %x[1]\ng %a\ng %b\n%d = f %c\ng %d, %a\ng %b\ng %a",
        "%a = f\n%y[1] = save %a\n%b = f\n%c = f\n%a += f\n%d = f %b\ng %a, %c\ng %d, %b\ng %a",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        for (int64_t usable = 16; usable <= 32; usable += 8) {
            Arena arena;
            arena_init(&arena);
            char body[1024];
            snprintf(body, sizeof body,
                     "tensor %%x : dram<4*128x8xu8> input\n"
                     "tensor %%y : dram<4*128x8xu8> output\n"
                     "tensor %%a : sb<128x8xu8>\ntensor %%b : sb<128x8xu8>\n"
                     "tensor %%c : sb<128x8xu8>\ntensor %%d : sb<128x8xu8>\n%s",
                     bodies[i]);
            TimeFacts facts;
            assert_true(facts_of(make_body(&arena, usable, body), 0, &facts, &arena));
            assert_in_range(facts.gaps.count, 1, MOST_GAPS);
            bool kept[MOST_GAPS];
            assert_int_equal(keep(&facts, 1, kept, &arena), least_cost(&facts, &arena));
            arena_free(&arena);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(capacity_is_kept),
                                       cmocka_unit_test(least_of_all_choices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
