/* Random numbers for the generators: the same on every machine for the same seed. */
#ifndef TEST_CHANCE_H
#define TEST_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

/* State of a generator (splitmix64, public domain, Sebastiano Vigna). Any value is a good start. */
typedef struct {
    uint64_t state;
} Chance;

static inline uint64_t chance_next(Chance *chance) {
    uint64_t z = chance->state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
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
