/* Writes what a run has made: the result, the picture, the report. All of them or none. */
#ifndef CLI_RESULTS_H
#define CLI_RESULTS_H

#include "cli/input.h"
#include "cli/jobs.h"
#include "output/compare.h"

/* The checked input, for -e parsed. */
ExitStatus write_parsed(const CommandLine *line, const Input *input, Arena *arena);

/* Its interference graphs, for -e graph. */
ExitStatus write_graphs(const CommandLine *line, const Input *input, Arena *arena);

/* Every function's result, then --svg and the like, and once all of it is in its place what -v,
 * --explain and --stats tell standard error. */
ExitStatus write_results(const CommandLine *line, const Input *input, FuncJob *jobs, Arena *arena);

/* --stats alone, where a function has failed. */
ExitStatus write_failures(const CommandLine *line, const Input *input, FuncJob *jobs, Arena *arena);

/* What --compare found between two files, on standard output, and its picture. */
ExitStatus write_changes(const Changes *changes, const Input inputs[SIDES], const CommandLine *line,
                         Arena *arena);

/* A text for standard output: help and the like. */
ExitStatus write_standard(void (*write)(const CommandLine *line, Writer *out),
                          const CommandLine *line);

#endif
