/* Indexes against a plain run of all iterations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "ir/build.h"
#include "test/chance.h"
#include "test/count.h"
#include "test/run.h"
#include "text/check.h"
#include "text/check_index.h"
#include "text/parse.h"

/* The first error of a function with a tensor %b of eight blocks and these statements. */
static void expect(const char *statements, const char *message) {
    Arena arena;
    arena_init(&arena);
    Str text = str_format(
        &arena, "func @f {\ntensor %%b : dram<8*128x64xbf16> input output\n%s\n}\n", statements);
    Source source;
    source_from_text(&source, &arena, "test.lf", text.text, text.length);
    DiagQueue diags;
    diag_init(&diags, &arena);
    Module module;
    assert_true(parse_lf(&source, &arena, &diags, &module));
    check_module(&module, &diags);
    if (*message) {
        assert_int_equal(diags.errors, 1);
        assert_true(str_is(diags.items[0].text, message));
    } else {
        assert_int_equal(diags.errors, 0);
    }
    arena_free(&arena);
}

static void the_first_iteration_is_named(void **state) {
    (void)state;
    expect("g %b[8]", "index outside %b: block 8 of 8");
    expect("loop i = 0..9 { g %b[i] }", "index outside %b: block 8 of 8 at i = 8");
    expect("loop i = 0..9 { g %b[i] if i != 8 }", "");
    expect("loop i = 0..9 { loop j = 0..9 { g %b[j - 1] if i == 3 } }",
           "index outside %b: block -1 of 8 at i = 3, j = 0");
    expect("loop i = 0..2 { loop j = 0..8 { g %b[i + j] } }",
           "index outside %b: block 8 of 8 at i = 1, j = 7");
    expect("loop i = 0..2 { loop j = 0..8 { g %b[j] } }", "");
    expect("loop i = 0..20 { g %b[7 - 3*i mod 10] }", "index outside %b: block 8 of 8 at i = 3");
    expect("loop i = 0..20 { g %b[i mod 10] if i mod 10 < 8 }", "");
    expect("loop i = 0..20 { g %b[i mod 10] if i mod 2 == 1 }",
           "index outside %b: block 9 of 8 at i = 9");
    expect("loop i = 0..20 { g %b[i..2*i] if i < 6 }", "index outside %b: block 8 of 8 at i = 5");
}

static void a_range_may_be_empty(void **state) {
    (void)state;
    expect("g %b[2..2], %b[3..1], %b[9..9]", "");
    expect("loop i = 0..20 { g %b[i + 9..i] }", "");
    expect("loop i = 0..9 { g %b[i..8] }", "");
    expect("loop i = 0..9 { g %b[12..i + 6] }", "index outside %b: block 12 of 8 at i = 7");
    expect("loop i = 0..5 { g %b[2*i..8] }", "");
    expect("loop i = 0..5 { g %b[i - 1..2*i - 1] }", "");
}

static void long_loops_need_no_tries(void **state) {
    (void)state;
    expect("loop i = 0..1000000000 { loop j = 0..1000000000 { g %b[i + j] } }",
           "index outside %b: block 8 of 8 at i = 0, j = 8");
    expect("loop i = 0..1000000000 { g %b[1000000007 - i] }",
           "index outside %b: block 1000000007 of 8 at i = 0");
    expect("loop i = 0..1000000000 { g %b[i - 999999992] if i > 999999990 }",
           "index outside %b: block -1 of 8 at i = 999999991");
    expect("loop i = 0..1000000000 { g %b[i mod 8] }", "");
    expect("loop i = 0..1000000000 { g %b[3*i mod 9] if i mod 3 == 1 && i > 99 }", "");
    expect("loop i = 0..1000000000 { g %b[3*i mod 9 ] if i mod 2 == 1 && i < 100000000 }", "");
    expect("loop i = 0..1000000000 { g %b[i mod 9] if i mod 2 == 1 && i > 99 }",
           "index outside %b: block 8 of 8 at i = 107");
    expect("loop i = 0..100000 { loop j = 0..100000 { g %b[i - 2*j] if i - 2*j >= 0 && 8 > i - 2*j "
           "} }",
           "");
}

/* ---- against a run ---- */

typedef struct {
    Chance chance;
    Builder builder;
    uint32_t loops[3];
    uint32_t nloops;
} Maker;

