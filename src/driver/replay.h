/* Replay: the spill code of an earlier allocation, for a function that was edited since. */
#ifndef DRIVER_REPLAY_H
#define DRIVER_REPLAY_H

#include "driver/stable.h"
#include "spill/facts.h"

typedef struct {
    const Func *input;
    const Facts *facts;
    const Earlier *earlier;
    const Func *found; /* a result without it, with its names, places and marks */
} ReplayOf;

typedef struct {
    Rewritten code;     /* placed and marked; of the facts' function */
    Plan plan;          /* its cuts, for reports */
    uint32_t places;    /* tensors that have their earlier place */
    int64_t home_bytes; /* where the last home ends */
} Replayed;

/* Does to the function what the earlier allocation did: instructions that are the same have the
 * same tensors, places, names, stores and reloads; what is new names the tensors that its
 * neighbours do; stores and loads that nothing needs any more go. True if the referee finds that
 * right, and it costs no more than an eighth above what was found without it. False too where loops
 * or shapes have changed, or something new names a tensor that has no place. O(operands + tensors
 * log tensors), the square of the instructions between the first and the last that differ, and
 * verify(). */
bool replay(const ReplayOf *of, Arena *arena, Replayed *result);

#endif
