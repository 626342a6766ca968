#include "driver/levels.h"

#include <math.h>
#include <string.h>

#include "colour/repair.h"
#include "driver/carry.h"
#include "driver/finish.h"
#include "driver/part.h"

/* Percents of the State Buffer that are left free, in turn. */
static const uint32_t PERCENT[] = {0, 8, 15};
enum { PERCENTS = sizeof PERCENT / sizeof *PERCENT, MOST_HELD = 8 };

/* So many nodes are not placed for several percents: time. */
enum { MANY_NODES = 20000 };

/* What leaving out a node that must not be spilled weighs in the choice. */
static const double MUST_STAY = 1e12;

/* A plan to come back to, and the places that went with it. */
typedef struct {
    PlanAccess *accesses;
    PlanLoop *loops;
    bool *spilled;
    Carry places;
    double cost;
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

/* Steps of repair: plenty for small functions, in proportion to the graph for large ones. */
static uint64_t repair_steps(const Round *round) {
    enum { LEAST = 2000000, PER_EDGE = 10 };
    return LEAST + PER_EDGE * round->graph.edges;
}

static void reside_with(Levels *levels, uint32_t percent) {
    Relief *relief = levels->relief;
    const Plan *plan = levels->plan;
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        relief->candidate[t] = plan->spillable[t];
    ResideOptions options = {.candidate = relief->candidate,
                             .tax = relief->tax,
                             .size =
                                 relief->size - (uint32_t)((uint64_t)relief->size * percent / 100),
                             .steps = CHOICE_STEPS,
                             .remat = levels->options->remat,
                             .keep = levels->options->reload_elim};
    reside(levels->plan, levels->sources, relief->live, levels->target, options);
}

/* Tries the percents; the best attempt is restored, its function rewritten and its places carried.
 */
static void try_percents(Levels *levels) {
    Attempt best = {.cost = INFINITY};
    bool many = levels->round->nodes.count > MANY_NODES;
    for (uint32_t i = 0; i < PERCENTS; i++) {
        if (many && i + 1 < PERCENTS) continue;
        if (levels->options->effort < 2 && !many && i > 0) break;
        reside_with(levels, PERCENT[i]);
        rewrite_round(levels);
        colour_round(levels->options, levels->relief->size, true, levels->memory, levels->round);
        double cost = attempt_cost(levels);
        if (cost < best.cost) save_attempt(levels, cost, &best);
        if (levels->round->placed) break;
    }
    restore_attempt(levels, &best);
    rewrite_round(levels);
    levels->rounds--; /* the same as before */
    levels->round->graph = build(&levels->round->nodes, levels->memory);
    carry_places(&best.places, levels->current, levels->round, levels->memory);
}

bool spill_by_levels(Levels *levels) {
    Axis axis = axis_make(levels->relief->size);
    try_percents(levels);
    for (int held = 0; held < MOST_HELD && !levels->round->placed; held++) {
        uint32_t parted = part_failed(levels->plan, levels->current, levels->target,
                                      levels->relief->size, levels->round, levels->memory);
        Carry places = carry_note(levels->current, levels->round, NULL, levels->memory);
        if (parted == 0 && !cut_for_good(levels->plan, levels->current, levels->round))
            return false;
        rewrite_round(levels);
        levels->round->graph = build(&levels->round->nodes, levels->memory);
        carry_places(&places, levels->current, levels->round, levels->memory);
        levels->round->placed =
            levels->round->placement.nfailed == 0 ||
            repair(&levels->round->nodes, &levels->round->graph, &axis, repair_steps(levels->round),
                   &levels->round->placement, levels->memory);
    }
    return levels->round->placed;
}
