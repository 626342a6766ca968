/* Partners: copies whose ends may or may not share their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "driver/allocate.h"
#include "test/count.h"
#include "test/random.h"
#include "text/check.h"
#include "text/parse.h"
#include "text/print.h"

typedef struct {
    Arena arena;
    Module module;
    DiagQueue diags;
    Allocation result;
} Test;

static void run(Test *test, int64_t bytes, bool coalesce, const char *body) {
    arena_init(&test->arena);
    Str text =
        str_format(&test->arena,
                   "target t {\n sb_bytes = %lld\n sb_reserved = 0\n sb_init = 1\n dma_init = 100\n"
                   " dma_rate = 1\n}\nfunc @f {\n%s\n}\n",
                   (long long)bytes, body);
    Source source;
    source_from_text(&source, &test->arena, "test.lf", text.text, text.length);
    diag_init(&test->diags, &test->arena);
    if (!parse_lf(&source, &test->arena, &test->diags, &test->module) ||
        !check_module(&test->module, &test->diags)) {
        diag_print(&test->diags, &source, (DiagStyle){0}, stderr);
        fail_msg("the test's own text is wrong:\n%s", text.text);
    }
    Options options = options_default();
    options.coalesce = coalesce;
    options.verbose = true;
    test->result =
        allocate(test->module.funcs, &test->module.target, &options, &test->arena, &test->diags);
    assert_int_equal(test->result.status, ALLOCATED);
}

static uint32_t elided(const Func *func) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < func->ninsts; i++)
        count += meta_find(func->insts[i].meta, "elided") != NULL;
    return count;
}

/* Elided and merged so many copies; nothing spilled. */
static void expect(int64_t bytes, const char *body, uint32_t copies, uint32_t merges) {
    Test test;
    run(&test, bytes, true, body);
    assert_int_equal(test.result.report.coalesced, merges);
    assert_int_equal(elided(test.result.func), copies);
    assert_int_equal(test.result.report.saves, 0);
    arena_free(&test.arena);
}

#define AB "tensor %a : sb<128x8xf32>\ntensor %b : sb<128x8xf32>\n"
#define ABC AB "tensor %c : sb<128x8xf32>\n"

static void copies_that_do_nothing(void **state) {
    (void)state;
    expect(1024, AB "%a = f\n%b = copy %a\ng %b", 1, 1);
    expect(1024, ABC "%a = f\n%b = copy %a\n%c = copy %b\n%c += g\nh %c", 2, 2);
    /* A value that leaves a loop. */
    expect(1024, AB "loop i = 0..4 {\n%a = f\n%b = copy %a\n}\ng %b", 1, 1);
    expect(1024,
           "tensor %a : sb<4*128x8xf32>\ntensor %b : sb<4*128x8xf32>\n"
           "%a = f\n%b = copy %a\ng %b[2]",
           1, 1);
}

/* Room for one only. */
static void a_full_state_buffer(void **state) {
    (void)state;
    expect(40, AB "tensor %s : sb<128x1xf32>\n%a = f\n%b = copy %a\n%s = g %b\nh %s", 1, 1);
}

/* Both are read, and neither changes while the other lives. */
static void ends_with_one_value(void **state) {
    (void)state;
    expect(1024, AB "%a = f\n%b = copy %a\ng %a, %b", 1, 1);
    expect(1024, AB "%a = f\n%b = copy %a\ng %a, %b\n%b += g", 1, 1);
    expect(1024, ABC "%a = f\n%b = copy %a\n%c = copy %a\ng %a, %b\nh %c", 2, 2);
    /* The source is read again in the next iteration, and after the loop. */
    expect(1024, AB "%a = f\nloop i = 0..4 {\ng %a\n%b = copy %a\n}\nh %b", 1, 1);
    expect(1024, AB "%a = f\nloop i = 0..4 {\n%b = copy %a\nh %b\n}\nh %a", 1, 1);
    expect(1024, AB "%a = f\nloop i = 0..4 {\n%a += g\n%b = copy %a\n}\nh %b", 1, 1);
    /* Under a condition that leaves the copy out, the other end holds nothing. */
    expect(1024, AB "%a = f\nloop i = 0..4 {\n%b = copy %a if i >= 2\nh %b if i >= 2\n}\nh %a", 1,
           1);
    /* Room for one. */
    expect(44, AB "tensor %s : sb<128x1xf32>\n%a = f\n%b = copy %a\n%s = g %b\nh %s, %a\nh %b", 1,
           1);
}

static void ends_that_meet(void **state) {
    (void)state;
    /* One is written while the other lives: by itself, in part, or in the instruction that reads
     * the other last; the value of one goes round a back edge (case 14). */
    expect(1024, AB "%a = f\n%b = copy %a\n%b += g\nh %a, %b", 0, 0);
    expect(1024, AB "%a = f\n%b = copy %a\n%a(0..32, 0..8) = g\nh %a, %b", 0, 0);
    expect(1024, AB "%a = f\n%b = copy %a\n%b += g %a\nh %b", 0, 0);
    expect(1024, AB "%a = f\n%b = f\nloop i = 0..4 {\nh %b\n%b = copy %a\n%a += g\n}\nh %a", 0, 0);
    expect(1024, AB "%a = f\n%b = f\nloop i = 0..4 {\n%b = copy %a if i == 2\nh %b, %a\n}", 0, 0);
    expect(1024,
           "tensor %a : sb<128x8xf32> input\ntensor %b : sb<128x8xf32> input\n"
           "%b = copy %a\nh %b, %a",
           0, 0);
    expect(1024, AB "%a = f\nloop i = 0..4 {\n%b = copy %a\n%b += g\nh %b\n}\nh %a", 0, 0);
    expect(1024, AB "%a = f\nloop i = 0..4 {\n%b = copy %a\n%b += g\nh %b\n}", 0, 0);
    /* Only a part is copied. */
    expect(1024, AB "%a = f\n%b(0..64, 0..32) = copy %a(0..64, 0..32)\ng %b(0..64, 0..32)", 0, 0);
}

