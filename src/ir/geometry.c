#include "ir/geometry.h"

#include "ir/target.h"

static const Bands CLASS_BANDS[CLASS_COUNT] = {
    {4, {0x1, 0x2, 0x4, 0x8}}, {1, {0x1}}, {1, {0x2}}, {1, {0x4}}, {1, {0x8}},
    {2, {0x3, 0xC}},           {1, {0x3}}, {1, {0xC}}, {1, {0xF}},
};

ShapeClass shape_class(int64_t partitions, int32_t base) {
    if (partitions > 2 * QUADRANT_PARTITIONS) return CLASS_FULL;
    if (partitions > QUADRANT_PARTITIONS) {
        if (base < 0) return CLASS_ANY_HALF;
        return base == 0 ? CLASS_LOWER_HALF : CLASS_UPPER_HALF;
    }
    if (base < 0) return CLASS_ANY_QUADRANT;
    return (ShapeClass)(CLASS_QUADRANT_0 + base / QUADRANT_PARTITIONS);
}

Bands class_bands(ShapeClass class) {
    return CLASS_BANDS[class];
}

int class_quadrants(ShapeClass class) {
    return __builtin_popcount(CLASS_BANDS[class].masks[0]);
}

uint8_t band_mask(int64_t start, int64_t partitions) {
    int quadrant = (int)(start / QUADRANT_PARTITIONS);
    if (partitions <= QUADRANT_PARTITIONS) return (uint8_t)(1 << quadrant);
    return (uint8_t)(partitions <= 2 * QUADRANT_PARTITIONS ? 0x3 << quadrant : 0xF);
}

int32_t band_start(uint8_t mask) {
    return __builtin_ctz(mask) * QUADRANT_PARTITIONS;
}

bool start_is_legal(int64_t start, int64_t partitions) {
    if (start < 0 || start >= PARTITIONS) return false;
    Bands bands = CLASS_BANDS[shape_class(partitions, -1)];
    for (int i = 0; i < bands.count; i++)
        if (band_start(bands.masks[i]) == start) return true;
    return false;
}

ImpactTable impact_table(void) {
    ImpactTable table = {0};
    for (int m = 0; m < CLASS_COUNT; m++)
        for (int n = 0; n < CLASS_COUNT; n++)
            for (int placed = 0; placed < CLASS_BANDS[m].count; placed++) {
                uint8_t touched = 0;
                for (int band = 0; band < CLASS_BANDS[n].count; band++)
                    if (CLASS_BANDS[m].masks[placed] & CLASS_BANDS[n].masks[band]) touched++;
                if (touched > table.bands[m][n]) table.bands[m][n] = touched;
            }
    return table;
}
