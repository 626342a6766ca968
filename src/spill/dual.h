/* Dual prices of room: what a granule is worth at each point of each lane.
 *
 * The Lagrangian relaxation of the capacities. Given prices, each group of items decides alone;
 * the prices rise where more is kept than fits and fall elsewhere. Source: the volume algorithm
 * (Barahona and Anbil, "The volume algorithm: producing primal solutions with a subgradient
 * method", 2000). It serves the residency problem (prices.h) and the joint one
 * (joint/prices.h), which differ in lanes, groups and the length of a step. */
#ifndef SPILL_DUAL_H
#define SPILL_DUAL_H

#include "analysis/live.h"
#include "ir/geometry.h"

/* What can be kept: it then takes room at all its points. */
typedef struct {
    const Interval *spans; /* [nspans] */
    uint32_t nspans;
    uint8_t lanes; /* mask: where it takes room */
    double size;   /* in each of those */
    double load;   /* cycles that cutting it costs; >= 0 */
} DualItem;

#define NO_STORE (-1.0)

/* The relaxed problem. Items of one group share a store, which cutting any of them costs. */
typedef struct {
    DualItem *items; /* [count] */
    uint32_t count;
    uint32_t *group_first; /* [ngroups + 1] into members */
    uint32_t *members;     /* items of each group, every item once */
    double *store;         /* [ngroups] cycles; NO_STORE: cutting costs loads alone */
    uint32_t ngroups;
    double *capacity[QUADRANTS]; /* [lanes][npoints] */
    uint32_t npoints, lanes;
} DualProblem;

typedef struct {
    const DualProblem *problem;
    double *best[QUADRANTS];   /* [lanes][npoints] the best prices so far, cycles per granule */
    double *trial[QUADRANTS];  /* those that are tried */
    double *sums[QUADRANTS];   /* [lanes][npoints + 1] sums of `trial` before each point */
    double *use[QUADRANTS];    /* [lanes][npoints] room used, an average over passes */
    double *change[QUADRANTS]; /* [lanes][npoints + 1] scratch */
    float *share;              /* [count] how much of each item is kept, an average over passes */
    double *stored;            /* [ngroups] how much of its store is paid, an average over passes */
    double bound;              /* the least cost that the best prices prove */
    double stride;             /* relative length of a step; the caller may set the first one */
    double least_stride;       /* set by the caller */
    uint32_t idle;             /* passes since the bound last rose */
    uint32_t passes;
} Dual;

/* All prices 0. Requires that the problem outlives it. */
void dual_init(Dual *dual, const DualProblem *problem, Arena *memory);

/* One step towards better prices. `ahead`: by how much the bound should rise; the first pass, at
 * prices of 0, does not look at it. O(spans + lanes * points). */
void dual_improve(Dual *dual, double ahead);

/* Makes `sums` those of the best prices. O(lanes * points). */
void dual_settle(Dual *dual);

/* Cycles that the room of an item costs in the lanes of a mask, by `sums`. */
double dual_price(const Dual *dual, uint32_t item, uint8_t lanes);

#endif
