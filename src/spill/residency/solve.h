/* Solves the residency problem: which gaps between two accesses of a value to keep.
 *
 * The model is that of the lower bound. Between two neighbouring accesses of a value lies a gap. A
 * gap that is kept takes granules at its inner points; a gap that is cut costs a load at its end,
 * and its value is then stored once (unless DRAM has it already). */
#ifndef SPILL_RESIDENCY_SOLVE_H
#define SPILL_RESIDENCY_SOLVE_H

#include "analysis/live.h"
#include "ir/geometry.h"

#define NO_VALUE UINT32_MAX

typedef struct {
    LiveRange points; /* where keeping it takes granules; if empty, it is always kept */
    uint32_t owner;   /* the tensor: gaps of one owner share one band choice */
    uint32_t height;  /* granules over all its blocks, per band */
    uint8_t class;    /* ShapeClass of the owner */
    int64_t load;     /* cycles of the reload that cutting it needs, trip counts included; >= 0 */
    uint32_t value;   /* the value that it carries, stored once; NO_VALUE: never stored */
    bool cut;         /* in: must be cut. out: is cut */
} Gap;

typedef struct {
    Gap *gaps; /* [count], in order of owner, then of points */
    uint32_t count;
    const int64_t *store; /* [nvalues] cycles of a value's store, trip counts included */
    uint32_t nvalues;
    uint32_t npoints;
    const uint32_t *taken; /* [npoints * 4] granules taken in each quadrant by what stays */
    uint32_t size;         /* granules of each quadrant */
} GapProblem;

/* Sets `cut` of each gap so that the kept gaps fit beside what is taken, at every point and in
 * every quadrant, at the least cost (loads of cut gaps, stores of values with a cut gap) that it
 * finds within `steps`. Where `taken` alone exceeds the size nothing is kept. Requires gaps in
 * order of owner, then of points, inside npoints. Deterministic. O(steps + gaps log gaps + points).
 * Returns the cost. Prices of the linear relaxation (prices.h) order the items, then a
 * large-neighbourhood search (improve.h). */
int64_t solve_gaps(GapProblem *problem, uint64_t steps, Arena *scratch);

#endif
