#include "driver/levels.h"

#include <math.h>
#include <string.h>

#include "driver/carry.h"
#include "driver/lodging.h"
#include "driver/part.h"
#include "ir/dma.h"
#include "place/evict.h"

/* Percents of the State Buffer that are left free at first, in turn: fragmentation takes them. */
static const uint32_t PERCENT[] = {0, 8, 15};
enum {
    PERCENTS = sizeof PERCENT / sizeof *PERCENT,
    LODGED = 2, /* the first so many are searched for places and kept gaps together */
    MOST_HELD = 8
};

/* What leaving out a node that must not be spilled weighs in the choice. */
static const double MUST_STAY = 1e12;

/* A plan to come back to, and the places that went with it. */
typedef struct {
    PlanAccess *accesses;
    PlanLoop *loops;
    bool *spilled;
    Carry places;
    double cost;
    bool placed; /* this or one before had a place for everything */
} Attempt;

static void save_attempt(const Levels *levels, double cost, Attempt *attempt) {
    const Plan *plan = levels->plan;
    uint32_t ntensors = plan->func->ntensors;
    size_t accesses = plan->first[ntensors], loops = plan->first_loop[ntensors];
    attempt->accesses = RAW_ARRAY(levels->memory, PlanAccess, accesses);
    attempt->loops = RAW_ARRAY(levels->memory, PlanLoop, loops);
    attempt->spilled = RAW_ARRAY(levels->memory, bool, ntensors);
    memcpy(attempt->accesses, plan->accesses, accesses * sizeof(PlanAccess));
    if (loops) memcpy(attempt->loops, plan->loops, loops * sizeof(PlanLoop));
    memcpy(attempt->spilled, plan->spilled, ntensors * sizeof(bool));
    attempt->places = carry_note(levels->current, levels->round, NULL, levels->memory);
    attempt->cost = cost;
}

/* Cuts of an attempt last from now on: what comes builds on it. */
static void restore_attempt(Levels *levels, const Attempt *attempt) {
    Plan *plan = levels->plan;
    uint32_t ntensors = plan->func->ntensors;
    size_t accesses = plan->first[ntensors], loops = plan->first_loop[ntensors];
    memcpy(plan->accesses, attempt->accesses, accesses * sizeof(PlanAccess));
    if (loops) memcpy(plan->loops, attempt->loops, loops * sizeof(PlanLoop));
    memcpy(plan->spilled, attempt->spilled, ntensors * sizeof(bool));
}

static void rewrite_round(Levels *levels) {
    *levels->current = rewrite(levels->plan, levels->sources,
                               (RewriteOptions){.remat = levels->options->remat}, levels->arena);
    analyse_round(levels->current, levels->plan, levels->target, levels->options, levels->memory,
                  levels->round);
    levels->rounds++;
}

/* Cycles of the rewritten function, and of what found no place. */
static double attempt_cost(const Levels *levels) {
    double cost = (double)sum_dmas(levels->current->func, levels->target).cycles;
    const Placement *placement = &levels->round->placement;
    for (uint32_t i = 0; i < placement->nfailed; i++) {
        double one = levels->round->nodes.items[placement->failed[i]].cost;
        cost += one < MUST_STAY ? one : MUST_STAY;
    }
    return cost;
}

/* Plenty of steps for small functions, in proportion to the graph for large ones. */
static EvictLimits evict_limits(const Levels *levels) {
    enum { LEAST = 2000000, PER_EDGE = 10 };
    return (EvictLimits){levels->relief->size, LEAST + PER_EDGE * levels->round->graph.edges};
}

static ResideOptions reside_options(const Levels *levels, uint32_t percent) {
    const Relief *relief = levels->relief;
    uint32_t left = (uint32_t)((uint64_t)relief->size * percent / 100);
    return (ResideOptions){.candidate = relief->candidate,
                           .tax = relief->tax,
                           .size = relief->size - left,
                           .steps = CHOICE_STEPS,
                           .remat = levels->options->remat,
                           .hopeful = levels->hopeful,
                           .keep = levels->options->reload_elim};
}

static void reside_with(Levels *levels, uint32_t percent) {
    Relief *relief = levels->relief;
    const Plan *plan = levels->plan;
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        relief->candidate[t] = plan->spillable[t];
    reside(levels->plan, levels->sources, relief->live, levels->target,
           reside_options(levels, percent));
}

/* Of the search for places and kept gaps. In straight code it goes so far that one start is enough:
 * that from a choice which leaves some room; before it only what can be had at once. */
static LodgeEffort lodging_effort(const Levels *levels, bool at_once) {
    static const uint64_t STEPS[] = {0, 5000000, 25000000, 200000000};
    enum { LAST = sizeof STEPS / sizeof *STEPS - 1 };
    int effort = levels->options->effort < LAST ? levels->options->effort : LAST;
    return (LodgeEffort){at_once ? 0 : STEPS[effort], levels->options->deadline};
}

