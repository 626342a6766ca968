#include "driver/allocate.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "analysis/appearance.h"
#include "analysis/split.h"
#include "driver/advice.h"
#include "driver/check_fixed.h"
#include "driver/explain.h"
#include "driver/failure.h"
#include "driver/feasible.h"
#include "driver/more_blocks.h"
#include "driver/replay.h"
#include "driver/report.h"
#include "driver/spilled.h"
#include "driver/stable.h"
#include "driver/strategy.h"
#include "ir/dma.h"
#include "ir/marks.h"
#include "place/recolour.h"
#include "spill/dead_loads.h"
#include "spill/dead_stores.h"
#include "spill/declare.h"
#include "spill/everywhere.h"
#include "spill/homes.h"
#include "spill/keep_unspilled.h"
#include "spill/names.h"
#include "spill/split_copies.h"
#include "spill/time/live_in_time.h"
#include "support/clock.h"
#include "verify/verify.h"

/* For the same bytes from every compiler each operation rounds to a double. */
#if FLT_EVAL_METHOD != 0
#error "Doubles are kept longer than they are: compile with -msse2 -mfpmath=sse"
#endif
#ifdef __FAST_MATH__
#error "-ffast-math changes what is chosen"
#endif

/* One allocation under way: what never changes, and what has been found. */
typedef struct {
    const Func *func; /* the input */
    const Func *base; /* what is allocated: that, or what is left of it: see search_rest() */
    const Target *target;
    const Options *options;
    Arena *arena; /* of the function */
    Arena search; /* of facts that are used as long as places are looked for */
    DiagQueue *diags;
    Facts facts;         /* of base */
    uint32_t nnames;     /* of facts.names: those of its tensors, then others that are taken */
    const Str *declared; /* [tensors of the facts] the name of each in base */
    Floor floor;
    Earlier earlier; /* what to stay close to */
    KeepCount kept;  /* of its places */
    Plan plan;       /* that the result carries out */
    Rewritten code;  /* the result */
    bool stable;     /* it was placed around the earlier places from the start */
    Writer log;
    Allocation result;
} Job;

/* ---- facts ---- */

static double started(const Job *job) {
    return job->result.report.seconds.total; /* until the end */
}

static const Str *name_tensors(const Func *func, const Split *split, Arena *arena) {
    Str *names = RAW_ARRAY(arena, Str, split->func->ntensors);
    for (uint32_t t = 0; t < split->func->ntensors; t++)
        names[t] = func->tensors[split->added ? split->parent[t] : t].name;
    return names;
}

/* The time so many seconds after the start; 0 for never. */
static double after(const Job *job, double seconds) {
    return isfinite(seconds) ? started(job) + seconds : 0;
}

/* When searches end. A run that is cut short fails as out of time, so that no result depends on the
 * clock. Effort 9 keeps its best, and stops a tenth early to leave time for the rest. */
static double find_deadline(const Job *job) {
    enum { ANYTIME = 9, PARTS = 10 };
    double limit = job->options->time_limit;
    return job->options->effort == ANYTIME ? after(job, limit - limit / PARTS) : after(job, limit);
}

/* Facts of what was made of `func`, and what the user asked for. */
static Facts make_facts(Job *job, const Func *func, const Split *split, const Live *live) {
    const Options *options = job->options;
    Facts facts = facts_make(split->func, live, job->target, job->arena, &job->search);
    facts.names = name_tensors(func, split, job->arena);
    facts.coalesce = options->coalesce;
    facts.remat = options->remat;
    facts.reload_elim = options->reload_elim;
    facts.split = options->split;
    facts.remat_reads = options->dma_optlevel > 4;
    facts.max_reloads = options->max_reloads;
    facts.seed = options->seed;
    facts.deadline = find_deadline(job);
    facts.must_fit = options->no_spill;
    facts.brief = options->brief;
    facts.named = options->verbose;
    return facts;
}

/* What is known of a function before anything is spilled. `live` are its ranges, `needed` is what
 * live_range_and_needs() has told. */
static Facts find_facts(Job *job, const Func *func, const Live *live, const bool *needed) {
    const bool *dead = find_dead_loads(func, live, needed, job->arena);
    AppearanceOrder ordered = order_by_appearance(func, live, job->arena);
    Split split = {.func = ordered.func};
    if (job->options->split) split = split_webs(ordered.func, dead, job->arena);
    Live own = split.added ? live_range(split.func, job->arena) : ordered.live;
    Facts facts = make_facts(job, ordered.func, &split, &own);
    facts.dead = dead;
    job->result.report.split += split.added;
    return facts;
}

