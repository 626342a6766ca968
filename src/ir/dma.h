/* What DMAs cost. */
#ifndef IR_DMA_H
#define IR_DMA_H

#include "ir/ir.h"

typedef struct {
    int64_t cycles, bytes;          /* each DMA as often as it runs: conditions are evaluated */
    uint32_t saves, reloads;        /* instructions with `!spill` and `!reload` */
    int64_t saves_run, reloads_run; /* how often these run */
} DmaSum;

/* Sums the loads and saves of a function. O(instructions + loops), and what inst_moves() takes
 * where there are conditions or ranges. */
DmaSum sum_dmas(const Func *func, const Target *target);

/* The same for one instruction. O(loops around it), likewise. */
DmaSum sum_dma(const Func *func, const Inst *inst, const Target *target);

/* Adds one sum to another. */
void add_dmas(DmaSum *sum, DmaSum more);

/* The operand of a load or save that is not in DRAM. */
const Operand *dma_on_chip(const Inst *inst);

/* True for a store of spill code, a reload, or either: by its mark. */
bool dma_is_store(const Inst *inst);
bool dma_is_reload(const Inst *inst);
bool dma_is_inserted(const Inst *inst);

/* True if some instruction is inserted: the function was spilled before. */
bool has_spill_code(const Func *func);

/* Cycles of one DMA of one whole block of a tensor. */
int64_t block_dma(const Target *target, const Tensor *tensor);

#endif
