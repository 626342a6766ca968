/* Allocates the functions of a file, several at a time. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include "driver/allocate.h"

/* One function. What its allocation made lives in `arena`. */
typedef struct {
    const Func *func;
    Arena arena;
    DiagQueue diags;
    Allocation result;
    double seconds; /* its allocation took */
} Job;

/* Allocates every function of `module` on `threads` threads. Results are in the order of the
 * functions and do not depend on `threads`. Free with jobs_free(). */
Job *jobs_run(const Module *module, const Options *options, int threads, Arena *arena);

void jobs_free(Job *jobs, uint32_t count);

#endif
