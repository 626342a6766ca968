#include "cli/results.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "output/graph.h"
#include "output/json.h"
#include "output/stats.h"
#include "output/svg.h"
#include "support/output_file.h"
#include "text/print.h"

static ExitStatus fail_to_write(const char *path) {
    return fail(EXIT_BROKEN, "cannot write '%s': %s", path, strerror(errno));
}

/* ---- files that are put in their places together ---- */

enum { MOST_OUTPUTS = 3 };

typedef struct {
    OutputFile files[MOST_OUTPUTS];
    int count;
    Arena *arena;
} Outputs;

static void discard_all(Outputs *outputs) {
    int error = errno;
    for (int i = 0; i < outputs->count; i++)
        output_discard(&outputs->files[i]);
    errno = error;
}

/* The writer of one more file, or NULL after having said why not. */
static Writer *open_output(Outputs *outputs, const char *path) {
    OutputFile *file = &outputs->files[outputs->count];
    if (output_open(file, outputs->arena, path)) {
        outputs->count++;
        return &file->writer;
    }
    discard_all(outputs);
    fail_to_write(file->path);
    return NULL;
}

/* Closes every file and, if all are whole, puts them in their places. */
static ExitStatus finish_outputs(Outputs *outputs) {
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < outputs->count; i++) {
            OutputFile *file = &outputs->files[i];
            if (step == 0 ? output_close(file) : output_commit(file)) continue;
            discard_all(outputs);
            return fail_to_write(file->path);
        }
    }
    return EXIT_DONE;
}

/* ---- one module ---- */

/* `items` in the format asked for. */
static void write_funcs(const CommandLine *line, const Target *target, const JsonFunc *items,
                        uint32_t count, Arena *arena, Writer *out) {
    if (line->format == FORMAT_JSON) {
        write_json(target, items, count, out);
        return;
    }
    Module module = {.target = *target, .funcs = NEW_ARRAY(arena, Func, count), .nfuncs = count};
    for (uint32_t i = 0; i < count; i++)
        module.funcs[i] = *items[i].func;
    print_module(&module, out);
}

ExitStatus write_parsed(const CommandLine *line, const Input *input, Arena *arena) {
    const Module *module = &input->module;
    Outputs outputs = {.arena = arena};
    JsonFunc *items = NEW_ARRAY(arena, JsonFunc, module->nfuncs);
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        items[i].func = &module->funcs[i];
        if (line->format != FORMAT_JSON) continue;
        Live *live = NEW(arena, Live);
        *live = live_range(items[i].func, arena);
        items[i].live = live;
    }
    Writer *out = open_output(&outputs, line->output);
    if (!out) return EXIT_BROKEN;
    write_funcs(line, &module->target, items, module->nfuncs, arena, out);
    return finish_outputs(&outputs);
}

ExitStatus write_graphs(const CommandLine *line, const Input *input, Arena *arena) {
    Outputs outputs = {.arena = arena};
    Writer *out = open_output(&outputs, line->output);
    if (!out) return EXIT_BROKEN;
    if (line->format == FORMAT_JSON)
        write_graph_json(&input->module, out);
    else
        write_graph_dimacs(&input->module, out);
    return finish_outputs(&outputs);
}

ExitStatus write_changes(const Changes *changes, const CommandLine *line, Arena *arena) {
    Outputs outputs = {.arena = arena};
    Writer *out = open_output(&outputs, NULL);
    if (!out) return EXIT_BROKEN;
    if (line->format == FORMAT_JSON)
        write_changes_json(changes, out);
    else
        write_changes_text(changes, line->loudness == LOUD_VERBOSE, out);
    return finish_outputs(&outputs);
}

/* ---- the results of allocation ---- */

