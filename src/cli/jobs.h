/* Allocates the functions of a file, several at a time. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include "cli/progress.h"
#include "driver/allocate.h"

/* One function. What its allocation made lives in `arena`. */
typedef struct {
    const Func *func;
    Arena arena;
    DiagQueue diags;
    Allocation result;
    double seconds; /* its allocation took */
} FuncJob;

/* Allocates every function of `module` on `threads` threads. Results are in the order of the
 * functions and do not depend on `threads`. `progress` is told of each that is done. Free with
 * jobs_free(). */
FuncJob *jobs_run(const Module *module, const Options *options, int threads, Progress *progress,
                  Arena *arena);

void jobs_free(FuncJob *jobs, uint32_t count);

#endif
