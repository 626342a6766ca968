#include "support/writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_SIZE = 256 * 1024, LONGEST_INT = 20 };

static void start(Writer *writer, int file) {
    *writer = (Writer){.file = file, .buffer = heap_alloc(BUFFER_SIZE), .capacity = BUFFER_SIZE};
}

void writer_to_file(Writer *writer, int file) {
    start(writer, file);
}

void writer_to_memory(Writer *writer) {
    start(writer, -1);
}

void writer_release(Writer *writer, int file) {
    writer->file = file;
}

/* Hands `length` bytes to the system. After a failure nothing more is tried. */
static void put_out(Writer *writer, const char *text, size_t length) {
    while (length > 0 && writer->error == 0) {
        ssize_t put = write(writer->file, text, length);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            writer->error = put < 0 ? errno : EIO;
            return;
        }
        text += put;
        length -= (size_t)put;
    }
}

/* Makes room for `wanted` more bytes (at most BUFFER_SIZE for a file): by writing out what is there
 * or, in memory, by doubling. */
static void make_room(Writer *writer, size_t wanted) {
    if (writer->capacity - writer->length >= wanted) return;
    if (writer->file >= 0) {
        writer_flush(writer);
        return;
    }
    size_t needs, capacity = writer->capacity;
    if (__builtin_add_overflow(writer->length, wanted, &needs)) out_of_memory();
    while (capacity < needs)
        if (__builtin_mul_overflow(capacity, (size_t)2, &capacity)) out_of_memory();
    writer->buffer = heap_resize(writer->buffer, capacity);
    writer->capacity = capacity;
}

void write_char(Writer *writer, char c) {
    if (writer->length == writer->capacity) make_room(writer, 1);
    writer->buffer[writer->length++] = c;
}

void write_str(Writer *writer, Str text) {
    if (writer->file >= 0 && text.length > BUFFER_SIZE) {
        writer_flush(writer);
        put_out(writer, text.text, text.length);
        return;
    }
    make_room(writer, text.length);
    if (text.length) memcpy(writer->buffer + writer->length, text.text, text.length);
    writer->length += text.length;
}

void write_text(Writer *writer, const char *text) {
    write_str(writer, str_from(text));
}

void write_int(Writer *writer, int64_t number) {
    char digits[LONGEST_INT];
    uint32_t at = LONGEST_INT;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) digits[--at] = '-';
    write_str(writer, (Str){digits + at, LONGEST_INT - at});
}

void write_spaces(Writer *writer, uint32_t count) {
    static const char SPACES[] = "                                                                ";
    enum { STEP = sizeof SPACES - 1 };
    for (; count > STEP; count -= STEP)
        write_str(writer, (Str){SPACES, STEP});
    write_str(writer, (Str){SPACES, count});
}

void write_format(Writer *writer, const char *format, ...) {
    char shorter[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(shorter, sizeof shorter, format, args);
    va_end(args);
    if (length < 0) return;
    if ((size_t)length < sizeof shorter) {
        write_str(writer, (Str){shorter, (uint32_t)length});
        return;
    }
    char *text = heap_alloc((size_t)length + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    write_str(writer, (Str){text, (uint32_t)length});
    free(text);
}

bool writer_flush(Writer *writer) {
    if (writer->file >= 0) {
        put_out(writer, writer->buffer, writer->length);
        writer->length = 0;
    }
    return writer->error == 0;
}

void writer_free(Writer *writer) {
    free(writer->buffer);
    *writer = (Writer){.file = -1};
}

Str writer_take(Writer *writer, Arena *arena) {
    Str text = {arena_copy(arena, writer->buffer ? writer->buffer : "", writer->length),
                (uint32_t)writer->length};
    writer_free(writer);
    return text;
}
