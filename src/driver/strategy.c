#include "driver/strategy.h"

#include "driver/finish.h"
#include "ir/dma.h"
#include "driver/spillers.h"
#include "driver/report.h"
#include "driver/unspill.h"
#include "support/clock.h"

enum { ALWAYS = UINT32_MAX, MILLION = 1000000 };

static const Strategy STRATEGIES[] = {
    /* name, start, spiller, place, effort, longest, percent, joint steps, flat, metric */
    {"fit", START_UNCUT, SPILL_NOTHING, PLACE_EVICT, 1, ALWAYS, 0, 0, 0, 0},
    {"exact-fit", START_UNCUT, SPILL_NOTHING, PLACE_EXACT, 2, ALWAYS, 0, 0, 0, 0},
    {"joint-0", START_JOINT, SPILL_CONFLICTS, PLACE_EXACT, 1, 60000, 0, 0, 0, 0},
    {"joint-8", START_JOINT, SPILL_CONFLICTS, PLACE_EXACT, 2, 60000, 8, 25 * MILLION, 0, 0},
    {"joint-25", START_JOINT, SPILL_CONFLICTS, PLACE_EXACT, 2, 6000, 0, 25 * MILLION, 0, 0},
    {"joint-15", START_JOINT, SPILL_CONFLICTS, PLACE_EXACT, 2, 2000, 15, 25 * MILLION, 0, 0},
    {"residency", START_CHOICE, SPILL_HEADROOM, PLACE_EXACT, 1, 6000, 0, 0, 0, 0},
    {"residency-15", START_CHOICE, SPILL_HEADROOM, PLACE_EVICT, 1, ALWAYS, 15, 0, 0, 0},
    {"conflicts", START_CHOICE, SPILL_CONFLICTS, PLACE_EXACT, 1, 6000, 0, 0, 0, 0},
    {"conflicts-8", START_CHOICE, SPILL_CONFLICTS, PLACE_EXACT, 1, 6000, 8, 0, 0, 0},
    {"seed-conflicts", START_UNCUT, SPILL_CONFLICTS, PLACE_EXACT, 1, 6000, 0, 0, 0, 0},
    {"flat-residency", START_CHOICE, SPILL_HEADROOM, PLACE_EXACT, 2, 2000, 0, 0, 1, 0},
    {"flat-conflicts", START_CHOICE, SPILL_CONFLICTS, PLACE_EXACT, 2, 2000, 0, 0, 1, 0},
    {"seed", START_UNCUT, SPILL_CHAITIN, PLACE_SELECT, 0, ALWAYS, 0, 0, 0, 0},
    {"seed-x", START_UNCUT, SPILL_CHAITIN, PLACE_EXACT, 1, 6000, 0, 0, 0, 0},
    {"seed-x2", START_UNCUT, SPILL_CHAITIN, PLACE_EXACT, 1, 6000, 0, 0, 0, 2},
    {"flat-seed-2", START_UNCUT, SPILL_CHAITIN, PLACE_SELECT, 1, 2000, 0, 0, 1, 2},
    {"flat-seed-x", START_UNCUT, SPILL_CHAITIN, PLACE_EXACT, 1, 2000, 0, 0, 1, 0},
    {"flat-seed-x2", START_UNCUT, SPILL_CHAITIN, PLACE_EXACT, 1, 2000, 0, 0, 1, 2},
};

StrategyTable all_strategies(void) {
    return (StrategyTable){STRATEGIES, sizeof STRATEGIES / sizeof *STRATEGIES};
}

/* ---- one strategy ---- */

static void cut_at_start(Start start, State *state) {
    if (start == START_CHOICE) start_with_choice(state);
    if (start == START_JOINT) start_jointly(state);
}

/* Cuts more; false where nothing is left to cut. */
static bool cut_more(Spiller spiller, State *state) {
    if (state->minimal) return spill_by_chaitin(state);
    switch (spiller) {
    case SPILL_CHAITIN:
        return spill_by_chaitin(state);
    case SPILL_HEADROOM:
        return spill_by_headroom(state);
    case SPILL_CONFLICTS:
        return spill_by_conflicts(state);
    case SPILL_NOTHING:
        break;
    }
    return false;
}

