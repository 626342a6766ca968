#include "driver/allocate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "analysis/partners.h"
#include "analysis/split.h"
#include "driver/demand.h"
#include "driver/draw.h"
#include "driver/explain.h"
#include "driver/finish.h"
#include "driver/fixed.h"
#include "driver/impossible.h"
#include "driver/keep.h"
#include "driver/levels.h"
#include "driver/refill.h"
#include "driver/relieve.h"
#include "driver/round.h"
#include "driver/together.h"
#include "spill/homes.h"
#include "spill/lastresort.h"
#include "spill/legalize.h"
#include "support/checked.h"
#include "support/writer.h"
#include "verify/verify.h"

/* Everything one allocation works on. */
typedef struct {
    const Func *input;
    const Func *func; /* the input with its webs apart; what is allocated */
    const Target *target;
    const Options *options;
    Arena *arena; /* of the function */
    DiagQueue *diags;
    Str *names;    /* [ntensors] the input's name of each tensor */
    uint32_t size; /* granules of the byte axis */
    bool *apart;   /* [ninsts] copies whose ends were found not to fit in one place */
    Plan plan;
    Sources sources;
    Live ranges; /* of func, as the allocator takes them */
    Relief relief;
    Rewritten current; /* the function with the plan carried out */
    Earlier earlier;   /* what to stay close to */
    KeepCount kept;    /* of its places */
    bool settled;      /* it was placed around them from the start */
    Writer log;
    double started;
    Allocation result;
} Job;

