/* Output files: whole or not at all. What needs a program around it is in scripts/test/cli. */
#include "support/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
    assert_true(output_commit(&fixture->output, false));
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

/* Until it is settled, a file that is in its place can be taken back: the old one, or none. */
static void commits_are_taken_back(void **state) {
    Fixture *fixture = *state;
    for (int old = 0; old < 2; old++)
        for (int settled = 0; settled < 2; settled++) {
            if (old) put_old("old");
            assert_true(output_open(&fixture->output, &fixture->arena, "file"));
            write_text(&fixture->output.writer, "new");
            assert_true(output_close(&fixture->output));
            assert_true(output_commit(&fixture->output, true));
            assert_content("new");
            if (settled) output_settle(&fixture->output);
            output_take_back(&fixture->output);
            if (settled || old)
                assert_content(settled ? "new" : "old");
            else
                assert_int_equal(access("file", F_OK), -1);
            unlink("file");
        }
}

static void take_back(void *context) {
    output_take_back(context);
}

/* Where memory runs out, the child of a fork ends with 3, without its temporary file. */
static void exhaustion_leaves_nothing(void **state) {
    Fixture *fixture = *state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(STDERR_FILENO);
        if (!output_open(&fixture->output, &fixture->arena, "file")) _exit(1);
        if (access(fixture->output.temporary, F_OK) != 0) _exit(2);
        on_exhaustion(take_back, &fixture->output);
        out_of_memory();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
}

static void mode_is_kept(void **state) {
    Fixture *fixture = *state;
    struct stat info;
    put_old("old");
    assert_int_equal(chmod("file", 0751), 0);
    assert_true(output_open(&fixture->output, &fixture->arena, "file"));
    assert_true(output_close(&fixture->output));
    assert_true(output_commit(&fixture->output, false));
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
                    output_close(&fixture->output) && output_commit(&fixture->output, false);
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

/* A pipe with a name: opening it for writing would wait for a reader. */
static void pipes_are_opened_last(void **state) {
    Fixture *fixture = *state;
    char text[8] = "";
    assert_int_equal(mkfifo("file", 0600), 0);
    assert_true(output_open(&fixture->output, &fixture->arena, "file"));
    assert_int_equal(fixture->output.file, -1);
    assert_null(fixture->output.temporary);
    write_text(&fixture->output.writer, "new");
    int reader = open("file", O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(read(reader, text, sizeof text), 0);
    assert_true(output_close(&fixture->output));
    assert_int_equal(read(reader, text, sizeof text), 3);
    assert_string_equal(text, "new");
    close(reader);
    assert_true(output_open(&fixture->output, &fixture->arena, "file"));
    output_discard(&fixture->output);
}

static void links_to_nothing_are_followed(void **state) {
    Fixture *fixture = *state;
    struct stat info;
    assert_int_equal(symlink("link2", "link"), 0);
    assert_int_equal(symlink("./file", "link2"), 0);
    assert_true(output_open(&fixture->output, &fixture->arena, "link"));
    write_text(&fixture->output.writer, "new");
    assert_true(output_close(&fixture->output));
    assert_int_equal(stat("link", &info), -1);
    assert_true(output_commit(&fixture->output, false));
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_content("new");
    unlink("link");
    unlink("link2");
}

static void same_file(void **state) {
    (void)state;
    assert_true(output_same(NULL, "-"));
    assert_true(output_same("file", "./file"));
    assert_false(output_same("file", "fil"));
    assert_false(output_same("/file", "file"));
    assert_true(output_same("/file", "//file"));
    assert_false(output_same("file", "none/file"));
    put_old("old");
    assert_true(output_same("file", "././file"));
    assert_false(output_same("file", "file2"));
    assert_int_equal(symlink("file", "link"), 0);
    assert_true(output_same("link", "file"));
    assert_int_equal(unlink("file"), 0);
    assert_true(output_same("link", "./file"));
    assert_int_equal(unlink("link"), 0);
    assert_false(output_same("/dev/null", "/dev/null"));
    assert_false(output_same("/dev/stdout", NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appears_on_commit, begin, end),
        cmocka_unit_test_setup_teardown(discard_keeps_the_old_file, begin, end),
        cmocka_unit_test_setup_teardown(commits_are_taken_back, begin, end),
        cmocka_unit_test_setup_teardown(exhaustion_leaves_nothing, begin, end),
        cmocka_unit_test_setup_teardown(mode_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(failures_say_why, begin, end),
        cmocka_unit_test_setup_teardown(full_disk, begin, end),
        cmocka_unit_test_setup_teardown(pipes_are_opened_last, begin, end),
        cmocka_unit_test_setup_teardown(links_to_nothing_are_followed, begin, end),
        cmocka_unit_test_setup_teardown(same_file, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
