/* Random numbers for the generators: the same on every machine for the same seed. */
#ifndef TEST_CHANCE_H
#define TEST_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "support/rng.h"

/* State of a generator. Any value is a good start. */
typedef struct {
    uint64_t state;
} Chance;

static inline uint64_t chance_next(Chance *chance) {
    return rng_next(&chance->state);
}

/* One of 0 .. count - 1; count > 0. The bias is below count / 2^64. */
static inline uint64_t chance_below(Chance *chance, uint64_t count) {
    return chance_next(chance) % count;
}

/* One of low .. high, both included. */
static inline int64_t chance_between(Chance *chance, int64_t low, int64_t high) {
    return low + (int64_t)chance_below(chance, (uint64_t)(high - low) + 1);
}

/* True in `percent` of a hundred cases. */
static inline bool chance_percent(Chance *chance, uint32_t percent) {
    return chance_below(chance, 100) < percent;
}

#endif
