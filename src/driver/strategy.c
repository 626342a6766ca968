#include "driver/strategy.h"

#include "analysis/partners.h"
#include "driver/report.h"
#include "ir/dma.h"
#include "spill/chaitin.h"
#include "spill/conflicts.h"
#include "spill/headroom.h"
#include "spill/joined.h"
#include "spill/joint/joint.h"
#include "spill/residency/residency.h"
#include "spill/restore.h"
#include "spill/time/time.h"
#include "spill/unspill.h"
#include "support/checked.h"
#include "support/clock.h"

#define ALWAYS UINT32_MAX
enum { EXACT_STEPS = 1000000000, FEW_EXACT_STEPS = EXACT_STEPS / 1000 };
enum { SHORT = 250, SMALL = 2000, MEDIUM = 6000, LONG = 20000, STRETCH = 60000, MILLION = 1000000 };

static const Strategy STRATEGIES[] = {
    /* name, start, spiller, place, effort, longest, fallback, percent, joint steps, flat, metric,
       few, straight */
    {"fit", START_UNCUT, SPILL_NOTHING, PLACE_EVICT, 1, ALWAYS, ALWAYS, 0, 0, 0, 0, 0, 0},
    {"time", START_TIME, SPILL_NOTHING, PLACE_EXACT, 1, ALWAYS, ALWAYS, 0, 0, 0, 0, 0, 0},
    {"exact-fit", START_UNCUT, SPILL_NOTHING, PLACE_EXACT, 2, ALWAYS, ALWAYS, 0, 0, 0, 0, 0, 0},
    {"conflicts", START_CHOICE, SPILL_CONFLICTS, PLACE_EXACT, 1, MEDIUM, ALWAYS, 0, 0, 0, 0, 0, 1},
    {"joint", START_JOINT, SPILL_CONFLICTS, PLACE_EXACT, 1, MEDIUM, ALWAYS, 0, 0, 0, 0, 0, 1},
    {"joint-few", START_JOINT, SPILL_CONFLICTS, PLACE_EXACT, 1, ALWAYS, MEDIUM, 0, 0, 0, 0, 1, 1},
    {"cut-conflicts", START_UNCUT, SPILL_CONFLICTS, PLACE_EXACT, 1, MEDIUM, ALWAYS, 0, 0, 0, 0, 0,
     1},
    {"joint-8", START_JOINT, SPILL_CONFLICTS, PLACE_EXACT, 1, ALWAYS, ALWAYS, 8, 25 * MILLION, 0, 0,
     0, 1},
    {"headroom", START_CHOICE, SPILL_HEADROOM, PLACE_EXACT, 1, MEDIUM, ALWAYS, 0, 0, 0, 0, 0, 0},
    {"joint-long", START_JOINT, SPILL_CONFLICTS, PLACE_EXACT, 2, SMALL, ALWAYS, 0, 25 * MILLION, 0,
     0, 0, 1},
    {"flat-headroom", START_CHOICE, SPILL_HEADROOM, PLACE_EXACT, 2, SMALL, SHORT, 0, 0, 1, 0, 0, 1},
    {"flat-chaitin", START_UNCUT, SPILL_CHAITIN, PLACE_EXACT, 1, SMALL, ALWAYS, 0, 0, 1, 2, 0, 1},
    {"improve", START_BEST, SPILL_CONFLICTS, PLACE_EXACT, 1, LONG, ALWAYS, 0, 25 * MILLION, 0, 0, 0,
     1},
    {"headroom-15", START_CHOICE, SPILL_HEADROOM, PLACE_EVICT, 1, ALWAYS, 0, 15, 0, 0, 0, 0, 1},
    {"seed", START_UNCUT, SPILL_CHAITIN, PLACE_SELECT, 0, ALWAYS, MEDIUM, 0, 0, 0, 0, 0, 0},
};

StrategyTable all_strategies(void) {
    return (StrategyTable){STRATEGIES, sizeof STRATEGIES / sizeof *STRATEGIES};
}

StrategyTable fit_strategies(void) {
    enum { QUICK = 3 /* fit, time and exact-fit */ };
    return (StrategyTable){STRATEGIES, QUICK};
}

/* ---- one strategy ---- */

/* True if so many gaps are cut that what is kept fills the room: it finds no place at once. */
static bool cuts_many(const Plan *plan) {
    enum { PART = 32 };
    uint32_t count = plan->first[plan->func->ntensors], cuts = 0;
    for (uint32_t a = 0; a < count; a++)
        cuts += plan->accesses[a].cut;
    return cuts > count / PART;
}

