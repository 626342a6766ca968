/* Forcing points: where most would be needed with a tensor that is away there. */
#ifndef DRIVER_FORCING_H
#define DRIVER_FORCING_H

#include "spill/rewrite.h"

/* The one with most need of points [first, last] is found in two trees: [2 * count], a leaf for
 * each point, each inner node the better of its two children. */
typedef struct {
    const uint32_t *need; /* [count] granules */
    uint32_t count;       /* instructions of the function before spilling */
    uint32_t *any;        /* of all points */
    uint32_t *left;       /* of those that are left in the result; UINT32_MAX: none */
    const Live *live;     /* of the result */
    uint32_t *after;  /* [result's ninsts] the next instruction that was there before, or count */
    uint32_t *before; /* [result's ninsts] 1 + the one before it; 0: none */
} Forcing;

/* Requires: the result has those instructions that it did not drop in their order, and `need` of
 * each before. O(instructions of both). */
Forcing forcing_make(const Rewritten *code, const Live *live, const uint32_t *need, uint32_t count,
                     Arena *arena);

/* The first point of most need within a range while none of its `count` parts is on chip in
 * the result; of one that leaves in place, within the range. O(intervals log instructions). */
uint32_t forcing_point(const Forcing *forcing, LiveRange range, const uint32_t *parts,
                       uint32_t count);

#endif
