/* The flat allocator: its places, its costs, its ranges, and whole allocations. */
#include "place/select_flat.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#include "analysis/opaque.h"
#include "driver/allocate.h"
#include "place/cost.h"
#include "place/overlap.h"
#include "test/count.h"
#include "test/random.h"
#include "text/check.h"
#include "text/parse.h"

static const Func *read_func(Arena *arena, Module *module, const char *body) {
    Str text = str_format(arena,
                          "target t {\n sb_bytes = 4096\n sb_reserved = 0\n sb_init = 5\n"
                          " dma_init = 100\n dma_rate = 1\n}\nfunc @f {\n%s\n}\n",
                          body);
    Source source;
    source_from_text(&source, arena, "test.lf", text.text, text.length);
    DiagQueue diags;
    diag_init(&diags, arena);
    if (!parse_lf(&source, arena, &diags, module) || !check_module(module, &diags)) {
        diag_print(&diags, &source, (DiagStyle){0}, stderr);
        fail_msg("the test's own text is wrong:\n%s", text.text);
    }
    return module->funcs;
}

/* 16 partitions and 16 bytes: on chip 5 + 2 cycles, in DRAM 100 + 16. */
static void costs_as_the_seed_has_them(void **state) {
    (void)state;
    static const struct {
        const char *body;
        double cost, aggressive;
    } cases[] = {
        {"%a = f\nh %b\nh %a\nh %a", 7 + 7 + 7, 21},
        {"%a = f\nh %b\nloop i = 0..9 {\nh %a\n}\nh %a", 7 + 116 + 7, 130},
        {"%a = load %X\nh %b\nloop i = 0..9 {\nh %a\n}\nh %a", 7, 7 + 7 + 7},
        {"%a = load %X\nh %b\nh %a\n%X = save %a", 7, 7},
        {"%a = f\nh %b\n%a = f", INFINITY, INFINITY},
        {"%a = f\nh %a\nh %b", INFINITY, INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int aggressive = 0; aggressive < 2; aggressive++) {
            Arena arena;
            arena_init(&arena);
            Module module;
            const Func *func = read_func(
                &arena, &module,
                str_format(&arena,
                           "tensor %%X : dram<16x4xf32> input\ntensor %%a : sb<16x4xf32>\n"
                           "tensor %%b : sb<16x4xf32> input\n%s",
                           cases[i].body)
                    .text);
            Live live = live_range(func, &arena);
            Nodes nodes = renumber(func, &live, NULL, &arena);
            find_costs(func, &nodes, (CostModel){&module.target, true, aggressive}, NULL, &arena);
            double wanted = aggressive ? cases[i].aggressive : cases[i].cost;
            double found = nodes.items[nodes.of[1]].cost;
            if (found != wanted) fail_msg("case %zu: %f, not %f", i, found, wanted);
            arena_free(&arena);
        }
}

static void loops_are_opaque(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    Module module;
    const Func *func = read_func(&arena, &module,
                                 "tensor %a : sb<16x4xf32>\ntensor %b : sb<16x4xf32>\n"
                                 "%a = f\ng\nloop i = 0..2 {\ng\nloop j = 0..2 {\nh %a\n"
                                 "%b = f\nh %b\n}\ng\n}\ng");
    Live live = live_range(func, &arena);
    bool exempt[] = {false, true};
    make_loops_opaque(func, exempt, &live, &arena);
    assert_int_equal(live.whole[0].count, 1);
    assert_int_equal(live.whole[0].items[0].first, 0);
    assert_int_equal(live.whole[0].items[0].last, 6);
    assert_int_equal(live.whole[1].items[0].first, 4);
    assert_int_equal(live.whole[1].items[0].last, 5);
    make_loops_opaque(func, NULL, &live, &arena);
    assert_int_equal(live.whole[1].items[0].first, 2);
    assert_int_equal(live.whole[1].items[0].last, 6);
    arena_free(&arena);
}

static bool never(void *context, const PlacedInterval *earlier, const PlacedInterval *later) {
    const Nodes *nodes = context;
    return nodes->items[earlier->owner].fixed && nodes->items[later->owner].fixed;
}

/* No two places overlap, and all that was pushed as colourable has one. */
static void places(void **state) {
    (void)state;
    uint32_t failed = 0;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Module *module = random_module(&arena, seed, (RandomShape){ROOM_ANY, CODE_ANY, SIZE_ANY});
        const Func *func = module->funcs;
        Live live = live_range(func, &arena);
        Nodes nodes = renumber(func, &live, NULL, &arena);
        find_costs(func, &nodes, (CostModel){&module->target, true, false}, NULL, &arena);
        Graph graph = build(&nodes, &arena);
        Axis axis = axis_make((uint32_t)(target_usable(&module->target) / GRANULE));
        NodeStack stack = simplify(&nodes, &graph, &axis, 0, &arena);
        Placement placement = select_flat(&nodes, &graph, &axis, &stack, &arena);
        failed += placement.nfailed;
        PlacedInterval *placed = NULL;
        size_t count = 0, capacity = 0;
        for (uint32_t n = 0; n < nodes.count; n++)
            for (uint32_t b = 0; placement.rects[n] && b < nodes.items[n].blocks; b++) {
                Rect rect = placement.rects[n][b];
                assert_true(rect.high <= axis.size);
                LiveRange range = node_block_range(&nodes.items[n], b);
                for (uint32_t i = 0; i < range.count; i++) {
                    PlacedInterval one = {range.items[i], rect, n};
                    PUSH(&arena, placed, count, capacity, one);
                }
            }
        assert_true(check_overlaps(placed, count, never, &nodes));
        for (uint32_t i = 0; stack.items[i] != SENTINEL; i++)
            assert_non_null(placement.rects[stack.items[i]]);
        arena_free(&arena);
    }
    assert_true(failed > 0);
}

/* The result passes the referee, and is its own result. */
static void random_programs(void **state) {
    (void)state;
    uint32_t spilled = 0;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Module *module = random_module(&arena, seed, (RandomShape){ROOM_ANY, CODE_ANY, SIZE_ANY});
        Options options = options_default();
        options.allocator = ALLOCATOR_FLAT;
        options.effort = (int)(seed % 3);
        options.dma_optlevel = seed % 2 ? 5 : 1;
        DiagQueue diags;
        diag_init(&diags, &arena);
        Allocation result = allocate(module->funcs, &module->target, &options, &arena, &diags);
        bool enough = target_usable(&module->target) >= random_enough(module->funcs);
        if (result.status == WRONG_RESULT || (enough && result.status != ALLOCATED))
            fail_msg("seed %llu: %s", (unsigned long long)seed, diags.items[0].text.text);
        if (result.status == ALLOCATED) {
            spilled += result.report.spilled_tensors > 0;
            Allocation again = allocate(result.func, &module->target, &options, &arena, &diags);
            assert_int_equal(again.status, ALLOCATED);
        }
        arena_free(&arena);
    }
    assert_true(spilled > test_count() / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_as_the_seed_has_them),
        cmocka_unit_test(loops_are_opaque),
        cmocka_unit_test(places),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
