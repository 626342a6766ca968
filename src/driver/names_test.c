/* Names in results: numbers by tensor, the order of declarations, and what keeps its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "driver/allocate.h"
#include "test/make.h"
#include "text/print.h"
#include "verify/verify.h"

/* The declarations' names, then each statement's operands. */
static Str names_of(const Func *func, Arena *arena) {
    Str text = STR("");
    for (uint32_t t = 0; t < func->ntensors; t++)
        text = str_format(arena, "%.*s%.*s ", (int)text.length, text.text,
                          (int)func->tensors[t].name.length, func->tensors[t].name.text);
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        text = str_format(arena, "%.*s| ", (int)text.length, text.text);
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            Str name = func->tensors[inst->operands[o].tensor].name;
            text = str_format(arena, "%.*s%.*s ", (int)text.length, text.text, (int)name.length,
                              name.text);
        }
    }
    return text;
}

static Allocation run(const Module *module, Options options, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Allocation result = allocate(module->funcs, &module->target, &options, arena, &diags);
    assert_int_equal(result.status, ALLOCATED);
    assert_true(verify(module->funcs, result.func, &module->target, (VerifyOptions){.placed = true},
                       &diags));
    return result;
}

static void expect_with(int64_t bytes, const char *body, Options options, const char *wanted) {
    Arena arena;
    arena_init(&arena);
    Allocation result = run(make_body(&arena, bytes, body), options, &arena);
    Str found = names_of(result.func, &arena);
    if (!str_is(found, wanted))
        fail_msg("found  %.*s\nwanted %s", (int)found.length, found.text, wanted);
    bool spilled = result.report.saves + result.report.reloads > 0;
    assert_int_equal(meta_find(result.func->meta, "no_spill") == NULL, spilled);
    arena_free(&arena);
}

static void expect(int64_t bytes, const char *body, const char *wanted) {
    expect_with(bytes, body, options_default(), wanted);
}

/* %a lies below at first, %b above later: what lives beside both must move in between. */
#define SIDES                                                                                      \
    "tensor %a : sb<128x64xu8> at 0:64\n"                                                          \
    "tensor %b : sb<128x64xu8> at 0:0\n"

static void what_only_moves_keeps_its_name(void **state) {
    (void)state;
    Options whole = options_default();
    whole.split = false;
    const char *one =
        "tensor %x : sb<128x64xu8>\n" SIDES "%a = f\n%x = f\ng %x, %a\n%b = f\n%x = f\ng %x, %b";
    expect(128, one, "x a b x_Split1 | a | x | x a | b | x_Split1 | x_Split1 b ");
    expect_with(128, one, whole, "x a b x_Split1 | a | x | x a | b | x_Split1 | x_Split1 b ");
    expect(128,
           "tensor %t : sb<2*128x64xu8>\n" SIDES
           "%a = f\n%t[1] = f\ng %t[1], %a\n%b = f\n%t[1] = f\ng %t[1], %b\n%t[0] = f\ng %t[0], %b",
           "t a b t_Split1 | a | t | t a | b | t_Split1 | t_Split1 b | t_Split1 | t_Split1 b ");
}

static void a_part_has_all_blocks(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    const char *body = "tensor %t : sb<2*128x64xu8>\n" SIDES
                       "%a = f\n%t[1] = f\ng %t[1], %a\n%b = f\n%t[1] = f\ng %t[1], %b";
    Options options = options_default();
    options.split = false;
    Allocation result = run(make_body(&arena, 128, body), options, &arena);
    const Tensor *t = &result.func->tensors[0], *part = &result.func->tensors[3];
    assert_int_equal(t->blocks, 2);
    assert_int_equal(t->at[0].byte, 0);
    assert_int_equal(t->at[1].byte, 0);
    assert_int_equal(part->blocks, 1);
    assert_int_equal(part->at[0].byte, 64);
    arena_free(&arena);
}

/* Three values that are needed at the end, room for two. */
#define THREE(more)                                                                                \
    "tensor %x : sb<128x32xu8>\n"                                                                  \
    "tensor %y : sb<128x32xu8>\n" more "tensor %big : sb<128x64xu8>\n"

static void numbers_count_by_tensor(void **state) {
    (void)state;
    expect(64, THREE("") "%x = f\n%y = f\n%big = f\ng %big\ng %y, %x",
           "big x_SpillSave1 x_ReloadStore1 x_ReloadStore2 "
           "y_SpillSave1 y_ReloadStore1 y_ReloadStore2 "
           "| x_ReloadStore1 | x_SpillSave1 x_ReloadStore1 "
           "| y_ReloadStore1 | y_SpillSave1 y_ReloadStore1 | big | big "
           "| x_ReloadStore2 x_SpillSave1 | y_ReloadStore2 y_SpillSave1 "
           "| y_ReloadStore2 x_ReloadStore2 ");
    expect(64,
           THREE("tensor %x_ReloadStore1 : dram<1x1xu8> input\n") "use %x_ReloadStore1\n"
                                                                  "%x = f\n%big = f\ng %big\ng %x",
           "y x_ReloadStore1 big x_SpillSave1 x_ReloadStore2 x_ReloadStore3 | x_ReloadStore1 "
           "| x_ReloadStore2 | x_SpillSave1 x_ReloadStore2 | big | big "
           "| x_ReloadStore3 x_SpillSave1 | x_ReloadStore3 ");
}

static void parts_stand_before_homes(void **state) {
    (void)state;
    expect(64, THREE("") "%x = f\n%big = f\ng %big\ng %x\n%x = f\nh %x\n%y = f\nh %y",
           "y big x_Split1 x_SpillSave1 x_ReloadStore1 x_ReloadStore2 "
           "| x_ReloadStore1 | x_SpillSave1 x_ReloadStore1 | big | big "
           "| x_ReloadStore2 x_SpillSave1 | x_ReloadStore2 | x_Split1 | x_Split1 | y | y ");
}

/* Another instruction of the same kind comes first: what stood for the others keeps its name. */
static void names_of_an_earlier_allocation_stay(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    const char *before = THREE("") "%x = f\n%big = f\ng %big\nlast %x";
    const char *after = THREE("") "%x = f\n%big = f\ng %big\nfirst %x\n%big = f\ng %big\nlast %x";
    Module *earlier = make_body(&arena, 64, before);
    Options options = options_default();
    Allocation first = run(earlier, options, &arena);
    Str names = names_of(first.func, &arena);
    assert_true(str_is(names, "y big x_SpillSave1 x_ReloadStore1 x_ReloadStore2 "
                              "| x_ReloadStore1 | x_SpillSave1 x_ReloadStore1 | big | big "
                              "| x_ReloadStore2 x_SpillSave1 | x_ReloadStore2 "));
    Module previous = *earlier;
    Func placed = *first.func;
    previous.funcs = &placed;
    options.previous = &previous;
    expect_with(64, after, options,
                "y big x_SpillSave1 x_ReloadStore1 x_ReloadStore2 x_ReloadStore3 big_Split1 "
                "| x_ReloadStore1 | x_SpillSave1 x_ReloadStore1 | big | big "
                "| x_ReloadStore3 x_SpillSave1 | x_ReloadStore3 | big_Split1 | big_Split1 "
                "| x_ReloadStore2 x_SpillSave1 | x_ReloadStore2 ");
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_moves_keeps_its_name),
        cmocka_unit_test(a_part_has_all_blocks),
        cmocka_unit_test(numbers_count_by_tensor),
        cmocka_unit_test(parts_stand_before_homes),
        cmocka_unit_test(names_of_an_earlier_allocation_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
