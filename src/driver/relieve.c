#include "driver/relieve.h"

#include <math.h>

Relief relief_make(const Func *func, const Live *live, const Target *target, Arena *arena) {
    return (Relief){
        .live = live,
        .target = target,
        .size = target_granules(target),
        .candidate = NEW_ARRAY(arena, bool, func->ntensors),
        .tax = NEW_ARRAY(arena, uint32_t, func->ninsts),
        .taxed = NEW_ARRAY(arena, uint32_t, func->ninsts),
    };
}

/* Holds room back at all points of the input where a node of the current function is live. */
static void tax_node(Relief *relief, const Rewritten *current, const Node *node, uint32_t amount) {
    for (uint32_t i = 0; i < node->range.count; i++)
        for (uint32_t p = node->range.items[i].first; p <= node->range.items[i].last; p++) {
            uint32_t point = current->origin_inst[p];
            if (point != INSERTED && relief->tax[point] < amount) relief->tax[point] = amount;
        }
}

/* Cuts all gaps of a working copy for good. */
static bool cut_copy(Plan *plan, const Rewritten *current, uint32_t copy) {
    uint32_t origin = current->origin[copy];
    uint32_t first = current->first_access[copy], end = current->end_access[copy];
    bool any = false;
    for (uint32_t a = first + 1; a < end; a++) {
        plan_cut_gap(plan, origin, a, true);
        any = true;
    }
    for (uint32_t a = first; a < end; a++) {
        uint32_t loop = plan->accesses[a].loop;
        PlanLoop *entry = loop == NO_LOOP ? NULL : plan_loop(plan, origin, loop);
        if (!entry || entry->lasting) continue;
        plan_cut_loop(plan, origin, entry, true);
        any = true;
    }
    return any;
}

static bool cut_tensor(Plan *plan, uint32_t tensor) {
    bool any = false;
    for (uint32_t a = plan->first[tensor] + 1; a < plan->first[tensor + 1]; a++)
        any |= !plan->accesses[a].lasting;
    for (uint32_t l = plan->first_loop[tensor]; l < plan->first_loop[tensor + 1]; l++)
        any |= !plan->loops[l].lasting;
    any |= !plan->spilled[tensor];
    plan_cut_all(plan, tensor);
    return any;
}

/* Cuts what a node stands for, for good. */
static bool cut_node(Plan *plan, const Rewritten *current, const Node *node) {
    uint32_t origin = current->origin[node->tensor];
    if (current->role[node->tensor] == ROLE_COPY) return cut_copy(plan, current, node->tensor);
    return plan->spillable[origin] && cut_tensor(plan, origin);
}

/* A node that cannot go: those of its neighbours that can make way. */
static bool cut_neighbours(Plan *plan, const Rewritten *current, const Round *round, uint32_t n) {
    bool any = false;
    if (!round->graph.of) return false;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(&round->graph, n); next_neighbour(&walk, &m);) {
        const Node *other = &round->nodes.items[m];
        if (!isinf(other->cost)) any |= cut_node(plan, current, other);
    }
    return any;
}

bool cut_for_good(Plan *plan, const Rewritten *current, const Round *round) {
    bool any = false;
    for (uint32_t i = 0; i < round->placement.nfailed; i++) {
        uint32_t n = round->placement.failed[i];
        const Node *node = &round->nodes.items[n];
        bool cut = !isinf(node->cost) && cut_node(plan, current, node);
        any |= cut || cut_neighbours(plan, current, round, n) || cut_node(plan, current, node);
    }
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spilled[t]) plan_close(plan, t);
    return any;
}

/* Where the choice has thought too little of what copies need, it is told how much it missed. */
static void tax_overload(Relief *relief, const Rewritten *current, const Round *round) {
    const Func *func = current->func;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        if (round->pressure.need[p] <= relief->size) continue;
        uint32_t near = p;
        while (near + 1 < func->ninsts && current->origin_inst[near] == INSERTED)
            near++;
        uint32_t point = current->origin_inst[near];
        if (point == INSERTED || relief->taxed[point] == relief->rounds + 1) continue;
        relief->taxed[point] = relief->rounds + 1;
        relief->tax[point] += round->pressure.need[p] - relief->size;
    }
}

/* The part of the State Buffer that is held back where placement has failed so often. */
static uint32_t held_back(const Relief *relief, uint32_t rounds) {
    static const uint32_t percent[] = {0, 3, 6, 10, 15, 21, 30, 40};
    enum { LAST = sizeof percent / sizeof *percent - 1 };
    return (uint32_t)((uint64_t)relief->size * percent[rounds < LAST ? rounds : LAST] / 100) + 1;
}

static void learn(Relief *relief, const Rewritten *current, const Round *round,
                  const Options *options, const Plan *plan) {
    if (relief->rounds > 0) tax_overload(relief, current, round);
    if (!round->graph.of) return;
    relief->placements++;
    for (uint32_t i = 0; i < round->placement.nfailed; i++) {
        const Node *node = &round->nodes.items[round->placement.failed[i]];
        uint32_t origin = current->origin[node->tensor];
        if (options->effort == 0 && plan->spillable[origin] && !isinf(node->cost))
            relief->candidate[origin] = true;
        uint32_t peak = 0;
        for (uint32_t k = 0; k < node->range.count; k++)
            for (uint32_t p = node->range.items[k].first; p <= node->range.items[k].last; p++)
                if (round->pressure.need[p] > peak) peak = round->pressure.need[p];
        /* Nothing was over capacity: what is held back counts from what was needed. */
        uint32_t slack = !relief->spilling && relief->size > peak ? relief->size - peak : 0;
        tax_node(relief, current, node, slack + held_back(relief, relief->placements));
    }
    relief->spilling = true;
}

bool relieve(Relief *relief, Plan *plan, const Sources *sources, const Rewritten *current,
             const Round *round, const Options *options) {
    learn(relief, current, round, options, plan);
    bool any = true;
    if (relief->rounds++ >= PATIENT_ROUNDS) any = cut_for_good(plan, current, round);
    if (!any) return false;
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (options->effort > 0 || plan->spilled[t]) relief->candidate[t] = plan->spillable[t];
    ResideOptions reside_options = {.candidate = relief->candidate,
                                    .tax = relief->tax,
                                    .size = relief->size,
                                    .steps = CHOICE_STEPS,
                                    .remat = options->remat,
                                    .keep = options->reload_elim};
    reside(plan, sources, relief->live, relief->target, reside_options);
    return true;
}
