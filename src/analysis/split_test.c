/* Splitting: by hand, and random programs judged by the referee. */
#include "analysis/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "analysis/live.h"
#include "test/count.h"
#include "test/random.h"
#include "text/check.h"
#include "text/parse.h"
#include "text/print.h"
#include "verify/verify.h"

static const Func *read_func(Arena *arena, const char *tensors, const char *body) {
    Str text = str_format(arena, "func @f {\n  tensor %%X : dram<8*4x4xf32> input\n%s\n%s\n}\n",
                          tensors, body);
    Source source;
    source_from_text(&source, arena, "test.lf", text.text, text.length);
    DiagQueue diags;
    diag_init(&diags, arena);
    Module *module = NEW(arena, Module);
    if (!parse_lf(&source, arena, &diags, module) || !check_module(module, &diags)) {
        diag_print(&diags, &source, (DiagStyle){0}, stderr);
        fail_msg("the test's own text is wrong:\n%s", text.text);
    }
    return module->funcs;
}

/* The names of all operands that are no dram tensors, in order, each followed by a blank. */
static const char *operand_names(const Func *func, Arena *arena) {
    Str names = STR("");
    for (uint32_t i = 0; i < func->ninsts; i++)
        for (uint32_t o = 0; o < func->insts[i].ndst + func->insts[i].nsrc; o++) {
            const Tensor *tensor = &func->tensors[func->insts[i].operands[o].tensor];
            if (tensor->space != SPACE_SB) continue;
            names = str_format(arena, "%.*s%.*s ", (int)names.length, names.text,
                               (int)tensor->name.length, tensor->name.text);
        }
    return names.text;
}

static void expect(const char *tensors, const char *body, const char *names, uint32_t added) {
    Arena arena;
    arena_init(&arena);
    const Func *func = read_func(&arena, tensors, body);
    Split split = split_webs(func, NULL, &arena);
    assert_string_equal(operand_names(split.func, &arena), names);
    assert_int_equal(split.added, added);
    if (added == 0) assert_ptr_equal(split.func, func);
    arena_free(&arena);
}

#define ONE(attributes) "tensor %a : sb<4x4xf32>" attributes "\n"
#define EIGHT "tensor %a : sb<8*4x4xf32>\n"

static void values_apart(void **state) {
    (void)state;
    expect(ONE(""), "%a = f\ng %a\n%a = f\ng %a\ng %a\n%a = f",
           "a a a_Split1 a_Split1 a_Split1 a_Split2 ", 2);
}

static void writes_that_keep_a_part(void **state) {
    (void)state;
    expect(ONE(""), "%a = f\n%a(0..2, 0..16) = f\ng %a", "a a a ", 0);
    expect(ONE(""), "%a = f\n%a += f\ng %a", "a a a ", 0);
    expect(ONE(""), "%a = f\nloop i = 0..2 {\n%a = f if i == 1\n}\ng %a", "a a a ", 0);
}

/* In one instruction the old value and the new would need room twice. */
static void one_instruction(void **state) {
    (void)state;
    expect(ONE(""), "%a = f\n%a = g %a\ng %a", "a a a a ", 0);
    expect(ONE(""), "%a = f\n%a, %a = f\ng %a", "a a a a ", 0);
}

static void back_edges(void **state) {
    (void)state;
    expect(ONE(""), "%a = f\nloop i = 0..2 {\ng %a\n%a = f\n}", "a a a ", 0);
    expect(ONE(""), "%a = f\nloop i = 0..2 {\n%a = f\ng %a\n}\ng %a",
           "a a_Split1 a_Split1 a_Split1 ", 1);
    expect(ONE(""), "%a = f\nloop i = 0..2 {\ng %a if i < 1\n%a = f\ng %a\n%a = f\n}\n%a = f\ng %a",
           "a a a_Split1 a_Split1 a a_Split2 a_Split2 ", 2);
    /* Round the outer loop only. */
    expect(ONE(""), "%a = f\nloop i = 0..2 {\ng %a\nloop j = 0..2 {\n%a = f\ng %a\n}\n%a = f\n}",
           "a a a_Split1 a_Split1 a ", 1);
    /* Never defined before its first read in program order. */
    expect(ONE(""), "loop i = 0..2 {\ng %a if i > 0\n%a = f\n}", "a a ", 0);
}

static void tensors_that_stay_whole(void **state) {
    (void)state;
    expect(ONE(" pin"), "%a = f\ng %a\n%a = f\ng %a", "a a a a ", 0);
    expect(ONE(" at 0:0"), "%a = f\ng %a\n%a = f\ng %a", "a a a a ", 0);
    expect(ONE(" output"), "%a = f\ng %a\n%a = f\ng %a", "a a a a ", 0);
}

static void inputs_keep_their_name(void **state) {
    (void)state;
    expect(ONE(" input"), "g %a\n%a = f\ng %a", "a a_Split1 a_Split1 ", 1);
    Arena arena;
    arena_init(&arena);
    const Func *func = read_func(&arena, ONE(" input"), "g %a\n%a = f\ng %a");
    Split split = split_webs(func, NULL, &arena);
    assert_int_equal(split.func->ntensors, 3);
    assert_true(split.func->tensors[1].input);
    assert_false(split.func->tensors[2].input);
    assert_int_equal(split.parent[2], 1);
    arena_free(&arena);
}

