/* What the machine is like: sizes of the State Buffer and costs of access. */
#ifndef IR_TARGET_H
#define IR_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "support/str.h"

enum { PARTITIONS = 128, GRANULE = 8 /* bytes */, QUADRANTS = 4, QUADRANT_PARTITIONS = 32 };

/* Limits on what a target may say: sizes in granules fit 32 bits, sums of cycles 64. */
#define TARGET_MOST_BYTES ((int64_t)1 << 34)
#define TARGET_MOST_CYCLES ((int64_t)1 << 40)

typedef struct {
    Str name;            /* as written, aliases resolved; never empty */
    int64_t sb_bytes;    /* bytes per partition; at least sb_reserved */
    int64_t sb_reserved; /* bytes per partition, taken from the top */
    int64_t sb_init;     /* cycles: fixed cost of one on-chip access */
    int64_t dma_init;    /* cycles: fixed cost of one DMA */
    int64_t dma_rate;    /* bytes per cycle per 16-partition row group; at least 1 */
} Target;

/* The built-in target of that name or alias, or NULL. */
const Target *target_builtin(Str name);

/* Names and aliases of all built-in targets: each target's own name, then its aliases. */
const Str *target_names(uint32_t *count);

/* True if the five values are those of the built-in target of the same name. */
bool target_is_builtin(const Target *target);

/* True if all five values are the same. */
bool target_same(const Target *a, const Target *b);

/* Bytes per partition that tensors may use: sb_bytes - sb_reserved. */
int64_t target_usable(const Target *target);

/* The same in whole granules, and with the last one counted though it may not be whole: a fixed
 * tensor may touch it. */
uint32_t target_granules(const Target *target);
uint32_t target_touched(const Target *target);

/* Cycles of one DMA of `bytes` bytes per partition over `partitions` partitions:
 * dma_init + ceil(ceil(partitions / 16) * bytes / dma_rate). Saturates at INT64_MAX.
 * Source: the DMA cost formula of the hardware figures. */
int64_t latency_dram(const Target *target, int64_t partitions, int64_t bytes);

/* Cycles of one on-chip access: sb_init + ceil(bytes / 8). Saturates. */
int64_t latency_sb(const Target *target, int64_t bytes);

#endif