static void analyse(Job *job, const Live *live, const bool *needed) {
    double begin = clock_now();
    job->facts = find_facts(job, job->func, live, needed);
    job->declared = job->facts.names;
    job->nnames = job->facts.func->ntensors;
    report_input(&job->facts, &job->result.report);
    job->result.report.seconds.analyse += clock_now() - begin;
}

/* ---- failure ---- */

static Subject subject_of(const Job *job) {
    return (Subject){.func = job->func,
                     .target = job->target,
                     .options = job->options,
                     .deadline = after(job, job->options->time_limit),
                     .diags = job->diags,
                     .arena = job->arena};
}

/* With --no-spill: something would have to leave. */
static AllocStatus tell_spilled(const Job *job, const Peak *peak) {
    assert(peak); /* something lives, or nothing would have to leave */
    Subject subject = subject_of(job);
    report_spilled_anyway(&subject, peak);
    return NOT_ALLOCATED;
}

static AllocStatus tell_infeasible(const Job *job, uint32_t inst, bool proved) {
    Subject subject = subject_of(job);
    report_failure(&subject, inst, proved);
    return NOT_ALLOCATED;
}

static bool has_spilled(const Job *job) {
    return job->options->no_spill && job->result.report.saves + job->result.report.reloads > 0;
}

/* At the instruction that has no placement, else where the last resort found none, which may count
 * too much. */
static AllocStatus tell_nowhere(const Job *job, Everywhere outcome) {
    uint32_t inst = impossible_instruction(&job->facts);
    if (inst != UINT32_MAX) return tell_infeasible(job, inst, true);
    bool proved = outcome.proved && !may_need_less(&job->facts, outcome.inst);
    return tell_infeasible(job, outcome.inst, proved);
}

static AllocStatus spill_everywhere(Job *job) {
    job->plan = plan_copy(&job->facts.plan, job->arena);
    Everywhere outcome =
        everywhere(&job->plan, &job->facts.sources, job->target, job->arena, &job->code);
    job->result.report.last_resort = true;
    job->result.report.strategy = "everywhere";
    return outcome.placed ? ALLOCATED : tell_nowhere(job, outcome);
}

static bool is_out_of_time(const Job *job) {
    return clock_now() - started(job) > job->options->time_limit;
}

static AllocStatus tell_out_of_time(Job *job) {
    diag_error(job->diags, job->func->span, "out of time after %g seconds",
               job->options->time_limit);
    return NOT_ALLOCATED;
}

/* ---- the result ---- */

/* What the winner has found becomes the result's. */
static void take(Job *job, State *best) {
    Report *report = &job->result.report;
    arena_adopt(job->arena, &best->memory);
    job->plan = best->plan;
    job->code = best->code;
    job->result.cost = best->cost;
    report->strategy = best->method.name;
    report->iterations = best->rounds;
    report->score = isinf(best->score) ? DBL_MAX : best->score; /* a number, in JSON too */
    report->coalesced = best->now.coalesced;
    report->seconds.analyse += best->seconds.analyse;
    report->seconds.colour += best->seconds.colour;
    report->seconds.spill += best->seconds.spill;
    if (best->minimal)
        diag_warning(job->diags, job->func->span,
                     "too many spills required, turning optimizations off");
    write_str(&job->log, (Str){best->log.buffer, (uint32_t)best->log.length});
    state_free(best);
}

static State *stable_state(const Job *job) {
    Method method = {.name = "stable", .place = PLACE_EVICT, .scale = 1, .length = 1};
    return state_make(&job->facts, method);
}

static KeepOptions keep_options(const Job *job, const State *state, bool placed) {
    return (KeepOptions){.coalesce = job->options->coalesce,
                         .placer = state_placer(state, true),
                         .size = job->facts.size,
                         .earlier = &job->earlier,
                         .placed = placed};
}

/* True if the earlier allocation moves less than the function does: it leaves out loads. */
static bool gained_earlier(const Job *job) {
    return sum_dmas(job->earlier.func, job->target).cycles <
           sum_dmas(job->func, job->target).cycles;
}

