/* Output files: whole or not at all. What needs a program around it is in scripts/test-cli. */
#include "support/output_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A directory of its own for each test, which is the current one while the test runs. */
typedef struct {
    Arena arena;
    char directory[32];
    OutputFile output;
} Fixture;

static int begin(void **state) {
    Fixture *fixture = calloc(1, sizeof *fixture);
    if (!fixture) return -1;
    arena_init(&fixture->arena);
    strcpy(fixture->directory, "/tmp/sballoc-test-XXXXXX");
    *state = fixture;
    return mkdtemp(fixture->directory) && chdir(fixture->directory) == 0 ? 0 : -1;
}

/* Fails if anything is left in the directory. */
static int end(void **state) {
    Fixture *fixture = *state;
    unlink("file");
    int status = chdir("/") == 0 ? rmdir(fixture->directory) : -1;
    arena_free(&fixture->arena);
    free(fixture);
    return status;
}

static void put_old(const char *text) {
    FILE *file = fopen("file", "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_content(const char *wanted) {
    char text[64] = "";
    FILE *file = fopen("file", "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    assert_string_equal(text, wanted);
}

static void appears_on_commit(void **state) {
    Fixture *fixture = *state;
    assert_true(output_open(&fixture->output, &fixture->arena, "file"));
    write_text(&fixture->output.writer, "new");
    assert_int_equal(access("file", F_OK), -1);
    assert_true(output_close(&fixture->output));
    assert_int_equal(access("file", F_OK), -1);
    assert_true(output_commit(&fixture->output));
    assert_content("new");
    output_discard(&fixture->output);
    assert_content("new");
}

static void discard_keeps_the_old_file(void **state) {
    Fixture *fixture = *state;
    put_old("old");
    assert_true(output_open(&fixture->output, &fixture->arena, "file"));
    write_text(&fixture->output.writer, "new");
    assert_true(writer_flush(&fixture->output.writer));
    output_discard(&fixture->output);
    assert_content("old");
    assert_true(output_open(&fixture->output, &fixture->arena, "file"));
    assert_true(output_close(&fixture->output));
    output_discard(&fixture->output);
    assert_content("old");
}

static void mode_is_kept(void **state) {
    Fixture *fixture = *state;
    struct stat info;
    put_old("old");
    assert_int_equal(chmod("file", 0751), 0);
    assert_true(output_open(&fixture->output, &fixture->arena, "file"));
    assert_true(output_close(&fixture->output));
    assert_true(output_commit(&fixture->output));
    assert_int_equal(stat("file", &info), 0);
    assert_int_equal(info.st_mode & 07777, 0751);
    assert_content("");
}

static void failures_say_why(void **state) {
    Fixture *fixture = *state;
    static const struct {
        const char *path;
        int error;
    } CASES[] = {{".", EISDIR}, {"none/file", ENOENT}, {"file/x", ENOTDIR}, {"", ENOENT}};
    put_old("old");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        bool good = output_open(&fixture->output, &fixture->arena, CASES[i].path) &&
                    output_close(&fixture->output) && output_commit(&fixture->output);
        int error = errno;
        assert_false(good);
        assert_int_equal(error, CASES[i].error);
    }
    assert_content("old");
}

static void full_disk(void **state) {
    Fixture *fixture = *state;
    assert_true(output_open(&fixture->output, &fixture->arena, "/dev/full"));
    write_text(&fixture->output.writer, "new");
    bool good = output_close(&fixture->output);
    int error = errno;
    assert_false(good);
    assert_int_equal(error, ENOSPC);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appears_on_commit, begin, end),
        cmocka_unit_test_setup_teardown(discard_keeps_the_old_file, begin, end),
        cmocka_unit_test_setup_teardown(mode_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(failures_say_why, begin, end),
        cmocka_unit_test_setup_teardown(full_disk, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
