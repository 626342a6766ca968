/* Fit: an affine form of loop indexes that gives a wanted value in each of some iterations. */
#ifndef SPILL_CONDITIONS_FIT_H
#define SPILL_CONDITIONS_FIT_H

#include "ir/affine.h"

/* Iterations, and the value that is wanted in each. */
typedef struct {
    uint32_t ndims, count;
    const uint32_t *loops;  /* [ndims] outermost first */
    const int64_t *indices; /* [count * ndims] */
    const int64_t *targets; /* [count] */
} FitSamples;

enum { GREATEST_FIT_MODULUS = 64 };

/* Finds a sum with integer coefficients that has the target's value in every sample; where there is
 * none, a remainder of one by the least modulus up to GREATEST_FIT_MODULUS that does. If the
 * samples leave a choice: of one index alone if that is enough, the outermost such; else no
 * coefficient can be made zero without another; then the smallest coefficients. Terms are in order
 * of `loops`, the constant last. False where there is no form, or int64_t does not hold what finds
 * it. In the arena. O(count * ndims) for each modulus that is tried, and ndims^4 beside. Source:
 * the solutions of linear equations in integers are a point and a lattice; each equation takes one
 * vector from its basis (Euclid's algorithm on what the equation makes of them; Cohen, "A course in
 * computational algebraic number theory", 1993, section 2.4). */
bool fit_affine(const FitSamples *samples, Arena *arena, Affine *form);

#endif
