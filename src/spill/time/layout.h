/* Layout: places of cells, and what is broken by them. Internal to relocate.c. */
#ifndef SPILL_TIME_LAYOUT_H
#define SPILL_TIME_LAYOUT_H

#include "spill/time/keep.h"

/* Cycles of a conflict that must not be: more than any gap costs. */
#define HARD (2 * MOST_CYCLES)

/* Points where a cell is live if a gap is kept. */
typedef struct {
    uint32_t first, last;
    uint32_t gap; /* UINT32_MAX: it must live there */
} LiveSpan;

/* The gaps of a class in order of one side: each has its neighbours there. */
typedef struct {
    uint32_t gap_before, gap_after; /* UINT32_MAX at the ends */
} Neighbours;

/* A layout. The cost is kept up to date as cells are put and taken out. */
typedef struct {
    const KeepProblem *problem;
    const TimeGaps *gaps;
    const Cells *cells;
    Arena *scratch;
    Arena *round; /* of one move */
    /* Cells. */
    Rect *rects;          /* [ncells] places; mask 0 where a cell has none */
    uint32_t *height;     /* [ncells] granules */
    uint32_t *align;      /* [ncells] granules */
    Bands *bands;         /* [ncells] */
    bool *fixed;          /* [ncells] */
    uint32_t *live_cells; /* [nlive] those that are accessed */
    uint32_t nlive;
    uint32_t *first_span; /* [ncells + 1] in `spans` */
    LiveSpan *spans;      /* of a cell in order; any two are the same points or share none */
    uint32_t *first_near; /* [ncells + 1] in `near` */
    uint32_t *near;       /* cells that live, with all gaps kept, while another one does */
    /* What places break. */
    uint32_t *blockers; /* [gaps] accesses of cells on its granules that lie in it */
    uint32_t *cuts;     /* [nvalues] broken gaps that need its store */
    int64_t cost;       /* cycles of the reloads and stores of broken gaps, and conflicts */
    int64_t conflicts;  /* accesses of others while a cell must be there */
    /* What makes the text longer, and what leads on. */
    uint32_t *first_order;     /* [classes + 1] orders of a class: one for each side */
    uint32_t *breaks;          /* [orders] neighbours of which one is kept and one is not */
    uint32_t *first_neighbour; /* [gaps] in `neighbours` */
    Neighbours *neighbours;    /* of a gap, in each order of its class */
    uint32_t *sharers;         /* [ncells] cells that share a granule with it */
    int64_t complexity;        /* cycles that all of this counts as */
    int64_t per_condition;     /* for one more condition */
    int64_t per_sharer;        /* less for each of the first cells with which a cell shares a
                                  granule: places that many share leave others free */
    double load;               /* cycles of a reload, the mean of all gaps */
    uint64_t steps, rng;       /* of the search: steps left, state of its random numbers */
} CellLayout;

/* Makes a layout in which nothing has a place. The problem must outlive it. O(accesses log accesses
 * + pairs of cells that live together). */
void layout_init(CellLayout *layout, const KeepProblem *problem, Arena *scratch);

/* Puts a cell that has no place somewhere, or takes it out. O(cells that live while it does +
 * accesses of those that share its granules). */
void layout_put(CellLayout *layout, uint32_t cell, Rect rect);
void layout_take_out(CellLayout *layout, uint32_t cell);

/* True if nothing that is placed breaks the gap. */
static inline bool is_kept(const CellLayout *layout, uint32_t gap) {
    return layout->blockers[gap] == 0;
}

/* What the search makes small. */
static inline int64_t objective(const CellLayout *layout) {
    return layout->cost + layout->complexity;
}

/* Takes steps from what is left. */
static inline void spend_steps(CellLayout *layout, uint64_t steps) {
    layout->steps -= steps < layout->steps ? steps : layout->steps;
}

#endif
