/* Union-find: sets of numbers that grow together. The smallest number leads its set. */
#ifndef SUPPORT_UNION_FIND_H
#define SUPPORT_UNION_FIND_H

#include "support/arena.h"

#include <stdint.h>

/* Numbers 0 to count - 1, each a set of its own. */
static inline uint32_t *sets_make(uint32_t count, Arena *arena) {
    uint32_t *leader = RAW_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        leader[i] = i;
    return leader;
}

/* The leader of a number's set; halves the path to it (Tarjan and van Leeuwen 1984). */
static inline uint32_t set_of(uint32_t *leader, uint32_t i) {
    while (leader[i] != i)
        i = leader[i] = leader[leader[i]];
    return i;
}

static inline void sets_join(uint32_t *leader, uint32_t a, uint32_t b) {
    a = set_of(leader, a);
    b = set_of(leader, b);
    leader[a > b ? a : b] = a < b ? a : b;
}

#endif
