#include "driver/allocate.h"

#include <math.h>
#include <string.h>

#include "analysis/partners.h"
#include "analysis/split.h"
#include "driver/demand.h"
#include "driver/explain.h"
#include "driver/finish.h"
#include "driver/fixed.h"
#include "driver/impossible.h"
#include "driver/rounds.h"
#include "place/recolour.h"
#include "spill/homes.h"
#include "spill/lastresort.h"
#include "spill/legalize.h"
#include "support/clock.h"
#include "verify/verify.h"

/* ---- failure ---- */

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

/* ---- result ---- */

static KeepOptions keep_options(const Job *job) {
    return (KeepOptions){
        .options = job->options, .target = job->target, .earlier = &job->earlier, .placed = true};
}

/* The last step: what has places now goes back to those of an earlier allocation, as far as it can.
 * Requires names of copies. */
static void go_back_to_earlier(Job *job) {
    Arena memory;
    arena_init(&memory);
    Round round;
    analyse_round(&job->current, &job->plan, job->target, job->options, &memory, &round);
    KeepOptions options = keep_options(job);
    if (keep_places(&options, &memory, &round, &job->kept)) {
        set_places(job, &round);
        job->result.report.coalesced = round.coalesced;
    }
    arena_free(&memory);
}

static void finish(Job *job) {
    double begin = clock_now();
    Report *report = &job->result.report;
    Arena scratch;
    arena_init(&scratch);
    legalize(&job->current, job->names, job->arena);
    report->dram_spill_bytes = place_homes(&job->current, &scratch);
    if (job->options->emit == EMIT_SPILLED) {
        for (uint32_t t = 0; t < job->current.func->ntensors; t++)
            if (!job->current.func->tensors[t].fixed) job->current.func->tensors[t].at = NULL;
    } else {
        if (job->options->coalesce && !job->settled)
            report->coalesced += recolour(job->current.func, &scratch);
        if (job->earlier.func && !job->settled) go_back_to_earlier(job);
        mark_copies(job->current.func, job->arena);
    }
    arena_free(&scratch);
    report_result(job);
    if (job->options->emit != EMIT_SPILLED)
        mark_header(job->current.func, report->spilled_tensors > 0, job->arena);
    report->seconds.spill += clock_now() - begin;
}

