#include "driver/rounds.h"
#include "driver/job.h"
#include "driver/levels.h"
#include "ir/dma.h"
#include "support/clock.h"

enum { MOST_ROUNDS = 24, LONGEST_GRAPH = 1 << 28 };

/* Far over capacity the graph would be quadratic, and where spilling is sure it tells nothing that
 * the pressure does not: then it is not built. */
static bool is_worth_colouring(const Job *job, const Round *round) {
    if (round->pressure.peak <= touched_size(job)) return true;
    bool stubborn = job->relief.rounds >= PATIENT_ROUNDS;
    return round->meetings <= LONGEST_GRAPH && (job->options->effort == 0 || stubborn);
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

/* The first round: places of an earlier allocation, where nothing need be spilled for them. */
static bool keep_earlier(Job *job, Arena *memory, Round *round) {
    if (!job->earlier.func) return false;
    KeepOptions options = {
        .options = job->options, .target = job->target, .earlier = &job->earlier};
    job->settled = keep_places(&options, memory, round, &job->kept);
    return job->settled;
}

/* Partners share a place before anything is spilled, or where all else has failed; in between, room
 * for the values comes first (see recolour()). */
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

/* Past the limit of reloads every copy that spilling makes serves one access only. */
static bool turn_optimizations_off(Job *job) {
    DmaSum sum = sum_dmas(job->current.func, job->target);
    if (job->minimal || sum.reloads <= job->options->max_reloads) return false;
    job->minimal = true;
    diag_warning(job->diags, job->func->span,
                 "too many spills required, turning optimizations off");
    for (uint32_t t = 0; t < job->func->ntensors; t++)
        if (job->plan.spilled[t] && job->plan.spillable[t]) plan_cut_all(&job->plan, t);
    return true;
}

/* What is cut next. False where nothing is left to cut. */
static bool spill_more(Job *job, Round *round) {
    if (job->minimal) return cut_for_good(&job->plan, &job->current, round);
    return relieve(&job->relief, &job->plan, &job->sources, &job->current, round, job->options);
}

/* One round from rewriting to places, with its times noted. */
static bool colour_once(Job *job, bool first, Arena *memory, Round *round) {
    double begin = clock_now();
    rewrite_current(job);
    double rewritten = clock_now();
    analyse_round(&job->current, &job->plan, job->target, job->options, memory, round);
    double analysed = clock_now();
    if (!first || !keep_earlier(job, memory, round)) colour(job, memory, round);
    report_round(job, round);
    job->result.report.seconds.spill += rewritten - begin;
    job->result.report.seconds.analyse += analysed - rewritten;
    job->result.report.seconds.colour += clock_now() - analysed;
    return round->placed;
}

bool colour_to_fixpoint(Job *job) {
    bool placed = false, more = true;
    for (uint32_t count = 0; !placed && more && count < MOST_ROUNDS; count++) {
        Arena memory;
        arena_init(&memory);
        Round round;
        placed = colour_once(job, count == 0, &memory, &round);
        double coloured = clock_now();
        if (placed) take_places(job, &round);
        if (!placed && count == 0 && job->options->effort >= 1)
            placed = spill_at_levels(job, &memory, &round);
        if (placed && turn_optimizations_off(job))
            placed = false;
        else if (!placed)
            more =
                spill_more(job, &round) && clock_now() - job->started <= job->options->time_limit;
        job->result.report.seconds.spill += clock_now() - coloured;
        arena_free(&memory);
    }
    return placed;
}
