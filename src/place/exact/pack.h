/* Placement search: rectangles with live ranges into the State Buffer. */
#ifndef PLACE_EXACT_PACK_H
#define PLACE_EXACT_PACK_H

#include "analysis/live.h"
#include "ir/geometry.h"

/* One rectangle to place. Units are granules of 8 bytes on the byte axis. */
typedef struct {
    ShapeClass class; /* which bands it may stand in */
    uint32_t height;  /* granules, at least 1 */
    uint32_t align;   /* its first granule is a multiple of this; at least 1 */
    LiveRange range;  /* points where it needs its place; not empty */
    bool fixed;       /* stands at `offset` in `band` already */
    uint8_t band;     /* quadrant mask; in: where fixed. out: where placed */
    uint32_t offset;  /* first granule; in: where fixed. out: where placed */
    double weight; /* pack_partial only: cost of leaving it out, at least 0; INFINITY: must not */
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

/* The budget of an effort level of the command line: 0 none, 1 for greedy orders only, 2 the
 * default (one to three seconds where nothing is found), each level above it ten times the one
 * before. */
uint64_t pack_default_steps(int effort);

/* Two items may share a granule of a quadrant only where their ranges share no point. Looks for a
 * place for every item; the items' places are set only on PACK_FOUND. Same input, same result.
 * `used`: steps taken. */
PackStatus pack(PackProblem *problem, PackOptions options, Arena *scratch, uint64_t *used);

/* Places what it can, so that the summed weight of the items left out is small (no proof that it is
 * least). Sets left_out[count], and the places of all other items. Fixed items stay. False: some
 * item of infinite weight is left out, or fixed items are in each other's way; left_out is set
 * still. */
bool pack_partial(PackProblem *problem, PackOptions options, Arena *scratch, bool *left_out,
                  uint64_t *used);

#endif
