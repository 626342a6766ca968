#include "cli/results.h"

#include "cli/outputs.h"
#include "output/certificate.h"
#include "output/graph.h"
#include "output/json.h"
#include "output/page.h"
#include "output/stats.h"
#include "output/svg.h"
#include "spill/time/live_in_time.h"
#include "support/clock.h"
#include "text/print.h"

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
    Outputs outputs;
    outputs_begin(&outputs, arena, false);
    JsonFunc *items = NEW_ARRAY(arena, JsonFunc, module->nfuncs);
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        items[i].func = &module->funcs[i];
        if (line->format != FORMAT_JSON) continue;
        Live *live = NEW(arena, Live);
        *live = live_range(items[i].func, arena);
        items[i].live = live;
    }
    Writer *out = outputs_open(&outputs, line->output);
    if (!out) return EXIT_BROKEN;
    write_funcs(line, &module->target, items, module->nfuncs, arena, out);
    return outputs_finish(&outputs);
}

ExitStatus write_graphs(const CommandLine *line, const Input *input, Arena *arena) {
    Outputs outputs;
    outputs_begin(&outputs, arena, false);
    Writer *out = outputs_open(&outputs, line->output);
    if (!out) return EXIT_BROKEN;
    if (line->format == FORMAT_JSON)
        write_graph_json(&input->module, out);
    else
        write_graph_dimacs(&input->module, out);
    return outputs_finish(&outputs);
}

/* The functions of a file as they were read; blocks are drawn where they live in some iteration. */
static Drawing drawing_of(const Input *input, Arena *arena) {
    const Module *module = &input->module;
    JsonFunc *items = NEW_ARRAY(arena, JsonFunc, module->nfuncs);
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        Live *live = NEW(arena, Live);
        Live own = live_range(&module->funcs[i], arena);
        *live = live_in_time(&module->funcs[i], &module->target, &own, arena);
        items[i] = (JsonFunc){.func = &module->funcs[i], .live = live};
    }
    return (Drawing){&module->target, &input->source, items, module->nfuncs};
}

static void draw_changes(const Changes *changes, const Input inputs[SIDES], Writer *svg,
                         Writer *html, Arena *arena) {
    Drawing drawings[] = {drawing_of(&inputs[SIDE_OLD], arena),
                          drawing_of(&inputs[SIDE_NEW], arena)};
    if (svg) write_svg_changes(drawings, changes, svg);
    if (html) write_html_changes(drawings, changes, html);
}

ExitStatus write_changes(const Changes *changes, const Input inputs[SIDES], const CommandLine *line,
                         Arena *arena) {
    Outputs outputs;
    Writer *svg = NULL, *html = NULL;
    outputs_begin(&outputs, arena, line->svg || line->html);
    if (line->svg && !(svg = outputs_open(&outputs, line->svg))) return EXIT_BROKEN;
    if (line->html && !(html = outputs_open(&outputs, line->html))) return EXIT_BROKEN;
    Writer *out = outputs_open(&outputs, NULL);
    if (!out) return EXIT_BROKEN;
    if (svg || html) draw_changes(changes, inputs, svg, html, arena);
    if (line->format == FORMAT_JSON)
        write_changes_json(changes, out);
    else
        write_changes_text(changes, line->loudness == LOUD_VERBOSE, out);
    return outputs_finish(&outputs);
}

/* ---- the results of allocation ---- */

static const JsonFunc *result_funcs(FuncJob *jobs, uint32_t count, Arena *arena) {
    JsonFunc *items = NEW_ARRAY(arena, JsonFunc, count);
    for (uint32_t i = 0; i < count; i++) {
        const Allocation *result = &jobs[i].result;
        items[i] = (JsonFunc){.func = result->func,
                              .live = &result->live,
                              .cost = result->cost,
                              .report = &result->report,
                              .input = result->input,
                              .input_live = &result->input_live,
                              .origin_inst = result->origin_inst};
    }
    return items;
}

/* Times that allocate() cannot know: the file was read, and is written, for all functions alike. */
static void set_seconds(FuncJob *jobs, uint32_t count, double parse, double write) {
    for (uint32_t i = 0; i < count; i++) {
        Report *report = &jobs[i].result.report;
        report->seconds.parse = parse / count;
        report->seconds.write = write / count;
        report->seconds.total = jobs[i].seconds + (parse + write) / count;
    }
}

/* The text of the first error about a function. */
static Str first_error(const FuncJob *job) {
    for (size_t i = 0; i < job->diags.count; i++)
        if (job->diags.items[i].severity == DIAG_ERROR)
            return diag_shorten(job->diags.items[i].text, job->diags.arena);
    return STR("not allocated");
}

