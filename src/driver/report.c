#include "driver/report.h"

#include <inttypes.h>
#include <math.h>

#include "driver/peak_text.h"
#include "ir/dma.h"
#include "ir/marks.h"
#include "ir/runs.h"
#include "support/checked.h"

/* A line of the report, after the name of the function. */
#define LOG(log, func, ...)                                                                        \
    do {                                                                                           \
        write_str((log), (func)->name);                                                            \
        write_format((log), ": " __VA_ARGS__);                                                     \
        write_char((log), '\n');                                                                   \
    } while (0)

void report_begin(const Func *func, const Options *options, Writer *log) {
    if (!options->verbose) return;
    LOG(log, func, "allocating SB");
    LOG(log, func, "  linearize and check");
}

void report_input(const Facts *facts, Report *report) {
    enum { LARGEST = 1 << 22 /* pairs, of a graph that is built for its figures alone */ };
    Arena scratch;
    arena_init(&scratch);
    const Round *round = facts->uncut;
    report->instructions = facts->func->ninsts;
    report->tensors = round->nodes.count;
    report->edges = round->conflicts;
    if (round->conflicts <= LARGEST) {
        Graph graph = build(&round->nodes, &scratch);
        report->edges = graph.edges;
        report->max_degree = graph.max_degree;
    }
    report->high_water_before =
        (int64_t)fullest_quadrant(&round->nodes, &round->pressure) * GRANULE;
    arena_free(&scratch);
}

static void log_failed(State *state) {
    const Round *now = &state->now;
    for (uint32_t i = 0; i < now->placement.nfailed; i++) {
        const Node *node = &now->nodes.items[now->placement.failed[i]];
        if (!isinf(node->cost)) continue;
        Str name = state->code.func->tensors[node->tensor].name;
        LOG(&state->log, state->facts->func, "  infinite node %.*s", (int)name.length, name.text);
    }
}

/* How the nodes begin in simplify, also where places came from elsewhere. */
static NodeStack begin_of_simplify(State *state) {
    const Round *now = &state->now;
    if (now->stack.items || !now->graph.built) return now->stack;
    Axis axis = axis_make(state->facts->size);
    return simplify(&now->nodes, &now->graph, &axis, state->method.metric, &state->round_memory);
}

void report_round(State *state) {
    if (!state->facts->named) return;
    const Round *now = &state->now;
    const Func *func = state->facts->func;
    NodeStack stack = begin_of_simplify(state);
    LOG(&state->log, func, "  renumber locations: %u tensors", now->nodes.count);
    LOG(&state->log, func, "  find partners: %u accumulation group%s", now->groups,
        now->groups == 1 ? "" : "s");
    LOG(&state->log, func, "  build interference graph: %" PRIu64 " edges",
        now->graph.built ? now->graph.edges : now->conflicts);
    LOG(&state->log, func, "  SB high-water mark = %" PRId64 " bytes",
        (int64_t)fullest_quadrant(&now->nodes, &now->pressure) * GRANULE);
    LOG(&state->log, func, "  simplify: lo = %u, hi = %u, inf = %u", stack.low, stack.high,
        stack.infinite);
    if (!now->placed) log_failed(state);
    LOG(&state->log, func, "  SB score = %.0f (lower is better)",
        now->placed ? 0 : now->placement.score);
}

void report_tried(const State *state, const char *why, Writer *log) {
    const Facts *facts = state->facts;
    if (!facts->named) return;
    write_str(log, facts->func->name);
    write_format(log, ":   tried %s", state->method.name);
    if (state->method.scale > 1)
        write_format(log, " with %" PRIu64 " times the steps", state->method.scale);
    write_format(log, ": %u round%s, ", state->rounds, state->rounds == 1 ? "" : "s");
    int64_t before = sum_dmas(facts->func, facts->target).cycles;
    if (why)
        write_format(log, "%s\n", why);
    else
        write_format(log, "%" PRId64 " cycles\n", saturating_sub(state_cycles(state), before));
}

void report_joined(const Facts *facts, uint32_t copies, Writer *log) {
    if (!facts->named) return;
    write_str(log, facts->func->name);
    write_format(log, ":   tried with %u cop%s joined:\n", copies, copies == 1 ? "y" : "ies");
}

void report_rest(const Facts *facts, Writer *log) {
    if (facts->named) LOG(log, facts->func, "  tried again without what it leaves out:");
}

/* [tensors of the facts] blocks that leave of what still has its own declaration. */
static int64_t *count_leaving(const Reported *result, Arena *scratch) {
    const Rewritten *current = result->code;
    int64_t *count = NEW_ARRAY(scratch, int64_t, result->facts->func->ntensors);
    Leaving leaving = leaving_blocks(current->func, scratch);
    for (uint32_t t = 0; t < current->func->ntensors; t++) {
        if (current->role[t] != ROLE_KEPT && current->role[t] != ROLE_PART) continue;
        int64_t *most = &count[current->origin[t]];
        if (leaving.all[t] > *most) *most = leaving.all[t];
    }
    return count;
}

