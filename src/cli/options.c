#include "cli/option_table.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/outputs.h"
#include "support/checked.h"

#define FIELD(name) offsetof(CommandLine, name)

const OptionRow OPTION_ROWS[] = {
    {"output", 'o', STORE_TEXT, IN_ALLOCATE, FIELD(output), "FILE", "-", "where the result goes", 0,
     0, NULL},
    {"format", 'f', STORE_CHOICE, IN_ALLOCATE | IN_COMPARE, FIELD(format), "FMT", "text",
     "text or json", 0, 0, "text json"},
    {"emit", 'e', STORE_CHOICE, IN_ALLOCATE, FIELD(options.emit), "WHAT", "placed",
     "what to write: placed, spilled (rewritten but not placed), parsed (the input, checked) or "
     "graph (the interference graph)",
     0, 0, "placed spilled parsed graph"},
    {"target", 0, STORE_TEXT, IN_ALL, FIELD(target), "NAME", "the file's",
     "built-in target, in place of all that the file says", 0, 0, NULL},
    {"sb-bytes", 0, STORE_BYTES, IN_ALL, FIELD(sb_bytes), "N", "the target's",
     "usable bytes per partition (nothing reserved); 190K and 1M too", 1, TARGET_MOST_BYTES, NULL},
    {"list-targets", 0, STORE_MODE, IN_ALL, FIELD(mode), NULL, NULL,
     "show the built-in targets with their sizes and aliases", MODE_TARGETS, 0, NULL},
    {"allocator", 0, STORE_CHOICE, IN_ALLOCATE, FIELD(options.allocator), "NAME", "loop",
     "loop or flat", 0, 0, "loop flat"},
    {"metric", 0, STORE_INT, IN_ALLOCATE, FIELD(options.metric), "N", "0", "spill metric: 0 to 2",
     0, 2, NULL},
    {"effort", 0, STORE_INT, IN_ALLOCATE, FIELD(options.effort), "N", "2",
     "how long to search for a placement: 0 (one attempt) to 9 (until the time limit or a proof)",
     0, 9, NULL},
    {"seed", 0, STORE_UINT64, IN_ALLOCATE, FIELD(options.seed), "N", "1",
     "seed of the perturbations", 0, INT64_MAX, NULL},
    {"previous", 0, STORE_TEXT, IN_ALLOCATE, FIELD(previous), "FILE", NULL,
     "an earlier allocation: keep each tensor where it was where that is legal and costs no spill",
     0, 0, NULL},
    {"max-reloads", 0, STORE_UINT64, IN_ALLOCATE, FIELD(options.max_reloads), "N", "65536",
     "reloads past which optimizations are turned off", 0, INT64_MAX, NULL},
    {"time-limit", 0, STORE_SECONDS, IN_ALLOCATE, FIELD(options.time_limit), "SECONDS", "2700",
     "stop with exit status 1 past it; at effort 9 write the best result found", 0, 0, NULL},
    {"dma-optlevel", 0, STORE_INT, IN_ALLOCATE, FIELD(options.dma_optlevel), "N", "1",
     "above 4 the flat allocator prices rematerialisable reads once more", 0, INT_MAX, NULL},
    {"explain", 0, STORE_OPTIONAL_TEXTS, IN_ALLOCATE, FIELD(explain), "TENSOR", NULL,
     "say on standard error why it sits where it does or was spilled; without a name what was "
     "spilled, the peak and what would fit; may be given several times",
     0, 0, NULL},
    {"headroom", 0, STORE_TEXTS, IN_ALLOCATE, FIELD(headroom), "TENSOR", NULL,
     "say on standard error how many blocks more of it would fit; may be given several times", 0, 0,
     NULL},
    {"no-spill", 0, STORE_TRUE, IN_ALLOCATE, FIELD(options.no_spill), NULL, NULL,
     "exit with status 1, and say what would make it fit, where anything would have to leave", 0, 0,
     NULL},
    {"no-coalesce", 0, STORE_FALSE, IN_ALLOCATE, FIELD(options.coalesce), NULL, NULL,
     "do not merge the two ends of a copy", 0, 0, NULL},
    {"no-split", 0, STORE_FALSE, IN_ALLOCATE, FIELD(options.split), NULL, NULL,
     "do not split tensors into independent values", 0, 0, NULL},
    {"no-remat", 0, STORE_FALSE, IN_ALLOCATE, FIELD(options.remat), NULL, NULL,
     "do not reload from the tensor that a value was loaded from or saved to", 0, 0, NULL},
    {"no-reload-elim", 0, STORE_FALSE, IN_ALLOCATE, FIELD(options.reload_elim), NULL, NULL,
     "do not remove redundant reloads", 0, 0, NULL},
    {"jobs", 'j', STORE_INT, IN_ALLOCATE, FIELD(jobs), "N", "1",
     "functions of a file in parallel; the result is the same for any N", 1, 1024, NULL},
    {"no-verify", 0, STORE_FALSE, IN_ALLOCATE, FIELD(options.verify), NULL, NULL,
     "skip the check of the result before it is written", 0, 0, NULL},
    {"stats", 0, STORE_OPTIONAL_TEXT, IN_ALLOCATE, FIELD(stats), "FILE", NULL,
     "write the report as JSON lines, one a function (to standard error if no FILE)", 0, 0, NULL},
    {"svg", 0, STORE_TEXT, IN_ALLOCATE | IN_COMPARE, FIELD(svg), "FILE", NULL,
     "draw the allocation; with --compare, before and after", 0, 0, NULL},
    {"html", 0, STORE_TEXT, IN_ALLOCATE | IN_COMPARE, FIELD(html), "FILE", NULL,
     "the same as one page to zoom, search and click through", 0, 0, NULL},
    {"certificate", 0, STORE_TEXT, IN_ALLOCATE, FIELD(certificate), "FILE", NULL,
     "write the prices that prove bound_cycles", 0, 0, NULL},
    {"check", 0, STORE_MODE, IN_ALL, FIELD(mode), NULL, NULL,
     "verify a placed file, by itself or against what it was made from", MODE_CHECK, 0, NULL},
    {"compare", 0, STORE_MODE, IN_ALL, FIELD(mode), NULL, NULL,
     "show what changed between two allocations", MODE_COMPARE, 0, NULL},
    {"verbose", 'v', STORE_VALUE, IN_ALL, FIELD(loudness), NULL, NULL,
     "phase lines and a report on standard error", LOUD_VERBOSE, 0, NULL},
    {"quiet", 'q', STORE_VALUE, IN_ALL, FIELD(loudness), NULL, NULL, "errors only", LOUD_QUIET, 0,
     NULL},
    {"color", 0, STORE_CHOICE, IN_ALL, FIELD(color), "WHEN", "auto",
     "auto, always or never; NO_COLOR is obeyed", 0, 0, "auto always never"},
    {"diagnostics", 0, STORE_CHOICE, IN_ALL, FIELD(diagnostics), "FMT", "text",
     "errors and warnings about a file as text or as JSON lines: text or json", 0, 0, "text json"},
    {"help", 'h', STORE_MODE, IN_ALL, FIELD(mode), NULL, NULL, "show this help", MODE_HELP, 0,
     NULL},
    {"version", 'V', STORE_MODE, IN_ALL, FIELD(mode), NULL, NULL, "show the version", MODE_VERSION,
     0, NULL},
    {"completion", 0, STORE_CHOICE, IN_ALL, FIELD(shell), "SHELL", NULL, NULL, 0, 0, "bash zsh"},
};

