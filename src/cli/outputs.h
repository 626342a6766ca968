/* Files that are put in their places together, or not at all. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include <pthread.h>
#include <signal.h>

#include "cli/input.h"
#include "support/output_file.h"

enum { MOST_OUTPUTS = 6 };

/* While there are temporary files, a thread waits for the signals that end a program, and removes
 * them first; so does a program whose memory runs out. */
typedef struct {
    OutputFile files[MOST_OUTPUTS];
    int count;
    OutputFile *report; /* the one of them that is for standard error, or NULL */
    bool several; /* more than one is wanted: standard output waits until the others are whole */
    Arena *arena;
    bool watched; /* the thread runs */
    bool ended;   /* it shall stop */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards `ended`, `count` and names and undo of the files */
    sigset_t signals;      /* that the thread waits for */
    sigset_t before;       /* blocked signals without it */
} Outputs;

void outputs_begin(Outputs *outputs, Arena *arena, bool several);

/* The writer of one more file. Where it cannot be opened, says why, discards all and returns
 * NULL. */
Writer *outputs_open(Outputs *outputs, const char *path);

/* The writer of what standard error is told once all else is done. */
Writer *outputs_report(Outputs *outputs);

/* Closes every file and, if all are whole, puts them in their places: temporary files are written
 * to their ends; then devices, pipes and standard output, which cannot be taken back, in the order
 * they were opened in; then files are renamed, the one opened last first; the report comes last.
 * Where one step fails, says so and takes back those before. */
ExitStatus outputs_finish(Outputs *outputs);

#endif
