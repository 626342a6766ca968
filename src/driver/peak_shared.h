/* Shared places: what of the tensors that live at a peak lies where another of them lies. */
#ifndef DRIVER_PEAK_SHARED_H
#define DRIVER_PEAK_SHARED_H

#include "driver/peak.h"

/* Requires the tensors of the peak at `point` of the nodes of the occupancy. Sets their `shared`
 * and `shares`: of blocks at one place, as the ends of a copy that does nothing, that of the tensor
 * listed first counts. O(blocks log blocks). */
void find_shared_places(Peak *peak, const Occupancy *all, uint32_t point, Arena *scratch);

#endif
