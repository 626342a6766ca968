#include "driver/floor.h"

const Bound *floor_bound(Floor *floor, int64_t reached) {
    BoundSearch search = {reached, BOUND_STEPS};
    if (!floor->sought) floor->bound = find_bound(floor->func, floor->target, search, floor->arena);
    floor->sought = true;
    return &floor->bound;
}

bool floor_is_reached(Floor *floor, int64_t cycles) {
    const Bound *bound = floor_bound(floor, cycles);
    return bound->known && cycles <= bound->cycles;
}
