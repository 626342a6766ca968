#include "test/cuts.h"

static void cut_some(Plan *plan, uint32_t tensor, uint32_t percent, Chance *chance) {
    for (uint32_t a = plan->first[tensor] + 1; a < plan->first[tensor + 1]; a++)
        if (chance_percent(chance, percent))
            plan_cut_gap(plan, tensor, a, chance_percent(chance, 50));
    for (uint32_t l = plan->first_loop[tensor]; l < plan->first_loop[tensor + 1]; l++)
        if (chance_percent(chance, percent))
            plan_cut_loop(plan, tensor, &plan->loops[l], chance_percent(chance, 50));
}

void random_cuts(Plan *plan, Chance *chance) {
    uint32_t tensors = (uint32_t)chance_between(chance, 20, 100);
    uint32_t gaps = (uint32_t)chance_between(chance, 10, 90);
    for (uint32_t t = 0; t < plan->func->ntensors; t++) {
        if (!plan->spillable[t] || !chance_percent(chance, tensors)) continue;
        if (chance_percent(chance, 20))
            plan_cut_all(plan, t);
        else
            cut_some(plan, t, gaps, chance);
    }
}
