/* --check: the referee's word on a placed file. */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include "cli/input.h"

/* Verifies line->files[0] against line->files[1], or by itself. EXIT_FAULT where it is at fault,
 * EXIT_WRONG where one of the two is not valid input at all. */
ExitStatus run_check(const CommandLine *line, Arena *arena);

#endif
