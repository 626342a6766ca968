/* The arguments of --explain and --headroom: tensors, each in one function or in all that have one
 * of that name.
 */
#ifndef CLI_EXPLAINED_H
#define CLI_EXPLAINED_H

#include "cli/input.h"
#include "cli/jobs.h"

/* Reads `[@FUNCTION:][%]TENSOR` of each argument but NULL, and finds both in `module`. What is
 * to be explained may be one that spilling or splitting would make: whether it did shows later.
 * Says what is not there and returns EXIT_WRONG. */
ExitStatus explained_find(Options *options, const CommandLine *line, const Module *module,
                          Arena *arena);

/* True if each tensor asked for was there to be explained. */
bool explained_all(const Wishes *explained, const FuncJob *jobs, uint32_t count);

/* Says so and returns EXIT_WRONG where no result of the jobs has one of the tensors. Requires that
 * all were allocated. */
ExitStatus explained_check(const Wishes *explained, const FuncJob *jobs, uint32_t count,
                           Arena *arena);

#endif
