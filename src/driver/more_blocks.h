/* Headroom: how many blocks more of a tensor would still fit. */
#ifndef DRIVER_MORE_BLOCKS_H
#define DRIVER_MORE_BLOCKS_H

#include "driver/would_fit.h"

typedef struct {
    bool changeable; /* one block more can be given: see CHANGE_BUFFERS */
    int64_t fit;     /* as many more were allocated without spilling */
    int64_t refused; /* as many were not; INT64_MAX: none that was tried */
} MoreBlocks;

/* Requires a function that fits as it is. The tensor is pinned: all blocks are on chip together, as
 * they are when iterations run ahead. Doubles the number until it does not fit, and halves what
 * lies between. A bounded number is tried, fewer of a long function: then `refused` is not the next
 * after `fit`. O(log blocks) allocations. */
MoreBlocks find_more_blocks(const FitQuestion *question, uint32_t tensor);

/* For each tensor that --headroom asks for and the input has: `f: %k: 3 blocks more would fit, not
 * 4`. `spilled`: the function does not fit as it is. */
void write_more_blocks(const FitQuestion *question, bool spilled, Writer *out);

#endif
