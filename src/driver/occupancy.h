/* Occupancy: how much of the State Buffer is needed at once at each point, or taken. All that tells
 * bytes needed tells these: -v, the figures, pictures, explanations and errors. */
#ifndef DRIVER_OCCUPANCY_H
#define DRIVER_OCCUPANCY_H

#include "analysis/live.h"
#include "analysis/node.h"
#include "ir/target.h"
#include "spill/time/time_facts.h"

typedef struct {
    const Func *func;
    const Live *live; /* of func */
    const Target *target;
    const Source *source; /* of the spans, with its lines indexed; or NULL */
    bool placed;          /* take tensors where they lie */
    bool remat;           /* gaps are priced with values that DRAM has anyway */
    bool least; /* leave out what a copy may put into the place of its source: no placement needs
                   less */
} PeakOf;

typedef struct {
    const PeakOf *of;
    const Func *func; /* of->func; where all is placed, each tensor with a place is fixed here */
    bool in_time;     /* iterations are told apart, block by block */
    TimeFacts facts;  /* where it is laid out in time */
    Nodes nodes;      /* tensors over points of the text, or cells over those of time */
    uint32_t *needs;  /* [nodes.npoints] granules needed in the fullest quadrant; where all is
                         placed, those that are taken */
    uint32_t peak;    /* the first point that needs most; UINT32_MAX: nothing is needed */
} Occupancy;

/* Iterations are told apart where the function has loops and is not too long to be laid out; else
 * an instruction needs what any iteration of it does. What lies at one place counts once. `of` must
 * outlive it. O(points of time + intervals log intervals + operands). */
Occupancy find_occupancy(const PeakOf *of, Arena *arena);

/* [ninsts] what each instruction needs, in the iteration that needs most; 0 where it never runs.
 * O(points). */
uint32_t *needs_of_insts(const Occupancy *all, Arena *arena);

/* The instruction of a point of its nodes. */
static inline uint32_t occupied_inst(const Occupancy *all, uint32_t point) {
    return all->in_time ? all->facts.timeline.points[point].inst : point;
}

#endif
