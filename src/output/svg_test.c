/* The pieces of SVG output. Whole pictures are in scripts/test/svg. */
#include "output/svg_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static Writer out;

static void assert_written(const char *wanted) {
    write_char(&out, '\0');
    assert_string_equal(out.buffer, wanted);
    writer_free(&out);
}

static void lengths(void **state) {
    static const struct {
        int64_t length;
        const char *wanted;
    } cases[] = {{0, "0"},        {5, "0.05"},    {50, "0.5"},  {100, "1"},
                 {1234, "12.34"}, {-250, "-2.5"}, {-5, "-0.05"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        writer_to_memory(&out);
        svg_length(&out, cases[i].length);
        assert_written(cases[i].wanted);
    }
}

static void numbers(void **state) {
    (void)state;
    writer_to_memory(&out);
    svg_number(&out, 0);
    write_char(&out, ' ');
    svg_number(&out, 999);
    write_char(&out, ' ');
    svg_number(&out, 1000);
    write_char(&out, ' ');
    svg_number(&out, 1002003);
    write_char(&out, ' ');
    svg_number(&out, INT64_MIN);
    write_char(&out, ' ');
    svg_count(&out, 1, "reload");
    write_char(&out, ' ');
    svg_count(&out, 2000, "reload");
    assert_written("0 999 1,000 1,002,003 -9,223,372,036,854,775,808 1 reload 2,000 reloads");
}

static void sizes(void **state) {
    (void)state;
    writer_to_memory(&out);
    svg_bytes(&out, 1536, 512);
    write_char(&out, ' ');
    svg_bytes(&out, 163840, 32768);
    write_char(&out, ' ');
    svg_bytes(&out, 3 << 20, 1 << 20);
    assert_written("1,536 B 160 KiB 3 MiB");
}

static void escapes(void **state) {
    (void)state;
    writer_to_memory(&out);
    svg_escape(&out, STR("a<b>&\"c'\x01\xC3\xA9\xEF\xBF\xBE\xEF\xBF\xBF"
                         "d"));
    assert_written("a&lt;b&gt;&amp;&quot;c&#39;\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD"
                   "d");
}

static void clipped(void **state) {
    (void)state;
    writer_to_memory(&out);
    svg_clip(&out, STR("scores"), 6);
    write_char(&out, ' ');
    svg_clip(&out, STR("scores"), 5);
    write_char(&out, ' ');
    svg_clip(&out, STR("<<<"), 2);
    write_char(&out, ' ');
    svg_clip(&out, STR("\xE5\xBC\xA0\xE9\x87\x8F"), 4); /* two wide characters */
    write_char(&out, ' ');
    svg_clip(&out, STR("\xE5\xBC\xA0\xE9\x87\x8F"), 3);
    assert_written("scores scor\xE2\x80\xA6 &lt;\xE2\x80\xA6 \xE5\xBC\xA0\xE9\x87\x8F "
                   "\xE5\xBC\xA0\xE2\x80\xA6");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths), cmocka_unit_test(numbers), cmocka_unit_test(sizes),
        cmocka_unit_test(escapes), cmocka_unit_test(clipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
