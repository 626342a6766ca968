#include "support/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/search.h"

enum { FIRST_READ = 64 * 1024 };
static const size_t LARGEST_SOURCE = ((size_t)1 << 31) - 3;

/* Reads until the end of the file. The buffer keeps room for two NULs. */
static SourceStatus read_all(Source *source, Arena *arena, int file, size_t expected) {
    size_t capacity = expected + 1 > FIRST_READ ? expected + 1 : FIRST_READ;
    size_t length = 0;
    char *text = arena_raw(arena, capacity + 2, 1);
    for (;;) {
        if (length > LARGEST_SOURCE) return SOURCE_TOO_LARGE;
        if (length == capacity) {
            text = arena_grow(arena, text, capacity + 2, capacity * 2 + 2, 1);
            capacity *= 2;
        }
        ssize_t got = read(file, text + length, capacity - length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return SOURCE_FAILED;
        if (got == 0) break;
        length += (size_t)got;
    }
    text[length] = text[length + 1] = '\0';
    source->text = text;
    source->length = (uint32_t)length;
    return SOURCE_READ;
}

SourceStatus source_read(Source *source, Arena *arena, const char *path) {
    bool standard = !path || strcmp(path, "-") == 0;
    *source = (Source){.name = standard ? STR("<stdin>") : str_from(path)};
    int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return SOURCE_FAILED;
    struct stat info;
    size_t expected = 0;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
        expected = (size_t)info.st_size;
    SourceStatus status =
        expected > LARGEST_SOURCE ? SOURCE_TOO_LARGE : read_all(source, arena, file, expected);
    int saved = errno;
    if (!standard) close(file);
    errno = saved;
    return status;
}

void source_from_text(Source *source, Arena *arena, const char *name, const char *text,
                      size_t length) {
    *source = (Source){.name = str_from(name), .length = (uint32_t)length};
    source->text = arena_raw(arena, length + 2, 1);
    if (length) memcpy(source->text, text, length);
    source->text[length] = source->text[length + 1] = '\0';
}

Location source_place(const Source *source, uint32_t offset) {
    if (offset > source->length) offset = source->length;
    Location place = {.line = 1};
    uint32_t begin = 0;
    for (const char *at = source->text, *end = at + offset;
         (at = memchr(at, '\n', (size_t)(end - at)));) {
        at++;
        begin = (uint32_t)(at - source->text);
        place.line++;
    }
    place.column = offset - begin + 1;
    const char *line = source->text + begin;
    const char *stop = memchr(line, '\n', source->length - begin);
    uint32_t length = stop ? (uint32_t)(stop - line) : source->length - begin;
    if (length > 0 && line[length - 1] == '\r') length--;
    place.text = (Str){line, length};
    return place;
}

LineStarts source_lines(const Source *source, Arena *arena) {
    uint32_t *starts = NULL;
    size_t count = 0, capacity = 0;
    PUSH(arena, starts, count, capacity, 0);
    const char *end = source->text + source->length;
    for (const char *at = source->text; (at = memchr(at, '\n', (size_t)(end - at)));) {
        at++;
        PUSH(arena, starts, count, capacity, (uint32_t)(at - source->text));
    }
    return (LineStarts){starts, (uint32_t)count};
}

uint32_t line_at(const LineStarts *lines, uint32_t offset) {
    uint32_t after;
    FIND_FIRST(after, 0, lines->count, lines->starts[after] > offset);
    return after;
}

uint32_t source_line(const Source *source, uint32_t offset) {
    if (source->lines.count == 0) return source_place(source, offset).line;
    return line_at(&source->lines, offset);
}
