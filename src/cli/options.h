/* The command line: one table makes the parser, --help and the shell completions. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/options.h"
#include "support/arena.h"
#include "support/writer.h"

#define SBALLOC_VERSION "1.0"

typedef enum {
    MODE_ALLOCATE,
    MODE_CHECK,
    MODE_COMPARE,
    MODE_HELP,
    MODE_VERSION,
    MODE_TARGETS,
    MODE_COMPLETION
} Mode;

typedef enum { FORMAT_TEXT, FORMAT_JSON } Format;
typedef enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } ColorWhen;
typedef enum { LOUD_NORMAL, LOUD_VERBOSE, LOUD_QUIET } Loudness;
typedef enum { SHELL_BASH, SHELL_ZSH } Shell;

/* The arguments of an option that may be given several times, in their order. */
typedef struct {
    const char **items; /* NULL: given without one */
    size_t count, capacity;
} TextList;

/* Strings are argv's own. */
typedef struct {
    Mode mode;
    Options options; /* without explain and previous, which need the input */
    Format format;
    ColorWhen color;
    Loudness loudness;
    Format diagnostics;
    Shell shell;          /* MODE_COMPLETION */
    const char *files[2]; /* "-" or NULL: standard input */
    int file_count;
    const char *output;      /* -o; NULL: standard output */
    const char *target;      /* --target, or NULL */
    int64_t sb_bytes;        /* --sb-bytes, or 0 */
    TextList explain;        /* tensors */
    TextList headroom;       /* tensors */
    const char *previous;    /* file, or NULL */
    const char *stats;       /* file, "" for standard error, or NULL */
    const char *svg;         /* file, or NULL */
    const char *html;        /* file, or NULL */
    const char *certificate; /* file, or NULL */
    int jobs;
    Arena *arena; /* of lists */
} CommandLine;

/* Reads the arguments; lists live in `arena`. Where they are wrong, says so on standard error and
 * returns false. */
bool command_line_read(CommandLine *line, int argc, char **argv, Arena *arena);

/* True if --explain is given without a name. */
bool command_line_explains_all(const CommandLine *line);

void write_help(Writer *out);

/* The built-in targets, one a line. */
void write_targets(Writer *out);

void write_completion(Shell shell, Writer *out);

#endif
