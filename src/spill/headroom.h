/* Headroom: granules that are held back, point by point, where placement has failed. */
#ifndef SPILL_HEADROOM_H
#define SPILL_HEADROOM_H

#include "spill/round.h"

/* What the rounds of one strategy have learnt; grows only. */
typedef struct {
    uint32_t size;      /* granules of the byte axis */
    uint32_t *held;     /* [ninsts of the plan's function] granules held back */
    uint32_t *stamp;    /* [ninsts] 1 + the last overloaded round in which the point was raised */
    uint32_t overloads; /* rounds looked at for overload */
    uint32_t failures;  /* how often placement has failed without one */
    bool spilling;      /* something has been cut: from now on copies are what fails */
} Headroom;

Headroom headroom_make(uint32_t ninsts, uint32_t size, Arena *arena);

/* Where a round of spill code needs more than there is, the choice has thought too little of what
 * copies need: holds back how much it missed. O(points). */
void headroom_overload(Headroom *headroom, const Rewritten *code, const Round *round);

/* Holds room back along each node that a round left out, more with each failure. O(points of those
 * nodes). */
void headroom_failed(Headroom *headroom, const Rewritten *code, const Round *round);

#endif
