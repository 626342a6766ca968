/* Cells: the blocks of sb tensors, and their accesses on the timeline. */
#ifndef SPILL_TIME_CELLS_H
#define SPILL_TIME_CELLS_H

#include "spill/time/time_facts.h"

/* Requires the timeline. Fills facts->cells: all blocks of sb tensors and their accesses. False
 * where there would be more than `most` blocks or accesses. O(operands at all points times the
 * blocks they name). */
bool find_cells(TimeFacts *facts, uint32_t most, Arena *arena);

#endif