/* False where the strategy gives up at once. */
static bool cut_at_start(const Strategy *row, State *state) {
    if (row->start == START_UNCUT) return true;
    if (row->start != START_BEST) residency(state);
    if (row->few_cuts && cuts_many(&state->plan)) return false;
    if (row->start != START_CHOICE) search_jointly(state);
    return true;
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
    bool more = state->rounds == 0 ? cut_at_start(row, state) : cut_more(row->spiller, state);
    state->seconds.spill += clock_now() - begin;
    return more;
}

/* Past the cap on reloads every copy serves one access only: true where that is new. */
static bool pass_cap(State *state) {
    if (state->minimal) return false;
    DmaSum sum = sum_dmas(state->code.func, state->facts->target);
    if (sum.reloads <= state->facts->max_reloads) return false;
    state->minimal = true;
    state->hinted = false;
    for (uint32_t t = 0; t < state->plan.func->ntensors; t++)
        if (state->plan.spilled[t] && state->plan.spillable[t]) plan_cut_all(&state->plan, t);
    return true;
}

/* True if the spill code costs so much more than the best result that taking cuts back will not
 * make up for it: a choice of gaps leaves little to take back, cuts at every access a lot. */
static bool is_too_dear(const Strategy *row, const State *state, int64_t best) {
    enum { OF_CHOICE = 10, OF_CUTS = 2 };
    if (best == INT64_MAX) return false;
    int64_t cycles = state_cycles(state);
    return cycles - cycles / (row->start == START_UNCUT ? OF_CUTS : OF_CHOICE) > best;
}

/* The rounds of one strategy: the seed's loop. They end because cuts become permanent, and where
 * nothing new is cut; then Chaitin's searches exactly once more. NULL if everything has its place,
 * else why it gave up. */
static const char *run_rounds(const Strategy *row, State *state, int64_t best) {
    enum { MOST_ROUNDS = 64 };
    bool capped = false, more = true;
    while (state->rounds < MOST_ROUNDS && more) {
        if (clock_is_past(state->facts->deadline)) return "out of time";
        more = capped || cut(row, state);
        if (!more && state->rounds == 0) return "too many gaps to cut";
        if (!more && row->spiller == SPILL_NOTHING) return "no place found";
        if (!more && row->spiller != SPILL_CHAITIN) return "nothing left to cut";
        if (more) {
            rewrite_state(state);
            if (state->rounds == 0 && row->start == START_CHOICE)
                state->chosen = state_cycles(state);
            if (is_too_dear(row, state, best)) return "too dear";
            analyse_state(state);
        }
        bool placed = more ? place_state(state) : place_exactly(state);
        report_round(state);
        state->rounds++;
        capped = placed && pass_cap(state);
        more |= capped;
        if (!placed || capped) continue;
        commit_places(state);
        unspill(state);
        restore_tensors(state);
        return NULL;
    }
    return more ? "too many rounds" : "nothing left to cut";
}

/* ---- the table ---- */

/* What a row asks for, at an effort. A long function has more gaps and segments to look at. */
static Method method_of(const Facts *facts, const Strategy *row, const Options *options,
                        int effort) {
    enum { METRICS = 3, USUAL = 2 };
    bool few = options->outcome_only && row->start == START_UNCUT;
    Method method = {.name = row->name,
                     .flat = row->flat || options->allocator == ALLOCATOR_FLAT,
                     .metric = (options->metric + row->metric) % METRICS,
                     .place = row->place,
                     .must_fit = row->spiller == SPILL_NOTHING,
                     .percent = row->percent,
                     .joint_steps = row->joint_steps,
                     .exact_steps = few ? FEW_EXACT_STEPS : EXACT_STEPS,
                     .scale = 1,
                     .length = 1 + facts->func->ninsts / STRETCH};
    for (int e = USUAL; e < effort; e++)
        method.scale *= 10;
    return method;
}

/* Loops laid out in time: blocks move, and are never alike. */
static bool admits_time(const Facts *facts, const Options *options) {
    return facts->func->nloops > 0 && options->split && options->reload_elim &&
           options->allocator != ALLOCATOR_FLAT;
}

static bool has_elidable_copy(const Func *func) {
    for (uint32_t p = 0; p < func->ninsts; p++)
        if (copy_is_elidable(func, &func->insts[p])) return true;
    return false;
}

/* True if the text needs more than there is: only iterations told apart may need less, and loads
 * that are dropped. */
