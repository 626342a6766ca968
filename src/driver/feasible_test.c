/* What is told where a function can never fit. */
#include "driver/feasible.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "driver/allocate.h"
#include "test/make.h"

/* An instruction of so many operands, operand i of 8 * (i + 1) bytes, in room for a quarter. */
static DiagQueue refuse(uint32_t count, Arena *arena) {
    Builder builder = make_begin(arena, "f");
    MakeInst use = make_inst(arena, 0, count);
    for (uint32_t i = 0; i < count; i++)
        build_tensor(&builder, make_tensor(arena, "t", i, SPACE_SB, 128, 8 * (i + 1)));
    for (uint32_t i = 0; i < count; i++) {
        make_simple(&builder, "make", i, UINT32_MAX);
        make_operand(&use, i);
    }
    make_finish(&builder, &use, "use");
    Module *module = make_module(&builder, (int64_t)count * (count + 1));
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    Allocation result = allocate(module->funcs, &module->target, &options, arena, &diags);
    assert_int_equal(result.status, NOT_ALLOCATED);
    return diags;
}

static void assert_note(const DiagQueue *diags, size_t i, const char *text) {
    assert_int_equal(diags->items[i].text.length, strlen(text));
    assert_memory_equal(diags->items[i].text.text, text, strlen(text));
}

static void few_operands_are_told_as_written(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    DiagQueue diags = refuse(20, &arena);
    assert_int_equal(diags.count, 2 + 20);
    assert_note(&diags, 2, "  %t0  8 bytes, partitions 0-127");
    assert_note(&diags, 21, "  %t19  160 bytes, partitions 0-127");
    arena_free(&arena);
}

/* 100,000 operands: all but the twenty largest share one line. */
static void of_many_operands_the_largest_are_told(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    DiagQueue diags = refuse(100000, &arena);
    assert_int_equal(diags.count, 2 + 20 + 1);
    assert_note(&diags, 2, "  %t99999  800000 bytes, partitions 0-127");
    assert_note(&diags, 21, "  %t99980  799848 bytes, partitions 0-127");
    char rest[64];
    long long sum = 8LL * 99980 * 99981 / 2;
    snprintf(rest, sizeof rest, "  and 99980 more, of %lld bytes", sum);
    assert_note(&diags, 22, rest);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_operands_are_told_as_written),
        cmocka_unit_test(of_many_operands_the_largest_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
