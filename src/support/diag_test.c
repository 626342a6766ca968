/* Tests of diagnostics: order, places, carets, limits, colours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/diag.h"

typedef struct {
    Arena arena;
    Source source;
    DiagQueue queue;
} Fixture;

static void start(Fixture *fixture, const char *text) {
    arena_init(&fixture->arena);
    source_from_text(&fixture->source, &fixture->arena, "in.lf", text, strlen(text));
    diag_init(&fixture->queue, &fixture->arena);
}

static void expect(Fixture *fixture, DiagStyle style, const char *wanted) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    diag_print(&fixture->queue, &fixture->source, style, out);
    fclose(out);
    assert_string_equal(text, wanted);
    free(text);
    arena_free(&fixture->arena);
}

static void in_order_of_place(void **state) {
    (void)state;
    Fixture fixture;
    start(&fixture, "one two\nthree\n");
    diag_error(&fixture.queue, (Span){8, 13}, "third %d", 3);
    diag_note(&fixture.queue, (Span){0, 3}, true, "of the third");
    diag_warning(&fixture.queue, (Span){4, 7}, "second");
    diag_error(&fixture.queue, (Span){4, 5}, "also there, queued later");
    diag_file_error(&fixture.queue, "the file");
    assert_int_equal(fixture.queue.errors, 3);
    assert_int_equal(fixture.queue.warnings, 1);
    expect(&fixture, (DiagStyle){0},
           "in.lf: error: the file\n"
           "in.lf:1:5: warning: second\n    1 | one two\n      |     ^~~\n"
           "in.lf:1:5: error: also there, queued later\n    1 | one two\n      |     ^\n"
           "in.lf:2:1: error: third 3\n    2 | three\n      | ^~~~~\n"
           "in.lf:1:1: note: of the third\n    1 | one two\n      | ^~~\n");
}

static void quiet_drops_warnings_and_their_notes(void **state) {
    (void)state;
    Fixture fixture;
    start(&fixture, "abc\n");
    diag_warning(&fixture.queue, (Span){0, 1}, "w");
    diag_note(&fixture.queue, (Span){0, 1}, false, "of w");
    diag_error(&fixture.queue, (Span){1, 2}, "e");
    diag_note(&fixture.queue, (Span){1, 2}, false, "of e");
    expect(&fixture, (DiagStyle){.quiet = true},
           "in.lf:1:2: error: e\n    1 | abc\n      |  ^\nin.lf:1:2: note: of e\n");
}

static void carets_stand_below(void **state) {
    (void)state;
    Fixture fixture;
    start(&fixture, "\ta\té x\r\nlast");
    diag_error(&fixture.queue, (Span){6, 7}, "x");
    diag_error(&fixture.queue, (Span){3, 5}, "wide");
    diag_error(&fixture.queue, (Span){9, 13}, "last");
    diag_error(&fixture.queue, (Span){13, 13}, "end");
    expect(&fixture, (DiagStyle){0},
           "in.lf:1:4: error: wide\n    1 | \ta\té x\n      | \t \t^\n"
           "in.lf:1:7: error: x\n    1 | \ta\té x\n      | \t \t  ^\n"
           "in.lf:2:1: error: last\n    2 | last\n      | ^~~~\n"
           "in.lf:2:5: error: end\n    2 | last\n      |     ^\n");
}

static void no_control_reaches_the_terminal(void **state) {
    (void)state;
    Fixture fixture;
    start(&fixture, "a\033[31mb\302\233c\177\n");
    diag_error(&fixture.queue, (Span){0, 1}, "bad \033 name");
    expect(&fixture, (DiagStyle){0},
           "in.lf:1:1: error: bad ? name\n    1 | a?[31mb?c?\n      | ^\n");
}

static void twenty_and_how_many_more(void **state) {
    (void)state;
    static const struct {
        int count;
        const char *last;
    } CASES[] = {{20, "^\n"}, {21, "in.lf: 1 more error\n"}, {45, "in.lf: 25 more errors\n"}};
    for (size_t i = 0; i < 3; i++) {
        Fixture fixture;
        start(&fixture, "abc\n");
        for (int k = 0; k < CASES[i].count; k++)
            diag_error(&fixture.queue, (Span){0, 1}, "number %d", k);
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        diag_print(&fixture.queue, &fixture.source, (DiagStyle){0}, out);
        fclose(out);
        assert_non_null(strstr(text, "number 19\n"));
        assert_null(strstr(text, "number 20\n"));
        assert_string_equal(text + length - strlen(CASES[i].last), CASES[i].last);
        free(text);
        arena_free(&fixture.arena);
    }
}

static void many_warnings_are_cut_too(void **state) {
    (void)state;
    Fixture fixture;
    start(&fixture, "abc\n");
    for (int k = 0; k < 22; k++)
        diag_warning(&fixture.queue, (Span){0, 1}, "w%d", k);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    diag_print(&fixture.queue, &fixture.source, (DiagStyle){0}, out);
    fclose(out);
    assert_non_null(strstr(text, "in.lf: 2 more warnings\n"));
    free(text);
    arena_free(&fixture.arena);
}

static void colours(void **state) {
    (void)state;
    Fixture fixture;
    start(&fixture, "abc\n");
    diag_error(&fixture.queue, (Span){0, 3}, "e");
    expect(
        &fixture, (DiagStyle){.color = true},
        "\033[1min.lf:1:1: \033[1;31merror: \033[0me\n    1 | abc\n      | \033[1;32m^~~\033[0m\n");
}

static void long_lines_are_cut(void **state) {
    (void)state;
    Fixture fixture;
    char line[1001];
    memset(line, 'a', 1000);
    line[1000] = '\0';
    memcpy(line + 500, "HERE", 4);
    start(&fixture, line);
    diag_error(&fixture.queue, (Span){500, 504}, "e");
    char wanted[600];
    snprintf(wanted, sizeof wanted,
             "in.lf:1:501: error: e\n    1 | %.60sHERE%.96s\n      | %60s^~~~\n", line, line + 504,
             "");
    expect(&fixture, (DiagStyle){0}, wanted);
}

/* `before`, `count` times `unit`, `after`, in `text`. */
static void repeat(char *text, const char *before, const char *unit, int count, const char *after) {
    text += sprintf(text, "%s", before);
    for (int i = 0; i < count; i++)
        text += sprintf(text, "%s", unit);
    sprintf(text, "%s", after);
}