static bool is_over_capacity(const Facts *facts) {
    return !facts->dead && !has_elidable_copy(facts->func) &&
           facts->uncut->pressure.peak > facts->size;
}

/* True if the row lists pairs of what lives at once, and they are too many: the layout in time
 * those of blocks, the joint search and hints those of tensors. */
static bool is_quadratic(const Facts *facts, const Strategy *row) {
    enum { MOST_CELLS = 1 << 15, MOST_PAIRS = 1 << 28 };
    const Round *uncut = facts->uncut;
    if (row->start == START_TIME)
        return uncut->conflicts > MOST_PAIRS || nodes_blocks(&uncut->nodes) > MOST_CELLS;
    bool lists = row->start == START_JOINT || row->spiller == SPILL_CONFLICTS;
    return lists && uncut->conflicts > MOST_PAIRS;
}

static bool admits(const Facts *facts, const Options *options, const Strategy *row, int effort) {
    enum { USUAL = 2 };
    if (row->start == START_TIME && !admits_time(facts, options)) return false;
    if (options->no_spill && row->start != START_TIME && is_over_capacity(facts)) return false;
    if (row->effort > effort || facts->func->ninsts > row->longest) return false;
    if (is_quadratic(facts, row)) return false;
    if (row->start == START_JOINT && !options->split) return false;   /* it moves tensors */
    if (row->few_cuts && facts->func->ninsts <= MEDIUM) return false; /* `joint` does the same */
    if (row->flat && row->metric == 0 && options->allocator == ALLOCATOR_FLAT)
        return false; /* so does the row without `flat` */
    bool shares = row->start != START_UNCUT || row->spiller == SPILL_CONFLICTS;
    if (shares && !options->reload_elim) return false; /* it decides which reads share a reload */
    return effort <= USUAL || row->place == PLACE_EXACT;
}

/* The best result so far, and what is told of all. */
typedef struct {
    Writer *log;
    Floor *floor;
    int64_t before; /* cycles of the DMAs of the function as it came */
    State *best;    /* NULL: none yet */
    int64_t least;  /* cycles of its DMAs; INT64_MAX: none yet */
    int64_t chosen; /* cycles of a choice of gaps in all of the room, placed or not; 0: none yet */
    State *uncounted;   /* the best of those whose cycles are too many to count; NULL: none */
    uint32_t text_dmas; /* of it */
    PhaseSeconds seconds;
} Race;

static Race race_begin(Writer *log, Floor *floor, int64_t before) {
    return (Race){.log = log, .floor = floor, .before = before, .least = INT64_MAX};
}

/* The state begins with the cuts and places of the best result. */
static void begin_with(const State *best, State *state) {
    state->plan = plan_copy(&best->plan, &state->memory);
    plan_relax(&state->plan);
    state->hints = transfer_committed(&best->code, &state->memory);
    state->hinted = true;
}

static void add_seconds(Race *race, PhaseSeconds more) {
    race->seconds.analyse += more.analyse;
    race->seconds.colour += more.colour;
    race->seconds.spill += more.spill;
}

static uint32_t count_text_dmas(const Func *func) {
    uint32_t count = 0;
    for (uint32_t p = 0; p < func->ninsts; p++)
        count += func->insts[p].kind == OP_LOAD || func->insts[p].kind == OP_SAVE;
    return count;
}

/* Where cycles are too many to count, the text tells: fewer DMAs, else the first. */
static State *take_uncounted(Race *race, State *state) {
    uint32_t dmas = count_text_dmas(state->code.func);
    State *worse = race->uncounted;
    if (worse && dmas >= race->text_dmas) return state;
    race->uncounted = state;
    race->text_dmas = dmas;
    return worse;
}

/* Returns the one that is not kept, or NULL. With cycles that were too many to count other rows run
 * as if there were no result. */
static State *take_cheaper(Race *race, State *state) {
    int64_t cycles = state_cycles(state);
    if (cycles == INT64_MAX) return take_uncounted(race, state);
    if (cycles >= race->least) return state;
    State *worse = race->best;
    race->best = state;
    race->least = cycles;
    return worse;
}

/* All rows have run: what could not be counted is the result where there is no other. */
static void end_race(Race *race) {
    if (!race->best)
        race->best = race->uncounted;
    else if (race->uncounted)
        state_free(race->uncounted);
    race->uncounted = NULL;
}

