/* How often instructions run, against a run of the loops one iteration at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ir/runs.h"
#include "test/count.h"
#include "test/random.h"
#include "test/run.h"
#include "text/parse.h"

static const Func *parse(Arena *arena, const char *body, Module *module) {
    Source source;
    DiagQueue diags;
    Str text = str_format(arena, "func @f {\n  tensor %%t : sb<64*128x8xu8>\n%s}\n", body);
    source_from_text(&source, arena, "test.lf", text.text, text.length);
    diag_init(&diags, arena);
    if (!parse_lf(&source, arena, &diags, module)) fail_msg("does not parse:\n%s", body);
    return &module->funcs[0];
}

static void expect(const char *body, int64_t runs, int64_t moves, int64_t blocks) {
    Arena arena;
    arena_init(&arena);
    Module module;
    const Func *func = parse(&arena, body, &module);
    const Inst *inst = &func->insts[0];
    bool *named = NEW_ARRAY(&arena, bool, 64);
    assert_int_equal(inst_runs(func, inst), runs);
    assert_int_equal(inst_moves(func, inst, inst->operands), moves);
    assert_int_equal(mark_named(func, inst, inst->operands, named), blocks);
    assert_int_equal(mark_named(func, inst, inst->operands, named), 0);
    arena_free(&arena);
}

#define LOOP(operand, condition) "loop i = 0..10 {\nuse %t" operand condition "\n}\n"
#define LOOPS(operand, condition)                                                                  \
    "loop i = 0..10 {\nloop j = 2..6 {\nuse %t" operand condition "\n}\n}\n"

static void known(void **state) {
    (void)state;
    expect("use %t\n", 1, 64, 64);
    expect("use %t if 1 == 2\n", 0, 0, 0);
    expect(LOOP("[i]", ""), 10, 10, 10);
    expect(LOOP("[i]", " if i >= 7"), 3, 3, 3);
    expect(LOOP("[i]", " if 2*i + 1 >= 8"), 6, 6, 6);
    expect(LOOP("[i]", " if 5 > 2*i"), 3, 3, 3);
    expect(LOOP("[i]", " if 3*i == 6"), 1, 1, 1);
    expect(LOOP("[i]", " if 3*i == 7"), 0, 0, 0);
    expect(LOOP("[i]", " if i != 3 && i != 3 && i != 4 && i != 11"), 8, 8, 8);
    expect(LOOP("[0]", " if i mod 3 == 1"), 3, 3, 1);
    expect(LOOP("[i..2*i]", ""), 10, 45, 17);
    expect(LOOP("[i..i + 4]", " if i < 2"), 2, 8, 5);
    expect(LOOPS("[j]", " if i == 3"), 4, 4, 4);
    expect(LOOPS("[i + j]", " if i + j >= 13"), 3, 3, 2);
    expect(LOOPS("[2*i + j - 2]", " if j - i > 3 && i mod 2 == 0"), 2, 2, 2);
    expect("loop i = 0..9223372036854775807 {\nuse %t[0] if i >= 5 && i != 7\n}\n", INT64_MAX - 6,
           INT64_MAX - 6, 1);
}

/* What running says of each instruction and of its first operand. */
static void check_counts(const Func *func, Arena *arena) {
    int64_t *runs = NEW_ARRAY(arena, int64_t, func->ninsts);
    int64_t *moves = NEW_ARRAY(arena, int64_t, func->ninsts);
    for (Stepper run = run_begin(func, arena); run_next(&run);) {
        if (!run_happens(&run)) continue;
        const Inst *inst = &func->insts[run.point];
        runs[run.point]++;
        if (inst->ndst + inst->nsrc == 0) continue;
        int64_t first, last;
        run_blocks(&run, inst->operands, &first, &last);
        if (first <= last) moves[run.point] += last - first + 1;
    }
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        assert_int_equal(inst_runs(func, inst), runs[p]);
        if (inst->ndst + inst->nsrc == 0) continue;
        assert_int_equal(inst_moves(func, inst, inst->operands), moves[p]);
    }
}

static void counted(void **state) {
    (void)state;
    uint32_t tried = 0;
    for (uint64_t seed = 1; seed <= 100 + test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.room = ROOM_SPILLING, .size = SIZE_SMALL};
        const Func *func = &random_module(&arena, seed, shape)->funcs[0];
        if (run_steps(func) < 100 * 1000) check_counts(func, &arena);
        tried += run_steps(func) < 100 * 1000;
        arena_free(&arena);
    }
    assert_in_range(tried, 50, UINT32_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
