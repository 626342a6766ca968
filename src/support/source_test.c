/* Lines of a source. */
#include "support/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Every offset of some texts against source_place(). */
static void lines_as_places(void **unused) {
    static const char *const TEXTS[] = {"", "\n", "a", "a\n", "a\nbc\n\n\nd", "\r\nx\r\n"};
    (void)unused;
    Arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        Source source;
        source_from_text(&source, &arena, "x.lf", TEXTS[i], strlen(TEXTS[i]));
        LineStarts lines = source_lines(&source, &arena);
        for (uint32_t offset = 0; offset <= source.length; offset++)
            assert_int_equal(line_at(&lines, offset), source_place(&source, offset).line);
    }
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_as_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