static void run_row(const Facts *facts, const Strategy *row, Method method, Race *race) {
    State *state = state_make(facts, method);
    if (row->start == START_BEST) begin_with(race->best, state);
    State *worse = state;
    const char *why =
        row->start == START_TIME ? spill_in_time(state) : run_rounds(row, state, race->least);
    report_tried(state, why, race->log);
    if (row->start == START_CHOICE && row->percent == 0 && !row->flat && race->chosen == 0)
        race->chosen = state->chosen;
    add_seconds(race, state->seconds);
    if (!why) worse = take_cheaper(race, state);
    if (worse) state_free(worse);
}

/* True where places were found for nearly all that the choice of gaps keeps: then other choices in
 * straight code, which the same model makes, gain next to nothing. */
static bool is_near(const Facts *facts, const Race *race) {
    enum { PART = 100 };
    if (!race->best || race->chosen == 0 || facts->func->nloops > 0) return false;
    int64_t spilled = race->chosen - race->before;
    return race->least <= race->chosen + spilled / PART;
}

/* True where the best result spills nothing, or gains by it. */
static bool is_free(const Race *race) {
    return race->best && race->least <= race->before;
}

bool is_search_brief(const Facts *facts, const Options *options) {
    return options->no_spill || options->outcome_only || facts->func->ninsts > MEDIUM ||
           has_spill_code(facts->func); /* which stays as it is, where it can */
}

/* True where nothing can be better than the best result, or there is no time. Loads that bring what
 * nothing reads may make less than nothing the least. */
static bool is_over(const Facts *facts, const Options *options, const Race *race) {
    if (clock_is_past(facts->deadline)) return true;
    if (!race->best) return false;
    if (is_search_brief(facts, options) && is_free(race)) return true;
    return floor_is_reached(race->floor, saturating_sub(race->least, race->before));
}

/* True if the row is not worth its time where everything fits: but for short functions, only what
 * leaves out iterations of loads, and what effort 0 does. */
static bool is_in_vain(const Facts *facts, const Strategy *row, const Race *race) {
    return is_free(race) && facts->func->ninsts > SHORT && row->start != START_TIME &&
           row->place != PLACE_SELECT;
}

/* Runs the rows of the table at one effort after another. */
static void run_table(const Facts *facts, const Options *options, Race *race) {
    enum { USUAL = 2 };
    int most = options->effort;
    for (int effort = most < USUAL ? most : USUAL; effort <= most; effort++)
        for (uint32_t i = 0; i < options->table.count && !is_over(facts, options, race); i++) {
            const Strategy *row = &options->table.items[i];
            bool fallback = facts->func->nloops == 0 && facts->func->ninsts > row->fallback;
            fallback |= facts->func->nloops > 0 && row->straight;
            bool idle = row->start != START_UNCUT && effort <= USUAL && is_near(facts, race);
            idle |= row->start == START_BEST && !race->best;
            idle |= is_in_vain(facts, row, race);
            if (admits(facts, options, row, effort) && !(race->best && fallback) && !idle)
                run_row(facts, row, method_of(facts, row, options, effort), race);
        }
}

/* ---- joined copies ---- */

/* The table once more where copies are joined. False where its result could not be parted: then
 * `apart` tells what is not to be joined. */
static bool race_joined(const Facts *facts, const Options *options, bool *apart, Race *race) {
    Arena arena;
    arena_init(&arena);
    JoinedCopies joined = join_copies(facts, apart, &arena);
    Race other = race_begin(race->log, race->floor, race->before);
    Facts own;
    bool good = true;
    if (joined.func) {
        report_joined(facts, joined.merges, race->log);
        own = joined_facts(facts, &joined, &arena);
        run_table(&own, options, &other);
    }
    end_race(&other);
    if (other.best) good = part_joined(facts, &joined, other.best, apart);
    State *worse = other.best;
    if (worse && good) worse = take_cheaper(race, other.best);
    if (worse) state_free(worse);
    add_seconds(race, other.seconds);
    arena_free(&arena);
    return good;
}

State *run_strategies(const Facts *facts, const Options *options, Floor *floor, Writer *log) {
    enum { MOST_TRIES = 2 };
    Race race = race_begin(log, floor, sum_dmas(facts->func, facts->target).cycles);
    run_table(facts, options, &race);
    Arena arena;
    arena_init(&arena);
    bool *apart = NEW_ARRAY(&arena, bool, facts->func->ntensors);
    bool parted = !facts->coalesce || options->effort < 1;
    for (int i = 0; i < MOST_TRIES && !parted && !is_over(facts, options, &race); i++)
        parted = race_joined(facts, options, apart, &race);
    end_race(&race);
    if (race.best) race.best->seconds = race.seconds;
    arena_free(&arena);
    return race.best;
}