/* Case 15. */
static void fixed_partners(void **state) {
    (void)state;
    const char *fixed = "tensor %a : sb<128x8xf32>\ntensor %b : sb<128x8xf32> at 0:64\n"
                        "%a = f\n%b = copy %a\ng %b";
    Test test;
    run(&test, 1024, true, fixed);
    assert_int_equal(test.result.report.coalesced, 1);
    assert_int_equal(test.result.func->tensors[0].at[0].byte, 64);
    arena_free(&test.arena);
    /* Another fixed one is in the way, or the place is one that no other tensor could have. */
    expect(1024,
           ABC "tensor %d : sb<128x8xf32> at 0:64\ntensor %e : sb<128x8xf32> at 0:64\n"
               "%d = f\n%a = f %d\n%e = copy %a\ng %e",
           0, 0);
    expect(1024,
           "tensor %a : sb<128x8xf32>\ntensor %b : sb<128x8xf32> at 0:60\n"
           "%a = f\n%b = copy %a\ng %b",
           0, 0);
}

/* Where something is spilled, copies are drawn together afterwards. */
static void copies_beside_spills(void **state) {
    (void)state;
    Test test;
    run(&test, 64, true,
        ABC "tensor %d : sb<128x8xf32>\n%a = f\n%b = f\n%c = f\ng %b, %c\n%d = copy %a\nh %d");
    assert_int_equal(test.result.report.saves, 1);
    assert_int_equal(elided(test.result.func), 1);
    arena_free(&test.arena);
}

static void off_by_option(void **state) {
    (void)state;
    Test test;
    run(&test, 1024, false,
        AB "tensor %c : sb<128x16xf32>\n%a = f\n%c = f\n%b = copy %a\ng %b, %c");
    assert_int_equal(test.result.report.coalesced, 0);
    arena_free(&test.arena);
}

static void groups_are_counted(void **state) {
    (void)state;
    static const struct {
        const char *body, *line;
    } cases[] = {
        {AB "%a = f\n%b = copy %a\ng %b", "find partners: 0 accumulation groups\n"},
        {AB "%a = f\n%a += f\n%b = copy %a\ng %b", "find partners: 1 accumulation group\n"},
        {ABC "tensor %d : sb<128x8xf32>\n%a = f\n%b = copy %a\n%b += f\ng %b\n"
             "%c = f\n%d = copy %c\n%d += f\ng %d",
         "find partners: 2 accumulation groups\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Test test;
        run(&test, 1024, true, cases[i].body);
        assert_non_null(strstr(test.result.log.text, cases[i].line));
        arena_free(&test.arena);
    }
}

/* [2] without coalescing and with it. */
static void allocate_both(uint64_t seed, Options options, Arena *arena, Allocation *results) {
    Module *module = random_module(arena, seed, (RandomShape){ROOM_ANY, CODE_ANY, SIZE_ANY});
    for (int i = 0; i < 2; i++) {
        DiagQueue diags;
        diag_init(&diags, arena);
        options.coalesce = i == 1;
        results[i] = allocate(module->funcs, &module->target, &options, arena, &diags);
        if (results[i].status == WRONG_RESULT)
            fail_msg("seed %llu: %s", (unsigned long long)seed, diags.items[0].text.text);
    }
    if (results[0].status == ALLOCATED) assert_int_equal(results[1].status, ALLOCATED);
}

static void read_again(uint64_t seed, const Func *func, Arena *arena) {
    Module *module = random_module(arena, seed, (RandomShape){ROOM_ANY, CODE_ANY, SIZE_ANY});
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    options.effort = 0;
    if (allocate(func, &module->target, &options, arena, &diags).status != ALLOCATED)
        fail_msg("seed %llu, read again: %s", (unsigned long long)seed, diags.items[0].text.text);
}

/* Where all fits without coalescing, it fits with it too and costs no more, and the output read
 * again is allocated. Where something is spilled, the sum over many programs does not rise at the
 * default effort; at effort 0 it may. */
static void random_programs(void **state) {
    (void)state;
    Options quick = options_default();
    quick.effort = 0;
    int64_t with = 0, without = 0;
    uint32_t merges = 0, fitting = 0, spilling = 0;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Allocation results[2];
        allocate_both(seed, quick, &arena, results);
        const Report *apart = &results[0].report, *merged = &results[1].report;
        if (results[1].status == ALLOCATED) {
            merges += merged->coalesced;
            read_again(seed, results[1].func, &arena);
        }
        if (results[0].status == ALLOCATED && apart->saves + apart->reloads == 0) {
            assert_int_equal(merged->saves + merged->reloads, 0);
            assert_true(merged->spill_cycles <= apart->spill_cycles);
            fitting++;
        } else if (results[0].status == ALLOCATED && seed % 3 == 0) {
            allocate_both(seed, options_default(), &arena, results);
            without += apart->spill_cycles;
            with += merged->spill_cycles;
            spilling++;
        }
        arena_free(&arena);
    }
    assert_true(merges > 0 && fitting > 0 && spilling > 0);
    assert_true(with <= without);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_that_do_nothing), cmocka_unit_test(a_full_state_buffer),
        cmocka_unit_test(ends_with_one_value),    cmocka_unit_test(ends_that_meet),
        cmocka_unit_test(fixed_partners),         cmocka_unit_test(copies_beside_spills),
        cmocka_unit_test(off_by_option),          cmocka_unit_test(groups_are_counted),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
