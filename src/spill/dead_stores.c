#include "spill/dead_stores.h"

#include "ir/dma.h"

static const bool *find_loaded(const Func *func, Arena *arena) {
    bool *loaded = NEW_ARRAY(arena, bool, func->ntensors);
    for (uint32_t p = 0; p < func->ninsts; p++)
        if (func->insts[p].kind == OP_LOAD) loaded[inst_src(&func->insts[p])->tensor] = true;
    return loaded;
}

bool drop_dead_stores(Rewritten *rewritten, Arena *arena) {
    const Func *func = rewritten->func;
    const bool *loaded = find_loaded(func, arena);
    bool *dead = NEW_ARRAY(arena, bool, func->ninsts), any = false;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        if (!dma_is_store(inst) || func->tensors[inst_src(inst)->tensor].input) continue;
        uint32_t home = inst_dst(inst)->tensor;
        dead[p] = rewritten->role[home] == ROLE_HOME && !loaded[home];
        any |= dead[p];
    }
    if (any) drop_insts(rewritten, dead, arena);
    return any;
}
