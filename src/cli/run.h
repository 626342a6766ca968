/* What each mode of the command line does, from reading to exit status. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/input.h"

/* Each prints what is wrong on standard error and returns the exit status. */
ExitStatus run(const CommandLine *line);

#endif
