#include "place/first_fit.h"

/* The lowest place in one band, or `size` + 1. */
static uint64_t lowest_in_band(const Rect *taken, uint32_t count, uint8_t band, uint32_t height,
                               uint32_t align, uint32_t size) {
    uint64_t offset = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (taken[i].low >= offset + height) break;
        if ((taken[i].mask & band) && taken[i].high > offset)
            offset = ((uint64_t)taken[i].high + align - 1) / align * align;
    }
    return offset + height <= size ? offset : (uint64_t)size + 1;
}

bool fit_lowest(const Rect *taken, uint32_t count, ShapeClass class, uint32_t height,
                uint32_t align, uint32_t size, Fit *fit) {
    Bands bands = class_bands(class);
    uint64_t best = (uint64_t)size + 1;
    for (uint8_t b = 0; b < bands.count; b++) {
        uint64_t offset = lowest_in_band(taken, count, bands.masks[b], height, align, size);
        if (offset >= best) continue;
        best = offset;
        *fit = (Fit){(uint32_t)offset, bands.masks[b]};
    }
    return best <= size;
}
