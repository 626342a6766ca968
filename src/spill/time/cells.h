/* Cells: the blocks of sb tensors, and their accesses on the timeline. */
#ifndef SPILL_TIME_CELLS_H
#define SPILL_TIME_CELLS_H

#include "spill/time/time_facts.h"

/* Requires the timeline. Fills facts->cells: all blocks of sb tensors and their accesses. False
 * where there would be more than `most` blocks or accesses. O(operands at all points times the
 * blocks they name). */
bool find_cells(TimeFacts *facts, uint32_t most, Arena *arena);

/* The first and the last access of a cell in a run that has one. O(log accesses). */
uint32_t first_access_in_run(const TimeFacts *facts, uint32_t cell, uint32_t run);
uint32_t last_access_in_run(const TimeFacts *facts, uint32_t cell, uint32_t run);

/* True if an access is its cell's first in a run around it. */
bool is_first_in_run(const TimeFacts *facts, uint32_t cell, uint32_t access, uint32_t run);

/* Where the block of an access stands among those that its operand names at a time. `indices`:
 * [nloops], for its own use. O(depth). */
int64_t access_position(const TimeFacts *facts, uint32_t cell, uint32_t access, int64_t *indices);

#endif
