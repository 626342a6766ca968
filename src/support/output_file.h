/* Output that is complete or not there: a temporary file beside the target, then a rename. */
#ifndef SUPPORT_OUTPUT_FILE_H
#define SUPPORT_OUTPUT_FILE_H

#include "support/arena.h"
#include "support/writer.h"

typedef enum { UNDO_NOTHING, UNDO_REMOVE, UNDO_RESTORE } OutputUndo;

typedef struct {
    const char *path; /* as the user named it; for messages */
    Writer writer;    /* write here */
    int file;         /* descriptor; -1 once closed, and for a device that is not open yet */
    bool held;        /* the writer gathers in memory what output_close() writes */
    char *temporary;  /* the file that is renamed; NULL where output goes straight to its target */
    char *target;     /* what it is renamed to: the path with symbolic links followed */
    char *spare;      /* a name for the old file while the new one may be taken back */
    OutputUndo undo;  /* how to take it back */
} OutputFile;

/* Opens `path` for writing ("-" or NULL: standard output). A regular file, there or not yet, is
 * made beside its target, with the mode and owner of the old one. Devices and pipes are opened and
 * written to by output_close(), and so is a path that is the own file of a standard stream. Strings
 * live in `arena`. On failure returns false and errno tells why. Does not block. */
bool output_open(OutputFile *output, Arena *arena, const char *path);

/* Opens standard error: held as a device is. */
void output_open_error(OutputFile *output);

/* Nothing has been written yet: unless it goes to a temporary file, what is written is held until
 * output_close(). */
void output_hold(OutputFile *output);

/* Writes out and closes (standard streams stay open). On failure returns false with errno set;
 * nothing is left behind. */
bool output_close(OutputFile *output);

/* After output_close(): puts the file in its place; `undoable`: until output_settle() it can be
 * taken back, if the file system has hard links for the old file. On failure as output_close(). */
bool output_commit(OutputFile *output, bool undoable);

/* After output_commit(): the file stays. */
void output_settle(OutputFile *output);

/* Removes whatever was made and puts the old file back, by names alone: allocates nothing, and
 * leaves the writer as it is. Does nothing after a failure, or once the file is to stay. */
void output_take_back(OutputFile *output);

/* The same, and frees the writer. */
void output_discard(OutputFile *output);

/* True if two paths ("-" or NULL: standard output) name one regular file, there or not yet. Those
 * under /dev are never the same. */
bool output_same(const char *one, const char *other);

#endif
