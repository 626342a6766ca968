/* Webs of time: operands of the text that share a place, because a value stays on chip between them
 * in some iteration. */
#ifndef SPILL_TIME_WEBS_H
#define SPILL_TIME_WEBS_H

#include "spill/time/time_facts.h"

typedef struct {
    TimeFacts facts;  /* of the text with each web a tensor: the first of a tensor is that tensor,
                         the others follow all others. Gaps have the same numbers; those between
                         webs are `apart` */
    uint32_t *parent; /* [tensors] the tensor that a web was part of */
    const uint32_t *access; /* [accesses] of the cell that was split */
} Webs;

/* Requires facts, and kept[g] of each gap. Joins operands between which some gap is kept. Tensors
 * that must stay are not split; nor are operands of one instruction. O(accesses + operands).
 * Source: Chaitin's renumbering, by kept gaps. */
Webs find_webs(const TimeFacts *facts, const bool *kept, Arena *arena);

/* Each tensor a web, as they are. O(accesses + tensors). */
Webs whole_webs(const TimeFacts *facts, Arena *arena);

#endif