/* Places of the earlier allocation, where nothing need be spilled for them. */
static State *start_stable(Job *job) {
    if (!job->earlier.func || gained_earlier(job)) return NULL;
    State *state = stable_state(job);
    KeepOptions options = keep_options(job, state, false);
    rewrite_state(state);
    analyse_state(state);
    job->stable = keep_places(&options, &state->round_memory, &state->now, &job->kept);
    report_round(state);
    state->rounds = 1;
    if (job->stable) commit_places(state);
    if (!job->stable) state_free(state);
    return job->stable ? state : NULL;
}

/* The last step: what has places now goes back to those of an earlier allocation, as far as it can.
 * Requires names of copies. */
static void go_back_to_earlier(Job *job) {
    State *state = stable_state(job);
    state->code = job->code;
    state->plan = job->plan;
    KeepOptions options = keep_options(job, state, true);
    if (job->code.in_time) {
        keep_blocks(&options, job->arena, &job->code, &job->kept);
        state_free(state);
        return;
    }
    analyse_state(state);
    if (keep_places(&options, &state->round_memory, &state->now, &job->kept)) {
        commit_places(state);
        job->code = state->code;
        job->result.cost = state->cost;
        job->result.report.coalesced = state->now.coalesced;
    }
    arena_adopt(job->arena, &state->memory);
    state_free(state);
}

/* For --emit=spilled: what came without a place leaves without one. */
static void forget_places(Func *func) {
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (!func->tensors[t].fixed) func->tensors[t].at = NULL;
}

/* Copies that can be made to do nothing; earlier places; marks. */
static void settle_places(Job *job, Arena *scratch) {
    if (job->options->coalesce && !job->stable && !job->code.in_time)
        job->result.report.coalesced += recolour(job->code.func, scratch);
    if (job->earlier.func && !job->stable) go_back_to_earlier(job);
    mark_copies(job->code.func, job->arena);
}

static bool has_input_on_chip(const Func *func) {
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (func->tensors[t].space == SPACE_SB && func->tensors[t].input) return true;
    return false;
}

/* True for loads of what must stay, and of the first instruction beside an input, which are kept
 * though nothing may need them, and of several blocks, of which some may be all that is read. */
static bool loads_too_much(const Func *func, const Inst *inst) {
    if (inst->kind != OP_LOAD) return false;
    const Tensor *tensor = &func->tensors[inst_dst(inst)->tensor];
    BlockSpan span = operand_blocks(func, inst_dst(inst));
    return tensor_stays(tensor) || tensor->input || inst->accumulate || span.last > span.first ||
           (inst == func->insts && has_input_on_chip(func));
}

/* True if straight code is left as it is, but for loads that nothing needs: then nothing is
 * cheaper. Regions may be: parts of a load may be all that is read. */
static bool adds_nothing(const Job *job) {
    const Report *figures = &job->result.report;
    bool plain = job->func->nloops == 0 && figures->saves == 0 && figures->reloads == 0;
    for (uint32_t i = 0; plain && i < job->func->ninsts; i++) {
        const Inst *inst = &job->func->insts[i];
        plain &= !loads_too_much(job->func, inst);
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
            plain &= operand_is_whole(job->func, &inst->operands[o]);
    }
    return plain;
}

/* What any allocation costs at least. */
static void report_bound(Job *job) {
    Report *figures = &job->result.report;
    if (adds_nothing(job)) {
        figures->bounded = true;
        figures->bound_cycles = figures->spill_cycles;
        return;
    }
    job->result.bound = *floor_bound(&job->floor, figures->spill_cycles);
    figures->bounded = job->result.bound.known;
    figures->bound_cycles = job->result.bound.cycles;
}

static Reported reported_of(const Job *job) {
    return (Reported){.input = job->func,
                      .facts = &job->facts,
                      .code = &job->code,
                      .plan = &job->plan,
                      .kept = job->earlier.func ? &job->kept : NULL};
}

static void report(Job *job) {
    Reported reported = reported_of(job);
    report_result(&reported, &job->result.report);
    if (!is_placed(job->func) && !job->options->outcome_only) report_bound(job);
    if (job->options->verbose) report_end(&reported, &job->result.report, &job->log);
}

/* What was not spilled keeps its name; the rest has names of its own, those of an earlier
 * allocation where it stands for the same. */
