/* The pieces of JSON output. Whole files are in scripts/test/json. */
#include "output/json_write.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* What a test writes, and the comparison with what it should have written. */
static JsonOut json;
static Writer out;

static void begin(bool one_line) {
    writer_to_memory(&out);
    json_begin(&json, &out, one_line);
}

static void assert_written(const char *wanted) {
    write_char(&out, '\0');
    assert_string_equal(out.buffer, wanted);
    writer_free(&out);
}

static void lines_and_indentation(void **state) {
    (void)state;
    begin(false);
    json_open(&json, '{');
    json_key(&json, "a");
    json_open(&json, '[');
    json_int(&json, 1);
    json_open(&json, '[');
    json_close(&json, ']');
    json_open(&json, '{');
    json_close(&json, '}');
    json_close(&json, ']');
    json_key(&json, "b");
    json_null(&json);
    json_close(&json, '}');
    assert_written("{\n  \"a\": [\n    1,\n    [],\n    {}\n  ],\n  \"b\": null\n}");
}

static void one_line(void **state) {
    (void)state;
    begin(true);
    json_open(&json, '{');
    json_key(&json, "a");
    json_open(&json, '[');
    json_bool(&json, true);
    json_bool(&json, false);
    json_close(&json, ']');
    json_key(&json, "b");
    json_int(&json, INT64_MIN);
    json_close(&json, '}');
    assert_written("{\"a\": [true, false], \"b\": -9223372036854775808}");
}

static void escapes(void **state) {
    (void)state;
    begin(true);
    json_str(&json, STR("\"\\/\b\f\n\r\t\x01\x1f\x7f \xc3\xa9 \xf0\x9f\x98\x80"));
    assert_written("\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f \xc3\xa9 \xf0\x9f\x98\x80\"");
}

static void one_real(double number, const char *wanted) {
    begin(true);
    json_real(&json, number);
    assert_written(wanted);
}

static void reals(void **state) {
    (void)state;
    one_real(0, "0");
    one_real(5200, "5200");
    one_real(0.1, "0.1");
    one_real(1.0 / 3, "0.3333333333333333");
    one_real(0.1 + 0.2, "0.30000000000000004");
    one_real(1e300, "1e+300");
    one_real(-2.5, "-2.5");
    one_real(INFINITY, "null");
    one_real(NAN, "null");
    begin(true);
    json_fixed(&json, 0.0000014, 6);
    assert_written("0.000001");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_indentation),
        cmocka_unit_test(one_line),
        cmocka_unit_test(escapes),
        cmocka_unit_test(reals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