const int OPTION_COUNT = sizeof OPTION_ROWS / sizeof *OPTION_ROWS;
enum { ROW_COUNT = sizeof OPTION_ROWS / sizeof *OPTION_ROWS, LONG_BASE = 256 };

static bool takes_argument(const OptionRow *row) {
    return row->kind < STORE_VALUE;
}

/* ---- messages ---- */

__attribute__((format(printf, 1, 2))) static bool complain(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("sballoc: error: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    putc('\n', stderr);
    return false;
}

/* Complains of `name`, and suggests what it may have been meant for. */
static bool complain_of_name(const char *what, const char *name, const Str *known, uint32_t count,
                             const char *prefix) {
    Str near = str_nearest(str_from(name), known, count);
    if (near.length == 0) return complain("%s '%s%s'", what, prefix, name);
    return complain("%s '%s%s'; did you mean '%s%.*s'?", what, prefix, name, prefix,
                    (int)near.length, near.text);
}

/* ---- storing one option ---- */

/* Splits a list of names separated by blanks; returns how many. */
enum { MOST_CHOICES = 8 };

static uint32_t split_choices(const char *choices, Str names[MOST_CHOICES]) {
    uint32_t count = 0;
    for (const char *at = choices; *at && count < MOST_CHOICES;) {
        size_t length = strcspn(at, " ");
        names[count++] = (Str){at, (uint32_t)length};
        at += length + (at[length] == ' ');
    }
    return count;
}

static bool store_choice(const OptionRow *row, const char *argument, int *field) {
    Str names[MOST_CHOICES];
    uint32_t count = split_choices(row->choices, names);
    for (uint32_t i = 0; i < count; i++) {
        if (!str_is(names[i], argument)) continue;
        *field = (int)i;
        return true;
    }
    Str near = str_nearest(str_from(argument), names, count);
    if (near.length > 0)
        return complain("option '--%s': unknown value '%s'; did you mean '%.*s'?", row->name,
                        argument, (int)near.length, near.text);
    char list[64] = "";
    for (uint32_t i = 0; i < count; i++) {
        size_t used = strlen(list);
        const char *joint = i == 0 ? "" : i + 1 < count ? ", " : " or ";
        snprintf(list + used, sizeof list - used, "%s%.*s", joint, (int)names[i].length,
                 names[i].text);
    }
    return complain("option '--%s': '%s' is not %s", row->name, argument, list);
}

/* What the letter after a number multiplies it by; 0 where it may not stand there. */
static int64_t suffix_factor(const OptionRow *row, const char *suffix) {
    if (*suffix == '\0') return 1;
    if (row->kind != STORE_BYTES || suffix[1] != '\0') return 0;
    return *suffix == 'K' ? 1024 : *suffix == 'M' ? 1024 * 1024 : 0;
}

/* A plain decimal number; nothing before it, and behind it a suffix at most. */
static bool read_number(const OptionRow *row, const char *argument, int64_t *number) {
    size_t digits = strspn(argument, "0123456789");
    int64_t factor = suffix_factor(row, argument + digits);
    if (digits == 0 || factor == 0)
        return complain("option '--%s': '%s' is not a number", row->name, argument);
    errno = 0;
    *number = saturating_mul(strtoll(argument, NULL, 10), factor);
    if (errno == 0 && *number >= row->low && *number <= row->high) return true;
    return complain("option '--%s': %s is not from %" PRId64 " to %" PRId64, row->name, argument,
                    row->low, row->high);
}

/* Decimal digits with at most one point among or beside them. */
static bool store_seconds(const OptionRow *row, const char *argument, double *field) {
    size_t whole = strspn(argument, "0123456789");
    size_t point = argument[whole] == '.';
    size_t part = point ? strspn(argument + whole + 1, "0123456789") : 0;
    if (whole + part == 0 || argument[whole + point + part] != '\0')
        return complain("option '--%s': '%s' is not a number of seconds", row->name, argument);
    *field = strtod(argument, NULL);
    if (*field <= 1e9) return true;
    return complain("option '--%s': %s is more than 1000000000 seconds", row->name, argument);
}

static bool mode_is_at_once(Mode mode) {
    return mode != MODE_ALLOCATE && mode != MODE_CHECK && mode != MODE_COMPARE;
}

static bool store_mode(CommandLine *line, const OptionRow *row) {
    if (line->mode != MODE_ALLOCATE && (int64_t)line->mode != row->low &&
        !mode_is_at_once((Mode)row->low))
        return complain("options '--check' and '--compare' cannot be used together");
    line->mode = (Mode)row->low;
    return true;
}

static void store_more(CommandLine *line, TextList *list, const char *argument) {
    PUSH(line->arena, list->items, list->count, list->capacity, argument);
}

static bool store(CommandLine *line, const OptionRow *row, const char *argument) {
    void *field = (char *)line + row->field;
    int64_t number = 0;
    if (row->kind == STORE_INT || row->kind == STORE_BYTES || row->kind == STORE_UINT64)
        if (!read_number(row, argument, &number)) return false;
    switch (row->kind) {
    case STORE_TEXT:
        *(const char **)field = argument;
        break;
    case STORE_OPTIONAL_TEXT:
        *(const char **)field = argument ? argument : "";
        break;
    case STORE_TEXTS:
    case STORE_OPTIONAL_TEXTS:
        store_more(line, field, argument);
        break;
    case STORE_CHOICE:
        return store_choice(row, argument, field);
    case STORE_INT:
        *(int *)field = (int)number;
        break;
    case STORE_BYTES:
        *(int64_t *)field = number;
        break;
    case STORE_UINT64:
        *(uint64_t *)field = (uint64_t)number;
        break;
    case STORE_SECONDS:
        return store_seconds(row, argument, field);
    case STORE_VALUE:
        *(int *)field = (int)row->low;
        break;
    case STORE_TRUE:
        *(bool *)field = true;
        break;
    case STORE_FALSE:
        *(bool *)field = false;
        break;
    case STORE_MODE:
        return store_mode(line, row);
    }
    return true;
}

/* ---- what getopt_long refuses ---- */

/* Long options that begin with `text`. */
static int rows_with_prefix(const char *text, size_t length) {
    int count = 0;
    for (int i = 0; i < ROW_COUNT; i++)
        count += strncmp(OPTION_ROWS[i].name, text, length) == 0;
    return count;
}

static bool complain_of_long(const char *text) {
    Str names[ROW_COUNT];
    char name[128];
    size_t length = strcspn(text, "=");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             text);
    if (length > 0 && rows_with_prefix(text, length) > 1)
        return complain("option '--%s' is ambiguous", name);
    for (int i = 0; i < ROW_COUNT; i++) {
        names[i] = str_from(OPTION_ROWS[i].help ? OPTION_ROWS[i].name : "");
    }
    return complain_of_name("unknown option", name, names, ROW_COUNT, "--");
}