static void give_names(Job *job, Arena *scratch) {
    keep_unspilled(&job->code, job->facts.func, job->declared, job->arena);
    name_added(&job->code, job->facts.names, job->nnames, NULL, job->arena);
    if (!job->earlier.func) return;
    const Str *wanted = earlier_names(&job->earlier, job->code.func, scratch);
    name_added(&job->code, job->facts.names, job->nnames, wanted, job->arena);
}

/* Of `before` tensors those that are still there have new numbers. */
static void renumber_costs(Job *job, const uint32_t *new_id, uint32_t before) {
    if (!new_id || !job->result.cost) return;
    double *cost = RAW_ARRAY(job->arena, double, job->code.func->ntensors);
    for (uint32_t t = 0; t < before; t++)
        if (new_id[t] != UINT32_MAX) cost[new_id[t]] = job->result.cost[t];
    job->result.cost = cost;
}

/* What allocating the result again would leave out or split: its ranges say more than those of the
 * input. Results in time are so already. */
static void settle_text(Job *job) {
    if (job->code.live) return;
    uint32_t removed = job->code.removed, before = job->code.func->ntensors;
    bool fewer = drop_dead_stores(&job->code, job->arena);
    drop_dead_loads(&job->code, job->arena);
    if (fewer || job->code.removed > removed)
        renumber_costs(job, keep_named(&job->code, job->arena), before);
    const uint32_t *parent = NULL;
    if (job->options->split) parent = split_copies(&job->code, job->arena);
    if (!parent || !job->result.cost) return;
    double *cost = RAW_ARRAY(job->arena, double, job->code.func->ntensors);
    for (uint32_t t = 0; t < job->code.func->ntensors; t++)
        cost[t] = job->result.cost[parent[t]];
    job->result.cost = cost;
}

static bool adds_dmas(const Job *job) {
    for (uint32_t p = 0; p < job->code.func->ninsts; p++)
        if (job->code.origin_inst[p] == INSERTED) return true;
    return false;
}

static uint32_t count_placed(const Func *func) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < func->ntensors; t++)
        count += func->tensors[t].space == SPACE_SB && func->tensors[t].at;
    return count;
}

/* True if nothing is spilled, moved or split in another way. */
static bool is_as_earlier(const Job *job) {
    return !adds_dmas(job) && job->kept.kept == job->kept.known &&
           count_placed(job->code.func) == count_placed(job->earlier.func);
}

/* Does what the earlier allocation did, if that is hardly dearer, so that a small edit makes a
 * small difference. */
static void replay_earlier(Job *job) {
    ReplayOf of = {job->func, &job->facts, &job->earlier, job->code.func};
    Replayed earlier;
    if (!job->earlier.func || is_as_earlier(job)) return;
    if (!replay(&of, job->arena, &earlier)) return;
    job->code = earlier.code;
    job->plan = earlier.plan;
    job->kept = (KeepCount){earlier.places, earlier.places};
    job->result.cost = NULL;
    job->result.report.strategy = "previous";
    job->result.report.dram_spill_bytes = earlier.home_bytes;
}

/* Declarations in their order. */
static void put_in_order(Job *job) {
    const uint32_t *new_id = order_declarations(&job->code, job->base, job->declared, job->arena);
    renumber_costs(job, new_id, job->code.func->ntensors);
}

/* ---- what is left of the input ---- */

/* True if there are fewer cycles of DMAs than before, and nothing is spilled for it: loads are left
 * out, or iterations of them. */
static bool only_leaves_out(const Job *job) {
    return !adds_dmas(job) && sum_dmas(job->code.func, job->target).cycles <
                                  sum_dmas(job->facts.func, job->target).cycles;
}

/* The function that the result's text would be read as, without places. */
static Func *read_back(Job *job) {
    Arena scratch;
    arena_init(&scratch);
    settle_text(job);
    give_names(job, &scratch);
    put_in_order(job);
    Func *rest = NEW(job->arena, Func);
    *rest = *job->code.func;
    rest->tensors = RAW_ARRAY(job->arena, Tensor, rest->ntensors);
    for (uint32_t t = 0; t < rest->ntensors; t++)
        rest->tensors[t] = job->code.func->tensors[t];
    forget_places(rest);
    arena_free(&scratch);
    return rest;
}

