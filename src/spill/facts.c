#include "spill/facts.h"

Facts facts_make(const Func *func, const Live *live, const Target *target, Arena *arena) {
    Facts facts = {.func = func,
                   .target = target,
                   .size = target_granules(target),
                   .live = *live,
                   .plan = plan_make(func, arena),
                   .coalesce = true,
                   .remat = true,
                   .reload_elim = true,
                   .split = true,
                   .max_reloads = UINT64_MAX,
                   .seed = 1};
    facts.sources = sources_make(&facts.plan, arena);
    Round *uncut = NEW(arena, Round);
    *uncut = analyse_uncut(func, live, target, arena);
    facts.uncut = uncut;
    return facts;
}

void find_dead_loads(Facts *facts, const bool *needed, Arena *arena) {
    const Func *func = facts->func;
    bool *dead = NEW_ARRAY(arena, bool, func->ninsts), any = false;
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        dead[i] = inst->kind == OP_LOAD && !inst->accumulate && !needed[i] &&
                  facts->plan.spillable[inst_dst(inst)->tensor];
        any |= dead[i];
    }
    facts->dead = any ? dead : NULL;
}
