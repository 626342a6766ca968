/* Buffered output to a file descriptor or to memory. A failure sticks and is asked for once. */
#ifndef SUPPORT_WRITER_H
#define SUPPORT_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "support/str.h"

typedef struct {
    int file;     /* descriptor, or -1: gather everything in memory */
    char *buffer; /* malloc'd; owned */
    size_t length, capacity;
    int error; /* errno of the first failed write, else 0 */
} Writer;

void writer_to_file(Writer *writer, int file);
void writer_to_memory(Writer *writer);

/* What a writer has gathered in memory, and what follows, is for `file` from now on. */
void writer_release(Writer *writer, int file);

void write_char(Writer *writer, char c);
void write_str(Writer *writer, Str text);
void write_text(Writer *writer, const char *text);
void write_int(Writer *writer, int64_t number);
void write_spaces(Writer *writer, uint32_t count);
__attribute__((format(printf, 2, 3))) void write_format(Writer *writer, const char *format, ...);

/* Writes out what is buffered; false if any write has failed. */
bool writer_flush(Writer *writer);

/* What a writer has gathered in memory, as text of the arena; frees the buffer. */
Str writer_take(Writer *writer, Arena *arena);

/* Frees the buffer. Flush first. */
void writer_free(Writer *writer);

#endif
