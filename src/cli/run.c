#include "cli/run.h"

#include <stdio.h>
#include <string.h>

#include "cli/check.h"
#include "cli/explained.h"
#include "cli/jobs.h"
#include "cli/results.h"
#include "output/json.h"
#include "support/clock.h"
#include "text/check.h"
#include "text/json_read.h"

/* ---- what the command line names in the input ---- */

static ExitStatus check_target(const CommandLine *line) {
    if (!line->target || target_builtin(str_from(line->target))) return EXIT_DONE;
    uint32_t count;
    const Str *names = target_names(&count);
    Str near = str_nearest(str_from(line->target), names, count);
    if (near.length == 0) return fail(EXIT_WRONG, "unknown target '%s'", line->target);
    return fail(EXIT_WRONG, "unknown target '%s'; did you mean '%.*s'?", line->target,
                (int)near.length, near.text);
}

/* ---- allocating ---- */

/* JSON readers have a limit on depth, so deeper loops are not written. */
static void check_json_depth(Input *input) {
    for (uint32_t f = 0; f < input->module.nfuncs; f++) {
        uint32_t loop;
        const Func *func = &input->module.funcs[f];
        if (!json_can_write(func, &loop))
            diag_error(&input->diags, func->loops[loop].span,
                       "loops nested more than %d deep cannot be written as JSON",
                       DEEPEST_JSON_NEST);
    }
}

static ExitStatus check_input(Input *input, const CommandLine *line) {
    double start = clock_now();
    check_module(&input->module, &input->diags);
    input->seconds += clock_now() - start;
    if (line->format == FORMAT_JSON && line->options.emit != EMIT_GRAPH) check_json_depth(input);
    bool good = input->diags.errors == 0;
    input_report(input, line);
    return good ? EXIT_DONE : EXIT_WRONG;
}

static ExitStatus exit_of(AllocStatus status) {
    static const ExitStatus EXITS[] = {EXIT_DONE, EXIT_FAULT, EXIT_WRONG, EXIT_BROKEN};
    return EXITS[status];
}

/* The gravest status of all functions. */
static ExitStatus worst_exit(const FuncJob *jobs, uint32_t count) {
    ExitStatus worst = EXIT_DONE;
    for (uint32_t i = 0; i < count; i++)
        if (exit_of(jobs[i].result.status) > worst) worst = exit_of(jobs[i].result.status);
    return worst;
}

/* What -v and --explain ask for must not get lost. */
static bool print_lines(Str lines) {
    return lines.length == 0 || fwrite(lines.text, 1, lines.length, stderr) == lines.length;
}

/* Prints what the allocation of each function has to say, in the order of functions, where no
 * result is written that this has to wait for. */
static bool print_all(const FuncJob *jobs, uint32_t count) {
    bool printed = true;
    for (uint32_t i = 0; i < count && printed; i++)
        printed = print_lines(jobs[i].result.log) && print_lines(jobs[i].result.explanation);
    return printed;
}

static ExitStatus report_failures(Input *input, const CommandLine *line, FuncJob *jobs,
                                  Arena *arena) {
    bool printed = print_all(jobs, input->module.nfuncs);
    input_report(input, line);
    ExitStatus stats = write_failures(line, input, jobs, arena);
    return printed ? stats : EXIT_BROKEN; /* and nowhere to say why */
}

static ExitStatus finish_jobs(Input *input, const CommandLine *line, const Options *options,
                              FuncJob *jobs, Arena *arena) {
    uint32_t count = input->module.nfuncs;
    ExitStatus status = worst_exit(jobs, count);
    for (uint32_t i = 0; i < count; i++)
        diag_append(&input->diags, &jobs[i].diags);
    if (status != EXIT_DONE) {
        ExitStatus reported = report_failures(input, line, jobs, arena);
        return reported == EXIT_DONE ? status : reported;
    }
    input_report(input, line);
    if (!explained_all(&options->explain, jobs, count) && !print_all(jobs, count))
        return EXIT_BROKEN;
    status = explained_check(&options->explain, jobs, count, arena);
    return status == EXIT_DONE ? write_results(line, input, jobs, arena) : status;
}

