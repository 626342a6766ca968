/* Refill: cuts that have room after all are taken back. */
#include "spill/refill.h"

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
    const Func *func;
    Plan plan;
    Sources sources;
    Options options;
    uint32_t size; /* granules */
    uint32_t cuts;
    Rewritten current;
    Round round;
} Test;

static void rewrite_test(Test *test) {
    test->current = rewrite(&test->plan, &test->sources, (RewriteOptions){0}, &test->arena);
    analyse_round(&test->current, &test->plan, &test->module->target, &test->options, &test->arena,
                  &test->round);
    test->round.graph = build(&test->round.nodes, &test->arena);
}

static void cut_everything(Test *test) {
    for (uint32_t t = 0; t < test->func->ntensors; t++)
        for (uint32_t a = test->plan.first[t] + 1;
             test->plan.spillable[t] && a < test->plan.first[t + 1]; a++) {
            plan_cut_gap(&test->plan, t, a, false);
            test->cuts++;
        }
}

/* Everything cut, and placed on an axis of the module's size or more. */
static void begin(Test *test, uint64_t seed, uint32_t percent, uint32_t more) {
    arena_init(&test->arena);
    Module *module = straight_code(&test->arena, 60, 15, percent, seed);
    test->module = module;
    test->func = module->funcs;
    test->plan = plan_make(test->func, &test->arena);
    test->sources = sources_make(&test->plan, &test->arena);
    test->options = options_default();
    test->size = target_granules(&module->target) * more;
    test->cuts = 0;
    cut_everything(test);
    rewrite_test(test);
    colour_round(&test->options, test->size, true, &test->arena, &test->round);
    assert_true(test->round.placed);
}

static uint32_t cuts_left(const Test *test) {
    uint32_t count = 0;
    for (uint32_t a = 0; a < test->plan.first[test->func->ntensors]; a++)
        count += test->plan.accesses[a].cut;
    return count;
}

static int64_t cycles(const Test *test) {
    return sum_dmas(test->current.func, &test->module->target).cycles;
}

static bool share_granules(Rect a, Rect b) {
    return (a.mask & b.mask) && a.low < b.high && b.low < a.high;
}

/* No two nodes that live together share a granule, by their ranges and not by the graph. */
static void check_places(const Test *test) {
    const Nodes *nodes = &test->round.nodes;
    for (uint32_t n = 0; n < nodes->count; n++) {
        Rect one = test->round.placement.rects[n][0];
        assert_int_equal(nodes->items[n].blocks, 1);
        assert_true(one.high <= test->size);
        for (uint32_t m = 0; m < n; m++)
            assert_false(share_granules(one, test->round.placement.rects[m][0]) &&
                         live_overlap(nodes->items[n].range, nodes->items[m].range));
    }
}

/* Refills, carries the plan out anew and checks that all have their places. Returns how many cuts
 * went. */
static uint32_t refill_test(Test *test) {
    int64_t before = cycles(test);
    uint32_t cuts = cuts_left(test), joined;
    Transfer carry = refill(&test->plan, &test->current, &test->round, &test->module->target,
                         test->size, &test->arena, &joined);
    assert_int_equal(cuts_left(test), cuts - joined);
    rewrite_test(test);
    transfer_places(&transfer, &test->current, &test->round, &test->arena);
    assert_true(test->round.placed);
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
        assert_int_equal(refill_test(&test), test.cuts);
        assert_int_equal(cycles(&test), sum_dmas(test.func, &test.module->target).cycles);
        for (uint32_t t = 0; t < test.func->ntensors; t++)
            assert_false(test.plan.spilled[t]);
        arena_free(&test.arena);
    }
}

/* With room for a part, a part goes; what is left of the cuts can be tried again. */
static void some_room(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        Test test;
        begin(&test, seed, 50, 1);
        uint32_t joined = refill_test(&test);
        assert_true(joined > 0 && joined < test.cuts);
        assert_true(refill_test(&test) < joined);
        arena_free(&test.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ample_room), cmocka_unit_test(some_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
