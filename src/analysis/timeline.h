/* The timeline: a function laid out in the order in which it runs.
 *
 * Trip counts are constants, so a function has one order of execution. Its points are those of the
 * function with loops laid out, each instruction once an iteration, and without those whose
 * condition does not hold. Where that would be too long, like iterations of a loop that picks no
 * sb block are laid out as two: the first, and a run that stands for all others. */
#ifndef ANALYSIS_TIMELINE_H
#define ANALYSIS_TIMELINE_H

#include "ir/ir.h"

#define NO_FRAME UINT32_MAX
#define NO_RUN UINT32_MAX

/* One iteration of a loop, or like iterations: its index is low to high, both ends included. */
typedef struct {
    uint32_t parent; /* of the loop around it, NO_FRAME at top level */
    uint32_t loop;
    int64_t low, high;
} Frame;

/* Like iterations laid out once: points [first, end), with a back edge. */
typedef struct {
    uint32_t first, end;
    uint32_t parent; /* the run around it, NO_RUN if none */
    int64_t trips;   /* at least 2 */
} Run;

typedef struct {
    uint32_t inst;  /* of the function */
    uint32_t frame; /* innermost, NO_FRAME at top level */
    uint32_t run;   /* innermost, NO_RUN if none */
} TimePoint;

typedef struct {
    const Func *func;
    TimePoint *points; /* [npoints] */
    Frame *frames;     /* [nframes] a parent before its children */
    Run *runs;         /* [nruns] in order of their first points, a parent before its children */
    uint32_t npoints, nframes, nruns;
} Timeline;

/* Lays `func` out into at most `most` points; loops that pick no block are laid out in full only
 * where all of it but spill code takes at most `full` points. False where it takes more than
 * `most`. O(points + loops). */
bool lay_out(const Func *func, uint32_t full, uint32_t most, Arena *arena, Timeline *timeline);

/* The indexes of the loops around a frame, in indices[loop]: the first iteration's, or the last's.
 * O(depth). */
void frame_first(const Timeline *timeline, uint32_t frame, int64_t *indices);
void frame_last(const Timeline *timeline, uint32_t frame, int64_t *indices);

/* How often a point runs: the trips of the runs around it, saturated. O(depth). */
int64_t point_trips(const Timeline *timeline, uint32_t point);

#endif
