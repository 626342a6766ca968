/* Tests of the static checks: what passes. What does not is in testdata/errors, with its messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "text/check.h"
#include "text/parse.h"

typedef struct {
    uint32_t errors, warnings;
} Counts;

/* Errors and warnings of a function with these declarations and statements. */
static Counts check(const char *declarations, const char *statements) {
    Arena arena;
    arena_init(&arena);
    Str text = str_format(&arena, "func @f {\n%s\n%s\n}\n", declarations, statements);
    Source source;
    source_from_text(&source, &arena, "test.lf", text.text, text.length);
    DiagQueue diags;
    diag_init(&diags, &arena);
    Module module;
    if (parse_lf(&source, &arena, &diags, &module)) check_module(&module, &diags);
    Counts counts = {diags.errors, diags.warnings};
    arena_free(&arena);
    return counts;
}

#define X "tensor %x : sb<128x64xbf16>"
#define B "tensor %b : sb<4*128x64xbf16>"

static void expect(const char *declarations, const char *statements, uint32_t errors,
                   uint32_t warnings) {
    Counts counts = check(declarations, statements);
    assert_int_equal(counts.errors, errors);
    assert_int_equal(counts.warnings, warnings);
}

static void first_read_comes_after_a_write(void **state) {
    (void)state;
    expect(X, "%x = f\ng %x", 0, 0);
    expect(X, "g %x\n%x = f", 1, 0);
    expect(X, "%x = f %x", 1, 0);
    expect(X, "%x += f", 1, 0);
    expect(X, "%x = f\n%x += f", 0, 0);
    expect(X, "%x = f if 1 == 2\ng %x", 0, 0);
    expect(B, "%b[0] = f\ng %b[3]", 0, 0);
    expect("tensor %d : dram<1x1xu8>", "g %d", 1, 0);
    expect("tensor %d : dram<1x1xu8>", "%d = f\ng %d", 0, 0);
    expect("tensor %d : dram<1x1xu8> !of=m", "g %d", 0, 0);
    expect(X " !of=m", "g %x", 1, 0);
    expect("tensor %d : dram<1x1xu8> input", "g %d", 0, 0);
    expect("tensor %p : psum<1x1xu8>", "g %p", 0, 0);
    expect(X " input", "g %x", 0, 0);
}

static void a_conditional_read_may_be_defined_later_in_its_loop(void **state) {
    (void)state;
    expect(X, "loop i = 0..4 { g %x if i > 0\n%x = f }", 0, 0);
    expect(X, "loop i = 0..4 { g %x\n%x = f }", 1, 0);
    expect(X, "loop i = 0..4 { loop j = 0..2 { g %x if i > 0 }\n loop k = 0..2 { %x = f } }", 0, 0);
    expect(X, "loop i = 0..4 { g %x if i > 0 }\nloop j = 0..4 { %x = f }", 1, 0);
    expect(X, "g %x if 1 == 1\n%x = f", 1, 0);
    expect(X, "loop i = 0..4 { %x = f %x if i > 0 }", 1, 0);
    expect(X, "loop i = 0..4 { %x = f %x if i > 0\n%x = f if i == 0 }", 0, 0);
    expect(X, "loop i = 0..4 { %x += f if i > 0\n%x = f if i == 0 }", 0, 0);
    /* The conditional read is excused, the plain one behind it is not. */
    expect(X, "loop i = 0..4 { g %x if i > 0\ng %x\ng %x\n%x = f }", 1, 0);
}

static void use(void **state) {
    (void)state;
    expect(X, "%x = f", 0, 1);
    expect(X, "", 0, 1);
    expect(X " output", "%x = f", 0, 0);
    expect(X " output", "", 1, 0);
    expect(X " input output", "", 0, 0);
    expect(X " input", "", 0, 1);
    expect(X " !of=m", "%x = f", 0, 0);
    expect("tensor %d : dram<1x1xu8>", "%d = f", 0, 1);
    expect("tensor %p : psum<1x1xu8> output", "", 1, 0);
    expect("", "f", 0, 0);
}

static void indices(void **state) {
    (void)state;
    expect(B, "%b = f\ng %b[0], %b[3], %b[0..4], %b[3..4]", 0, 0);
    expect(B, "%b = f\nloop i = 0..5 { g %b[i], %b[i - 1], %b[i..2*i], %b[0..i] }", 3, 0);
    expect(B, "%b = f\nloop i = 0..5 { g %b[i] if i < 4\ng %b[i - 1] if i != 0 }", 0, 0);
    expect(B, "%b = f\nloop i = 0..5 { g %b[i..4], %b[4..i], %b[i mod 4] }", 0, 0);
    expect(B, "%b = f\ng %b[9] if 1 == 2\ng %b[-3 mod 4]", 0, 0);
    expect(B, "%b = f\ng %b[4]", 1, 0);
    expect(B, "%b = f\nloop i = 0..9 { g %b[i - i + 4] }", 1, 0);
    expect(B, "%b = f\ng %b(0..128, 0..128)", 0, 0);
    expect(B, "%b = f\ng %b(0..128, 0..129)", 1, 0);
}

static void sizes(void **state) {
    (void)state;
    expect("tensor %x : sb<128x212984xu8>", "%x = f\ng %x", 0, 0);
    expect("tensor %x : sb<128x212985xu8>", "%x = f\ng %x", 1, 0);
    expect("tensor %x : dram<500x212985xu8>", "%x = f\ng %x", 0, 0);
    expect("tensor %x : sb<128x16xu8> at 0:212968", "%x = f\ng %x", 0, 0);
    expect("tensor %x : sb<128x16xu8> at 0:212969", "%x = f\ng %x", 1, 0);
    expect("tensor %x : sb<128x16xu8> at 0:9223372036854775807", "%x = f\ng %x", 1, 0);
    expect("tensor %x : sb<2*128x16xu8> at 0:1, 0:400000", "%x = f\ng %x", 1, 0);
}

static void transfers(void **state) {
    (void)state;
    static const char ALL[] = "tensor %d : dram<4*128x64xbf16> input output\n" B
                              "\ntensor %c : sb<2*128x64xf16>\ntensor %p : psum<1x1xf32>";
    expect(ALL,
           "%b[0] = load %d[1]\n%b[1..3] += load %d\n%d = save %b\n%c[0] = copy %b[1] if 1 < 2\n"
           "loop i = 0..3 { %c = copy %b[i..i + 2] }\n%b[0..2] = copy %c\n"
           "%p = other %d, %b\n%d = other %p\n%b(0..1, 0..4) = copy %b(1..2, 4..8)\n",
           0, 1); /* the load's sides differ */
    expect(ALL, "%c = load %p\n%b = f\ng %b, %c", 1, 0);
    expect(ALL, "%c, %b = load %d\ng %b, %c, %p", 1, 0);
    expect(ALL, "%b = f\n%c = copy %b\ng %c, %p", 1, 0);
    expect(ALL, "%b = f\nloop i = 0..3 { %c = copy %b[i..2*i] }\ng %c, %p", 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_read_comes_after_a_write),
        cmocka_unit_test(a_conditional_read_may_be_defined_later_in_its_loop),
        cmocka_unit_test(use),
        cmocka_unit_test(indices),
        cmocka_unit_test(sizes),
        cmocka_unit_test(transfers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