/* Sets names[t] to the input's name of tensor t of the facts of what was read back. */
static void find_names(const Job *job, const Facts *rest, Str *names) {
    StrMap origin;
    strmap_init(&origin, job->arena);
    for (uint32_t u = 0; u < job->code.func->ntensors; u++)
        strmap_add(&origin, job->code.func->tensors[u].name, job->code.origin[u]);
    for (uint32_t t = 0; t < rest->func->ntensors; t++)
        names[t] = job->facts.names[strmap_get(&origin, rest->names[t])];
}

/* What is left is what is allocated from now on. Names of the input, and those that it has given,
 * are not given again. */
static void go_on_with(Job *job, const Func *rest, const Facts *facts) {
    uint32_t count = facts->func->ntensors;
    Str *names = RAW_ARRAY(job->arena, Str, (size_t)count + rest->ntensors + job->func->ntensors);
    find_names(job, facts, names);
    for (uint32_t t = 0; t < rest->ntensors; t++)
        names[count++] = rest->tensors[t].name;
    for (uint32_t t = 0; t < job->func->ntensors; t++)
        names[count++] = job->func->tensors[t].name;
    job->declared = facts->names;
    job->facts = *facts;
    job->facts.names = names;
    job->nnames = count;
    job->base = rest;
}

/* Allocates what is left where loads were left out, as if its text were read: they take no room any
 * more, are no choice, and hold no web together. True if that changes something for the better. */
static bool search_rest(Job *job) {
    const Func *rest = read_back(job);
    int64_t cycles = sum_dmas(rest, job->target).cycles;
    uint32_t split = job->result.report.split;
    bool *needed = NEW_ARRAY(job->arena, bool, rest->ninsts);
    Live live = live_range_and_needs(rest, job->arena, needed);
    Facts *facts = NEW(job->arena, Facts);
    *facts = find_facts(job, rest, &live, needed);
    report_rest(facts, &job->log);
    Floor floor = {.func = rest, .target = job->target, .arena = job->arena};
    State *best = run_strategies(facts, job->options, &floor, &job->log);
    bool gains = best && state_cycles(best) < cycles;
    bool parts = best && state_cycles(best) == cycles && job->result.report.split > split;
    if (!gains && !parts) {
        if (best) state_free(best);
        job->result.report.split = split;
        return false;
    }
    const char *strategy = job->result.report.strategy;
    go_on_with(job, rest, facts);
    take(job, best);
    if (!gains) job->result.report.strategy = strategy;
    return true;
}

/* Names, homes, places of copies and of an earlier allocation, marks, figures. */
static void finish(Job *job) {
    double begin = clock_now();
    bool placed = job->options->emit != EMIT_SPILLED;
    Report *figures = &job->result.report;
    Arena scratch;
    arena_init(&scratch);
    settle_text(job);
    give_names(job, &scratch);
    figures->dram_spill_bytes = place_homes(&job->code, &scratch);
    if (placed)
        settle_places(job, &scratch);
    else
        forget_places(job->code.func);
    if (placed) replay_earlier(job);
    put_in_order(job);
    report(job);
    if (placed) mark_header(job->code.func, figures->spilled_tensors > 0, job->arena);
    arena_free(&scratch);
    figures->seconds.spill += clock_now() - begin;
}

static bool is_verified(Job *job) {
    double begin = clock_now();
    VerifyOptions options = {.placed = job->options->emit != EMIT_SPILLED};
    bool good = !job->options->verify ||
                verify(job->func, job->code.func, job->target, options, job->diags);
    job->result.report.seconds.verify += clock_now() - begin;
    return good;
}

/* Some faults of the input show only when it is run. */
static bool runs_well(const Job *job) {
    DiagQueue unheard;
    diag_init(&unheard, job->arena);
    return verify(job->func, job->func, job->target, (VerifyOptions){0}, &unheard);
}

/* An input that says that it is placed is checked as it is. */
static AllocStatus check_placed(Job *job, const Live *live) {
    Split split = {.func = job->func};
    Live *lived = NEW(job->arena, Live);
    *lived = live_in_time(job->func, job->target, live, job->arena);
    job->facts = make_facts(job, job->func, &split, live);
    job->code = rewrite_nothing(job->func, lived, job->arena);
    job->plan = job->facts.plan;
    job->result.report.strategy = "given";
    report(job);
    return is_verified(job) ? ALLOCATED : WRONG_INPUT;
}

/* ---- the whole ---- */

