#include "spill/dead_loads.h"

static bool may_leave(const Tensor *tensor) {
    return !tensor->fixed && !tensor->pin && !tensor->output;
}

/* A read that never finds a value needs a write before it in the text all the same: the load stays.
 */
static void keep_first_writes(const Func *func, bool *dead, Arena *arena) {
    bool *written = NEW_ARRAY(arena, bool, func->ntensors);
    uint32_t *load = NEW_ARRAY(arena, uint32_t, func->ntensors); /* 1 + the first that is dead */
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = inst->accumulate ? 0 : inst->ndst; o < inst->ndst + inst->nsrc; o++) {
            uint32_t t = inst->operands[o].tensor;
            if (written[t] || !load[t]) continue;
            dead[load[t] - 1] = false;
            written[t] = true;
        }
        for (uint32_t o = 0; o < inst->ndst; o++) {
            uint32_t t = inst->operands[o].tensor;
            written[t] |= !dead[i];
            if (dead[i] && !load[t]) load[t] = i + 1;
        }
    }
}

const bool *find_dead_loads(const Func *func, const bool *needed, Arena *arena) {
    bool *dead = NEW_ARRAY(arena, bool, func->ninsts), some = false, any = false;
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        dead[i] = inst->kind == OP_LOAD && !inst->accumulate && !needed[i] &&
                  may_leave(&func->tensors[inst_dst(inst)->tensor]);
        some |= dead[i];
    }
    if (some) keep_first_writes(func, dead, arena);
    for (uint32_t i = 0; i < func->ninsts; i++)
        any |= dead[i];
    return any ? dead : NULL;
}

void drop_dead_loads(Rewritten *rewritten, Arena *arena) {
    for (;;) {
        uint32_t ninsts = rewritten->func->ninsts;
        bool *needed = NEW_ARRAY(arena, bool, ninsts), *keep = RAW_ARRAY(arena, bool, ninsts);
        Live *live = NEW(arena, Live);
        *live = live_range_and_needs(rewritten->func, arena, needed);
        const bool *dead = find_dead_loads(rewritten->func, needed, arena);
        rewritten->live = live;
        if (!dead) return;
        for (uint32_t i = 0; i < ninsts; i++) {
            keep[i] = !dead[i];
            rewritten->removed += dead[i];
        }
        keep_insts(rewritten, keep, arena);
    }
}
