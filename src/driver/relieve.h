/* Relief: what is spilled next, when a round has left something without a place. */
#ifndef DRIVER_RELIEVE_H
#define DRIVER_RELIEVE_H

#include "driver/round.h"
#include "spill/reside.h"

/* What earlier rounds have taught; grows only. */
typedef struct {
    const Live *live; /* of the input */
    const Target *target;
    uint32_t size;   /* granules of the byte axis */
    bool *candidate; /* [ntensors] may leave the chip, whole or in part */
    uint32_t *tax;   /* [ninsts] granules held back where placement failed */
    uint32_t *taxed; /* [ninsts] 1 + the last round that taxed the point for overload */
    uint32_t rounds;
    uint32_t placements; /* rounds in which placement failed */
    bool spilling;       /* something has been cut */
} Relief;

/* From this round on, cuts last and are made where a placement failed. */
enum { PATIENT_ROUNDS = 6, CHOICE_STEPS = 30000000 /* budget of a choice of gaps */ };

Relief relief_make(const Func *func, const Live *live, const Target *target, Arena *arena);

/* Adds cuts to the plan so that the next round has a better chance. At effort 0 the tensors that
 * select left out become candidates, as the seed has it; above, all that may be spilled compete by
 * the cycles that their gaps cost. Room is held back where a placement failed without any point
 * being over capacity, more each time. After some rounds cuts last, so that the rounds come to an
 * end. Returns false where nothing is left to cut. */
bool relieve(Relief *relief, Plan *plan, const Sources *sources, const Rewritten *current,
             const Round *round, const Options *options);

/* Cuts for good what the failed nodes of a round stand for; of one that cannot go, the neighbours
 * that can. Leaves a closed plan. Returns false where nothing is left to cut. */
bool cut_for_good(Plan *plan, const Rewritten *current, const Round *round);

#endif
