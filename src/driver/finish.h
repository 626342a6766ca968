/* What a placed function carries besides its places, and what its DMAs cost. */
#ifndef DRIVER_FINISH_H
#define DRIVER_FINISH_H

#include "ir/ir.h"

/* Marks the header: `!ready_for_codegen`, and `!no_spill` where nothing was spilled. */
void mark_header(Func *func, bool spilled, Arena *arena);

/* Marks copies whose two ends share their places `!elided`, and no others. Requires places. */
void mark_copies(Func *func, Arena *arena);

typedef struct {
    int64_t cycles, bytes;   /* each DMA as often as its loops run; conditions count as true */
    uint32_t saves, reloads; /* instructions with `!spill` and `!reload` */
} DmaSum;

/* Sums the loads and saves of a function. O(instructions + loops). */
DmaSum sum_dmas(const Func *func, const Target *target);

/* The same for one instruction. O(loops around it). */
DmaSum sum_dma(const Func *func, const Inst *inst, const Target *target);

/* The highest byte that a placed tensor that is named uses, plus one. */
int64_t high_water(const Func *func);

/* True if the function says that it is ready and every sb tensor in use has its places. */
bool is_placed(const Func *func);

#endif
