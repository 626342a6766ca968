#include "analysis/access.h"

Accesses find_accesses(const Func *func, Arena *arena) {
    Accesses accesses = {.first = NEW_ARRAY(arena, uint32_t, (size_t)func->ntensors + 2)};
    uint32_t *count = accesses.first + 1;
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
            count[inst->operands[o].tensor + 1]++;
    }
    /* Until the fill is done, first[t + 1] is where the next access of t goes. */
    for (uint32_t t = 0; t < func->ntensors; t++)
        count[t + 1] += count[t];
    accesses.items = RAW_ARRAY(arena, Access, count[func->ntensors]);
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
            accesses.items[count[inst->operands[o].tensor]++] = (Access){i, o};
    }
    return accesses;
}

bool access_writes(const Func *func, Access access) {
    return access.operand < func->insts[access.inst].ndst;
}

bool access_reads(const Func *func, Access access) {
    const Inst *inst = &func->insts[access.inst];
    return access.operand >= inst->ndst || inst->accumulate;
}