int64_t *count_spilled(const Reported *result, Arena *scratch) {
    const Rewritten *current = result->code;
    const Func *func = current->func;
    int64_t *spilled = NEW_ARRAY(scratch, int64_t, result->facts->func->ntensors);
    const int64_t *leaving = count_leaving(result, scratch);
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = 0; current->origin_inst[i] == INSERTED && o < inst->ndst + inst->nsrc;
             o++) {
            uint32_t t = inst->operands[o].tensor, origin = current->origin[t];
            int64_t all = result->facts->func->tensors[origin].blocks;
            bool copy = current->role[t] == ROLE_COPY || current->role[t] == ROLE_PART;
            int64_t blocks = current->role[t] == ROLE_HOME ? 0 : leaving[origin];
            if (copy && leaving[origin] == 0) blocks = all;
            if (spilled[origin] < blocks) spilled[origin] = blocks;
        }
    }
    return spilled;
}

/* Reads of the input that spilled tensors serve. */
static uint32_t count_reads(const Reported *result, const int64_t *spilled) {
    const Plan *plan = result->plan;
    uint32_t reads = 0;
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        for (uint32_t a = plan->first[t]; spilled[t] && a < plan->first[t + 1]; a++)
            reads += plan->accesses[a].reads;
    return reads;
}

static DmaSum sum_inserted(const Reported *result) {
    const Func *func = result->code->func;
    DmaSum sum = {0};
    for (uint32_t p = 0; p < func->ninsts; p++)
        if (result->code->origin_inst[p] == INSERTED)
            add_dmas(&sum, sum_dma(func, &func->insts[p], result->facts->target));
    return sum;
}

/* Of sums that are too large to count the difference tells nothing: what was inserted is told. */
static void count_dmas(const Reported *result, Report *report) {
    const Facts *facts = result->facts;
    DmaSum before = sum_dmas(result->input, facts->target);
    DmaSum after = sum_dmas(result->code->func, facts->target);
    report->saves = after.saves > before.saves ? after.saves - before.saves : 0;
    report->reloads = after.reloads > before.reloads ? after.reloads - before.reloads : 0;
    report->saves_run = saturating_sub(after.saves_run, before.saves_run);
    report->reloads_run = saturating_sub(after.reloads_run, before.reloads_run);
    DmaSum own = {0};
    bool countless = after.cycles == INT64_MAX || after.bytes == INT64_MAX;
    if (countless) own = sum_inserted(result);
    report->spill_cycles =
        after.cycles == INT64_MAX ? own.cycles : saturating_sub(after.cycles, before.cycles);
    report->dma_bytes =
        after.bytes == INT64_MAX ? own.bytes : saturating_sub(after.bytes, before.bytes);
}

void report_result(const Reported *result, Report *report) {
    const Facts *facts = result->facts;
    Arena scratch;
    arena_init(&scratch);
    const int64_t *spilled = count_spilled(result, &scratch);
    report->usable_bytes = target_usable(facts->target);
    report->high_water = high_water(result->code->func);
    for (uint32_t t = 0; t < facts->func->ntensors; t++) {
        if (!spilled[t]) continue;
        report->spilled_tensors++;
        report->spilled_bytes_per_partition += facts->func->tensors[t].bytes * spilled[t];
    }
    count_dmas(result, report);
    report->spilled_reads = count_reads(result, spilled);
    if (report->spilled_reads > report->reloads)
        report->reloads_removed = report->spilled_reads - report->reloads;
    arena_free(&scratch);
}

/* Tensors that lose some of their blocks only. */
static void log_leaving(const Reported *result, Writer *log) {
    Arena scratch;
    arena_init(&scratch);
    const Func *func = result->code->func;
    Leaving leaving = leaving_blocks(func, &scratch);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        uint8_t role = result->code->role[t];
        if (leaving.all[t] == 0 || (role != ROLE_KEPT && role != ROLE_PART)) continue;
        Str name = func->tensors[t].name;
        if (func->tensors[t].blocks == 1)
            LOG(log, result->facts->func, "  %.*s leaves SB at times", (int)name.length, name.text);
        else
            LOG(log, result->facts->func,
                "  %.*s: %" PRId64 " of its %" PRId64 " blocks leave SB at times", (int)name.length,
                name.text, leaving.all[t], func->tensors[t].blocks);
    }
    arena_free(&scratch);
}

