/* What the files of the exact search share. Nobody else includes this. */
#ifndef PLACE_EXACT_INTERNAL_H
#define PLACE_EXACT_INTERNAL_H

#include "place/exact/pack.h"

/* Steps left, and the source of random numbers: all that a pass may use up. */
typedef struct {
    uint64_t limit, used; /* steps */
    uint64_t random;      /* state of the generator */
    double deadline;      /* seconds of the monotonic clock; 0: none */
    uint64_t looked;      /* steps used when the clock was looked at last */
} Budget;

/* True if there is a deadline and it has passed; then there are no steps left. */
bool pack_is_late(Budget *budget);

static inline bool budget_spend(Budget *budget, uint64_t steps) {
    budget->used += steps;
    return budget->used < budget->limit && !pack_is_late(budget);
}

/* SplitMix64: small, and good enough for perturbations. */
static inline uint64_t budget_random(Budget *budget) {
    uint64_t z = budget->random += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The sequence of Luby, Sinclair and Zuckerman: 1 1 2 1 1 2 4 ..., from index 1. */
static inline uint64_t pack_luby(uint64_t index) {
    for (;;) {
        uint64_t size = 1;
        while (2 * size - 1 < index)
            size *= 2;
        if (2 * size - 1 == index) return size;
        index -= size - 1;
    }
}

/* Who overlaps whom in time and might share a quadrant: compressed lists, each neighbour once. */
typedef struct {
    uint32_t count;  /* items */
    uint32_t *start; /* [count + 1] */
    uint32_t *list;  /* [start[count]] */
} PackGraph;

/* True: at some point a group of quadrants is asked for more than it has. O(m log m), m intervals.
 */
bool pack_overfull(const PackProblem *problem, Budget *budget, Arena *scratch);

/* False if there are more overlaps than the budget pays for. O(intervals log intervals + overlaps).
 */
bool pack_neighbours(const PackProblem *problem, Budget *budget, Arena *scratch,
                     PackGraph *neighbours);

/* A part of the problem that can be solved by itself: its items, without the fixed ones. */
typedef struct {
    const PackProblem *problem;
    const PackGraph *neighbours; /* of the problem */
    uint32_t *ids;               /* [count], ascending */
    uint32_t count;
    uint32_t capacity; /* granules that may be used, at most the problem's size */
} PackPart;

/* What is live at once, greatest sets only: any two items that overlap share a section. */
typedef struct {
    uint32_t count;
    uint32_t *start;   /* [count + 1] */
    uint32_t *members; /* [start[count]] items of each */
} Sections;

/* The sections of the part's items, in order of time; of the part uses problem and ids only. False
 * if there are more than `most` members. */
bool pack_sections(const PackPart *part, size_t most, Arena *scratch, Sections *sections);

/* Places being tried out. */
typedef struct {
    uint32_t *offset; /* [count] */
    uint8_t *band;    /* [count] 0: not placed */
} PackPlaces;

/* True: items of the part that all overlap each other are asking for too much. Of use where ranges
 * have holes: else such sets are all live at one point. Spends at most a sixteenth of what is left.
 */
bool pack_clique_too_high(const PackPart *part, Budget *budget, Arena *scratch);

/* Tries orders, then moves what failed to the front and tries again, up to `rounds` times. True:
 * every item of the part has its place. O(overlaps of the part) a round, and a logarithm. */
bool pack_greedy(const PackPart *part, uint32_t rounds, Budget *budget, Arena *scratch,
                 PackPlaces *places);

/* Searches depth first for a placement of the part. IMPOSSIBLE is proved for part.capacity only. */
PackStatus pack_search(const PackPart *part, Budget *budget, Arena *scratch, PackPlaces *places);

/* The whole search, without setting places. Parts that greedy orders leave open are searched;
 * `join`: with some of their items joined, and then as they are. */
PackStatus pack_solve(const PackProblem *problem, bool join, Budget *budget, Arena *scratch,
                      PackPlaces *places);

/* Joins items of a part in many ways and looks for a placement of what that makes. False says
 * nothing. Spends at most three quarters of what is left. */
bool pack_recreate(const PackPart *part, Budget *budget, PackPlaces *places);

#endif
