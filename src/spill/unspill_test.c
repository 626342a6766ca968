/* Unspill: cuts whose value fits across the gap after all are taken back. */
#include "spill/unspill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ir/dma.h"
#include "test/straight.h"

/* A module whose tensors are all spilled, each access for itself. */
typedef struct {
    Arena arena;
    const Module *module;
    Facts facts;
    Live live;
    State *state;
    uint32_t cuts;
} Test;

static void rewrite_test(Test *test) {
    rewrite_state(test->state);
    analyse_state(test->state);
    test->state->now.graph = build(&test->state->now.nodes, &test->state->round_memory);
}

static void cut_everything(Test *test) {
    Plan *plan = &test->state->plan;
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        for (uint32_t a = plan->first[t] + 1; plan->spillable[t] && a < plan->first[t + 1]; a++) {
            plan_cut_gap(plan, t, a, false);
            test->cuts++;
        }
}

/* Everything cut, and placed on an axis of the module's size or more. */
static void begin(Test *test, uint64_t seed, uint32_t percent, uint32_t more) {
    *test = (Test){0};
    Module *module = straight_code(&test->arena, 60, 15, percent, seed);
    test->module = module;
    test->live = live_range(module->funcs, &test->arena);
    test->facts =
        facts_make(module->funcs, &test->live, &module->target, &test->arena, &test->arena);
    test->facts.remat = false;
    test->facts.size *= more;
    test->state =
        state_make(&test->facts, (Method){.name = "test", .place = PLACE_EVICT, .scale = 1});
    cut_everything(test);
    rewrite_test(test);
    assert_true(place_state(test->state));
}

static void end(Test *test) {
    state_free(test->state);
    arena_free(&test->arena);
}

static uint32_t cuts_left(const Test *test) {
    const Plan *plan = &test->state->plan;
    uint32_t count = 0;
    for (uint32_t a = 0; a < plan->first[plan->func->ntensors]; a++)
        count += plan->accesses[a].cut;
    return count;
}

static int64_t cycles(const Test *test) {
    return state_cycles(test->state);
}

static bool share_granules(Rect a, Rect b) {
    return (a.mask & b.mask) && a.low < b.high && b.low < a.high;
}

/* No two nodes that live together share a granule, by their ranges and not by the graph. */
static void check_places(const Test *test) {
    const Nodes *nodes = &test->state->now.nodes;
    for (uint32_t n = 0; n < nodes->count; n++) {
        Rect one = test->state->now.placement.rects[n][0];
        assert_int_equal(nodes->items[n].blocks, 1);
        assert_true(one.high <= test->facts.size);
        for (uint32_t m = 0; m < n; m++)
            assert_false(share_granules(one, test->state->now.placement.rects[m][0]) &&
                         live_overlap(nodes->items[n].range, nodes->items[m].range));
    }
}

/* Joins cuts, carries the plan out again and checks that all have their places. Returns how many
 * cuts went. */
static uint32_t join_test(Test *test) {
    int64_t before = cycles(test);
    uint32_t cuts = cuts_left(test), joined;
    Transfer places = join_cuts(test->state, &test->arena, &joined);
    assert_int_equal(cuts_left(test), cuts - joined);
    rewrite_test(test);
    transfer_places(&places, &test->state->code, &test->state->now, &test->state->round_memory);
    assert_true(test->state->now.placed);
    check_places(test);
    if (joined > 0) assert_true(cycles(test) < before);
    return joined;
}

/* With room for all side by side nothing stays cut: the code is as it was. */
static void ample_room(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        Test test;
        begin(&test, seed, 100, 8);
        assert_true(test.cuts > 0);
        assert_int_equal(join_test(&test), test.cuts);
        assert_int_equal(cycles(&test), sum_dmas(test.facts.func, &test.module->target).cycles);
        for (uint32_t t = 0; t < test.facts.func->ntensors; t++)
            assert_false(test.state->plan.spilled[t]);
        end(&test);
    }
}

/* With room for a part, a part goes; what is left of the cuts can be tried again. */
static void some_room(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        Test test;
        begin(&test, seed, 50, 1);
        uint32_t joined = join_test(&test);
        assert_true(joined > 0 && joined < test.cuts);
        assert_true(join_test(&test) < joined);
        end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ample_room), cmocka_unit_test(some_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