enum { MOST_ROUNDS = 24, LONGEST_GRAPH = 1 << 28 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- the report ---- */

#define LOG(job, ...)                                                                              \
    do {                                                                                           \
        if ((job)->options->verbose) {                                                             \
            write_str(&(job)->log, (job)->func->name);                                             \
            write_format(&(job)->log, ": " __VA_ARGS__);                                           \
            write_char(&(job)->log, '\n');                                                         \
        }                                                                                          \
    } while (0)

static void log_failed(Job *job, const Round *round) {
    for (uint32_t i = 0; job->options->verbose && i < round->placement.nfailed; i++) {
        const Node *node = &round->nodes.items[round->placement.failed[i]];
        if (!isinf(node->cost)) continue;
        Str name = job->current.func->tensors[node->tensor].name;
        LOG(job, "  infinite node %.*s", (int)name.length, name.text);
    }
}

static void note_round(Job *job, const Round *round) {
    Report *report = &job->result.report;
    if (report->iterations++ == 0) {
        report->tensors = round->nodes.count;
        report->edges = round->graph.first ? round->graph.edges : round->meetings;
        report->max_degree = round->graph.max_degree;
        report->high_water_before = (int64_t)round->pressure.peak * GRANULE;
    }
    LOG(job, "  renumber locations: %u tensors", round->nodes.count);
    LOG(job, "  find partners: %u accumulation group%s", round->groups,
        round->groups == 1 ? "" : "s");
    report->coalesced = round->coalesced;
    LOG(job, "  build interference graph: %" PRIu64 " edges",
        round->graph.first ? round->graph.edges : round->meetings);
    LOG(job, "  SB high-water mark = %" PRId64 " bytes", (int64_t)round->pressure.peak * GRANULE);
    if (!round->graph.first) return;
    LOG(job, "  simplify: lo = %u, hi = %u, inf = %u", round->stack.low, round->stack.high,
        round->stack.infinite);
    if (!round->placed) log_failed(job, round);
    LOG(job, "  SB score = %.0f (lower is better)", round->placed ? 0 : round->placement.score);
}

static void sum_up(Job *job) {
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
    for (uint32_t t = 0; t < job->func->ntensors; t++) {
        if (!job->plan.spilled[t]) continue;
        const Tensor *tensor = &job->func->tensors[t];
        report->spilled_tensors++;
        report->spilled_bytes_per_partition += tensor->bytes * tensor->blocks;
        for (uint32_t a = job->plan.first[t]; a < job->plan.first[t + 1]; a++)
            accesses += job->plan.accesses[a].reads;
    }
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

/* ---- rounds ---- */

/* The input as it stands, as a rewrite that changed nothing; its arrays are copied so that places
 * and marks can be set. */
static Rewritten unchanged(const Func *func, Arena *arena) {
    Rewritten same = {.func = NEW(arena, Func),
                      .origin = RAW_ARRAY(arena, uint32_t, func->ntensors),
                      .role = NEW_ARRAY(arena, uint8_t, func->ntensors),
                      .first_access = NEW_ARRAY(arena, uint32_t, func->ntensors),
                      .end_access = NEW_ARRAY(arena, uint32_t, func->ntensors),
                      .origin_inst = RAW_ARRAY(arena, uint32_t, func->ninsts)};
    *same.func = *func;
    same.func->tensors = RAW_ARRAY(arena, Tensor, func->ntensors);
    if (func->ntensors) memcpy(same.func->tensors, func->tensors, func->ntensors * sizeof(Tensor));
    same.func->insts = RAW_ARRAY(arena, Inst, func->ninsts);
    if (func->ninsts) memcpy(same.func->insts, func->insts, func->ninsts * sizeof(Inst));
    for (uint32_t t = 0; t < func->ntensors; t++)
        same.origin[t] = t;
    for (uint32_t i = 0; i < func->ninsts; i++)
        same.origin_inst[i] = i;
    return same;
}

static bool any_spilled(const Plan *plan) {
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spilled[t]) return true;
    return false;
}

static void rewrite_current(Job *job, Arena *arena) {
    job->current = any_spilled(&job->plan)
                       ? rewrite(&job->plan, &job->sources,
                                 (RewriteOptions){.remat = job->options->remat}, arena)
                       : unchanged(job->func, arena);
    if (job->options->verbose) legalize(&job->current, job->names, arena);
}

static void set_places(Job *job, const Round *round) {
    for (uint32_t n = 0; n < round->nodes.count; n++) {
        const Node *node = &round->nodes.items[n];
        Tensor *tensor = &job->current.func->tensors[node->tensor];
        if (node->fixed) continue;
        Place *places = RAW_ARRAY(job->arena, Place, node->blocks);
        for (uint32_t b = 0; b < node->blocks; b++) {
            Rect rect = round->placement.rects[n][b];
            places[b] = place_at(rect.low, rect.mask);
        }
        tensor->at = places;
    }
}

static void keep_costs(Job *job, const Round *round) {
    double *costs = RAW_ARRAY(job->arena, double, job->current.func->ntensors);
    for (uint32_t t = 0; t < job->current.func->ntensors; t++)
        costs[t] =
            round->nodes.of[t] == NO_NODE ? INFINITY : round->nodes.items[round->nodes.of[t]].cost;
    job->result.cost = costs;
}

/* Far over capacity the graph would be quadratic, and where spilling is sure it tells nothing that
 * the pressure does not: then it is not built. */
static bool is_worth_colouring(const Job *job, const Round *round) {
    if (round->pressure.peak <= job->size) return true;
    bool stubborn = job->relief.rounds >= PATIENT_ROUNDS;
    return round->meetings <= LONGEST_GRAPH && (job->options->effort == 0 || stubborn);
}

/* Plans are changed in place; this is how one is kept to come back to. */
typedef struct {
    PlanAccess *accesses;
    bool *spilled;
} SavedPlan;

static SavedPlan save_plan(const Plan *plan, Arena *arena) {
    uint32_t naccesses = plan->first[plan->func->ntensors], ntensors = plan->func->ntensors;
    SavedPlan saved = {RAW_ARRAY(arena, PlanAccess, naccesses), RAW_ARRAY(arena, bool, ntensors)};
    memcpy(saved.accesses, plan->accesses, naccesses * sizeof(PlanAccess));
    memcpy(saved.spilled, plan->spilled, ntensors * sizeof(bool));
    return saved;
}

static void restore_plan(Plan *plan, const SavedPlan *saved) {
    uint32_t ntensors = plan->func->ntensors;
    memcpy(plan->accesses, saved->accesses, plan->first[ntensors] * sizeof(PlanAccess));
    memcpy(plan->spilled, saved->spilled, ntensors * sizeof(bool));
}

/* The function as the refilled plan makes it, if it is right: no two places meet while both live,
 * and it costs less. */
static bool try_refilled(Job *job, const Carry *decided, Arena *memory) {
    Rewritten before = job->current;
    int64_t cycles = sum_dmas(before.func, job->target).cycles;
    rewrite_current(job, job->arena);
    Round round;
    analyse_round(&job->current, &job->plan, job->target, job->options, memory, &round);
    DiagQueue unheard;
    diag_init(&unheard, memory);
    round.graph = build(&round.nodes, memory);
    carry_places(decided, &job->current, &round, memory);
    bool good = round.placed && sum_dmas(job->current.func, job->target).cycles < cycles;
    if (good) {
        set_places(job, &round);
        keep_costs(job, &round);
        good = check_fixed(job->current.func, &round.live, &unheard);
    }
    if (!good) job->current = before;
    return good;
}

/* Takes back what cuts it can, now that everything has a place. */
static void refill_cuts(Job *job, const Round *round) {
    Arena memory;
    arena_init(&memory);
    SavedPlan saved = save_plan(&job->plan, &memory);
    uint32_t joined;
    Carry decided =
        refill(&job->plan, &job->current, round, job->target, job->size, &memory, &joined);
    const double *costs = job->result.cost;
    if (joined == 0 || !try_refilled(job, &decided, &memory)) {
        restore_plan(&job->plan, &saved);
        job->result.cost = costs;
    }
    arena_free(&memory);
}

static void take_places(Job *job, const Round *round) {
    set_places(job, round);
    keep_costs(job, round);
    bool refillable = job->options->effort >= 1 && job->options->reload_elim;
    if (refillable && round->graph.first && any_spilled(&job->plan)) refill_cuts(job, round);
}

/* From effort 1 on: gaps compete at once, and places follow. Where that fails the plan is as
 * before. */
static bool spill_at_levels(Job *job, Arena *memory, Round *round) {
    Round other = *round;
    Levels levels = {.plan = &job->plan,
                     .sources = &job->sources,
                     .relief = &job->relief,
                     .target = job->target,
                     .options = job->options,
                     .current = &job->current,
                     .round = &other,
                     .arena = job->arena,
                     .memory = memory};
    bool placed = spill_by_levels(&levels);
    job->result.report.iterations += levels.rounds;
    if (placed) take_places(job, &other);
    return placed;
}

static KeepOptions keep_options(const Job *job, bool placed) {
    return (KeepOptions){
        .options = job->options, .target = job->target, .earlier = &job->earlier, .placed = placed};
}

/* The first round: places of an earlier allocation, where nothing need be spilled for them. */
static bool keep_earlier(Job *job, Arena *memory, Round *round) {
    if (!job->earlier.func) return false;
    KeepOptions options = keep_options(job, false);
    job->settled = keep_places(&options, memory, round, &job->kept);
    return job->settled;
}

/* The last step: what has places now goes back to those of an earlier allocation, as far as it can.
 * Requires names of copies. */
static void go_back_to_earlier(Job *job) {
    Arena memory;
    arena_init(&memory);
    Round round;
    analyse_round(&job->current, &job->plan, job->target, job->options, &memory, &round);
    KeepOptions options = keep_options(job, true);
    if (keep_places(&options, &memory, &round, &job->kept)) {
        set_places(job, &round);
        job->result.report.coalesced = round.coalesced;
    }
    arena_free(&memory);
}

/* Partners share a place before anything is spilled, or where all else has failed; in between, room
 * for the values comes first (see draw_together()). */
static void colour(Job *job, Arena *memory, Round *round) {
    const Options *options = job->options;
    bool spilled = any_spilled(&job->plan), first = !spilled || options->effort == 0;
    if (options->coalesce && first &&
        colour_together(options, job->size, spilled, &job->current, job->apart, memory, round))
        return;
    if (is_worth_colouring(job, round)) colour_round(options, job->size, spilled, memory, round);
    if (options->coalesce && !first && !round->placed)
        colour_together(options, job->size, spilled, &job->current, job->apart, memory, round);
}

/* The seed's loop: colours, and while something has no place, spills more and tries again. */
static bool colour_to_fixpoint(Job *job) {
    for (uint32_t count = 0; count < MOST_ROUNDS; count++) {
        Arena memory;
        arena_init(&memory);
        Round round;
        double begin = now();
        rewrite_current(job, job->arena);
        double rewritten = now();
        analyse_round(&job->current, &job->plan, job->target, job->options, &memory, &round);
        double analysed = now();
        bool kept = count == 0 && keep_earlier(job, &memory, &round);
        if (!kept) colour(job, &memory, &round);
        note_round(job, &round);
        double coloured = now();
        if (round.placed) take_places(job, &round);
        bool settled = round.placed;
        if (!settled && count == 0 && job->options->effort >= 1)
            settled = spill_at_levels(job, &memory, &round);
        bool more = !settled && relieve(&job->relief, &job->plan, &job->sources, &job->current,
                                        &round, job->options);
        job->result.report.seconds.spill += rewritten - begin + (now() - coloured);
        job->result.report.seconds.analyse += analysed - rewritten;
        job->result.report.seconds.colour += coloured - analysed;
        arena_free(&memory);
        if (settled) return true;
        if (!more || now() - job->started > job->options->time_limit) return false;
    }
    return false;
}

/* In the input's own names: its instructions are numbered alike. */
static void tell_impossible(Job *job, uint32_t inst, bool proved) {
    Live live = live_range(job->input, job->arena);
    report_impossible(job->input, &live, job->target, inst, proved, job->diags);
}

static bool take_last_resort(Job *job) {
    LastResort outcome =
        last_resort(&job->plan, &job->sources, job->target, job->arena, &job->current);
    job->result.report.last_resort = true;
    bool shared = !outcome.placed && outcome.inst != ENTRY &&
                  copy_is_elidable(job->func, &job->func->insts[outcome.inst]);
    if (!outcome.placed) tell_impossible(job, outcome.inst, outcome.proved && !shared);
    return outcome.placed;
}

/* ---- the whole ---- */

static void finish(Job *job) {
    double begin = now();
    Report *report = &job->result.report;
    Arena scratch;
    arena_init(&scratch);
    legalize(&job->current, job->names, job->arena);
    if (job->earlier.func && !job->settled) go_back_to_earlier(job);
    report->dram_spill_bytes = place_homes(&job->current, &scratch);
    bool spilled = any_spilled(&job->plan);
    if (job->options->emit == EMIT_SPILLED) {
        for (uint32_t t = 0; t < job->current.func->ntensors; t++)
            if (!job->current.func->tensors[t].fixed) job->current.func->tensors[t].at = NULL;
    } else {
        if (job->options->coalesce && !job->earlier.func)
            report->coalesced += draw_together(job->current.func, &scratch);
        mark_copies(job->current.func, job->arena);
        mark_header(job->current.func, spilled, job->arena);
    }
    arena_free(&scratch);
    sum_up(job);
    report->seconds.spill += now() - begin;
}

static bool judge(Job *job) {
    double begin = now();
    VerifyOptions options = {.placed = job->options->emit != EMIT_SPILLED};
    bool good = !job->options->verify ||
                verify(job->input, job->current.func, job->target, options, job->diags);
    job->result.report.seconds.verify += now() - begin;
    return good;
}

static void name_tensors(Job *job, const uint32_t *parent) {
    job->names = RAW_ARRAY(job->arena, Str, job->func->ntensors);
    for (uint32_t t = 0; t < job->func->ntensors; t++)
        job->names[t] = job->input->tensors[parent ? parent[t] : t].name;
}

/* Takes the webs of the input apart, if that is wanted. */
static void split_input(Job *job) {
    Split split = {.func = job->input};
    if (job->options->split) split = split_webs(job->input, job->arena);
    job->func = split.func;
    job->result.report.split = split.added;
    name_tensors(job, split.added ? split.parent : NULL);
    if (split.added) job->result.live = live_range(job->func, job->arena);
}

static AllocStatus run(Job *job) {
    double begin = now();
    job->result.live = live_range(job->func, job->arena);
    LOG(job, "allocating SB");
    LOG(job, "  linearize and check");
    if (!check_fixed(job->func, &job->result.live, job->diags)) return WRONG_INPUT;
    if (is_placed(job->func)) {
        job->current = unchanged(job->func, job->arena);
        job->plan = plan_make(job->func, job->arena);
        name_tensors(job, NULL);
        sum_up(job);
        return judge(job) ? ALLOCATED : WRONG_INPUT;
    }
    split_input(job);
    job->earlier = earlier_find(job->options->previous, job->func->name, job->arena);
    job->apart = NEW_ARRAY(job->arena, bool, job->func->ninsts);
    job->plan = plan_make(job->func, job->arena);
    job->sources = sources_make(&job->plan, job->arena);
    uint32_t bad = impossible_instruction(&job->plan, &job->result.live, job->size);
    job->result.report.seconds.analyse += now() - begin;
    if (bad != UINT32_MAX) {
        tell_impossible(job, bad, true);
        return NOT_ALLOCATED;
    }
    job->ranges = live_as_coloured(job->func, job->options, job->arena);
    job->relief = relief_make(job->func, &job->ranges, job->target, job->arena);
    if (!colour_to_fixpoint(job)) {
        if (now() - job->started > job->options->time_limit) {
            diag_error(job->diags, job->func->span, "out of time after %.0f seconds",
                       job->options->time_limit);
            return NOT_ALLOCATED;
        }
        if (!take_last_resort(job)) return NOT_ALLOCATED;
    }
    finish(job);
    return judge(job) ? ALLOCATED : WRONG_RESULT;
}

static Str explain_job(Job *job) {
    Explained about = {.options = job->options,
                       .target = job->target,
                       .func = job->func,
                       .names = job->names,
                       .earlier = &job->earlier,
                       .plan = &job->plan,
                       .result = &job->current,
                       .live = &job->result.live};
    return explain(&about, job->arena);
}

Allocation allocate(const Func *func, const Target *target, const Options *options, Arena *arena,
                    DiagQueue *diags) {
    Job job = {.input = func,
               .func = func,
               .target = target,
               .options = options,
               .arena = arena,
               .diags = diags,
               .size = (uint32_t)(target_usable(target) / GRANULE),
               .started = now()};
    writer_to_memory(&job.log);
    job.result.func = func;
    job.result.status = run(&job);
    if (job.result.status == ALLOCATED) {
        job.result.func = job.current.func;
        job.result.live = live_range(job.current.func, arena);
        if (options->explain) job.result.explanation = explain_job(&job);
    }
    Str log = {job.log.buffer, (uint32_t)job.log.length};
    job.result.log = (Str){arena_copy(arena, log.text, log.length), log.length};
    writer_free(&job.log);
    job.result.report.seconds.total = now() - job.started;
    return job.result;
}