static bool cut(const Strategy *row, State *state) {
    double begin = clock_now();
    bool more = true;
    if (state->rounds == 0)
        cut_at_start(row->start, state);
    else
        more = cut_more(row->spiller, state);
    state->seconds.spill += clock_now() - begin;
    return more;
}

/* Past the cap on reloads every copy serves one access only: true where that is new. */
static bool pass_cap(State *state) {
    DmaSum sum = sum_dmas(state->code.func, state->facts->target);
    if (state->minimal || sum.reloads <= state->options.max_reloads) return false;
    state->minimal = true;
    state->hinted = false;
    for (uint32_t t = 0; t < state->plan.func->ntensors; t++)
        if (state->plan.spilled[t] && state->plan.spillable[t]) plan_cut_all(&state->plan, t);
    return true;
}

static int64_t cycles_of(const State *state) {
    return sum_dmas(state->code.func, state->facts->target).cycles;
}

/* The rounds of one strategy: the seed's loop. They end because cuts become permanent, and where
 * nothing new is cut; one that costs over twice the best result is given up, as taking cuts back
 * does not halve it. True if everything has its place. */
static bool run(const Strategy *row, State *state, int64_t best) {
    enum { MOST_ROUNDS = 24 };
    bool capped = false;
    while (state->rounds < MOST_ROUNDS && !is_late(state->facts)) {
        if (!capped && !cut(row, state)) return false;
        rewrite_state(state);
        if (cycles_of(state) / 2 > best) return false;
        analyse_state(state);
        bool placed = place_state(state);
        report_round(state);
        state->rounds++;
        capped = placed && pass_cap(state);
        if (!placed || capped) continue;
        commit_places(state);
        unspill_state(state);
        return true;
    }
    return false;
}

/* ---- the table ---- */

/* What a row wants of the state, at an effort. */
static State *start(const Facts *facts, const Strategy *row, int effort) {
    enum { METRICS = 3, USUAL = 2 };
    Options options = *facts->options;
    if (row->flat) options.allocator = ALLOCATOR_FLAT;
    options.metric = (options.metric + row->metric) % METRICS;
    options.effort = row->place == PLACE_EXACT ? effort : (int)row->place;
    State *state = state_make(facts, row->name, options, row->place);
    state->percent = row->percent;
    state->steps = row->joint_steps;
    for (int e = USUAL; e < effort; e++)
        state->steps *= 10;
    return state;
}

static bool admits(const Facts *facts, const Strategy *row, int effort) {
    enum { USUAL = 2 };
    const Options *options = facts->options;
    if (row->effort > effort || facts->func->ninsts > row->longest) return false;
    if (row->start == START_JOINT && !options->split) return false; /* it moves tensors */
    if (row->flat && options->allocator == ALLOCATOR_FLAT) return false; /* as another row */
    return effort <= USUAL || row->place == PLACE_EXACT;
}

/* True if nothing can be cheaper. */
static bool is_free(const Facts *facts, int64_t cycles) {
    return cycles <= sum_dmas(facts->func, facts->target).cycles;
}

static void run_row(const Facts *facts, const Strategy *row, int effort, State **best) {
    State *state = start(facts, row, effort);
    int64_t least = *best ? cycles_of(*best) : INT64_MAX;
    State *worse = state;
    if (run(row, state, least) && cycles_of(state) < least) {
        worse = *best;
        *best = state;
    }
    if (worse) state_free(worse);
}

State *run_strategies(const Facts *facts, StrategyTable table) {
    enum { USUAL = 2 };
    State *best = NULL;
    int most = facts->options->effort;
    for (int effort = most < USUAL ? most : USUAL; effort <= most; effort++)
        for (uint32_t i = 0; i < table.count && !is_late(facts); i++)
            if (admits(facts, &table.items[i], effort) &&
                !(best && is_free(facts, cycles_of(best))))
                run_row(facts, &table.items[i], effort, &best);
    return best;
}
