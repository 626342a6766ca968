/* Pressure: how full the State Buffer is at each point. */
#ifndef ANALYSIS_PRESSURE_H
#define ANALYSIS_PRESSURE_H

#include "analysis/node.h"

/* Granules needed at each point if bands packed without waste: the larger of each quadrant's own
 * load and the even share of all. */
typedef struct {
    uint32_t *need; /* [npoints] granules; saturated */
    uint32_t peak;  /* the largest: the high-water mark that no placement can go below */
    uint32_t peak_point;
} Pressure;

/* O(intervals + points). A lower bound of the bytes that any placement needs. */
Pressure find_pressure(const Nodes *nodes, Arena *arena);

/* [npoints] granules that the fullest quadrant needs at each point: as above, and no less than the
 * tallest node there beside those of full height; saturated. O(nodes log nodes + intervals +
 * points). */
uint32_t *quadrant_needs(const Nodes *nodes, const Pressure *pressure, Arena *arena);

/* The largest of them. */
uint32_t fullest_quadrant(const Nodes *nodes, const Pressure *pressure);

#endif
