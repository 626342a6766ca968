#include "driver/peak_room.h"

#include "ir/target.h"
#include "support/sort.h"

int64_t rect_partitions(Rect rect) {
    return (int64_t)__builtin_popcount(rect.mask) * QUADRANT_PARTITIONS;
}

int64_t rect_area(Rect rect) {
    return (int64_t)(rect.high - rect.low) * GRANULE * rect_partitions(rect);
}

typedef struct {
    const Rect *taken;
    const SortKey *order; /* [count] of `taken`, the lowest first */
    uint32_t count, size;
} RoomPass;

/* The tallest free stretch of a band, the lowest of equal ones. *sum: granules of all. */
static Rect tallest_in(const RoomPass *pass, uint8_t mask, int64_t *sum) {
    Rect best = {0, 0, mask};
    uint32_t free = 0; /* nothing of the band is taken from here up to the next */
    *sum = 0;
    for (uint32_t i = 0; i <= pass->count; i++) {
        Rect next = {pass->size, pass->size, 0xF};
        if (i < pass->count) next = pass->taken[pass->order[i].id];
        if (!(next.mask & mask)) continue;
        uint32_t end = next.low < pass->size ? next.low : pass->size;
        if (end > free) *sum += end - free;
        if (end > free && end - free > best.high - best.low) best = (Rect){free, end, mask};
        if (next.high > free) free = next.high;
    }
    return best;
}

PeakRoom find_peak_room(const Rect *taken, uint32_t count, uint32_t size, Arena *scratch) {
    static const uint8_t BANDS[] = {0xF, 0x3, 0xC, 0x1, 0x2, 0x4, 0x8};
    SortKey *order = RAW_ARRAY(scratch, SortKey, count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = (SortKey){taken[i].low, i};
    sort_keys(order, count, scratch);
    RoomPass pass = {taken, order, count, size};
    PeakRoom room = {0};
    for (size_t b = 0; b < sizeof BANDS; b++) {
        int64_t sum;
        Rect tallest = tallest_in(&pass, BANDS[b], &sum);
        if (__builtin_popcount(BANDS[b]) == 1)
            room.area += rect_area((Rect){0, (uint32_t)sum, BANDS[b]});
        if (rect_area(tallest) > rect_area(room.largest)) room.largest = tallest;
    }
    return room;
}
