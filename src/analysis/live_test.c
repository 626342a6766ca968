/* Live ranges against what a run of the same program shows. */
#include "analysis/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/count.h"
#include "test/observe.h"
#include "test/random.h"
#include "text/parse.h"

typedef struct {
    const Func *func;
    Live live;
    Observed observed;
    uint64_t seed;
} Compared;

static bool range_has(LiveRange range, uint32_t point) {
    for (uint32_t i = 0; i < range.count; i++)
        if (range.items[i].first <= point && point <= range.items[i].last) return true;
    return false;
}

static void check_form(LiveRange range, uint32_t ninsts) {
    for (uint32_t i = 0; i < range.count; i++) {
        assert_true(range.items[i].first <= range.items[i].last);
        assert_true(range.items[i].last < ninsts);
        if (i > 0) assert_true(range.items[i - 1].last + 1 < range.items[i].first);
    }
}

static void fail_at(const Compared *compared, const char *what, uint32_t tensor, int64_t block,
                    uint32_t point) {
    Str name = compared->func->tensors[tensor].name;
    fail_msg("seed %llu: %%%.*s[%lld] at point %u: %s", (unsigned long long)compared->seed,
             (int)name.length, name.text, (long long)block, point, what);
}

/* Never less than observed; where `exact`, the same. */
static void compare_block(const Compared *compared, uint32_t tensor, int64_t block, bool exact) {
    LiveRange range = live_block(&compared->live, tensor, block);
    check_form(range, compared->func->ninsts);
    for (uint32_t point = 0; point < compared->func->ninsts; point++) {
        bool computed = range_has(range, point);
        bool seen = observed_live(&compared->observed, tensor, block, point);
        if (seen && !computed) fail_at(compared, "observed, not computed", tensor, block, point);
        if (exact && computed && !seen)
            fail_at(compared, "computed, not observed", tensor, block, point);
    }
}

/* The whole range is that of all blocks together. */
static void compare_whole(const Compared *compared, uint32_t tensor) {
    LiveRange whole = compared->live.whole[tensor];
    check_form(whole, compared->func->ninsts);
    for (uint32_t point = 0; point < compared->func->ninsts; point++) {
        bool any = false;
        for (int64_t block = 0; block < compared->func->tensors[tensor].blocks; block++)
            any |= range_has(live_block(&compared->live, tensor, block), point);
        if (any != range_has(whole, point))
            fail_at(compared, "the whole differs from its blocks", tensor, -1, point);
    }
}

static void compare(uint64_t seed, RandomShape shape, bool exact) {
    Arena arena;
    arena_init(&arena);
    const Func *func = random_module(&arena, seed, shape)->funcs;
    Compared compared = {func, live_range(func, &arena), observe(func, &arena), seed};
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (func->tensors[t].space != SPACE_SB) continue;
        for (int64_t block = 0; block < func->tensors[t].blocks; block++)
            compare_block(&compared, t, block, exact);
        compare_whole(&compared, t);
    }
    arena_free(&arena);
}

static void never_less_than_observed(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++)
        compare(seed, (RandomShape){ROOM_ANY, CODE_ANY, SIZE_ANY}, false);
}

static void straight_code_is_exact(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++)
        compare(seed, (RandomShape){ROOM_ANY, CODE_STRAIGHT, SIZE_ANY}, true);
}

static void block_loops_are_exact(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++)
        compare(seed, (RandomShape){ROOM_ANY, CODE_BLOCK_LOOPS, SIZE_ANY}, true);
}

/* One block an outer iteration, written at the head of each inner one: nothing is carried round. */
static void inner_loop_of_one_iteration(void **state) {
    (void)state;
    const char *text = "func @f {\n"
                       "  tensor %a : sb<4*128x8xu8>\n"
                       "  loop i = 0..4 {\n"
                       "    loop j = 0..4 {\n"
                       "      before\n"
                       "      %a[i] = f\n"
                       "      g %a[i]\n"
                       "      behind\n"
                       "    }\n"
                       "  }\n"
                       "}\n";
    Arena arena;
    arena_init(&arena);
    DiagQueue diags;
    diag_init(&diags, &arena);
    Source source;
    source_from_text(&source, &arena, "text", text, strlen(text));
    Module module;
    assert_true(parse_lf(&source, &arena, &diags, &module));
    Live live = live_range(module.funcs, &arena);
    for (int64_t block = 0; block < 4; block++) {
        LiveRange range = live_block(&live, 0, block);
        assert_int_equal(range.count, 1);
        assert_int_equal(range.items[0].first, 1);
        assert_int_equal(range.items[0].last, 2);
    }
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_less_than_observed),
        cmocka_unit_test(straight_code_is_exact),
        cmocka_unit_test(block_loops_are_exact),
        cmocka_unit_test(inner_loop_of_one_iteration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
