#include "spill/dead_loads.h"

/* True if an input of the chip holds at the first instruction what nothing reads: it is live there
 * all the same, beside whatever comes first. */
static bool has_unread_input(const Func *func, const Live *live) {
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (func->tensors[t].input && live->whole[t].count > 0 && live->whole[t].items[0].last == 0)
            return true;
    return false;
}

const bool *find_dead_loads(const Func *func, const Live *live, const bool *needed, Arena *arena) {
    bool *dead = NEW_ARRAY(arena, bool, func->ninsts), some = false, any = false;
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        dead[i] = inst->kind == OP_LOAD && !inst->accumulate && !needed[i] &&
                  !tensor_stays(&func->tensors[inst_dst(inst)->tensor]);
        some |= dead[i];
    }
    if (some) keep_first_writes(func, dead, arena);
    if (some && dead[0]) dead[0] = !has_unread_input(func, live);
    for (uint32_t i = 0; i < func->ninsts; i++)
        any |= dead[i];
    return any ? dead : NULL;
}

void drop_dead_loads(Rewritten *rewritten, Arena *arena) {
    for (;;) {
        uint32_t ninsts = rewritten->func->ninsts;
        bool *needed = NEW_ARRAY(arena, bool, ninsts);
        Live *live = NEW(arena, Live);
        *live = live_range_and_needs(rewritten->func, arena, needed);
        const bool *dead = find_dead_loads(rewritten->func, live, needed, arena);
        rewritten->live = live;
        if (!dead) return;
        for (uint32_t i = 0; i < ninsts; i++)
            rewritten->removed += dead[i];
        drop_insts(rewritten, dead, arena);
    }
}
