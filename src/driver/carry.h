/* Carries places from one rewrite of a function to the next. */
#ifndef DRIVER_CARRY_H
#define DRIVER_CARRY_H

#include "driver/round.h"

/* Places by what they belong to: a tensor of the plan's function and, for a working copy, the first
 * access that it serves. */
typedef struct {
    struct CarriedPlace *items; /* sorted */
    uint32_t count;
} Carry;

/* Notes where the nodes of a round lie. `root` (may be NULL) names for each node the one whose
 * place counts. Places that are missing are left out. O(nodes log nodes). */
Carry carry_note(const Rewritten *current, const Round *round, const uint32_t *root, Arena *arena);

/* Places that were found otherwise, one by one in any order. Rectangles are kept by reference. */
typedef struct {
    Carry carry;
} CarryList;

CarryList carry_begin(uint32_t most, Arena *arena);
/* The copy that serves the tensor from an access of the plan on. */
void carry_access(CarryList *list, uint32_t tensor, uint32_t access, const Rect *rect);
void carry_node(CarryList *list, const Rewritten *current, const Node *node, const Rect *rects);
Carry carry_end(CarryList *list, Arena *arena);

/* Gives each node of another rewrite the place of its counterpart: the copy that served its
 * accesses before, or the tensor itself. Nodes without one, or in the way of another, go to the
 * failed ones. Requires the round's graph. Fills round->placement. O(edges + nodes log nodes). */
void carry_places(const Carry *carry, const Rewritten *rewritten, Round *round, Arena *arena);

#endif
