/* The joint problem: places of segments, and which of the gaps between them are kept on chip.
 *
 * A value that may live in DRAM must have a place at each of its accesses: a *segment*. Between two
 * segments of a value lies a *gap*. A gap that is kept holds both segments and itself in one place;
 * cutting it costs a load of the later segment, and the value must be stored once. Whether a gap
 * can be kept depends on all other places, which a profile of free bytes does not show. */
#ifndef SPILL_JOINT_PROBLEM_H
#define SPILL_JOINT_PROBLEM_H

#include "analysis/live.h"
#include "ir/geometry.h"
#include "spill/residency/solve.h"

typedef struct {
    LiveRange points; /* where it must have its place; not empty */
    uint32_t height;  /* granules */
    uint32_t align;   /* granules, at least 1 */
    ShapeClass class; /* bands where it may be placed */
    bool fixed;       /* is at `rect` and does not move */
    Rect rect;        /* in: the place to begin with, mask 0 for none; out: the place, likewise */
    bool linked;      /* has the value of the segment before it in the list */
    bool kept;        /* linked segments. in: prefer to keep the gap before it. out: is kept */
    LiveRange gap;    /* linked segments: the points between; may be empty */
    int64_t load;     /* cycles that cutting this gap costs, trip counts included; >= 0 */
    uint32_t value;   /* what the gap carries: stored once if it is cut; NO_VALUE: never stored */
} JointSegment;

typedef struct {
    JointSegment *items; /* [count], those of one value in order */
    uint32_t count;
    const int64_t *store; /* [nvalues] cycles of a value's store */
    uint32_t nvalues;
    uint32_t npoints;
    uint32_t size; /* granules of the byte axis */
    bool full;     /* the preferred gaps fill the room: no solution costs less */
    bool placed;   /* segments have places to begin with, which agree with the preferred gaps */
} JointProblem;

typedef struct {
    uint64_t steps;  /* 0: no search */
    double deadline; /* by clock_now(), when beam searches end; 0: no clock is read */
} JointEffort;

/* A place for every segment, and which gaps are kept. */
typedef struct {
    Rect *rects;  /* [count] */
    bool *kept;   /* [count] the gap before each */
    int64_t cost; /* INT64_MAX: none */
} JointSolution;

/* Granules times quadrants. */
static inline double segment_area(const JointSegment *item) {
    return (double)item->height * class_quadrants(item->class);
}

#endif
