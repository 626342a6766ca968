#include <math.h>
#include <string.h>

#include "driver/fixed.h"
#include "driver/job.h"
#include "driver/refill.h"
#include "ir/dma.h"
#include "spill/legalize.h"

Rewritten rewrite_nothing(const Func *func, const Live *live, Arena *arena) {
    Rewritten same = {.func = NEW(arena, Func),
                      .origin = RAW_ARRAY(arena, uint32_t, func->ntensors),
                      .role = NEW_ARRAY(arena, uint8_t, func->ntensors),
                      .first_access = NEW_ARRAY(arena, uint32_t, func->ntensors),
                      .end_access = NEW_ARRAY(arena, uint32_t, func->ntensors),
                      .origin_inst = RAW_ARRAY(arena, uint32_t, func->ninsts)};
    Live *known = NEW(arena, Live);
    *known = *live;
    same.live = known;
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

bool any_spilled(const Plan *plan) {
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spilled[t]) return true;
    return false;
}

void rewrite_current(Job *job) {
    job->current = any_spilled(&job->plan)
                       ? rewrite(&job->plan, &job->sources,
                                 (RewriteOptions){.remat = job->options->remat}, job->arena)
                       : rewrite_nothing(job->func, &job->result.live, job->arena);
    if (job->options->verbose) legalize(&job->current, job->names, job->arena);
}

void set_places(Job *job, const Round *round) {
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
    rewrite_current(job);
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

void take_places(Job *job, const Round *round) {
    set_places(job, round);
    keep_costs(job, round);
    bool refillable = (job->options->effort >= 1 || job->options->refill) &&
                      job->options->reload_elim && !job->minimal;
    if (refillable && round->graph.of && any_spilled(&job->plan)) refill_cuts(job, round);
}
