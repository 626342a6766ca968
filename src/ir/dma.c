#include "ir/dma.h"

#include "ir/runs.h"
#include "support/checked.h"

/* What moves is what the end in the State Buffer names. */
static void add_dma(DmaSum *sum, const Func *func, const Inst *inst, const Target *target) {
    if (inst->kind != OP_LOAD && inst->kind != OP_SAVE) return;
    const Operand *operand = inst->kind == OP_LOAD ? inst_dst(inst) : inst_src(inst);
    const Tensor *tensor = &func->tensors[operand->tensor];
    const Region *region = operand->region;
    int64_t partitions = region ? region->p1 - region->p0 : tensor->partitions;
    int64_t bytes = region ? region->b1 - region->b0 : tensor->bytes;
    int64_t times = inst_moves(func, inst, operand);
    sum->cycles =
        saturating_add(sum->cycles, saturating_mul(times, latency_dram(target, partitions, bytes)));
    sum->bytes =
        saturating_add(sum->bytes, saturating_mul(times, saturating_mul(partitions, bytes)));
    bool save = inst->kind == OP_SAVE && meta_find(inst->meta, "spill");
    bool reload = inst->kind == OP_LOAD && meta_find(inst->meta, "reload");
    sum->saves += save;
    sum->reloads += reload;
    if (save) sum->saves_run = saturating_add(sum->saves_run, inst_runs(func, inst));
    if (reload) sum->reloads_run = saturating_add(sum->reloads_run, inst_runs(func, inst));
}

DmaSum sum_dma(const Func *func, const Inst *inst, const Target *target) {
    DmaSum sum = {0};
    add_dma(&sum, func, inst, target);
    return sum;
}

DmaSum sum_dmas(const Func *func, const Target *target) {
    DmaSum sum = {0};
    for (uint32_t i = 0; i < func->ninsts; i++)
        add_dma(&sum, func, &func->insts[i], target);
    return sum;
}

int64_t block_dma(const Target *target, const Tensor *tensor) {
    return latency_dram(target, tensor->partitions, tensor->bytes);
}
