/* Floor: what any allocation of a function costs at least, found once it matters. */
#ifndef DRIVER_FLOOR_H
#define DRIVER_FLOOR_H

#include "bound/bound.h"

typedef struct {
    const Func *func; /* the input */
    const Target *target;
    Arena *arena; /* where the bound lives */
    bool sought;
    Bound bound; /* once it is sought */
} Floor;

/* The bound; what is sought at first goes by `reached`, cycles that spilling costs in some result.
 * O(1) but for the first time: see find_bound(). */
const Bound *floor_bound(Floor *floor, int64_t reached);

/* True if no allocation is cheaper than one in which spilling costs `cycles`. */
bool floor_is_reached(Floor *floor, int64_t cycles);

#endif