static const JsonFunc *result_funcs(Job *jobs, uint32_t count, Arena *arena) {
    JsonFunc *items = NEW_ARRAY(arena, JsonFunc, count);
    for (uint32_t i = 0; i < count; i++) {
        const Allocation *result = &jobs[i].result;
        items[i] = (JsonFunc){result->func, &result->live, result->cost, &result->report};
    }
    return items;
}

/* Times that allocate() cannot know: the file was read, and is written, for all functions alike. */
static void set_seconds(Job *jobs, uint32_t count, double parse, double write) {
    for (uint32_t i = 0; i < count; i++) {
        Report *report = &jobs[i].result.report;
        report->seconds.parse = parse / count;
        report->seconds.write = write / count;
        report->seconds.total = jobs[i].seconds + (parse + write) / count;
    }
}

/* The text of the first error about a function. */
static Str first_error(const Job *job) {
    for (size_t i = 0; i < job->diags.count; i++)
        if (job->diags.items[i].severity == DIAG_ERROR) return job->diags.items[i].text;
    return STR("not allocated");
}

static void write_lines(const Input *input, const Job *jobs, Writer *out) {
    for (uint32_t i = 0; i < input->module.nfuncs; i++) {
        const Job *job = &jobs[i];
        Str file = input->source.name;
        if (job->result.status == ALLOCATED)
            write_stats(file, job->func->name, &job->result.report, out);
        else
            write_stats_error(file, job->func->name, first_error(job), out);
    }
}

static void stats_to_standard_error(const Input *input, const Job *jobs) {
    Writer out;
    writer_to_file(&out, STDERR_FILENO);
    write_lines(input, jobs, &out);
    writer_flush(&out);
    writer_free(&out);
}

ExitStatus write_results(const CommandLine *line, const Input *input, Job *jobs, Arena *arena) {
    uint32_t count = input->module.nfuncs;
    Outputs outputs = {.arena = arena};
    Writer *stats = NULL;
    double start = seconds_now();
    if (line->stats && *line->stats) {
        stats = open_output(&outputs, line->stats);
        if (!stats) return EXIT_BROKEN;
    }
    const JsonFunc *items = result_funcs(jobs, count, arena);
    if (line->svg) {
        Writer *svg = open_output(&outputs, line->svg);
        if (!svg) return EXIT_BROKEN;
        write_svg(&input->module.target, items, count, svg);
    }
    Writer *out = open_output(&outputs, line->output);
    if (!out) return EXIT_BROKEN;
    write_funcs(line, &input->module.target, items, count, arena, out);
    if (!writer_flush(out)) {
        errno = out->error;
        discard_all(&outputs);
        return fail_to_write(outputs.files[outputs.count - 1].path);
    }
    set_seconds(jobs, count, input->seconds, seconds_now() - start);
    if (stats) write_lines(input, jobs, stats);
    ExitStatus status = finish_outputs(&outputs);
    if (status == EXIT_DONE && line->stats && !stats) stats_to_standard_error(input, jobs);
    return status;
}

ExitStatus write_failures(const CommandLine *line, const Input *input, Job *jobs, Arena *arena) {
    if (!line->stats) return EXIT_DONE;
    set_seconds(jobs, input->module.nfuncs, input->seconds, 0);
    if (!*line->stats) {
        stats_to_standard_error(input, jobs);
        return EXIT_DONE;
    }
    Outputs outputs = {.arena = arena};
    Writer *stats = open_output(&outputs, line->stats);
    if (!stats) return EXIT_BROKEN;
    write_lines(input, jobs, stats);
    return finish_outputs(&outputs);
}

ExitStatus write_standard(void (*write)(const CommandLine *line, Writer *out),
                          const CommandLine *line) {
    Arena arena;
    arena_init(&arena);
    Outputs outputs = {.arena = &arena};
    Writer *out = open_output(&outputs, NULL);
    ExitStatus status = EXIT_BROKEN;
    if (out) {
        write(line, out);
        status = finish_outputs(&outputs);
    }
    arena_free(&arena);
    return status;
}
