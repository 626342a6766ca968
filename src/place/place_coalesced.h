/* Places nodes so that copies do nothing: partners are coalesced first. */
#ifndef PLACE_PLACE_COALESCED_H
#define PLACE_PLACE_COALESCED_H

#include "analysis/partners.h"
#include "place/place.h"

/* Copies that are left as they are: their ends have a node each. */
typedef struct {
    bool *frozen; /* by copy; grows only */
    const uint32_t
        *index; /* [ninsts] which of `frozen` is a copy's; UINT32_MAX: it never freezes */
} Freeze;

typedef struct {
    Placed places; /* of the nodes as they came; graph is theirs, stack that of the merged nodes */
    uint32_t groups; /* accumulation groups among partners */
    uint32_t merges; /* pairs of partners that share their place */
} Coalesced;

/* Coalesces partners and places the merged nodes; places.placed says whether all have places. Where
 * no point is over capacity it coalesces conservatively, without the exact search; it freezes the
 * copies of merged nodes that found no place and tries again, a few times. Where some point is over
 * capacity, copies may be the reason: it coalesces all that is legal, once. `func` is the function
 * of the nodes, which are not merged. The cost of place() a few times. */
Coalesced place_coalesced(const Func *func, const PlaceProblem *problem, const Placer *placer,
                          const Freeze *freeze, Arena *arena);

#endif
