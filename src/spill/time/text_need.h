/* Need at the text: how much of the State Buffer each instruction needs at once, in the iteration
 * in which that is most. */
#ifndef SPILL_TIME_TEXT_NEED_H
#define SPILL_TIME_TEXT_NEED_H

#include "analysis/live.h"
#include "ir/target.h"

typedef struct {
    uint32_t *need;   /* [ninsts] granules, as in Pressure; saturated */
    uint32_t peak;    /* the largest */
    uint32_t inst;    /* the first that needs it; UINT32_MAX where nothing is needed */
    uint32_t *blocks; /* [ntensors] how many blocks of each live there, in that iteration */
    int64_t *indices; /* [nloops] that iteration, of the loops around it */
    bool in_time;     /* iterations are told apart; else the text counts as it stands */
} TextNeed;

/* Requires a checked function and its ranges on the text. Lays the function out in time where it
 * has loops and is not too long for that: two blocks that no iteration needs together are not added
 * up. O(points of time + accesses log accesses). */
TextNeed find_text_need(const Func *func, const Live *live, const Target *target, Arena *arena);

#endif