static ExitStatus allocate_input(Input *input, const CommandLine *line, const Options *options,
                                 Arena *arena) {
    Progress progress;
    progress_begin(&progress, line, "allocating", &input->module);
    FuncJob *jobs = jobs_run(&input->module, options, line->jobs, &progress, arena);
    progress_end(&progress);
    ExitStatus status = finish_jobs(input, line, options, jobs, arena);
    jobs_free(jobs, input->module.nfuncs);
    return status;
}

/* Reads what --previous and --explain need, and allocates. */
static ExitStatus allocate_with(Input *input, const CommandLine *line, Arena *arena) {
    Options options = line->options;
    Input previous;
    options.explain_spilled = command_line_explains_all(line);
    options.peaks = line->stats || line->svg || line->html || line->format == FORMAT_JSON ||
                    options.verbose || options.explain_spilled || line->explain.count > 0;
    options.source = &input->source;
    options.advise = true;
    if (options.peaks || options.no_spill)
        input->source.lines = source_lines(&input->source, arena);
    ExitStatus status = explained_find(&options, line, &input->module, arena);
    if (status != EXIT_DONE) return status;
    if (line->previous) {
        status = input_read(&previous, arena, line->previous, line);
        if (status != EXIT_DONE) return status;
        options.previous = &previous.module;
    }
    return allocate_input(input, line, &options, arena);
}

static ExitStatus run_allocate(const CommandLine *line, Arena *arena) {
    Input input;
    ExitStatus status = input_read(&input, arena, line->files[0], line);
    if (status == EXIT_DONE) status = check_input(&input, line);
    if (status != EXIT_DONE) return status;
    switch (line->options.emit) {
    case EMIT_PARSED:
        return write_parsed(line, &input, arena);
    case EMIT_GRAPH:
        return write_graphs(line, &input, arena);
    case EMIT_PLACED:
    case EMIT_SPILLED:
        break;
    }
    return allocate_with(&input, line, arena);
}

/* ---- the other modes ---- */

static ExitStatus run_compare(const CommandLine *line, Arena *arena) {
    Input inputs[SIDES];
    for (int side = 0; side < SIDES; side++) {
        ExitStatus status = input_read_placed(&inputs[side], arena, line->files[side], line);
        if (status != EXIT_DONE) return status;
    }
    const Module *old = &inputs[SIDE_OLD].module, *new = &inputs[SIDE_NEW].module;
    if (!target_same(&old->target, &new->target) && line->loudness != LOUD_QUIET)
        fputs("sballoc: warning: the two files are for different targets\n", stderr);
    Changes changes = compare_modules(old, new, arena);
    ExitStatus status = write_changes(&changes, inputs, line, arena);
    return status == EXIT_DONE && changes.differ ? EXIT_FAULT : status;
}

static void write_version(const CommandLine *line, Writer *out) {
    (void)line;
    write_text(out, "sballoc " SBALLOC_VERSION "\n");
}

static void write_help_text(const CommandLine *line, Writer *out) {
    (void)line;
    write_help(out);
}

static void write_target_list(const CommandLine *line, Writer *out) {
    (void)line;
    write_targets(out);
}

static void write_completion_text(const CommandLine *line, Writer *out) {
    write_completion(line->shell, out);
}

static ExitStatus run_mode(const CommandLine *line, Arena *arena) {
    switch (line->mode) {
    case MODE_HELP:
        return write_standard(write_help_text, line);
    case MODE_VERSION:
        return write_standard(write_version, line);
    case MODE_TARGETS:
        return write_standard(write_target_list, line);
    case MODE_COMPLETION:
        return write_standard(write_completion_text, line);
    case MODE_ALLOCATE:
    case MODE_CHECK:
    case MODE_COMPARE:
        break;
    }
    ExitStatus status = check_target(line);
    if (status != EXIT_DONE) return status;
    if (line->mode == MODE_CHECK) return run_check(line, arena);
    if (line->mode == MODE_COMPARE) return run_compare(line, arena);
    return run_allocate(line, arena);
}

ExitStatus run(const CommandLine *line) {
    Arena arena;
    arena_init(&arena);
    ExitStatus status = run_mode(line, &arena);
    arena_free(&arena);
    return status;
}