static void expect_short(const char *text, const char *wanted) {
    Arena arena;
    arena_init(&arena);
    Str shorter = diag_shorten(str_from(text), &arena);
    assert_int_equal(shorter.length, strlen(wanted));
    assert_memory_equal(shorter.text, wanted, shorter.length);
    arena_free(&arena);
}

static void long_names_are_cut(void **state) {
    (void)state;
    char text[5000], wanted[5000], head[600], tail[600];
    repeat(text, "tensor ", "x", 200, " is 1  of 2 ");
    expect_short(text, text);
    repeat(text, "tensor %b", "x", 300, "e is 1  of 2 ");
    repeat(head, "tensor %b", "x", 88, "...");
    repeat(wanted, head, "x", 89, "e is 1  of 2 ");
    expect_short(text, wanted);
    repeat(text, "", "\u20ac", 100, "");
    repeat(head, "", "\u20ac", 30, "...");
    repeat(wanted, head, "\u20ac", 30, "");
    expect_short(text, wanted);
    repeat(text, "a", "\u20ac", 100, "b");
    repeat(head, "a", "\u20ac", 29, "...");
    repeat(wanted, head, "\u20ac", 30, "b");
    expect_short(text, wanted);
    repeat(text, "", "1234 ", 200, "");
    expect_short(text, text);
    repeat(text, "", "1234 ", 201, "");
    repeat(head, "", "1234 ", 96, "...");
    repeat(tail, "", "1234 ", 96, "");
    repeat(wanted, head, tail, 1, "");
    expect_short(text, wanted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_of_place),
        cmocka_unit_test(quiet_drops_warnings_and_their_notes),
        cmocka_unit_test(carets_stand_below),
        cmocka_unit_test(no_control_reaches_the_terminal),
        cmocka_unit_test(twenty_and_how_many_more),
        cmocka_unit_test(many_warnings_are_cut_too),
        cmocka_unit_test(colours),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(long_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
