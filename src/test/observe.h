/* Runs a function and watches at which points each block of each sb tensor is live. */
#ifndef TEST_OBSERVE_H
#define TEST_OBSERVE_H

#include "ir/ir.h"
#include "support/arena.h"

typedef struct {
    const Func *func;
    uint32_t *rows; /* [ntensors + 1] first row of each tensor; one row a block, none outside sb */
    size_t words;   /* of one row */
    uint64_t *bits; /* [rows * words] bit p of a row: the block is live at point p */
} Observed;

/* A block is live at each point that the run passes between a write of it (or entry, for an input)
 * and a read that receives that write, both ends included; entry is at point 0. A write of a region
 * continues the old value; any other that happens and touches the block ends it. A write that
 * nobody reads is live at its own point, the last value of an output to the end of the run. An
 * access touches the blocks that it names at that step only. Requires few steps: O(steps times live
 * blocks). */
Observed observe(const Func *func, Arena *arena);

bool observed_live(const Observed *observed, uint32_t tensor, int64_t block, uint32_t point);

/* The largest sum, over one point, of what is live there: granules of each block times the
 * quadrants that it takes. */
int64_t observed_peak(const Observed *observed);

#endif
