/* Transfers places from one rewrite of a function to the next. */
#ifndef SPILL_TRANSFER_H
#define SPILL_TRANSFER_H

#include "spill/round.h"

/* Places by what they belong to: a tensor of the plan's function and, for a working copy, the first
 * access that it serves. */
typedef struct {
    struct TransferredPlace *items; /* sorted */
    uint32_t count;
} Transfer;

/* Notes where the nodes of a round lie. `root` (may be NULL) names for each node the one whose
 * place counts. Places that are missing are left out. O(nodes log nodes). */
Transfer transfer_note(const Rewritten *code, const Round *round, const uint32_t *root,
                       Arena *arena);

/* Notes where the code's tensors have been placed. O(blocks + tensors log tensors). */
Transfer transfer_committed(const Rewritten *code, Arena *arena);

/* Places that were found otherwise, one by one in any order. Rectangles are kept by reference. */
typedef struct {
    Transfer transfer;
} TransferList;

TransferList transfer_begin(uint32_t most, Arena *arena);
/* The copy that serves the tensor from an access of the plan on. */
void transfer_access(TransferList *list, uint32_t tensor, uint32_t access, const Rect *rect);
void transfer_node(TransferList *list, const Rewritten *code, const Node *node, const Rect *rects);
Transfer transfer_end(TransferList *list, Arena *arena);

/* Where the copy that serves a tensor of one block from an access of the plan on lies, and where
 * the counterpart of a node of another rewrite does: the rectangles of its blocks, NULL where none
 * are known. O(log places). */
const Rect *transfer_find_access(const Transfer *transfer, uint32_t tensor, uint32_t access);
const Rect *transfer_find_node(const Transfer *transfer, const Rewritten *code, const Node *node);

/* Gives each node of another rewrite the place of its counterpart: the copy that served its
 * accesses before, or the tensor itself. Nodes that have none, are larger than it, or overlap
 * another, fail. Requires the round's graph. Fills round->placement and round->placed. O(edges +
 * nodes log nodes). */
void transfer_places(const Transfer *transfer, const Rewritten *rewritten, Round *round,
                     Arena *arena);

#endif
