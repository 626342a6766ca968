/* Headroom: how many blocks more of a tensor would still fit. */
#ifndef DRIVER_MORE_BLOCKS_H
#define DRIVER_MORE_BLOCKS_H

#include "driver/would_fit.h"

/* For each tensor that --headroom asks for and the input has: `f: %k: 3 blocks more would fit, not
 * 4`. `spilled`: the function does not fit as it is. */
void write_more_blocks(const FitQuestion *question, bool spilled, Writer *out);

#endif