/* getopt_long returned `code` ('?' or ':') at the argument `text`. */
static bool complain_of_option(int code, const char *text) {
    bool is_long = text[0] == '-' && text[1] == '-';
    if (code == ':') {
        if (is_long) return complain("option '%s' needs an argument", text);
        return complain("option '-%c' needs an argument", optopt);
    }
    if (optopt == 0) return complain_of_long(text + 2);
    if (is_long) {
        int length = (int)strcspn(text, "=");
        return complain("option '%.*s' takes no argument", length, text);
    }
    if (optopt < 0x20 || optopt > 0x7E) return complain("unknown option in '%s'", text);
    return complain("unknown option '-%c'", optopt);
}

/* ---- the table, as getopt_long wants it ---- */

static void make_getopt_tables(struct option longs[ROW_COUNT + 1], char shorts[2 * ROW_COUNT + 2]) {
    *shorts++ = ':';
    for (int i = 0; i < ROW_COUNT; i++) {
        const OptionRow *row = &OPTION_ROWS[i];
        int has_argument = row_is_optional(row)  ? optional_argument
                           : takes_argument(row) ? required_argument
                                                 : no_argument;
        longs[i] = (struct option){row->name, has_argument, NULL, LONG_BASE + i};
        if (!row->letter) continue;
        *shorts++ = row->letter;
        if (takes_argument(row)) *shorts++ = ':';
    }
    longs[ROW_COUNT] = (struct option){0};
    *shorts = '\0';
}

