/* Demand: what a function needs on chip as it runs, and what not keeping it there costs.
 *
 * Points of time are the instructions that run, in order; point 0 comes before the first and has
 * the values of sb inputs. What is traced is atoms (atoms.h), each with the value that it holds. A
 * copy hands its value on, so that both ends take room once. */
#ifndef BOUND_DEMAND_H
#define BOUND_DEMAND_H

#include "bound/atoms.h"
#include "ir/target.h"

/* Room in some lanes: quadrants, or one lane for the area of all four. */
typedef struct {
    uint32_t height; /* in each lane of the mask */
    Bands bands;     /* masks of lanes, one of which is taken */
} LaneShape;

/* Costs are counted in parts of a cycle, so that those of a DMA can be divided among atoms. */
enum { PART_BITS = 16 /* 2^PART_BITS parts make a cycle */ };
#define PARTS(cycles) ((cycles) * (INT64_C(1) << PART_BITS))

/* Of what must be kept. */
#define MUST_KEEP INT64_MAX

/* A value between an access and the next one that needs it. */
typedef struct {
    uint32_t first, last; /* points where keeping it takes room */
    uint32_t value;
    LaneShape shape;
    int64_t
        load;   /* parts that not keeping it costs, less those of a load that is then not needed */
    bool clean; /* DRAM has it when the gap begins: not keeping it needs no store */
} DemandGap;

/* An operand that may stand in several bands. */
typedef struct {
    uint32_t point;
    LaneShape shape;
} DemandOperand;

typedef struct {
    uint32_t npoints, lanes;
    uint32_t size;             /* granules of a lane */
    int64_t *taken[QUADRANTS]; /* [lanes][npoints] granules of what has no choice */
    DemandOperand *operands;   /* [noperands] what has */
    uint32_t noperands;
    DemandGap *gaps; /* [ngaps] in order of their ends */
    uint32_t ngaps;
    uint32_t nvalues;
    int64_t *store; /* [nvalues] parts */
    int64_t saved;  /* parts of loads that nothing needs, whatever is kept */
} BoundDemand;

/* Fills the demand of a checked function. False where it is too long, or costs are too large.
 * O(operands at all points, times the atoms that they name). */
bool find_demand(const Func *func, const Target *target, Arena *arena, BoundDemand *demand);

#endif
