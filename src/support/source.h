/* The text of an input file, and places in it. */
#ifndef SUPPORT_SOURCE_H
#define SUPPORT_SOURCE_H

#include "support/arena.h"
#include "support/str.h"

/* Bytes [begin, end) of a source. The empty span at 0 also stands for "no place". */
typedef struct {
    uint32_t begin, end;
} Span;

/* Where the lines of a source begin: for many places at once. */
typedef struct {
    const uint32_t *starts; /* [count] ascending; the first is 0 */
    uint32_t count;
} LineStarts;

typedef struct {
    Str name;         /* as the user gave it; "<stdin>" for standard input */
    char *text;       /* the whole file, with two NULs after it (the scanner wants them) */
    uint32_t length;  /* bytes of text, without those NULs; below 2 GiB */
    LineStarts lines; /* of text; none until somebody sets them */
} Source;

typedef enum { SOURCE_READ, SOURCE_FAILED, SOURCE_TOO_LARGE } SourceStatus;

/* Reads a file whole ("-" or NULL: standard input) into the arena. On failure errno tells why
 * (a directory is EISDIR). */
SourceStatus source_read(Source *source, Arena *arena, const char *path);

/* A source over text in memory, which is copied. */
void source_from_text(Source *source, Arena *arena, const char *name, const char *text,
                      size_t length);

/* The line, counted from 1, of the byte at `offset`, its column in bytes from 1, and the line's
 * text without its end. O(offset): for messages only. */
typedef struct {
    uint32_t line, column;
    Str text;
} Location;

Location source_place(const Source *source, uint32_t offset);

/* O(length). */
LineStarts source_lines(const Source *source, Arena *arena);

/* The line, counted from 1, of the byte at `offset`. O(log lines). */
uint32_t line_at(const LineStarts *lines, uint32_t offset);

/* The same, from source->lines where they are there. */
uint32_t source_line(const Source *source, uint32_t offset);

#endif
