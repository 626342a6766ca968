/* Free room: what is left of the State Buffer at one point. */
#ifndef DRIVER_PEAK_ROOM_H
#define DRIVER_PEAK_ROOM_H

#include "ir/geometry.h"
#include "support/arena.h"

typedef struct {
    int64_t area; /* bytes that are free, in all partitions */
    Rect largest; /* of the bands where tensors stand: the free rectangle of the largest area, the
                     lowest of the first such band; empty where nothing is free */
} PeakRoom;

/* Requires rectangles; they may overlap. `size`: granules of the byte axis. O(count log count). */
PeakRoom find_peak_room(const Rect *taken, uint32_t count, uint32_t size, Arena *scratch);

/* Partitions of a rectangle, and its bytes in all of them. */
int64_t rect_partitions(Rect rect);
int64_t rect_area(Rect rect);

#endif
