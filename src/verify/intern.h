/* Values of transfers that change the shape: the same contents read give the same value. */
#ifndef VERIFY_INTERN_H
#define VERIFY_INTERN_H

#include "verify/machine.h"

typedef struct {
    Arena *arena;
    StrMap map; /* what was read, as bytes, to a position in `values` */
    uint64_t *values;
    size_t count, values_capacity;
    int64_t *key; /* scratch */
    size_t nkey, key_capacity;
    Pieces pieces; /* scratch */
} Interned;

void interned_init(Interned *interned, Arena *arena);

/* The value that a transfer from `source` (whose contents are `segments`) to `target` makes: the
 * one of an earlier transfer of the same contents between such shapes, else `fresh`, which is kept.
 * Contents that are cut into pieces in another way count as others. O(pieces). */
uint64_t intern_transfer(Interned *interned, Machine *machine, const Segments *segments,
                         const MachineAccess *source, const MachineAccess *target, uint64_t fresh);

#endif
