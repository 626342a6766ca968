#include "cli/input.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output/diag_json.h"
#include "support/clock.h"
#include "text/check.h"
#include "text/json_read.h"
#include "text/parse.h"

ExitStatus fail(ExitStatus status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("sballoc: error: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    putc('\n', stderr);
    return status;
}

/* Colours go to terminals only, unless asked for. */
static bool use_color(ColorWhen when) {
    if (when != COLOR_AUTO) return when == COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    if (no_color && *no_color) return false;
    if (terminal && strcmp(terminal, "dumb") == 0) return false;
    return isatty(STDERR_FILENO);
}

static void print_json(Input *input, bool quiet) {
    Writer text; /* standard error has no buffer of its own */
    writer_to_memory(&text);
    write_diags_json(&input->diags, &input->source, quiet, &text);
    fwrite(text.buffer, 1, text.length, stderr);
    writer_free(&text);
    diag_clear(&input->diags);
}

void input_report(Input *input, const CommandLine *line) {
    DiagStyle style = {.quiet = line->loudness == LOUD_QUIET, .color = use_color(line->color)};
    if (input->json) json_name_paths(&input->source, &input->diags);
    if (line->diagnostics == FORMAT_JSON)
        print_json(input, style.quiet);
    else
        diag_print(&input->diags, &input->source, style, stderr);
}

/* --target takes the place of all that the file says, --sb-bytes of the size and what is kept
 * free. */
static void override_target(Target *target, const CommandLine *line) {
    if (line->target) *target = *target_builtin(str_from(line->target));
    if (line->sb_bytes > 0) {
        target->sb_bytes = line->sb_bytes;
        target->sb_reserved = 0;
    }
}

ExitStatus input_read(Input *input, Arena *arena, const char *path, const CommandLine *line) {
    double start = clock_now();
    *input = (Input){0};
    diag_init(&input->diags, arena);
    SourceStatus status = source_read(&input->source, arena, path);
    const char *name = input->source.name.text;
    if (status == SOURCE_TOO_LARGE)
        return fail(EXIT_BROKEN, "cannot read '%s': larger than 2 GiB", name);
    if (status == SOURCE_FAILED)
        return fail(EXIT_BROKEN, "cannot read '%s': %s", name, strerror(errno));
    input->json = source_is_json(&input->source);
    bool parsed = input->json ? parse_json(&input->source, arena, &input->diags, &input->module)
                              : parse_lf(&input->source, arena, &input->diags, &input->module);
    if (!parsed) {
        input_report(input, line);
        return EXIT_WRONG;
    }
    override_target(&input->module.target, line);
    input->seconds = clock_now() - start;
    return EXIT_DONE;
}

ExitStatus input_read_placed(Input *input, Arena *arena, const char *path,
                             const CommandLine *line) {
    ExitStatus status = input_read(input, arena, path, line);
    if (status != EXIT_DONE) return status;
    for (uint32_t i = 0; i < input->module.nfuncs; i++)
        check_func(&input->module.funcs[i], NULL, NULL, &input->diags);
    if (input->diags.errors == 0) return EXIT_DONE;
    input_report(input, line);
    return EXIT_WRONG;
}
