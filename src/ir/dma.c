#include "ir/dma.h"

#include "ir/runs.h"
#include "support/checked.h"

/* How often a DMA's instruction runs. `trips`: of the loops around it. */
static int64_t runs_of(const Func *func, const Inst *inst, int64_t trips) {
    return inst->condition ? inst_runs(func, inst) : trips;
}

static int64_t moves_of(const Func *func, const Inst *inst, const Operand *operand, int64_t trips) {
    if (inst->condition || (operand->blocks && operand->blocks->kind == BLOCKS_RANGE))
        return inst_moves(func, inst, operand);
    return saturating_mul(trips, operand_most_blocks(func, operand));
}

bool dma_is_store(const Inst *inst) {
    return inst->kind == OP_SAVE && meta_find(inst->meta, "spill");
}

bool dma_is_reload(const Inst *inst) {
    return inst->kind == OP_LOAD && meta_find(inst->meta, "reload");
}

bool dma_is_inserted(const Inst *inst) {
    return dma_is_store(inst) || dma_is_reload(inst);
}

const Operand *dma_on_chip(const Inst *inst) {
    return inst->kind == OP_LOAD ? inst_dst(inst) : inst_src(inst);
}

/* What moves is what the end in the State Buffer names. */
static void add_dma(DmaSum *sum, const Func *func, const Inst *inst, int64_t trips,
                    const Target *target) {
    if (inst->kind != OP_LOAD && inst->kind != OP_SAVE) return;
    const Operand *operand = dma_on_chip(inst);
    const Tensor *tensor = &func->tensors[operand->tensor];
    const Region *region = operand->region;
    int64_t partitions = region ? region->p1 - region->p0 : tensor->partitions;
    int64_t bytes = region ? region->b1 - region->b0 : tensor->bytes;
    int64_t times = moves_of(func, inst, operand, trips);
    sum->cycles =
        saturating_add(sum->cycles, saturating_mul(times, latency_dram(target, partitions, bytes)));
    sum->bytes =
        saturating_add(sum->bytes, saturating_mul(times, saturating_mul(partitions, bytes)));
    if (!dma_is_inserted(inst)) return;
    bool save = inst->kind == OP_SAVE;
    int64_t *count = save ? &sum->saves_run : &sum->reloads_run;
    *count = saturating_add(*count, runs_of(func, inst, trips));
    sum->saves += save;
    sum->reloads += !save;
}

DmaSum sum_dma(const Func *func, const Inst *inst, const Target *target) {
    DmaSum sum = {0};
    add_dma(&sum, func, inst, loop_trips(func, inst->loop), target);
    return sum;
}

void add_dmas(DmaSum *sum, DmaSum more) {
    sum->cycles = saturating_add(sum->cycles, more.cycles);
    sum->bytes = saturating_add(sum->bytes, more.bytes);
    sum->saves_run = saturating_add(sum->saves_run, more.saves_run);
    sum->reloads_run = saturating_add(sum->reloads_run, more.reloads_run);
    sum->saves += more.saves;
    sum->reloads += more.reloads;
}

DmaSum sum_dmas(const Func *func, const Target *target) {
    DmaSum sum = {0};
    Arena scratch;
    arena_init(&scratch);
    int64_t *trips = RAW_ARRAY(&scratch, int64_t, func->nloops);
    for (uint32_t l = 0; l < func->nloops; l++) {
        const Loop *loop = &func->loops[l];
        trips[l] = saturating_mul(loop->parent == NO_LOOP ? 1 : trips[loop->parent],
                                  saturating_sub(loop->high, loop->low));
    }
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        add_dma(&sum, func, inst, inst->loop == NO_LOOP ? 1 : trips[inst->loop], target);
    }
    arena_free(&scratch);
    return sum;
}

int64_t block_dma(const Target *target, const Tensor *tensor) {
    return latency_dram(target, tensor->partitions, tensor->bytes);
}

bool has_spill_code(const Func *func) {
    for (uint32_t p = 0; p < func->ninsts; p++)
        if (dma_is_inserted(&func->insts[p])) return true;
    return false;
}
