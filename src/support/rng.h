/* Random numbers, the same on every machine for the same start. */
#ifndef SUPPORT_RNG_H
#define SUPPORT_RNG_H

#include <stdint.h>

/* SplitMix64 (public domain, Sebastiano Vigna). Any state is a good start. */
static inline uint64_t rng_next(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* One of 0 .. bound - 1 by xorshift64* (Marsaglia, Vigna): one multiplication and no division, for
 * searches that draw at every step. The state must not be 0. */
static inline uint32_t rng_below(uint64_t *state, uint32_t bound) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * UINT64_C(0x2545F4914F6CDD1D) >> 32) * bound >> 32);
}

#endif
