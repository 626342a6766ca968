/* What DMAs cost. */
#ifndef IR_DMA_H
#define IR_DMA_H

#include "ir/ir.h"

typedef struct {
    int64_t cycles, bytes;   /* each DMA as often as its loops run; conditions count as true */
    uint32_t saves, reloads; /* instructions with `!spill` and `!reload` */
} DmaSum;

/* Sums the loads and saves of a function. O(instructions + loops). */
DmaSum sum_dmas(const Func *func, const Target *target);

/* The same for one instruction. O(loops around it). */
DmaSum sum_dma(const Func *func, const Inst *inst, const Target *target);

/* Cycles of one DMA of one whole block of a tensor. */
int64_t block_dma(const Target *target, const Tensor *tensor);

#endif
