/* Sweep repair: a place for a block that the sweep found none for, by moving those around it. */
#ifndef PLACE_SWEEP_REPAIR_H
#define PLACE_SWEEP_REPAIR_H

#include "place/free_map.h"
#include "place/placement.h"
#include "support/sort.h"

#define NOT_ALIKE UINT32_MAX

/* Blocks of one node that live at the same points. */
typedef struct {
    uint32_t node, block, count;
    uint32_t next; /* in the list of those that end at one point; NOT_ALIKE: the last */
} Alike;

/* A sweep under way. */
typedef struct {
    const Nodes *nodes;
    uint32_t size;
    FreeMap map; /* what is free at the first point of the one at hand */
    Placement *placement;
    Alike *alike;   /* [count] in order of nodes */
    SortKey *order; /* [count] of their first points */
    size_t count;
    uint32_t *ending; /* [npoints] the first of those that are placed and end at a point */
    uint32_t reach;   /* the last point of all that are placed */
    uint64_t repairs; /* that may still be tried */
} SweepPass;

static inline LiveRange alike_range(const SweepPass *pass, const Alike *alike) {
    return node_block_range(&pass->nodes->items[alike->node], alike->block);
}

/* Places the one at order[at], which has one block, by eviction among the last few hundred that
 * were placed; older ones stay. Updates places and the map. Returns false if it found none, or no
 * repair is left. O(steps of eviction + points that those live at). */
bool sweep_repair(SweepPass *pass, size_t at);

#endif
