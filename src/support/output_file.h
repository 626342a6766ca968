/* Output that is complete or not there: a temporary file beside the target, then a rename. */
#ifndef SUPPORT_OUTPUT_FILE_H
#define SUPPORT_OUTPUT_FILE_H

#include "support/arena.h"
#include "support/writer.h"

typedef struct {
    const char *path; /* as the user named it; for messages */
    Writer writer;    /* write here */
    int file;         /* descriptor, -1 once closed */
    char *temporary;  /* the file that is renamed; NULL where output goes straight to its target */
    char *target;     /* what it is renamed to: the path with symbolic links followed */
} OutputFile;

/* Opens `path` for writing ("-" or NULL, or a path that is standard output's own file: standard
 * output). A regular file, there or not yet, is made beside its target, with the mode and owner of
 * the old one; devices, pipes and dangling links are written straight through. Strings live in
 * `arena`. On failure returns false and errno tells why. */
bool output_open(OutputFile *output, Arena *arena, const char *path);

/* Writes out and closes. On failure returns false with errno set; nothing is left behind. */
bool output_close(OutputFile *output);

/* After output_close(): puts the file in its place. On failure as output_close(). */
bool output_commit(OutputFile *output);

/* Removes whatever was made. Does nothing after a commit or a failure. */
void output_discard(OutputFile *output);

#endif