/* What is told of the result needs only the rest, and checking it takes memory too. */
static void end_search(Job *job) {
    arena_free(&job->search);
    job->facts.uncut = NULL;
    job->facts.sources = (Sources){0};
}

/* As long as loads are left out, what is left is searched in turn. */
static void take_and_go_on(Job *job, State *best) {
    take(job, best);
    if (job->stable || is_search_brief(&job->facts, job->options)) return;
    while (only_leaves_out(job) && search_rest(job))
        continue;
}

static AllocStatus find_allocation(Job *job) {
    enum { ANYTIME = 9 };
    bool *needed = NEW_ARRAY(job->arena, bool, job->func->ninsts);
    Live live = live_range_and_needs(job->func, job->arena, needed);
    if (!check_fixed(job->func, &live, job->diags)) return WRONG_INPUT;
    if (is_placed(job->func)) return check_placed(job, &live);
    analyse(job, &live, needed);
    uint32_t bad = infeasible_instruction(&job->facts);
    if (bad != UINT32_MAX) return tell_infeasible(job, bad, true);
    Subject subject = subject_of(job);
    const Peak *peak = job->options->no_spill ? find_own_peak(&subject, false) : NULL;
    if (!job->facts.dead && must_spill(&subject, peak)) return tell_spilled(job, peak);
    State *best = start_stable(job);
    if (!best) best = run_strategies(&job->facts, job->options, &job->floor, &job->log);
    if (clock_is_past(job->facts.deadline)) {
        if (best && job->options->effort < ANYTIME) state_free(best);
        if (!best || job->options->effort < ANYTIME) return tell_out_of_time(job);
        diag_warning(job->diags, job->func->span, "the time is up: this is the best result found");
    }
    if (best)
        take_and_go_on(job, best);
    else if (peak)
        return tell_spilled(job, peak);
    else if (spill_everywhere(job) != ALLOCATED)
        return NOT_ALLOCATED;
    finish(job);
    end_search(job);
    if (has_spilled(job)) return tell_spilled(job, peak);
    if (job->options->effort < ANYTIME && is_out_of_time(job)) return tell_out_of_time(job);
    if (is_verified(job)) return ALLOCATED;
    return runs_well(job) ? WRONG_RESULT : WRONG_INPUT;
}

/* The function that was allocated, each web with the name that it has in the result; one that was
 * spilled has the input's. */
static const Func *with_given_names(const Job *job) {
    assert(job->facts.func);
    if (is_as_declared(&job->code, job->facts.func, job->facts.names)) return job->facts.func;
    Func *func = NEW(job->arena, Func);
    *func = *job->facts.func;
    func->tensors = RAW_ARRAY(job->arena, Tensor, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        func->tensors[t] = job->facts.func->tensors[t];
        func->tensors[t].name = job->facts.names[t];
    }
    for (uint32_t u = job->code.func->ntensors; u-- > 0;)
        if (job->code.role[u] == ROLE_KEPT || job->code.role[u] == ROLE_PART)
            func->tensors[job->code.origin[u]].name = job->code.func->tensors[u].name;
    return func;
}

/* Who has left, and the peaks before and after; the same where nothing has. */
static void find_peaks(Job *job) {
    Report *figures = &job->result.report;
    const Source *source = job->options->source;
    PeakOf after = {job->code.func, &job->result.live, job->target, source, .placed = true};
    if (job->options->emit != EMIT_SPILLED) figures->peak_after = find_peak(&after, job->arena);
    figures->peak_before = figures->peak_after;
    figures->loads_gone = -figures->spill_cycles;
    if (figures->spilled_tensors == 0 && figures->peak_after) return;
    PeakOf before = {.func = with_given_names(job),
                     .live = &job->facts.live,
                     .target = job->target,
                     .source = source,
                     .remat = job->options->remat};
    Arena scratch;
    arena_init(&scratch);
    Occupancy all = find_occupancy(&before, &scratch);
    Reported reported = reported_of(job);
    figures->peak_before = peak_of(&all, job->arena);
    if (figures->spilled_tensors > 0)
        find_spilled_tensors(&reported, &job->result.live, &all, figures, job->arena);
    arena_free(&scratch);
}

