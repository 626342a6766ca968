/* Next best: what it takes a tensor to leave the chip where one has to, and what it would have
 * taken the cheapest other one. */
#ifndef DRIVER_NEXT_BEST_H
#define DRIVER_NEXT_BEST_H

#include "spill/time/time_facts.h"

/* A tensor that left, and the instruction that forced it. */
typedef struct {
    uint32_t tensor, inst;
    /* Filled in: */
    bool known;     /* it is idle there, and what follows is known */
    int64_t here;   /* cycles of leaving over that instruction, in each iteration that is short */
    uint32_t next;  /* the cheapest other tensor, UINT32_MAX: none can leave in its place */
    int64_t blocks; /* of that one, how many leave at most at a time */
    int64_t cycles; /* of that one, likewise */
} LeaveChoice;

typedef struct {
    const TimeFacts *facts; /* with gaps; inputs and outputs do not leave */
    const uint32_t *needs;  /* [points] granules of the fullest quadrant */
    /* True if the block does not leave over that instruction in the result. */
    bool (*stays)(const void *context, uint32_t tensor, int64_t block, uint32_t inst);
    const void *context;
} LeaveQuestion;

/* Fills in `choices`. An instruction is short in the iterations in which it needs more than there
 * is, or most. Over those the tensor leaves with all blocks that do not stay: a reload at the end
 * of each gap in which one lies, and a store of each value that DRAM has not anyway. Another tensor
 * can leave in its place if blocks of it that stay free as many granules there, or as many as are
 * short if these are less, in as many partitions; of its blocks those of the cheapest gaps. What is
 * pinned, fixed, an input or an output, or named by the instruction cannot. O(gaps log choices +
 * gaps over each instruction, log, and once for each that wants other granules than the one before
 * it). */
void find_next_best(const LeaveQuestion *question, LeaveChoice *choices, uint32_t count,
                    Arena *scratch);

#endif
