/* Order of appearance: whatever the declarations say, tensors are numbered alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "analysis/appearance.h"
#include "test/chance.h"
#include "test/count.h"
#include "test/random.h"
#include "text/parse.h"

static const Func *parse(Arena *arena, const char *text, Module *module) {
    Source source;
    DiagQueue diags;
    source_from_text(&source, arena, "test.lf", text, strlen(text));
    diag_init(&diags, arena);
    assert_true(parse_lf(&source, arena, &diags, module));
    return &module->funcs[0];
}

/* The names of the tensors in order, each followed by a blank. */
static void expect(const char *text, const char *names) {
    Arena arena;
    arena_init(&arena);
    Module module;
    const Func *func = parse(&arena, text, &module);
    Live live = live_range(func, &arena);
    AppearanceOrder ordered = order_by_appearance(func, &live, &arena);
    char found[256] = "";
    for (uint32_t t = 0; t < ordered.func->ntensors; t++) {
        Str name = ordered.func->tensors[t].name;
        snprintf(found + strlen(found), sizeof found - strlen(found), "%.*s ", (int)name.length,
                 name.text);
    }
    assert_string_equal(found, names);
    arena_free(&arena);
}

#define TENSORS "tensor %a : sb<1x8xu8>\ntensor %b : sb<1x8xu8>\ntensor %c : sb<1x8xu8>\n"

static void by_first_operand(void **state) {
    (void)state;
    expect("func @f {\n" TENSORS "%a = f\n%b = f %a\n%c = f %b\n}\n", "a b c ");
    expect("func @f {\n" TENSORS "%c = f\n%b = f %c\n%a = f\n}\n", "c b a ");
    /* What nothing names comes last, by what it is. */
    expect("func @f {\ntensor %z : sb<1x64xu8> input\n" TENSORS
           "tensor %y : sb<1x16xu8> input\n%b = f\n%c = f\n%a = f\n}\n",
           "b c a y z ");
}

/* In loops what is named over the longest way comes first. */
static void by_length_in_loops(void **state) {
    (void)state;
    expect("func @f {\n" TENSORS
           "%a = f\n%c = f\nuse %a\nloop i = 0..2 {\n%b = f\nuse %b\n}\nuse %c\n}\n",
           "c a b ");
}

static void shuffle(Func *func, Chance *chance, Arena *arena) {
    uint32_t *new_id = RAW_ARRAY(arena, uint32_t, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        new_id[t] = t;
    for (uint32_t t = func->ntensors; t > 1; t--) {
        uint32_t other = (uint32_t)chance_below(chance, t), spare = new_id[t - 1];
        new_id[t - 1] = new_id[other];
        new_id[other] = spare;
    }
    Tensor *tensors = RAW_ARRAY(arena, Tensor, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        tensors[new_id[t]] = func->tensors[t];
    func->tensors = tensors;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        uint32_t count = func->insts[p].ndst + func->insts[p].nsrc;
        Operand *operands = RAW_ARRAY(arena, Operand, count);
        for (uint32_t o = 0; o < count; o++) {
            operands[o] = func->insts[p].operands[o];
            operands[o].tensor = new_id[operands[o].tensor];
        }
        func->insts[p].operands = operands;
    }
}

/* Any order of declarations gives the same function, and its ranges. */
static void random_programs(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Module *module = random_module(&arena, seed, (RandomShape){0});
        Func *func = &module->funcs[0];
        Live live = live_range(func, &arena);
        AppearanceOrder one = order_by_appearance(func, &live, &arena);
        Func other = *func;
        other.insts = RAW_ARRAY(&arena, Inst, func->ninsts);
        memcpy(other.insts, func->insts, func->ninsts * sizeof *func->insts);
        Chance chance = {seed + 1};
        shuffle(&other, &chance, &arena);
        Live ranges = live_range(&other, &arena);
        AppearanceOrder same = order_by_appearance(&other, &ranges, &arena);
        bool *named = find_named(one.func, &arena);
        for (uint32_t t = 0; t < func->ntensors && named[t]; t++) {
            assert_true(str_equal(one.func->tensors[t].name, same.func->tensors[t].name));
            assert_int_equal(one.live.whole[t].count, same.live.whole[t].count);
        }
        for (uint32_t p = 0; p < func->ninsts; p++)
            for (uint32_t o = 0; o < func->insts[p].ndst + func->insts[p].nsrc; o++)
                assert_int_equal(one.func->insts[p].operands[o].tensor,
                                 same.func->insts[p].operands[o].tensor);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_first_operand),
        cmocka_unit_test(by_length_in_loops),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
