/* Tests of buffered output: numbers, large pieces, short writes, a full disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/writer.h"

static void expect(Writer *writer, const char *text) {
    assert_int_equal(writer->length, strlen(text));
    assert_memory_equal(writer->buffer, text, strlen(text));
    writer->length = 0;
}

static void pieces(void **state) {
    (void)state;
    Writer writer;
    writer_to_memory(&writer);
    write_char(&writer, 'a');
    write_str(&writer, STR("bc"));
    write_str(&writer, STR(""));
    write_text(&writer, "d\n");
    write_spaces(&writer, 3);
    write_spaces(&writer, 0);
    write_format(&writer, "%d-%s", 7, "x");
    expect(&writer, "abcd\n   7-x");
    assert_true(writer_flush(&writer));
    writer_free(&writer);
}

static void numbers(void **state) {
    (void)state;
    static const int64_t NUMBERS[] = {0,  1,   9,         10,        99,        100,
                                      -1, -10, INT64_MAX, INT64_MIN, 1LL << 32, -(1LL << 40)};
    Writer writer;
    writer_to_memory(&writer);
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "%" PRId64, NUMBERS[i]);
        write_int(&writer, NUMBERS[i]);
        expect(&writer, wanted);
    }
    writer_free(&writer);
}

static void memory_grows(void **state) {
    (void)state;
    Writer writer;
    writer_to_memory(&writer);
    for (int i = 0; i < 300000; i++)
        write_text(&writer, "0123456789");
    write_spaces(&writer, 1000);
    write_format(&writer, "%500d", 1);
    assert_int_equal(writer.length, 3001500);
    assert_memory_equal(writer.buffer + 2999990, "0123456789    ", 14);
    assert_int_equal(writer.buffer[3001499], '1');
    writer_free(&writer);
}

/* Reads slowly from a pipe, so that writes are cut short. */
static void *drain(void *argument) {
    int *ends = argument;
    size_t total = 0;
    char buffer[777];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
        total += (size_t)got;
    size_t *result = malloc(sizeof *result);
    if (result) *result = total;
    return result;
}

static void a_pipe_takes_all(void **state) {
    (void)state;
    int ends[2];
    pthread_t reader;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&reader, NULL, drain, ends), 0);
    static char large[1000000];
    memset(large, 'x', sizeof large);
    Writer writer;
    writer_to_file(&writer, ends[1]);
    for (int i = 0; i < 100000; i++)
        write_text(&writer, "0123456789");
    write_str(&writer, (Str){large, sizeof large});
    assert_true(writer_flush(&writer));
    close(ends[1]);
    void *total;
    pthread_join(reader, &total);
    assert_int_equal(*(size_t *)total, 2000000);
    free(total);
    close(ends[0]);
    writer_free(&writer);
}

static void a_full_disk_is_told(void **state) {
    (void)state;
    int file = open("/dev/full", O_WRONLY);
    if (file < 0) skip();
    Writer writer;
    writer_to_file(&writer, file);
    for (int i = 0; i < 100000; i++)
        write_text(&writer, "0123456789");
    assert_false(writer_flush(&writer));
    assert_int_equal(writer.error, ENOSPC);
    assert_false(writer_flush(&writer));
    writer_free(&writer);
    close(file);
}

static void a_closed_pipe_is_told(void **state) {
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    Writer writer;
    writer_to_file(&writer, ends[1]);
    write_char(&writer, 'x');
    assert_false(writer_flush(&writer));
    assert_int_equal(writer.error, EPIPE);
    writer_free(&writer);
    close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces),
        cmocka_unit_test(numbers),
        cmocka_unit_test(memory_grows),
        cmocka_unit_test(a_pipe_takes_all),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_closed_pipe_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
