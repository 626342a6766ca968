/* Live ranges: at which points each block of each sb tensor holds a value that is still needed. */
#ifndef ANALYSIS_LIVE_H
#define ANALYSIS_LIVE_H

#include "ir/ir.h"

/* Instruction points [first, last], both ends included. */
typedef struct {
    uint32_t first, last;
} Interval;

/* Sorted, disjoint, not adjacent intervals. */
typedef struct {
    const Interval *items;
    uint32_t count;
} LiveRange;

typedef struct {
    LiveRange *whole;   /* [ntensors] points where any block is live; empty for other spaces */
    LiveRange **blocks; /* [ntensors] NULL where all blocks are alike, else [blocks] */
} Live;

/* Requires: a checked function. Fills ranges of all sb tensors, in `arena`.
 * O(accesses log accesses + accesses times loops around them, per block named). */
Live live_range(const Func *func, Arena *arena);

/* The same, and needed[p] is set where what instruction p writes to an sb tensor is needed later.
 */
Live live_range_and_needs(const Func *func, Arena *arena, bool *needed);

/* The same for the tensors where wanted[t] is set, of any space. If `needed` is not NULL,
 * needed[p] is set where what instruction p writes to such a tensor is needed later. */
Live live_range_of(const Func *func, Arena *arena, const bool *wanted, bool *needed);

/* The range of one block. */
LiveRange live_block(const Live *live, uint32_t tensor, int64_t block);

/* True if the two share a point. O(a.count + b.count). */
bool live_overlap(LiveRange a, LiveRange b);

/* The points of either. O(a.count + b.count). */
LiveRange live_union(LiveRange a, LiveRange b, Arena *arena);

/* True if the range has the point. O(log intervals). */
bool live_at(LiveRange range, uint32_t point);

#endif
