/* Problems whose answer is known: all fit, with nothing to spare. */
#ifndef TEST_KNOWN_H
#define TEST_KNOWN_H

#include "ir/ir.h"

typedef struct {
    uint32_t count;   /* tensors wanted; fewer where the buffer cannot be cut so often */
    int64_t granules; /* height of the State Buffer in granules of 8 bytes */
    uint32_t times;   /* its width in time slots, of two instructions each */
    bool bands;       /* cut the partition axis too: quadrants, halves and full height mixed */
    bool pinwheels;   /* also cuts that no sequence of straight cuts makes */
    uint32_t holes;   /* percent of cuts that make one tensor of two pieces, with a hole */
    bool placed;      /* give every tensor its place, as a fixed one */
    uint64_t seed;
} KnownCuts;

/* The full State Buffer (time by bytes by quadrants) cut into boxes, a tensor each: it fits with
 * zero slack at every point. Declared in random order. For each time slot an instruction `begin`
 * that writes all tensors beginning there and an instruction `finish` that reads all that end. */
Module *known_cuts(Arena *arena, KnownCuts cuts);

/* `count` tensors of one granule over all partitions, with room for `colours`: each has a hidden
 * colour, and an edge to `percent` of the tensors of other colours. For each edge `%u, %v = def`
 * and `use %u, %v`, so that ranges with holes give exactly that graph (without split). */
Module *known_colours(Arena *arena, uint32_t count, uint32_t colours, uint32_t percent,
                      uint64_t seed);

#endif