static void names_in_use(void **state) {
    (void)state;
    expect(ONE("") "tensor %a_Split1 : sb<4x4xf32>",
           "%a = f\ng %a\n%a = f\ng %a\n%a_Split1 = f\ng %a_Split1",
           "a a a_Split2 a_Split2 a_Split1 a_Split1 ", 1);
    /* A count for each tensor. */
    expect(ONE("") "tensor %b : sb<4x4xf32>", "%a = f\n%b = f\ng %a, %b\n%b = f\n%a = f\ng %a, %b",
           "a b a b b_Split1 a_Split1 a_Split1 b_Split1 ", 2);
}

static void blocks(void **state) {
    (void)state;
    const char *twice = "loop b = 0..8 {\n%a[b] = load %X[b]\n}\ng %a\n"
                        "loop b = 0..8 {\n%a[7 - b] = load %X[b]\ng %a[7 - b]\n}\ng %a";
    expect(EIGHT, twice, "a a a_Split1 a_Split1 a_Split1 ", 1);
    const char *around = "%a = f\ng %a\nloop b = 0..8 {\n%a[b + 5 mod 8] = load %X[b]\n}\ng %a";
    expect(EIGHT, around, "a a a_Split1 a_Split1 ", 1);
    expect(EIGHT, "%a = f\ng %a\nloop b = 0..8 {\n%a[2*b mod 8] = f\n}\ng %a", "a a a a ", 0);
    expect(EIGHT, "%a = f\ng %a\nloop b = 0..16 {\n%a[b mod 8] = f\n}\ng %a", "a a a a ", 0);
    const char *nested =
        "%a = f\ng %a\nloop i = 0..2 {\nloop j = 0..4 {\n%a[4*i + j] = f\n}\n}\ng %a";
    expect(EIGHT, nested, "a a a_Split1 a_Split1 ", 1);
    const char *one_by_one = "%a = f\ng %a\n%a[0..3] = f\n%a[7] = f\n%a[3..7] = f\ng %a";
    expect(EIGHT, one_by_one, "a a a_Split1 a_Split1 a_Split1 a_Split1 ", 1);
    /* Blocks left over, blocks read before they are written, a condition, blocks written twice. */
    expect(EIGHT, "%a = f\ng %a\n%a[0..3] = f\n%a[4..8] = f\ng %a", "a a a a a ", 0);
    expect(EIGHT, "%a = f\ng %a\nloop b = 0..7 {\n%a[b] = f\n}\ng %a", "a a a a ", 0);
    expect(EIGHT, "%a = f\nloop b = 0..8 {\ng %a[b]\n%a[b] = f\n}\ng %a", "a a a a ", 0);
    expect(EIGHT, "%a = f\nloop b = 0..8 {\n%a[b] = f\ng %a[7 - b]\n}\ng %a", "a a a a ", 0);
    expect(EIGHT, "%a = f\nloop b = 0..8 {\n%a[b] = f if b < 7\n}\ng %a", "a a a ", 0);
    expect(EIGHT, "%a = f\nloop i = 0..4 {\nloop j = 0..2 {\n%a[i + j] = f\n}\n}\ng %a", "a a a ",
           0);
}

/* The referee accepts what splitting makes, the checks do, and no value lives longer. */
static void random_programs(void **state) {
    (void)state;
    uint64_t added = 0;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Module *module = random_module(&arena, seed, (RandomShape){ROOM_ANY, CODE_ANY, SIZE_ANY});
        Split split = split_webs(module->funcs, NULL, &arena);
        added += split.added;
        DiagQueue diags;
        diag_init(&diags, &arena);
        Func result = *split.func;
        bool good = verify(module->funcs, &result, &module->target,
                           (VerifyOptions){.placed = false}, &diags);
        Module changed = *module;
        changed.funcs = &result;
        good &= check_module(&changed, &diags);
        if (!good) fail_msg("seed %llu: %s", (unsigned long long)seed, diags.items[0].text.text);
        Live before = live_range(module->funcs, &arena), after = live_range(split.func, &arena);
        for (uint32_t t = 0; t < split.func->ntensors; t++)
            for (uint32_t i = 0; i < after.whole[t].count; i++) {
                LiveRange one = {&after.whole[t].items[i], 1};
                LiveRange all = before.whole[split.parent[t]];
                for (uint32_t p = one.items->first; p <= one.items->last; p++) {
                    Interval point = {p, p};
                    assert_true(live_overlap((LiveRange){&point, 1}, all));
                }
            }
        arena_free(&arena);
    }
    assert_true(added > 0);
}

/* What was split once cannot be split again. */
static void split_once(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Module *module = random_module(&arena, seed, (RandomShape){ROOM_ANY, CODE_ANY, SIZE_ANY});
        Split split = split_webs(module->funcs, NULL, &arena);
        assert_int_equal(split_webs(split.func, NULL, &arena).added, 0);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_apart),
        cmocka_unit_test(writes_that_keep_a_part),
        cmocka_unit_test(one_instruction),
        cmocka_unit_test(back_edges),
        cmocka_unit_test(tensors_that_stay_whole),
        cmocka_unit_test(inputs_keep_their_name),
        cmocka_unit_test(names_in_use),
        cmocka_unit_test(blocks),
        cmocka_unit_test(random_programs),
        cmocka_unit_test(split_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
