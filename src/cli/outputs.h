/* Files that are put in their places together, or not at all. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include <pthread.h>
#include <signal.h>

#include "cli/input.h"
#include "support/output_file.h"

enum { MOST_OUTPUTS = 5 };

/* While there are temporary files, a thread waits for the signals that end a program, and removes
 * them first. */
typedef struct {
    OutputFile files[MOST_OUTPUTS];
    int count;
    bool several; /* more than one is wanted: standard output waits until the others are whole */
    Arena *arena;
    bool watched; /* the thread runs */
    bool ended;   /* it shall stop */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards `ended`, `count` and the files' `temporary` */
    sigset_t signals;      /* that the thread waits for */
    sigset_t before;       /* blocked signals without it */
} Outputs;

void outputs_begin(Outputs *outputs, Arena *arena, bool several);

/* The writer of one more file. Where it cannot be opened, says why, discards all and returns
 * NULL. */
Writer *outputs_open(Outputs *outputs, const char *path);

/* The same for standard error. */
Writer *outputs_open_error(Outputs *outputs);

/* Closes every file and, if all are whole, puts them in their places: first those that can still
 * be taken back, then devices, pipes and standard output in the order they were opened in, and
 * renames last. Says what fails. */
ExitStatus outputs_finish(Outputs *outputs);

#endif
