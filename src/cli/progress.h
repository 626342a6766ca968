/* A line on standard error that shows how far a long run has come. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "cli/options.h"

/* Between progress_begin() and progress_end() nothing else may write to the terminal. */
typedef struct {
    const char *what; /* `allocating` and the like */
    Str name;         /* of the function, where there is only one */
    uint32_t count;   /* functions */
    atomic_uint done; /* of them */
    bool shown;       /* a thread is drawing */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards `ended` */
    pthread_cond_t wake;
    bool ended;
} Progress;

/* Starts a thread that draws the line once a second has passed, and then again and again. Does
 * nothing where standard error is no terminal that can erase a line, or with -q. */
void progress_begin(Progress *progress, const CommandLine *line, const char *what,
                    const Module *module);

/* One more function is done. Any thread may call it. */
void progress_step(Progress *progress);

/* Ends the thread and erases the line. */
void progress_end(Progress *progress);

#endif
