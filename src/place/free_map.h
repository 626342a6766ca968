/* Free map: which granules of each quadrant are free, and where the lowest free run is. */
#ifndef PLACE_FREE_MAP_H
#define PLACE_FREE_MAP_H

#include "ir/geometry.h"
#include "support/arena.h"

enum { BAND_MASKS = 7 /* four quadrants, two halves, everything */ };

/* A part of the axis: runs of granules where all of a band is free, for each band. The bands are
 * one more than there are, so that vectors are full. */
typedef struct {
    uint32_t children; /* the lower half; the next one is the upper. 0: it is alike all over */
    uint8_t free;      /* quadrants that are free, where it is alike */
    uint32_t prefix[BAND_MASKS + 1]; /* the run at its bottom */
    uint32_t suffix[BAND_MASKS + 1]; /* at its top */
    uint32_t longest[BAND_MASKS + 1];
} FreePart;

/* A segment tree over the byte axis, grown where the axis changes: its size does not matter. */
typedef struct {
    FreePart *parts; /* the root is the first */
    size_t count, capacity;
    uint32_t spare; /* a pair of parts that nobody uses, the next in its `children`; 0: none */
    uint32_t span;  /* granules of the root: a power of two */
    Arena *arena;
} FreeMap;

/* All of the axis is free. O(1). */
FreeMap free_map_make(uint32_t size, Arena *arena);

/* The lowest or the highest aligned place in a band: moves `rect` there. False if none was found:
 * where it is aligned, a run of less than height + align - 1 granules is tried only if it is the
 * lowest or highest one of `height`. O(log size). */
bool free_map_find(const FreeMap *map, uint32_t align, bool highest, Rect *rect);

/* Takes all granules of a rectangle, or gives them back. O(log size) for each change of what is
 * free on its way. */
void free_map_take(FreeMap *map, Rect rect);
void free_map_give(FreeMap *map, Rect rect);

#endif
