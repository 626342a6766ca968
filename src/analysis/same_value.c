#include "analysis/same_value.h"

#include "analysis/partners.h"
#include "support/union_find.h"

/* Values: OLD ones are from before the block; what a tensor holds that was written in part, or
 * under a condition, is UNKNOWN; the others are named by the instruction that wrote them. */
enum { OLD, UNKNOWN, FIRST_WRITTEN };

SameValues same_values_begin(const Func *func, Arena *arena) {
    SameValues values = {.func = func,
                         .group = sets_make(func->ntensors, arena),
                         .copied = NEW_ARRAY(arena, bool, func->ntensors),
                         .value = NEW_ARRAY(arena, uint32_t, func->ntensors),
                         .block = NEW_ARRAY(arena, uint32_t, func->ntensors)};
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        if (!copy_is_elidable(func, inst)) continue;
        sets_join(values.group, inst_dst(inst)->tensor, inst_src(inst)->tensor);
        values.copied[inst_dst(inst)->tensor] = values.copied[inst_src(inst)->tensor] = true;
        values.any = true;
    }
    return values;
}

static uint32_t value_of(const SameValues *values, uint32_t tensor) {
    return values->block[tensor] == 1 + values->begin ? values->value[tensor] : OLD;
}

static bool writes_all(const Func *func, const Inst *inst, const Operand *operand) {
    BlockSpan span = operand_blocks(func, operand);
    return !inst->condition && operand_is_whole(func, operand) && span.exact && span.first == 0 &&
           span.last == func->tensors[operand->tensor].blocks - 1;
}

/* What a destination holds after the instruction. */
static uint32_t written_value(const SameValues *values, uint32_t point, uint32_t operand) {
    const Inst *inst = &values->func->insts[point];
    if (!writes_all(values->func, inst, &inst->operands[operand])) return UNKNOWN;
    if (copy_is_elidable(values->func, inst)) return value_of(values, inst_src(inst)->tensor);
    return FIRST_WRITTEN + point;
}

void same_values_next(SameValues *values) {
    const Func *func = values->func;
    uint32_t point = values->next++;
    const Inst *inst = &func->insts[point];
    for (uint32_t o = 0; values->any && o < inst->ndst; o++) {
        uint32_t tensor = inst->operands[o].tensor;
        if (!values->copied[tensor]) continue;
        values->value[tensor] = written_value(values, point, o);
        values->block[tensor] = 1 + values->begin;
    }
    bool jumps = values->next < func->ninsts && func->insts[values->next].loop != inst->loop;
    if (jumps) values->begin = values->next;
}

bool may_hold_same(SameValues *values, uint32_t a, uint32_t b) {
    if (!values->copied[a] || !values->copied[b] ||
        set_of(values->group, a) != set_of(values->group, b))
        return false;
    uint32_t one = value_of(values, a), other = value_of(values, b);
    return one == other || one == UNKNOWN || other == UNKNOWN;
}

bool is_value_known(const SameValues *values, uint32_t tensor) {
    return value_of(values, tensor) != UNKNOWN;
}