static bool judge(Job *job) {
    double begin = clock_now();
    VerifyOptions options = {.placed = job->options->emit != EMIT_SPILLED};
    bool good = !job->options->verify ||
                verify(job->input, job->current.func, job->target, options, job->diags);
    job->result.report.seconds.verify += clock_now() - begin;
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

uint32_t touched_size(const Job *job) {
    return target_touched(job->target);
}

/* Everything the rounds need. False where some instruction cannot run whatever is spilled. */
static bool prepare(Job *job) {
    double begin = clock_now();
    split_input(job);
    job->earlier = earlier_find(job->options->previous, job->func->name, job->arena);
    if (job->options->previous && !job->earlier.func)
        diag_warning(job->diags, job->func->span,
                     "the earlier allocation has no function of this name");
    job->apart = NEW_ARRAY(job->arena, bool, job->func->ninsts);
    job->plan = plan_make(job->func, job->arena);
    job->sources = sources_make(&job->plan, job->arena);
    uint32_t bad = impossible_instruction(&job->plan, &job->result.live, touched_size(job));
    if (bad != UINT32_MAX) {
        tell_impossible(job, bad, true);
        return false;
    }
    job->ranges = live_as_coloured(job->func, &job->result.live, job->options, job->arena);
    job->relief = relief_make(job->func, &job->ranges, job->target, job->arena);
    job->result.report.seconds.analyse += clock_now() - begin;
    return true;
}

/* An input that says that it is placed is checked as it is. */
static AllocStatus check_placed(Job *job) {
    job->current = rewrite_nothing(job->func, &job->result.live, job->arena);
    job->plan = plan_make(job->func, job->arena);
    name_tensors(job, NULL);
    report_result(job);
    return judge(job) ? ALLOCATED : WRONG_INPUT;
}

static bool out_of_time(const Job *job) {
    return clock_now() - job->started > job->options->time_limit;
}

static AllocStatus tell_out_of_time(Job *job) {
    diag_error(job->diags, job->func->span, "out of time after %g seconds",
               job->options->time_limit);
    return NOT_ALLOCATED;
}

static AllocStatus run(Job *job) {
    double begin = clock_now();
    job->result.live = live_range(job->func, job->arena);
    report_begin(job);
    if (!check_fixed(job->func, &job->result.live, job->diags)) return WRONG_INPUT;
    job->result.report.seconds.analyse += clock_now() - begin;
    if (is_placed(job->func)) return check_placed(job);
    if (!prepare(job)) return NOT_ALLOCATED;
    bool placed = colour_to_fixpoint(job);
    if (out_of_time(job)) return tell_out_of_time(job);
    if (!placed && !take_last_resort(job)) return NOT_ALLOCATED;
    finish(job);
    return ALLOCATED;
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

/* One attempt, whose time counts from `started`. */
static Job make_job(const Func *func, const Target *target, const Options *options, double started,
                    Arena *arena, DiagQueue *diags) {
    Job job = {.input = func,
               .func = func,
               .target = target,
               .options = options,
               .arena = arena,
               .diags = diags,
               .size = target_granules(target),
               .started = started};
    job.result.func = func;
    writer_to_memory(&job.log);
    job.result.status = run(&job);
    Str log = {job.log.buffer, (uint32_t)job.log.length};
    job.result.log = (Str){arena_copy(arena, log.text, log.length), log.length};
    writer_free(&job.log);
    return job;
}

/* ---- attempts ---- */

/* Functions above these sizes are not tried by the rounds alone, or not at several efforts, unless
 * much effort is asked for: all together should take no longer than a person waits. */
enum { MANY_INSTRUCTIONS = 2000, TOO_MANY_INSTRUCTIONS = 6000, MUCH_EFFORT = 3 };

static bool is_tried_again(const Job *job, const Options *options, uint32_t most) {
    return job->func->ninsts <= most || options->effort >= MUCH_EFFORT;
}

/* Whether less effort may have done better: only where something was spilled or went wrong. */
static bool may_do_better(const Job *job) {
    const Report *report = &job->result.report;
    bool spilled = report->spill_cycles > 0 || report->last_resort;
    return job->options->emit != EMIT_PARSED &&
           (job->result.status == NOT_ALLOCATED || (job->result.status == ALLOCATED && spilled));
}

static bool is_better(const Job *one, const Job *other) {
    if (one->result.status != other->result.status) return one->result.status == ALLOCATED;
    if (one->result.status != ALLOCATED) return false;
    const Report *a = &one->result.report, *b = &other->result.report;
    if (a->last_resort != b->last_resort) return b->last_resort;
    return a->spill_cycles < b->spill_cycles;
}

static void keep_better(Job *best, Job *job) {
    Seconds one = best->result.report.seconds, other = job->result.report.seconds;
    if (is_better(job, best)) *best = *job;
    Seconds *both = &best->result.report.seconds;
    both->analyse = one.analyse + other.analyse;
    both->colour = one.colour + other.colour;
    both->spill = one.spill + other.spill;
    both->verify = one.verify + other.verify;
}

/* What an attempt has to say is heard only if it is chosen. */
static void attempt(Job *best, Options options) {
    if (!may_do_better(best) || out_of_time(best)) return;
    Options *own = NEW(best->arena, Options);
    *own = options;
    DiagQueue *diags = NEW(best->arena, DiagQueue);
    diag_init(diags, best->arena);
    Job job = make_job(best->input, best->target, own, best->started, best->arena, diags);
    keep_better(best, &job);
}

/* Where order decides what is cut: in loops, and in short code. Long straight code is decided by
 * the choice of gaps, whatever the order. */
static bool is_tried_in_other_orders(const Job *job) {
    enum { SHORT = 100, MANY = 1000 };
    return job->func->ninsts <= (job->func->nloops > 0 ? MANY : SHORT);
}

/* The same effort with the flat allocator's costs and order. */
static void try_flat(Job *best, Options options) {
    options.allocator = ALLOCATOR_FLAT;
    if (options.effort > 0 && is_tried_in_other_orders(best)) attempt(best, options);
}

/* The rounds alone, with every metric and both allocators: they take little, and what is spilled
 * first decides what is found. */
static void try_rounds_alone(Job *best, Options options) {
    enum { METRICS = 3 };
    options.effort = 0;
    options.refill = true;
    attempt(best, options);
    if (!is_tried_in_other_orders(best)) return;
    for (int i = 1; i < 2 * METRICS; i++) {
        options.metric = (options.metric + 1) % METRICS;
        if (i == METRICS) options.allocator = ALLOCATOR_FLAT;
        attempt(best, options);
    }
}

/* Attempts with less effort, the best of which counts: so more effort is never worse. */
static void try_less_effort(Job *best, Options options) {
    enum { FIRST = 2 };
    bool alone = is_tried_again(best, &options, MANY_INSTRUCTIONS);
    int effort = options.effort - 1 < FIRST ? options.effort - 1 : FIRST;
    for (; effort > 0; effort--) {
        options.effort = effort;
        attempt(best, options);
        try_flat(best, options);
    }
    if (alone) try_rounds_alone(best, options);
}

/* Effort 9: ever longer searches until nothing is spilled or time is short. They end early enough
 * for all that comes after a search, which takes about as long as the first run. */
static void try_more_effort(Job *best, Options options) {
    enum { FIRST = 3, LAST = 8, REST = 3 };
    double rest = REST * (clock_now() - best->started), limit = options.time_limit;
    options.time_limit = INFINITY;
    options.deadline = best->started + limit - rest;
    for (options.effort = FIRST; options.effort <= LAST && may_do_better(best); options.effort++) {
        if (clock_now() - best->started + rest > limit) {
            diag_warning(best->diags, best->input->span,
                         "the time is up: this is the best result found");
            return;
        }
        attempt(best, options);
    }
}

Allocation allocate(const Func *func, const Target *target, const Options *options, Arena *arena,
                    DiagQueue *diags) {
    enum { ANYTIME = 9, FIRST = 2 };
    Options first = *options;
    DiagQueue own;
    diag_init(&own, arena);
    if (options->effort == ANYTIME) {
        first.effort = FIRST;
        first.time_limit = INFINITY;
    }
    double started = clock_now();
    /* What is cut short by a deadline is out of time, so that no result depends on the clock. */
    if (isfinite(first.time_limit)) first.deadline = started + first.time_limit;
    Job job = make_job(func, target, &first, started, arena, &own);
    try_flat(&job, first);
    if (options->effort == ANYTIME) try_more_effort(&job, *options);
    if (options->effort > 0 && is_tried_again(&job, options, TOO_MANY_INSTRUCTIONS))
        try_less_effort(&job, first);
    if (job.result.status == ALLOCATED && out_of_time(&job))
        job.result.status = tell_out_of_time(&job);
    if (job.result.status == ALLOCATED && !is_placed(func) && !judge(&job))
        job.result.status = WRONG_RESULT;
    if (job.result.status == ALLOCATED) {
        double begin = clock_now();
        job.result.func = job.current.func;
        job.result.live =
            job.current.live ? *job.current.live : live_range(job.current.func, arena);
        if (options->explain) job.result.explanation = explain_job(&job);
        job.result.report.seconds.analyse += clock_now() - begin;
    }
    diag_append(diags, job.diags);
    job.result.report.seconds.total = clock_now() - started;
    return job.result;
}
