/* Keep: places of an earlier allocation, so that a small edit makes a small difference. */
#ifndef DRIVER_STABLE_H
#define DRIVER_STABLE_H

#include "spill/round.h"

/* An earlier allocation of the function at hand. */
typedef struct {
    const Func *func; /* NULL: there is none */
    StrMap tensors;   /* its tensors by identity */
} Earlier;

/* What spilling and splitting add, by the mark in its name. */
typedef enum { MADE_COPY, MADE_PART, MADE_HOME, MADE_NOT } Made;

/* What a tensor of a result is, and of which tensor of the input: sets *of but for MADE_NOT. */
Made made_of(const Tensor *tensor, Str *of);

/* The function of that name in `previous` (may be NULL). A tensor's identity is its name; that of a
 * working copy, a part or a home is what it is made of and the first instruction that it serves,
 * because what is spilled changes with every edit. O(tensors + operands). */
Earlier earlier_find(const Module *previous, Str name, Arena *arena);

/* [func->ntensors] of copies, parts and homes, which have names: the name of what stood for the
 * same in the earlier allocation; else empty. O(tensors + operands). */
const Str *earlier_names(const Earlier *earlier, const Func *func, Arena *arena);

typedef struct {
    bool coalesce; /* copies whose ends share a place stay so */
    Placer placer; /* of what has to move */
    uint32_t size; /* granules of the byte axis */
    const Earlier *earlier;
    bool placed; /* the function has places already; else it is the input as it came */
} KeepOptions;

/* How many nodes have places in the earlier allocation, and how many of them lie there now. */
typedef struct {
    uint32_t known, kept;
} KeepCount;

/* Gives the nodes of an analysed round the places that they had in the earlier allocation, where
 * those are legal and nobody is in the way, and places the rest around them; others move where that
 * finds no room. Copies whose ends share a place, now or in the earlier allocation, stay so. On
 * success fills the round as place_state() does and returns true. Where the function has places
 * already it always succeeds: then those that cannot go back stay where they are. Spills nothing.
 * O(edges log degree) and the cost of place(). */
bool keep_places(const KeepOptions *keep, Arena *arena, Round *round, KeepCount *count);

/* The same for a result whose blocks live in time: those that can go back to their earlier places
 * do. Sets the places of its tensors; counts blocks. */
void keep_blocks(const KeepOptions *keep, Arena *arena, Rewritten *rewritten, KeepCount *count);

#endif
