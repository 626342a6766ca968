#include <inttypes.h>
#include <math.h>

#include "driver/finish.h"
#include "driver/job.h"
#include "ir/dma.h"
#include "support/checked.h"

/* A line of the report, after the name of the function. */
#define LOG(job, ...)                                                                              \
    do {                                                                                           \
        if ((job)->options->verbose) {                                                             \
            write_str(&(job)->log, (job)->func->name);                                             \
            write_format(&(job)->log, ": " __VA_ARGS__);                                           \
            write_char(&(job)->log, '\n');                                                         \
        }                                                                                          \
    } while (0)

void report_begin(Job *job) {
    LOG(job, "allocating SB");
    LOG(job, "  linearize and check");
}

static void log_failed(Job *job, const Round *round) {
    for (uint32_t i = 0; job->options->verbose && i < round->placement.nfailed; i++) {
        const Node *node = &round->nodes.items[round->placement.failed[i]];
        if (!isinf(node->cost)) continue;
        Str name = job->current.func->tensors[node->tensor].name;
        LOG(job, "  infinite node %.*s", (int)name.length, name.text);
    }
}

/* Where the graph was not needed it is built for its figures alone, if it is not too large: then
 * pairs of intervals that meet stand for edges, and the degree is left open. */
static void note_graph(Report *report, const Round *round) {
    enum { LARGEST = 1 << 22 };
    Graph graph = round->graph;
    Arena scratch;
    arena_init(&scratch);
    if (!graph.of && round->meetings <= LARGEST) graph = build(&round->nodes, &scratch);
    report->edges = graph.of ? graph.edges : round->meetings;
    report->max_degree = graph.max_degree;
    arena_free(&scratch);
}

void report_round(Job *job, const Round *round) {
    Report *report = &job->result.report;
    if (report->iterations++ == 0) {
        report->tensors = round->nodes.count;
        note_graph(report, round);
        report->high_water_before = (int64_t)round->pressure.peak * GRANULE;
    }
    LOG(job, "  renumber locations: %u tensors", round->nodes.count);
    LOG(job, "  find partners: %u accumulation group%s", round->groups,
        round->groups == 1 ? "" : "s");
    report->coalesced = round->coalesced;
    LOG(job, "  build interference graph: %" PRIu64 " edges",
        round->graph.of ? round->graph.edges : round->meetings);
    LOG(job, "  SB high-water mark = %" PRId64 " bytes", (int64_t)round->pressure.peak * GRANULE);
    if (!round->graph.of) return;
    LOG(job, "  simplify: lo = %u, hi = %u, inf = %u", round->stack.low, round->stack.high,
        round->stack.infinite);
    if (!round->placed) log_failed(job, round);
    LOG(job, "  SB score = %.0f (lower is better)", round->placed ? 0 : round->placement.score);
}

/* [tensors of the plan] those with spill code: a value that only changes its place while nothing is
 * in it is not spilled. */
static bool *find_spilled(const Job *job, Arena *scratch) {
    const Rewritten *current = &job->current;
    const Func *func = current->func;
    bool *spilled = NEW_ARRAY(scratch, bool, job->func->ntensors);
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            uint32_t t = inst->operands[o].tensor;
            if (current->origin_inst[i] == INSERTED && current->role[t] != ROLE_KEPT)
                spilled[current->origin[t]] = true;
        }
    }
    return spilled;
}

void report_result(Job *job) {
    Report *report = &job->result.report;
    const Func *func = job->current.func;
    DmaSum before = sum_dmas(job->input, job->target), after = sum_dmas(func, job->target);
    report->instructions = job->func->ninsts;
    report->usable_bytes = target_usable(job->target);
    report->saves = after.saves - before.saves;
    report->reloads = after.reloads - before.reloads;
    report->spill_cycles = saturating_sub(after.cycles, before.cycles);
    report->dma_bytes = saturating_sub(after.bytes, before.bytes);
    report->high_water = high_water(func);
    uint32_t accesses = 0;
    Arena scratch;
    arena_init(&scratch);
    const bool *spilled = find_spilled(job, &scratch);
    for (uint32_t t = 0; t < job->func->ntensors; t++) {
        if (!spilled[t]) continue;
        const Tensor *tensor = &job->func->tensors[t];
        report->spilled_tensors++;
        report->spilled_bytes_per_partition += tensor->bytes * tensor->blocks;
        for (uint32_t a = job->plan.first[t]; a < job->plan.first[t + 1]; a++)
            accesses += job->plan.accesses[a].reads;
    }
    arena_free(&scratch);
    report->reloads_removed = accesses > report->reloads ? accesses - report->reloads : 0;
    LOG(job, "  spilling from SB cost about %" PRId64 " cycles", report->spill_cycles);
    LOG(job, "  no more spills");
    if (job->earlier.func)
        LOG(job, "  earlier places: %u, kept = %u", job->kept.known, job->kept.kept);
    LOG(job, "  Number of iterations in SB spills do loop: %u", report->iterations);
    LOG(job, "  number of tensors spilled from SB = %u", report->spilled_tensors);
    LOG(job, "  total size of spilled tensors = %" PRId64 " bytes/partition",
        report->spilled_bytes_per_partition);
    LOG(job, "  potential redundant reloads = %u, erased = %u", accesses, report->reloads_removed);
    LOG(job, "  DRAM spill space = %" PRId64 " bytes, aligned %" PRId64, report->dram_spill_bytes,
        (report->dram_spill_bytes + 63) / 64 * 64);
}