static Affine random_affine(Maker *maker, bool may_be_remainder) {
    Term *terms = NEW_ARRAY(maker->builder.arena, Term, 4);
    uint32_t count = 0;
    for (uint32_t i = 0; i < maker->nloops; i++)
        if (chance_percent(&maker->chance, 60))
            terms[count++] = (Term){chance_between(&maker->chance, -3, 3), maker->loops[i]};
    if (count == 0 || chance_percent(&maker->chance, 60))
        terms[count++] = (Term){chance_between(&maker->chance, -6, 9), NO_LOOP};
    bool remainder = may_be_remainder && chance_percent(&maker->chance, 30);
    return (Affine){terms, count, remainder ? chance_between(&maker->chance, 1, 11) : 0};
}

static const Condition *random_condition(Maker *maker, Affine index) {
    uint32_t count = (uint32_t)chance_between(&maker->chance, 0, 3);
    if (count == 0) return NULL;
    Compare *compares = NEW_ARRAY(maker->builder.arena, Compare, count);
    for (uint32_t i = 0; i < count; i++) {
        Affine left = random_affine(maker, true), right = random_affine(maker, true);
        if (chance_percent(&maker->chance, 40)) left = index;
        if (chance_percent(&maker->chance, 60))
            right = affine_constant(maker->builder.arena, chance_between(&maker->chance, -2, 9));
        Comparison comparison = (Comparison)chance_between(&maker->chance, CMP_EQ, CMP_GE);
        compares[i] = (Compare){left, right, comparison};
    }
    Condition *condition = NEW(maker->builder.arena, Condition);
    *condition = (Condition){compares, count};
    return condition;
}

static const Func *random_function(Maker *maker, Arena *arena, int64_t count) {
    build_begin(&maker->builder, arena, STR("f"), (MetaList){0}, (Span){0, 0});
    build_tensor(&maker->builder, (Tensor){.name = STR("b"), .blocks = count});
    maker->nloops = (uint32_t)chance_between(&maker->chance, 1, 3);
    for (uint32_t i = 0; i < maker->nloops; i++) {
        int64_t low = chance_between(&maker->chance, 0, 3);
        int64_t high = low + chance_between(&maker->chance, 1, 6);
        maker->loops[i] = build_loop(&maker->builder, STR("i"), low, high, (Span){0, 0});
    }
    Blocks *blocks = NEW(arena, Blocks);
    blocks->kind = chance_percent(&maker->chance, 60) ? BLOCKS_ONE : BLOCKS_RANGE;
    blocks->low = blocks->high = random_affine(maker, blocks->kind == BLOCKS_ONE);
    if (blocks->kind == BLOCKS_RANGE) blocks->high = random_affine(maker, false);
    Operand *operand = NEW(arena, Operand);
    operand->blocks = blocks;
    Inst inst = {.op = STR("g"), .nsrc = 1, .operands = operand};
    inst.condition = random_condition(maker, blocks->low);
    build_inst(&maker->builder, inst);
    for (uint32_t i = 0; i < maker->nloops; i++)
        build_end_loop(&maker->builder);
    return build_finish(&maker->builder);
}

/* Moves the run to the first iteration that names what is not there; false if there is none. */
static bool run_to_stray(Stepper *run, const Blocks *blocks, int64_t count) {
    while (run_next(run)) {
        if (!run_happens(run)) continue;
        int64_t low = affine_value(blocks->low, run->indices), last = low;
        if (blocks->kind == BLOCKS_RANGE) last = affine_value(blocks->high, run->indices) - 1;
        if (low <= last && (low < 0 || last >= count)) return true;
    }
    return false;
}

static void strays_are_those_of_a_run(void **state) {
    (void)state;
    uint32_t found = 0;
    for (uint64_t seed = 0; seed < 200 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Maker maker = {.chance = {seed}};
        int64_t count = chance_between(&maker.chance, 1, 12);
        const Func *func = random_function(&maker, &arena, count);
        const Blocks *blocks = func->insts[0].operands[0].blocks;
        Stepper run = run_begin(func, &arena);
        bool strays = run_to_stray(&run, blocks, count);
        IndexChecker checker;
        index_checker_init(&checker, func, &arena);
        Stray stray = find_stray(&checker, &func->insts[0], blocks, count);
        if (stray.found != strays) fail_msg("seed %llu: %d", (unsigned long long)seed, strays);
        for (uint32_t i = 0; strays && i < stray.nloops; i++)
            if (stray.indices[stray.loops[i]] != run.indices[stray.loops[i]])
                fail_msg("seed %llu: another iteration", (unsigned long long)seed);
        found += strays;
        arena_free(&arena);
    }
    assert_in_range(found, 20 * test_count(), 180 * test_count());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_iteration_is_named),
        cmocka_unit_test(a_range_may_be_empty),
        cmocka_unit_test(long_loops_need_no_tries),
        cmocka_unit_test(strays_are_those_of_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
