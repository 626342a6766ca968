/* What is told where a function can never fit. */
#include "driver/feasible.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "driver/allocate.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"

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

/* ---- copies ---- */

static uint32_t infeasible_in(const Func *func, const Target *target, Arena *arena) {
    Live live = live_range(func, arena);
    Facts facts = facts_make(func, &live, target, arena, arena);
    return infeasible_instruction(&facts);
}

/* %p, %q and %r of 1024 bytes each, of which copies of %p may take no room of their own. */
typedef struct {
    const char *attribute, *code;
    int64_t bytes;      /* in which all is allocated; in eight fewer it is not */
    uint32_t bad_point; /* that is told then */
} CopyCase;

static const CopyCase COPIES[] = {
    {"", "%p = f\n%q = copy %p\nh %p, %q", 1024, 0},
    {" pin", "%p = f\n%q = copy %p\nh %p, %q", 1024, 0},
    {" output", "%p = f\n%q = copy %p\nh %q\ng %p", 1024, 0},
    {"", "%p = f\n%q = copy %p\n%r = copy %q\nh %p, %r, %q", 1024, 0},
    {"", "%p = f\nloop i = 0..2 {\n%q = copy %p\nh %p, %q\n}\ng %p", 1024, 0},
    {"", "%p = f\n%q = copy %p\nloop i = 0..2 {\nh %p, %q\n}", 1024, 0},
    {"", "%r = f\n%p = f\n%q = copy %p\nh %p, %q\ng %r", 1024, 0},
    {" pin", "%r = f\n%p = f\n%q = copy %p\nh %q\ng %r, %p", 2048, 4},
    {"", "%r = f\n%p = f\n%q = copy %p\nh %p, %q, %r", 2048, 3},
    /* Two values. */
    {"", "%p = f\n%q = copy %p\n%p += g\nh %p, %q", 2048, 3},
    {"", "%p = f\n%q = copy %p\n%p = g\nh %p, %q", 2048, 3},
    {" pin", "%p = f\n%q = copy %p\n%p += g\nh %p, %q", 2048, 1},
    {"", "%p = f\n%q = copy %p\n%q = g %p\nh %p, %q", 2048, 2},
    {"", "%p = f\n%q = copy %p\n%q = g\n%r = copy %q\nh %p, %r", 2048, 4},
};

static void copies_take_room_once(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof COPIES / sizeof *COPIES; i++) {
        Arena arena;
        arena_init(&arena);
        Str body = str_format(&arena,
                              "tensor %%p : sb<128x1024xu8>%s\ntensor %%q : sb<128x1024xu8>%s\n"
                              "tensor %%r : sb<128x1024xu8>\n%s",
                              COPIES[i].attribute, COPIES[i].attribute, COPIES[i].code);
        for (int fewer = 0; fewer < 2; fewer++) {
            Module *module = make_body(&arena, COPIES[i].bytes - 8 * fewer, body.text);
            const Func *func = module->funcs;
            uint32_t bad = infeasible_in(func, &module->target, &arena);
            assert_int_equal(bad, fewer ? COPIES[i].bad_point : UINT32_MAX);
            DiagQueue diags;
            diag_init(&diags, &arena);
            Options options = options_default();
            Allocation result = allocate(func, &module->target, &options, &arena, &diags);
            assert_int_equal(result.status, fewer ? NOT_ALLOCATED : ALLOCATED);
        }
        arena_free(&arena);
    }
}

/* No instruction is said to need more: where no placement is found, the search is said to have
 * ended. */
static void assert_not_refused(const Module *module, int64_t bytes, Arena *arena) {
    Target target = module->target;
    target.sb_bytes = (bytes + GRANULE - 1) / GRANULE * GRANULE;
    target.sb_reserved = 0;
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    options.effort = 1;
    Allocation result = allocate(module->funcs, &target, &options, arena, &diags);
    if (result.status == ALLOCATED) return;
    bool proved = true;
    for (size_t i = 0; i < diags.count; i++)
        proved &= !strstr(diags.items[i].text.text, "within the budget of steps");
    assert_false(proved);
}

/* What an allocation has placed is not refused in the bytes that it takes. */
static void nothing_that_was_placed_is_refused(void **state) {
    (void)state;
    uint32_t copied = 0;
    for (uint64_t seed = 0; seed < 2 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {seed % 2 ? ROOM_TIGHT : ROOM_SPILLING, CODE_ANY, SIZE_SMALL};
        Module *module = random_module(&arena, seed, shape);
        Options options = options_default();
        options.effort = 1;
        DiagQueue diags;
        diag_init(&diags, &arena);
        Allocation result = allocate(module->funcs, &module->target, &options, &arena, &diags);
        if (result.status == ALLOCATED) {
            assert_not_refused(module, result.report.high_water, &arena);
            copied += result.report.coalesced > 0;
        }
        arena_free(&arena);
    }
    assert_true(copied > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_operands_are_told_as_written),
        cmocka_unit_test(of_many_operands_the_largest_are_told),
        cmocka_unit_test(copies_take_room_once),
        cmocka_unit_test(nothing_that_was_placed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
