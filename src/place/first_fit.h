/* First fit: the lowest or highest free place of a rectangle among taken ones. */
#ifndef PLACE_FIRST_FIT_H
#define PLACE_FIRST_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/geometry.h"

typedef struct {
    uint32_t offset; /* first granule */
    uint8_t band;    /* quadrant mask */
} Fit;

/* The lowest place of `height` granules, aligned to `align` granules, in any band of `class`, below
 * `size`; among equals the lowest band. `taken` is sorted by `low`. False if there is none.
 * O(count times bands). */
bool fit_lowest(const Rect *taken, uint32_t count, ShapeClass class, uint32_t height,
                uint32_t align, uint32_t size, Fit *fit);

#endif
