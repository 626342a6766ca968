/* JoinedCopies copies: tensors that copies relate are one before anything is spilled.
 *
 * Where no instruction writes one end of a copy while the other lives, both could have one place.
 * JoinedCopies, they take room once in every choice of what is spilled, and have one home. */
#ifndef SPILL_JOINED_H
#define SPILL_JOINED_H

#include "spill/state.h"

typedef struct {
    const Func *func; /* with copies within a group that only read; NULL where there are none */
    const uint32_t *leader; /* [ntensors] the tensor that stands for each */
    const bool *grouped;    /* [ntensors] it stands for others too, or another for it */
    uint32_t merges;
} JoinedCopies;

/* Requires straight code without conditions, else joins nothing. Joins tensors of one block and one
 * shape that may be spilled, but those where apart[t]. Its instructions and tensors are numbered as
 * those of the facts' function. The cost of coalesce(). */
JoinedCopies join_copies(const Facts *facts, const bool *apart, Arena *arena);

/* Facts of the joined function, with what the user asked for. The cost of facts_make() and of live
 * ranges. */
Facts joined_facts(const Facts *facts, const JoinedCopies *joined, Arena *arena);

/* Requires a state of the joined function in which everything has its place. Makes it one of the
 * facts' function: each copy of a group becomes one for each tensor that it serves, at the same
 * place, and each home one for each tensor that is stored in it. False where one reload would have
 * to serve two tensors, or where parts of two are stored in one home: then sets `apart` of those.
 * O(tensors + operands). */
bool part_joined(const Facts *facts, const JoinedCopies *joined, State *state, bool *apart);

#endif
