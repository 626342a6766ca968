/* Sums and products that do not wrap: they stop at the ends of int64_t. */
#ifndef SUPPORT_CHECKED_H
#define SUPPORT_CHECKED_H

#include <stdint.h>

static inline int64_t saturating_add(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return a > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static inline int64_t saturating_sub(int64_t a, int64_t b) {
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference)) return a >= 0 ? INT64_MAX : INT64_MIN;
    return difference;
}

static inline int64_t saturating_mul(int64_t a, int64_t b) {
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product)) return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
    return product;
}

/* a / b rounded up; a >= 0, b > 0. */
static inline int64_t ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

/* The least multiple of b that is not below a, or the largest that int64_t holds; a >= 0, b > 0. */
static inline int64_t round_up(int64_t a, int64_t b) {
    return saturating_add(a, b - 1) / b * b;
}

/* The largest number that divides both, the other one where one is 0; a, b >= 0. */
static inline int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* a - b * floor(a / b): 0 to b - 1; b > 0. */
static inline int64_t floor_mod(int64_t a, int64_t b) {
    int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

#endif
