/* Input files: read, parsed, and set for the target that the command line asks for. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "cli/options.h"
#include "support/diag.h"

/* The exit statuses of sballoc. */
typedef enum { EXIT_DONE = 0, EXIT_FAULT = 1, EXIT_WRONG = 2, EXIT_BROKEN = 3 } ExitStatus;

typedef struct {
    Source source;
    Module module;
    bool json;
    DiagQueue diags; /* about this file */
    double seconds;  /* reading, parsing and its checks took */
} Input;

/* Reads and parses `path`; everything lives in `arena`. Whatever is wrong with it has been told on
 * standard error unless EXIT_DONE is returned. Warnings stay in the queue. */
ExitStatus input_read(Input *input, Arena *arena, const char *path, const CommandLine *line);

/* The same, and makes the static checks but those of sizes and places: in a placed file these are
 * for the referee to find. */
ExitStatus input_read_placed(Input *input, Arena *arena, const char *path, const CommandLine *line);

/* Prints the queue and empties it. */
void input_report(Input *input, const CommandLine *line);

/* Says on standard error what went wrong with the program's files: `sballoc: error: ...`. Returns
 * `status`. */
__attribute__((format(printf, 2, 3))) ExitStatus fail(ExitStatus status, const char *format, ...);

#endif
