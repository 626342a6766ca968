/* Rows: the points of time where not all that could be kept fits, and what competes there. */
#ifndef BOUND_ROWS_H
#define BOUND_ROWS_H

#include "bound/demand.h"

/* What takes room in some rows. */
typedef struct {
    uint32_t first, last; /* rows */
    LaneShape shape;
    int64_t load;   /* parts, > 0; MUST_KEEP: it stays */
    uint32_t value; /* whose store not keeping it costs too; 0: none */
} RowItem;

/* The bound's problem: which items are kept, so that they fit in each lane of each row, at the
 * least cost of loads and stores. */
typedef struct {
    uint32_t nrows, lanes;
    uint32_t *point;              /* [nrows] of the demand */
    int64_t *capacity[QUADRANTS]; /* [lanes][nrows] granules; what no sum of heights can fill is
                                     left out */
    int64_t *divisor[QUADRANTS];  /* [lanes][nrows] of all heights there, and of the capacity */
    RowItem *items;               /* [nitems] by value */
    uint32_t nitems;
    uint32_t nvalues;
    const int64_t *store; /* [nvalues] parts */
    int64_t constant;     /* parts that any choice costs; mostly 0, or below for loads that go */
} RowProblem;

/* Requires a demand, whose `taken` it completes by what must be kept. Of neighbouring points where
 * one has all gaps of the other and no more room, only that one is a row. O(points + gaps log gaps
 * + rows times different heights). */
RowProblem find_rows(BoundDemand *demand, Arena *arena);

#endif
