/* Problems of gaps for tests and measures, and simple methods to compare with. */
#ifndef TEST_GAPS_H
#define TEST_GAPS_H

#include "spill/residency/solve.h"

typedef enum {
    GAPS_RANDOM,  /* each instruction reads two tensors by chance; sizes by chance */
    GAPS_LOCAL,   /* the same, but recent tensors are likelier */
    GAPS_REVERSE, /* tensors made one by one, then each read once more in reverse order */
    GAPS_CYCLIC,  /* sixteen equal tensors read in order, again and again; room for twelve */
    GAPS_BANDS,   /* as GAPS_LOCAL, of all shape classes */
    GAPS_LOOPS,   /* as GAPS_LOCAL, gaps of two intervals among them, and cheap and dear loads */
    GAPS_KINDS
} GapsKind;

/* The kind of that name ("random" and so on), or -1. */
int gaps_kind(const char *name);

/* A problem of about `size` instructions, at half of its peak demand. */
GapProblem gaps_make(GapsKind kind, uint64_t seed, uint32_t size, Arena *arena);

/* True if all gaps take the whole axis. */
bool gaps_are_full(const GapProblem *problem);

/* Cost of cutting, wherever it does not fit, the gap that ends furthest. Only for gaps_are_full(),
 * else 0. O(points * gaps). */
int64_t gaps_farthest(const GapProblem *problem, Arena *arena);

/* Cost of cutting whole owners, the cheapest by cycles per granule and point, until all fits, and
 * keeping then the gaps that still fit, the dearest first by the same measure. Only for
 * gaps_are_full(), else 0. O(points * gaps). */
int64_t gaps_whole(const GapProblem *problem, Arena *arena);

/* What is wrong with a solution of that cost, or NULL: bands are found by first fit only, so that
 * a problem with a choice of bands is checked by area. O(intervals + points). */
const char *gaps_fault(const GapProblem *problem, int64_t cost, Arena *arena);

#endif