/* What would help where something was spilled, in lines as those of -v. */
static void explain_changes(Job *job, Writer *out) {
    Subject subject = subject_of(job);
    const Peak *peak = find_own_peak(&subject, false);
    if (!peak) return;
    Shortage shortage = shortage_at(peak, job->arena);
    FitQuestion question = {job->func, job->target, job->options, false, subject.deadline};
    Advice advice = find_advice(&question, &shortage, job->arena);
    for (uint32_t i = 0; i < advice.count; i++) {
        write_str(out, job->func->name);
        write_format(out, ":   %.*s\n", STR_ARGS(advice.items[i].text));
    }
}

/* Who was spilled, and the peaks, which -v has told already; what would make it fit. */
static void explain_spilled(Job *job, Writer *out) {
    const Report *figures = &job->result.report;
    if (!job->options->verbose) report_peaks(job->func, job->options->source, figures, out);
    if (figures->saves + figures->reloads > 0) {
        explain_changes(job, out);
        return;
    }
    write_str(out, job->func->name);
    write_text(out, ":   nothing was spilled\n");
}

/* [instructions of the facts] granules needed, those of the peaks that are told: of the result
 * where nothing was spilled. */
static const uint32_t *needs_as_told(const Job *job) {
    const Peak *before = job->result.report.peak_before;
    assert(job->facts.func);
    uint32_t *needs = NEW_ARRAY(job->arena, uint32_t, job->facts.func->ninsts);
    if (before && !before->placed) return before->need;
    for (uint32_t p = 0; before && p < job->code.func->ninsts; p++)
        if (job->code.origin_inst[p] != INSERTED) needs[job->code.origin_inst[p]] = before->need[p];
    return needs;
}

static void explain_named(Job *job, Writer *out) {
    const Peak *peak = job->result.report.peak_before;
    Explained about = {.options = job->options,
                       .target = job->target,
                       .input = job->func,
                       .func = with_given_names(job),
                       .names = job->facts.names,
                       .earlier = &job->earlier,
                       .plan = &job->plan,
                       .result = &job->code,
                       .live = &job->result.live,
                       .need = needs_as_told(job),
                       .report = &job->result.report,
                       .taken = peak && peak->placed};
    bool *found = NEW_ARRAY(job->arena, bool, job->options->explain.count);
    explain(&about, found, out);
    job->result.explained = found;
}

static void explain_result(Job *job) {
    const Report *figures = &job->result.report;
    Writer out;
    writer_to_memory(&out);
    if (job->options->explain_spilled) explain_spilled(job, &out);
    if (job->options->explain.count > 0) explain_named(job, &out);
    FitQuestion question = {job->func, job->target, job->options, false, subject_of(job).deadline};
    write_more_blocks(&question, figures->saves + figures->reloads > 0, &out);
    job->result.explanation = writer_take(&out, job->arena);
}

/* What is told of an allocation beside its figures. */
static void tell(Job *job) {
    const Options *options = job->options;
    if (options->peaks) find_peaks(job);
    if (options->verbose) report_peaks(job->func, options->source, &job->result.report, &job->log);
    explain_result(job);
}

Allocation allocate(const Func *func, const Target *target, const Options *options, Arena *arena,
                    DiagQueue *diags) {
    Job job = {.func = func,
               .base = func,
               .target = target,
               .options = options,
               .arena = arena,
               .diags = diags,
               .earlier = earlier_find(options->previous, func->name, arena)};
    job.floor = (Floor){.func = func, .target = target, .arena = arena};
    job.result = (Allocation){.func = func, .report.seconds.total = clock_now()};
    writer_to_memory(&job.log);
    report_begin(func, options, &job.log);
    if (options->previous && !job.earlier.func)
        diag_warning(diags, func->span, "the earlier allocation has no function of this name");
    arena_init(&job.search);
    job.result.status = find_allocation(&job);
    end_search(&job);
    if (job.result.status == ALLOCATED) {
        double begin = clock_now();
        job.result.func = job.code.func;
        job.result.live = job.code.live ? *job.code.live : live_range(job.code.func, arena);
        if (job.facts.func) {
            job.result.input = with_given_names(&job);
            job.result.input_live = job.facts.live;
            job.result.origin_inst = job.code.origin_inst;
        }
        tell(&job);
        job.result.report.seconds.analyse += clock_now() - begin;
    }
    Str log = {job.log.buffer, (uint32_t)job.log.length};
    job.result.log = (Str){arena_copy(arena, log.text, log.length), log.length};
    writer_free(&job.log);
    job.result.report.seconds.total = clock_now() - started(&job);
    return job.result;
}
