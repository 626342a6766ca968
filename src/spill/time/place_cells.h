/* Places of cells: each block has one place, wherever in time it lives. */
#ifndef SPILL_TIME_PLACE_CELLS_H
#define SPILL_TIME_PLACE_CELLS_H

#include "place/place.h"
#include "spill/time/time_facts.h"

typedef struct {
    Nodes nodes; /* one for each cell that is accessed; `of` is by cell */
    Pressure pressure;
    Placed places;
} PlacedCells;

/* Requires facts, and kept[g] of each gap. A node for each cell that is accessed, over points of
 * time; `of` is by cell. A cell lives at its accesses and where its gaps are kept. O(intervals log
 * intervals). */
Nodes cell_nodes(const TimeFacts *facts, const bool *kept, Arena *arena);

/* Requires facts, and kept[g] of each gap. A cell lives at its accesses and where its gaps are
 * kept; looks for its place as `placer` says. O(intervals log intervals) beside place(). */
PlacedCells place_cells(const TimeFacts *facts, const bool *kept, const Placer *placer,
                        Arena *arena);

#endif
