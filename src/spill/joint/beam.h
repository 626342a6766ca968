/* Beam search over the points: decides places and kept gaps point by point. */
#ifndef SPILL_JOINT_BEAM_H
#define SPILL_JOINT_BEAM_H

#include "spill/joint/prices.h"

typedef struct {
    uint32_t width;  /* states carried from point to point, at least 1 */
    uint32_t tries;  /* places tried for each segment, at least 1 */
    double scale;    /* of prices: the lower, the more a kept gap is worth */
    double snug;     /* what a narrow hole beside a place costs, in prices of its room */
    double broken;   /* the same for room in other quadrants that no taller one can use any more */
    double apart;    /* how strongly what lasts is drawn to the low end, and all else to the high */
    double deadline; /* by clock_now(), when it gives up; 0: no clock is read */
} BeamOptions;

typedef struct Beam Beam;

/* What all beam searches over one problem share; the problem and the prices' arrays must outlive
 * it. O(segments log segments). */
Beam *beam_make(const JointProblem *problem, JointPrices prices, Arena *memory);

/* Goes through the points in order and carries the best few states of the chip. A segment that
 * begins stays where its value is, if nothing has evicted it since. Else it is loaded to where what
 * it evicts is worth least by the prices; several places are tried. Sets rects and kept of the
 * solution. Returns false where some segment found no place or the deadline passed. A segment is
 * taken to fill all points from its first to its last. Source: beam search; the worth of a state is
 * what it paid, less the reduced cost of what it holds.
 * O(segments * width * tries * residents at once). */
bool beam_search(Beam *beam, BeamOptions options, JointSolution *solution);

/* The same between two points of a whole solution: what is on chip when the first begins, or after
 * the last has passed, stays as it is. Cuts what was kept across the end if it is not in its
 * place then. Sets rects and kept of the segments between and of those cut. Requires that each
 * segment and each gap is one interval. Adds O(segments) to the cost above. */
bool beam_search_between(Beam *beam, BeamOptions options, uint32_t from, uint32_t end,
                         JointSolution *solution);

/* Steps that the last search took; one is a look at a resident. */
uint64_t beam_steps(const Beam *beam);

#endif