/* The function as the plan has it now, with places known by what they belong to. */
static void rewrite_with(Levels *levels, const Carry *places) {
    rewrite_round(levels);
    levels->round->graph = build(&levels->round->nodes, levels->memory);
    carry_places(places, levels->current, levels->round, levels->memory);
}

/* Keeps what there is now, if it is the best so far. */
static void judge_attempt(Levels *levels, Attempt *best) {
    double cost = attempt_cost(levels);
    best->placed |= levels->round->placed;
    if (cost < best->cost) save_attempt(levels, cost, best);
}

/* Colours what the choice alone has made. True if that has a place for everything. */
static bool colour_copies(Levels *levels, Attempt *best) {
    colour_round(levels->options, levels->relief->size, true, levels->memory, levels->round);
    judge_attempt(levels, best);
    return levels->round->placed;
}

/* Decides anew on kept gaps, together with places. True if everything has a place and costs hardly
 * more than the choice alone. */
static bool lodge_copies(Levels *levels, uint32_t percent, bool at_once, Attempt *best) {
    enum { HARDLY = 50 /* one part in so many */ };
    double before = (double)sum_dmas(levels->plan->func, levels->target).cycles;
    double chosen = (double)sum_dmas(levels->current->func, levels->target).cycles;
    Carry places = find_lodging(levels->plan, levels->sources, levels->relief, levels->current,
                                levels->round, reside_options(levels, percent),
                                lodging_effort(levels, at_once), levels->memory);
    rewrite_with(levels, &places);
    judge_attempt(levels, best);
    return levels->round->placed && attempt_cost(levels) <= chosen + (chosen - before) / HARDLY;
}

static bool has_nests(const Func *func) {
    for (uint32_t l = 0; l < func->nloops; l++)
        if (func->loops[l].depth > 0) return true;
    return false;
}

/* True if so many gaps are cut that what is kept fills the room: it finds no place at once. */
static bool cuts_many(const Plan *plan) {
    enum { PART = 32 };
    uint32_t count = plan->first[plan->func->ntensors], cut = 0;
    for (uint32_t a = 0; a < count; a++)
        cut += plan->accesses[a].cut;
    return cut > count / PART;
}

/* Tries the percents; the best attempt is restored, its function rewritten and its places carried.
 * Large functions are not coloured, as of so many nodes that places too few; the largest are, once
 * and with much left free, as lodging takes longer. */
static void try_percents(Levels *levels) {
    enum { MOST_COLOURED = 4000, MOST_LODGED = 60000 /* instructions */ };
    const Func *func = levels->plan->func;
    bool large = func->ninsts > MOST_LODGED, straight = func->nloops == 0;
    /* Lodging moves a tensor whenever no value is in it: that is splitting. */
    bool lodging = !large && levels->options->split;
    uint32_t percents = levels->options->effort < 2 && !large ? 1 : PERCENTS;
    Attempt best = {.cost = INFINITY};
    bool done = false;
    for (uint32_t i = large ? percents - 1 : 0; i < percents && !done; i++) {
        if (i >= LODGED && best.placed) break;
        reside_with(levels, PERCENT[i]);
        bool at_once = straight && i == 0 && percents > 1; /* places, or nothing */
        if (at_once && func->ninsts > MOST_COLOURED && cuts_many(levels->plan)) continue;
        rewrite_round(levels);
        bool lodged = lodging && i < LODGED;
        bool few = !lodging || levels->round->nodes.count <= MOST_COLOURED;
        /* What has some room left fits soon, but the search finds better. */
        bool later = i > 0 && (best.placed || (lodged && straight));
        if (few && !later) done = colour_copies(levels, &best);
        if (lodged && !done) done = lodge_copies(levels, PERCENT[i], at_once, &best);
    }
    levels->hopeful = has_nests(levels->plan->func);
    if (levels->hopeful) {
        reside_with(levels, PERCENT[0]);
        rewrite_round(levels);
        colour_copies(levels, &best);
    }
    restore_attempt(levels, &best);
    rewrite_with(levels, &best.places);
    levels->rounds--; /* the same as before */
}

/* Gives way where places are missing: parts the nodes that have none until all fit. */
static bool part_until_placed(Levels *levels) {
    for (int held = 0; held < MOST_HELD && !levels->round->placed; held++) {
        uint32_t parted = part_failed(levels->plan, levels->current, levels->target,
                                      levels->relief->size, levels->round, levels->memory);
        Carry places = carry_note(levels->current, levels->round, NULL, levels->memory);
        if (parted == 0 && !cut_for_good(levels->plan, levels->current, levels->round))
            return false;
        rewrite_with(levels, &places);
        levels->round->placed =
            levels->round->placed ||
            evict(&levels->round->nodes, &levels->round->graph, evict_limits(levels),
                  &levels->round->placement, levels->memory);
    }
    return levels->round->placed;
}

bool spill_by_levels(Levels *levels) {
    try_percents(levels);
    return part_until_placed(levels);
}
