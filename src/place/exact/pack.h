/* The exact search: places rectangles with live ranges in the State Buffer, or proves that there is
 * no placement. */
#ifndef PLACE_EXACT_PACK_H
#define PLACE_EXACT_PACK_H

#include "analysis/live.h"
#include "ir/geometry.h"

/* One rectangle to place. Units are granules of 8 bytes on the byte axis. */
typedef struct {
    ShapeClass class; /* bands where it may be placed */
    uint32_t height;  /* granules, at least 1 */
    uint32_t align;   /* its first granule is a multiple of this; at least 1 */
    LiveRange range;  /* points where it is live; not empty */
    bool fixed;       /* its place is given: `offset` in `band` */
    uint8_t band;     /* quadrant mask; in: where fixed. out: where placed */
    uint32_t offset;  /* first granule; in: where fixed. out: where placed */
} PackItem;

typedef struct {
    PackItem *items; /* [count]; fixed ones included */
    uint32_t count;
    uint32_t size; /* granules on the byte axis */
} PackProblem;

typedef enum {
    PACK_FOUND,      /* every item has its place */
    PACK_IMPOSSIBLE, /* proved: there is no placement */
    PACK_GAVE_UP     /* out of steps */
} PackStatus;

typedef struct {
    uint64_t steps;  /* budget: a step is one item tried at one place, or the like; never time */
    uint64_t seed;   /* of the perturbations */
    double deadline; /* seconds of the monotonic clock when it gives up; 0: no clock is looked at */
} PackOptions;

/* Places every item so that no two overlap: items that share a granule of a quadrant share no point
 * of their ranges. Sets the items' places on PACK_FOUND only. The same input gives the same result.
 * `used` (may be NULL): steps taken. Tries greedy orders first, then joins items that fit each
 * other, then searches depth first. O(overlaps log overlaps + steps). Sources: in search.c. */
PackStatus pack(PackProblem *problem, PackOptions options, Arena *scratch, uint64_t *used);

#endif
