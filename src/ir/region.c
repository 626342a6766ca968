#include "ir/region.h"

#include "support/checked.h"

Region whole_region(const Tensor *tensor) {
    return (Region){0, tensor->partitions, 0, tensor->bytes};
}

Region operand_region(const Func *func, const Operand *operand) {
    return operand->region ? *operand->region : whole_region(&func->tensors[operand->tensor]);
}

bool region_equal(Region a, Region b) {
    return a.p0 == b.p0 && a.p1 == b.p1 && a.b0 == b.b0 && a.b1 == b.b1;
}

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

Region region_hull(Region a, Region b) {
    if (a.p1 == 0) return b;
    if (b.p1 == 0) return a;
    return (Region){lesser(a.p0, b.p0), -lesser(-a.p1, -b.p1), lesser(a.b0, b.b0),
                    -lesser(-a.b1, -b.b1)};
}

/* The partition in which every place of the tensor starts, or -1. */
static int64_t known_start(const Tensor *tensor) {
    if (tensor->partitions > PARTITIONS / 2) return 0;
    return tensor->base;
}

static int64_t rounded_down(int64_t at, int64_t step) {
    return at / step * step;
}

/* The partitions of the smallest band that holds the region's. */
static void widen_partitions(const Tensor *tensor, int64_t start, Region *region) {
    int64_t band = QUADRANT_PARTITIONS, first = start + region->p0, end = start + region->p1;
    while (rounded_down(first, band) + band < end)
        band *= 2;
    region->p0 = rounded_down(first, band) - start;
    if (region->p0 < 0) region->p0 = 0;
    region->p1 = lesser(round_up(end, QUADRANT_PARTITIONS) - start, tensor->partitions);
}

Region region_widened(const Tensor *tensor, Region region) {
    int64_t start = known_start(tensor);
    region.b0 = rounded_down(region.b0, GRANULE);
    region.b1 = lesser(round_up(region.b1, GRANULE), tensor->bytes);
    if (start < 0) {
        region.p0 = 0;
        region.p1 = tensor->partitions;
    } else {
        widen_partitions(tensor, start, &region);
    }
    return region;
}

Tensor tensor_of_region(const Tensor *tensor, Region region, Arena *arena) {
    Tensor part = *tensor;
    if (region_equal(region, whole_region(tensor))) return part;
    int64_t *shape = RAW_ARRAY(arena, int64_t, 2);
    part.partitions = shape[0] = region.p1 - region.p0;
    part.bytes = region.b1 - region.b0;
    shape[1] = part.bytes / dtype_bytes(tensor->dtype);
    part.shape = shape;
    part.rank = 2;
    if (part.partitions < tensor->partitions)
        part.base = (int32_t)(known_start(tensor) + region.p0);
    return part;
}
