#include "spill/facts.h"

Facts facts_make(const Func *func, const Live *live, const Target *target, Arena *arena,
                 Arena *search) {
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
    facts.sources = sources_make(&facts.plan, search);
    Round *uncut = NEW(search, Round);
    *uncut = analyse_uncut(func, live, target, search);
    facts.uncut = uncut;
    return facts;
}