static const OptionRow *find_row(int code) {
    if (code >= LONG_BASE) return &OPTION_ROWS[code - LONG_BASE];
    for (int i = 0; i < ROW_COUNT; i++)
        if (OPTION_ROWS[i].letter == code) return &OPTION_ROWS[i];
    return NULL;
}

/* ---- what does not go together ---- */

static bool check_modes(const CommandLine *line, const bool given[ROW_COUNT]) {
    for (int i = 0; i < ROW_COUNT; i++)
        if (given[i] && !(OPTION_ROWS[i].modes & 1u << line->mode))
            return complain("option '--%s' cannot be used with '%s'", OPTION_ROWS[i].name,
                            line->mode == MODE_CHECK ? "--check" : "--compare");
    return true;
}

static bool check_emit(const CommandLine *line) {
    static const char *const NAMES[] = {"placed", "spilled", "parsed", "graph"};
    Emit emit = line->options.emit;
    bool allocates = emit == EMIT_PLACED || emit == EMIT_SPILLED;
    const char *option = line->svg && emit != EMIT_PLACED    ? "svg"
                         : line->html && emit != EMIT_PLACED ? "html"
                         : allocates                         ? NULL
                         : line->stats                       ? "stats"
                         : line->certificate                 ? "certificate"
                         : line->explain.count > 0           ? "explain"
                         : line->headroom.count > 0          ? "headroom"
                         : line->previous                    ? "previous"
                                                             : NULL;
    if (!option) return true;
    return complain("option '--%s' cannot be used with '--emit=%s'", option, NAMES[emit]);
}

static bool check_outputs(const CommandLine *line) {
    const struct {
        const char *option, *path;
    } outputs[] = {{"output", line->output ? line->output : "-"},
                   {"stats", line->stats && *line->stats ? line->stats : NULL},
                   {"svg", line->svg},
                   {"html", line->html},
                   {"certificate", line->certificate}};
    enum { OUTPUTS = sizeof outputs / sizeof *outputs };
    for (int i = 0; i < OUTPUTS; i++)
        for (int j = i + 1; j < OUTPUTS; j++)
            if (outputs[i].path && outputs[j].path && output_same(outputs[i].path, outputs[j].path))
                return complain("options '--%s' and '--%s' cannot both write to '%s'",
                                outputs[i].option, outputs[j].option, outputs[j].path);
    return true;
}

