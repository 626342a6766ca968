/* Lodging: places for values, and which of their gaps are kept on chip, decided together.
 *
 * A value that may live in DRAM must stand somewhere at each of its accesses; those are its stays.
 * Between two stays lies a gap: kept, both stays and the gap share one place; cut, the later stay
 * costs a load, and its value must then be stored once. Whether a gap can be kept depends on the
 * places of all others, which a profile of free bytes does not show. */
#ifndef SPILL_LODGE_H
#define SPILL_LODGE_H

#include "analysis/live.h"
#include "ir/geometry.h"
#include "spill/choose.h"

typedef struct {
    LiveRange points; /* where it must have its place; not empty */
    uint32_t height;  /* granules */
    uint32_t align;   /* granules, at least 1 */
    ShapeClass class; /* bands where it may stand */
    bool fixed;       /* stands at `rect` and does not move */
    Rect rect;        /* out: the place; mask 0 where none was found */
    bool linked;      /* carries on the value of the stay before it in the list */
    bool kept;        /* linked stays. in: the gap before it had better be kept. out: is kept */
    LiveRange gap;    /* linked stays: the points between; may be empty */
    int64_t load;     /* cycles that cutting this gap costs, trip counts included; >= 0 */
    uint32_t value;   /* what the gap carries: stored once if it is cut; NO_VALUE: never stored */
} Lodger;

typedef struct {
    Lodger *items; /* [count], those of one value in order */
    uint32_t count;
    const int64_t *store; /* [nvalues] cycles of a value's store */
    uint32_t nvalues;
    uint32_t npoints;
    uint32_t size; /* granules of the byte axis */
    bool full;     /* the gaps that had better be kept fill the room: no answer costs less */
} LodgeProblem;

typedef struct {
    uint64_t steps;  /* 0: no search */
    double deadline; /* by clock_now(), when sweeps end; 0: no clock is looked at */
} LodgeEffort;

/* Looks for a place for every stay such that what is paid for cut gaps is small. Runs of kept gaps
 * are laid in order of time, each where it leaves least useless room; what finds no room is taken
 * apart, puts out what is cheapest, and is joined again where it fits. Then, within the steps (one
 * is a look at one stay or gap), cut gaps are kept in places where little must make way, accepted
 * as in annealing. Where that is affordable, sweeps (a beam search over the points) go before it,
 * and behind it others over stretches of the answer, each kept if it costs no more: within eight
 * times the steps. The result costs no more than without any. Same input, same result. Returns
 * false where some stay found no place; places and gaps are set all the same. The start costs
 * O(runs times pieces that meet one). */
bool lodge(LodgeProblem *problem, LodgeEffort effort, Arena *scratch);

#endif