static void write_lines(const Input *input, const FuncJob *jobs, Writer *out) {
    for (uint32_t i = 0; i < input->module.nfuncs; i++) {
        const FuncJob *job = &jobs[i];
        Str file = input->source.name;
        if (job->result.status == ALLOCATED)
            write_stats(file, job->func->name, &job->result.report, out);
        else
            write_stats_error(file, job->func->name, first_error(job), out);
    }
}

/* Where --stats goes; NULL after a failure. */
static Writer *open_stats(const CommandLine *line, Outputs *outputs) {
    return *line->stats ? outputs_open(outputs, line->stats) : outputs_report(outputs);
}

/* What -v and --explain have to say of each function. */
static void write_logs(const FuncJob *jobs, uint32_t count, Outputs *outputs) {
    for (uint32_t i = 0; i < count; i++) {
        const Allocation *result = &jobs[i].result;
        if (result->log.length == 0 && result->explanation.length == 0) continue;
        write_str(outputs_report(outputs), result->log);
        write_str(outputs_report(outputs), result->explanation);
    }
}

static void write_proofs(FuncJob *jobs, uint32_t count, Arena *arena, Writer *out) {
    Certified *items = NEW_ARRAY(arena, Certified, count);
    for (uint32_t i = 0; i < count; i++) {
        const Allocation *result = &jobs[i].result;
        items[i] = (Certified){result->func->name, &result->report, &result->bound};
    }
    write_certificate(items, count, out);
}

/* What is wanted beside the result; NULL: not. */
typedef struct {
    Writer *stats, *svg, *html, *proofs;
} Reports;

/* Opens a file where a path is given; false after a failure. */
static bool open_report(Outputs *outputs, const char *path, Writer **writer) {
    if (path) *writer = outputs_open(outputs, path);
    return !path || *writer;
}

static bool open_reports(const CommandLine *line, Outputs *outputs, Reports *reports) {
    *reports = (Reports){0};
    if (line->stats && !(reports->stats = open_stats(line, outputs))) return false;
    return open_report(outputs, line->svg, &reports->svg) &&
           open_report(outputs, line->html, &reports->html) &&
           open_report(outputs, line->certificate, &reports->proofs);
}

/* The result is opened last: on standard output nothing comes after it that could fail, and as a
 * file it is put in its place first. The report tells how long writing took, and is therefore
 * written last. */
ExitStatus write_results(const CommandLine *line, const Input *input, FuncJob *jobs, Arena *arena) {
    uint32_t count = input->module.nfuncs;
    Outputs outputs;
    Reports reports;
    double start = clock_now();
    outputs_begin(&outputs, arena, line->stats || line->svg || line->html || line->certificate);
    if (!open_reports(line, &outputs, &reports)) return EXIT_BROKEN;
    Writer *out = outputs_open(&outputs, line->output);
    if (!out) return EXIT_BROKEN;
    write_logs(jobs, count, &outputs);
    const JsonFunc *items = result_funcs(jobs, count, arena);
    Drawing drawing = {&input->module.target, &input->source, items, count};
    if (reports.svg) write_svg(&drawing, reports.svg);
    if (reports.html) write_html(&drawing, reports.html);
    if (reports.proofs) write_proofs(jobs, count, arena, reports.proofs);
    write_funcs(line, &input->module.target, items, count, arena, out);
    writer_flush(out);
    set_seconds(jobs, count, input->seconds, clock_now() - start);
    if (reports.stats) write_lines(input, jobs, reports.stats);
    return outputs_finish(&outputs);
}

ExitStatus write_failures(const CommandLine *line, const Input *input, FuncJob *jobs,
                          Arena *arena) {
    if (!line->stats) return EXIT_DONE;
    set_seconds(jobs, input->module.nfuncs, input->seconds, 0);
    Outputs outputs;
    outputs_begin(&outputs, arena, false);
    Writer *stats = open_stats(line, &outputs);
    if (!stats) return EXIT_BROKEN;
    write_lines(input, jobs, stats);
    return outputs_finish(&outputs);
}

ExitStatus write_standard(void (*write)(const CommandLine *line, Writer *out),
                          const CommandLine *line) {
    Arena arena;
    arena_init(&arena);
    Outputs outputs;
    outputs_begin(&outputs, &arena, false);
    Writer *out = outputs_open(&outputs, NULL);
    ExitStatus status = EXIT_BROKEN;
    if (out) {
        write(line, out);
        status = outputs_finish(&outputs);
    }
    arena_free(&arena);
    return status;
}