/* A result may take the place of what it was made from; a report on it may not. */
static bool check_reports(const CommandLine *line) {
    const struct {
        const char *option, *path;
    } reports[] = {{"stats", line->stats && *line->stats ? line->stats : NULL},
                   {"svg", line->svg},
                   {"html", line->html},
                   {"certificate", line->certificate}};
    enum { REPORTS = sizeof reports / sizeof *reports };
    const char *read[] = {line->file_count > 0 ? line->files[0] : NULL,
                          line->file_count > 1 ? line->files[1] : NULL, line->previous};
    for (int i = 0; i < REPORTS; i++)
        for (int j = 0; j < 3; j++)
            if (reports[i].path && read[j] && strcmp(read[j], "-") != 0 &&
                output_same(reports[i].path, read[j]))
                return complain("option '--%s' cannot write to '%s', which is read",
                                reports[i].option, reports[i].path);
    return true;
}

static bool check_files(const CommandLine *line) {
    if (line->mode == MODE_CHECK && line->file_count < 1)
        return complain("option '--check' needs a placed file");
    if (line->mode == MODE_COMPARE && line->file_count < 2)
        return complain("option '--compare' needs two files");
    int inputs = line->file_count == 0;
    for (int i = 0; i < line->file_count; i++)
        inputs += strcmp(line->files[i], "-") == 0;
    if (line->previous) inputs += strcmp(line->previous, "-") == 0;
    if (inputs > 1) return complain("standard input can be read only once");
    return true;
}

bool command_line_explains_all(const CommandLine *line) {
    for (size_t i = 0; i < line->explain.count; i++)
        if (!line->explain.items[i]) return true;
    return false;
}

static bool take_files(CommandLine *line, int count, char **files) {
    int most = line->mode == MODE_ALLOCATE ? 1 : 2;
    if (count > most) {
        const char *apart = "";
        if (line->stats && !*line->stats)
            apart = "; option '--stats' takes a file as '--stats=FILE'";
        if (command_line_explains_all(line) /* then this may be its name */)
            apart = "; option '--explain' takes a tensor as '--explain=TENSOR'";
        return complain("more than %d input file%s: '%s'%s", most, most > 1 ? "s" : "", files[most],
                        apart);
    }
    for (int i = 0; i < count; i++)
        line->files[line->file_count++] = files[i];
    return true;
}

static bool check_combinations(const CommandLine *line, const bool given[ROW_COUNT]) {
    return check_modes(line, given) && check_files(line) &&
           (line->mode != MODE_ALLOCATE || (check_emit(line) && check_outputs(line))) &&
           check_reports(line);
}

/* What help shows as the default is what is stored. */
static void store_defaults(CommandLine *line, Arena *arena) {
    *line = (CommandLine){.options = options_default(), .arena = arena};
    for (int i = 0; i < ROW_COUNT; i++) {
        const OptionRow *row = &OPTION_ROWS[i];
        if (row->fallback && row->kind >= STORE_CHOICE && row->kind != STORE_BYTES)
            store(line, row, row->fallback);
    }
}

bool command_line_read(CommandLine *line, int argc, char **argv, Arena *arena) {
    struct option longs[ROW_COUNT + 1];
    char shorts[2 * ROW_COUNT + 2];
    bool given[ROW_COUNT] = {false};
    store_defaults(line, arena);
    make_getopt_tables(longs, shorts);
    opterr = 0;
    for (;;) {
        int current = optind;
        optopt = 0;
        int code = getopt_long(argc, argv, shorts, longs, NULL);
        if (code == -1) break;
        if (code == '?' || code == ':') {
            /* The argument at fault lies before optind, unless letters of it are still to come. */
            bool within = optind == current;
            return complain_of_option(code, argv[within ? optind : optind - 1]);
        }
        const OptionRow *row = find_row(code);
        assert(row); /* getopt_long knows the rows alone */
        given[row - OPTION_ROWS] = true;
        if (!store(line, row, optarg)) return false;
        if (row->help == NULL) line->mode = MODE_COMPLETION;
        if (mode_is_at_once(line->mode)) return true;
    }
    line->options.verbose = line->loudness == LOUD_VERBOSE;
    return take_files(line, argc - optind, argv + optind) && check_combinations(line, given);
}
