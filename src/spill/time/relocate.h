/* Relocate: moves cells between places so that what is kept saves most.
 *
 * Once each block has its place, what is kept is decided: a gap can be kept if and only if no block
 * that shares a granule with its block is accessed in it. So the search is one over places. */
#ifndef SPILL_TIME_RELOCATE_H
#define SPILL_TIME_RELOCATE_H

#include "spill/time/keep.h"

/* An answer to the problem of keep.h, with places. */
typedef struct {
    Rect *rects; /* [ncells] mask 0 where a cell is never accessed */
    bool *kept;  /* [gaps] */
    int64_t cost;
    bool legal; /* no two blocks that are accessed at one point, and no block that must stay, share
                   a granule with another that is accessed then */
} CellPlaces;

/* Begins with cells at `begin`, [ncells], mask 0 for those that have no place yet: they go where
 * they break least. Moves cells while that pays, and takes what it uses from `steps`. Beside cycles
 * it counts, in small, the conditions that the cut gaps of a class need, and prefers places that
 * many cells share. Deterministic. O(steps + accesses). Source: simulated annealing (Kirkpatrick
 * and others 1983); that places decide what stays is the view of code layout for direct-mapped
 * caches (Pettis and Hansen 1990). */
CellPlaces relocate(const KeepProblem *problem, const Rect *begin, uint64_t *steps, Arena *arena);

#endif
