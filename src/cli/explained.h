/* The argument of --explain: a tensor, in one function or in all that have one of that name. */
#ifndef CLI_EXPLAINED_H
#define CLI_EXPLAINED_H

#include "cli/input.h"
#include "cli/jobs.h"

typedef struct {
    const Func *func; /* NULL: all */
    Str tensor;       /* as the format means it: without sigil, quotes and escapes */
} ExplainArgument;

/* Reads `[@FUNCTION:][%]TENSOR` and finds both in `module`. A tensor may be one that spilling or
 * splitting would make: whether it did shows later. Says what is not there and returns
 * EXIT_WRONG. */
ExitStatus explained_find(ExplainArgument *explained, const char *argument, const Module *module,
                          Arena *arena);

/* True if that function's explanation is wanted. */
bool explained_is_in(const ExplainArgument *explained, const Func *func);

/* Says so and returns EXIT_WRONG where no result of the jobs has the tensor. */
ExitStatus explained_check(const ExplainArgument *explained, const FuncJob *jobs, uint32_t count,
                           Arena *arena);

#endif
