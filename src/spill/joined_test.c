/* Joined copies: what spilling costs where ends of copies are one. */
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

static void parse_test(Test *test, int64_t bytes, const char *body) {
    arena_init(&test->arena);
    Str text = str_format(&test->arena,
                          "target t {\n sb_bytes = %lld\n sb_reserved = 0\n sb_init = 64\n"
                          " dma_init = 1300\n dma_rate = 23\n}\nfunc @f {\n%s\n}\n",
                          (long long)bytes, body);
    Source source;
    source_from_text(&source, &test->arena, "test.lf", text.text, text.length);
    diag_init(&test->diags, &test->arena);
    if (!parse_lf(&source, &test->arena, &test->diags, &test->module) ||
        !check_module(&test->module, &test->diags)) {
        diag_print(&test->diags, &source, (DiagStyle){0}, stderr);
        fail_msg("the test's own text is wrong:\n%s", text.text);
    }
}

/* Room for `bytes`: so many stores and reloads, and the text has `part`. */
static void expect(int64_t bytes, const char *body, uint32_t saves, uint32_t reloads,
                   const char *part) {
    Test test;
    parse_test(&test, bytes, body);
    Options options = options_default();
    test.result =
        allocate(test.module.funcs, &test.module.target, &options, &test.arena, &test.diags);
    assert_int_equal(test.result.status, ALLOCATED);
    Writer writer;
    writer_to_memory(&writer);
    print_func(test.result.func, &writer);
    Str text = writer_take(&writer, &test.arena);
    if (!strstr(text.text, part)) fail_msg("no '%s' in\n%s", part, text.text);
    assert_int_equal(test.result.report.saves, saves);
    assert_int_equal(test.result.report.reloads, reloads);
    arena_free(&test.arena);
}

#define XY "tensor %x : sb<128x64xu8>\ntensor %y : sb<128x64xu8>\n"
#define AB "tensor %a : sb<128x64xu8>\ntensor %b : sb<128x64xu8>\n"
#define PRESSURE "%a = f\n%b = f\nuse %a, %b\n"

/* One home; each end that is read is loaded from it. */
static void one_home(void **state) {
    (void)state;
    expect(128, XY AB "%x = f\n%y = copy %x\n" PRESSURE "use %y\nuse %x", 1, 2,
           "%y_ReloadStore2 = load %x_SpillSave1 !reload");
    expect(128, XY AB "%x = f\n%y = copy %x\n" PRESSURE "use %y", 1, 1, "= copy %x");
    /* In turn: who is read again is loaded again. */
    expect(128, XY AB "%x = f\n%y = copy %x\n" PRESSURE "use %y\nuse %y\nuse %x\nuse %x", 1, 2,
           "%x_ReloadStore2 = load %x_SpillSave1 !reload");
}

/* The value comes from where the source was loaded, until something is written there. */
static void sources(void **state) {
    (void)state;
    expect(128,
           "tensor %X : dram<128x64xu8> input\n" XY AB "%x = load %X\n%y = copy %x\n" PRESSURE
           "use %y\nuse %x",
           0, 2, "%y_ReloadStore2 = load %X !reload");
    expect(128,
           "tensor %X : dram<128x64xu8> input\n" XY AB
           "%x = load %X\n%y = copy %x\n%a = f\n%X = save %a\n%b = f\nuse %a, %b\n"
           "use %y\nuse %x",
           1, 2, "%y_ReloadStore2 = load %x_SpillSave1 !reload");
}

/* The copy is changed and stored after it: in its own home. */
static void a_value_of_its_own(void **state) {
    (void)state;
    expect(128, XY AB "%x = f\n%y = copy %x\n%y += g\n" PRESSURE "use %y", 1, 1,
           "%y_SpillSave1 = save %y_ReloadStore1 !spill");
    expect(128, XY AB "%x = f\n%y = copy %x\n%y += g\nuse %x\n" PRESSURE "use %y\nuse %x", 2, 2,
           "");
}

/* What must stay, or lies elsewhere, is not joined. */
static void not_joined(void **state) {
    (void)state;
    expect(192,
           "tensor %x : sb<128x64xu8> input\ntensor %y : sb<128x64xu8> output\n" AB
           "%y = copy %x\n" PRESSURE "use %x",
           0, 0, "%y = copy %x !elided");
    expect(192,
           "tensor %x : sb<64x64xu8> base 64\ntensor %y : sb<64x64xu8> base 0\n" AB
           "%x = f\n%y = copy %x\n" PRESSURE "use %x, %y",
           0, 0, "%y = copy %x\n");
}

/* Straight code with little room: joining is never dearer, and pays somewhere. */
static void random_programs(void **state) {
    (void)state;
    uint32_t cheaper = 0;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {ROOM_SPILLING, CODE_STRAIGHT, SIZE_MEDIUM};
        const Module *module = random_module(&arena, seed + 7000000, shape);
        Options options = options_default();
        DiagQueue diags;
        diag_init(&diags, &arena);
        Allocation with = allocate(module->funcs, &module->target, &options, &arena, &diags);
        options.coalesce = false;
        Allocation without = allocate(module->funcs, &module->target, &options, &arena, &diags);
        assert_int_not_equal(with.status, WRONG_RESULT);
        if (with.status == ALLOCATED && without.status == ALLOCATED) {
            assert_true(with.report.spill_cycles <= without.report.spill_cycles);
            cheaper += with.report.spill_cycles < without.report.spill_cycles;
        }
        arena_free(&arena);
    }
    assert_true(cheaper > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_home),           cmocka_unit_test(sources),
        cmocka_unit_test(a_value_of_its_own), cmocka_unit_test(not_joined),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