/* What spilling costs, and how near that is to the least. */
static void log_cost(const Func *func, const Report *report, Writer *log) {
    int64_t cycles = report->spill_cycles, bound = report->bound_cycles;
    write_str(log, func->name);
    write_format(log, ":   spilling from SB cost about %" PRId64 " cycles", cycles);
    if (report_is_proved(report) && cycles > 0)
        write_format(log, ", the least there is");
    else if (report->bounded && cycles > bound)
        write_format(log, ", at least %" PRId64, bound);
    if (report->bounded && bound > 0 && cycles > bound)
        write_format(log, " (%.1f %% above the bound)",
                     100 * ((double)cycles - (double)bound) / (double)bound);
    write_char(log, '\n');
}

void report_end(const Reported *result, const Report *report, Writer *log) {
    const Func *func = result->facts->func;
    log_cost(func, report, log);
    LOG(log, func, "  no more spills");
    if (result->kept)
        LOG(log, func, "  earlier places: %u, kept = %u", result->kept->known, result->kept->kept);
    LOG(log, func, "  strategy: %s", report->strategy);
    LOG(log, func, "  Number of iterations in SB spills do loop: %u", report->iterations);
    LOG(log, func, "  number of tensors spilled from SB = %u", report->spilled_tensors);
    LOG(log, func, "  total size of spilled tensors = %" PRId64 " bytes/partition",
        report->spilled_bytes_per_partition);
    log_leaving(result, log);
    LOG(log, func, "  potential redundant reloads = %u, erased = %u", report->spilled_reads,
        report->reloads_removed);
    LOG(log, func, "  DRAM spill space = %" PRId64 " bytes, aligned %" PRId64,
        report->dram_spill_bytes, (report->dram_spill_bytes + 63) / 64 * 64);
}

static void report_peak(const Func *func, const char *what, TextLines lines, Writer *log) {
    for (uint32_t i = 0; i < lines.count; i++) {
        Str line = lines.items[i];
        LOG(log, func, "  %s%.*s", i == 0 ? what : "", (int)line.length, line.text);
    }
}

void write_next_best(const SpilledTensor *one, const char *there, Writer *out) {
    write_format(out, "%s it costs %" PRId64 " cycles, ", there, one->here);
    if (one->next.length == 0) {
        write_text(out, "and no other tensor could leave instead");
        return;
    }
    write_text(out, "the next best choice, ");
    if (one->next_of > 1)
        write_format(out, "%" PRId64 " block%s of ", one->next_blocks,
                     one->next_blocks == 1 ? "" : "s");
    write_char(out, '%');
    write_str(out, one->next);
    if (one->next_cycles < one->here)
        write_format(out,
                     ", would cost only %" PRId64 " there, but no cheaper result with it was found",
                     one->next_cycles);
    else
        write_format(out, ", would cost %" PRId64, one->next_cycles);
}

static void report_spilled(const Func *func, const SpilledTensor *one, const Source *source,
                           Writer *log) {
    write_str(log, func->name);
    write_text(log, ":   spilled %");
    write_str(log, one->name);
    write_format(log,
                 ": %" PRId64 " of %" PRId64 " block%s, %" PRId64 " save%s and %" PRId64
                 " reload%s run, %" PRId64 " cycles, ",
                 one->blocks, one->of, one->of == 1 ? "" : "s", one->saves_run,
                 one->saves_run == 1 ? "" : "s", one->reloads_run, one->reloads_run == 1 ? "" : "s",
                 one->cycles);
    if (one->loads_gone > 0)
        write_format(log, "less %" PRId64 " of its loads that run no more, ", one->loads_gone);
    write_text(log, "for ");
    write_moment_in_full(func, source, one->forced, log);
    write_format(log, ", where %" PRId64 " bytes/partition would be needed", one->needed);
    if (one->priced) {
        write_text(log, "; ");
        write_next_best(one, "there", log);
    }
    write_char(log, '\n');
}

/* Loads of what was not spilled: with them the cycles add up. */
static void report_gone(const Func *func, const Report *report, Writer *log) {
    int64_t rest = report->loads_gone;
    for (uint32_t i = 0; i < report->nspilled; i++)
        rest -= report->spilled[i].loads_gone;
    if (rest > 0)
        LOG(log, func, "  loads of other tensors run no more: %" PRId64 " cycles less", rest);
}

void report_peaks(const Func *func, const Source *source, const Report *report, Writer *log) {
    const Peak *before = report->peak_before, *after = report->peak_after;
    for (uint32_t i = 0; i < report->nspilled; i++)
        report_spilled(func, &report->spilled[i], source, log);
    report_gone(func, report, log);
    Arena scratch;
    arena_init(&scratch);
    if (before && before != after)
        report_peak(func, "peak before spilling: ", peak_lines(before, source, &scratch), log);
    if (after)
        report_peak(func, before == after ? "peak: " : "peak after spilling: ",
                    peak_lines(after, source, &scratch), log);
    arena_free(&scratch);
}
