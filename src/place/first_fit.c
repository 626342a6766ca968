#include "place/first_fit.h"

#include "support/sort.h"

/* The lowest offset in one band, or more than `size` less the height where there is none. */
static uint64_t lowest_in_band(const Rect *taken, uint32_t count, Shape shape, uint8_t band) {
    uint64_t offset = 0;
    for (uint32_t i = 0; i < count && taken[i].low < offset + shape.height; i++)
        if ((taken[i].mask & band) && taken[i].high > offset)
            offset = align_up(taken[i].high, shape.align);
    return offset;
}

bool first_fit(const Rect *taken, uint32_t count, Shape shape, uint32_t size, Rect *rect) {
    Bands bands = class_bands(shape.class);
    uint64_t best = UINT64_MAX;
    for (uint8_t b = 0; b < bands.count; b++) {
        uint64_t offset = lowest_in_band(taken, count, shape, bands.masks[b]);
        if (offset >= best || offset + shape.height > size) continue;
        best = offset;
        *rect = (Rect){(uint32_t)offset, (uint32_t)offset + shape.height, bands.masks[b]};
    }
    return best != UINT64_MAX;
}

/* Where the search in a band goes on. */
typedef struct {
    uint64_t offset; /* the lowest that may be free */
    uint32_t next;   /* those before it in `taken` lie below, or where `offset` has passed them */
} BandSearch;

static void find_next(const Rect *taken, uint32_t count, Shape shape, uint8_t band,
                      BandSearch *at) {
    for (; at->next < count && taken[at->next].low < at->offset + shape.height; at->next++)
        if ((taken[at->next].mask & band) && taken[at->next].high > at->offset)
            at->offset = align_up(taken[at->next].high, shape.align);
}

bool first_fit_all(const RectList *taken, Shape shape, uint32_t size, RectList *rects) {
    Bands bands = class_bands(shape.class);
    BandSearch at[MOST_BANDS] = {0};
    for (uint32_t r = 0; r < rects->count; r++) {
        uint8_t best = 0;
        for (uint8_t b = 0; b < bands.count; b++) {
            find_next(taken->items, taken->count, shape, bands.masks[b], &at[b]);
            if (at[b].offset < at[best].offset) best = b;
        }
        uint64_t offset = at[best].offset;
        if (offset + shape.height > size) return false;
        rects->items[r] =
            (Rect){(uint32_t)offset, (uint32_t)offset + shape.height, bands.masks[best]};
        at[best].offset = align_up(offset + shape.height, shape.align);
    }
    return true;
}

bool fit_in_place(Rect place, Shape shape, Rect *rect) {
    Bands bands = class_bands(shape.class);
    if (place.high - place.low < shape.height || place.low % shape.align != 0) return false;
    for (uint8_t b = 0; b < bands.count; b++) {
        if (bands.masks[b] & ~place.mask) continue;
        *rect = (Rect){place.low, place.low + shape.height, bands.masks[b]};
        return true;
    }
    return false;
}

void insert_by_low(Rect *rects, uint32_t count, Rect rect) {
    for (; count > 0 && rects[count - 1].low > rect.low; count--)
        rects[count] = rects[count - 1];
    rects[count] = rect;
}

void sort_by_low(Rect *rects, uint32_t count, Arena *scratch) {
    SortKey *order = RAW_ARRAY(scratch, SortKey, count);
    Rect *copy = RAW_ARRAY(scratch, Rect, count);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = (SortKey){rects[i].low, i};
        copy[i] = rects[i];
    }
    sort_keys(order, count, scratch);
    for (uint32_t i = 0; i < count; i++)
        rects[i] = copy[order[i].id];
}
