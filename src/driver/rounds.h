/* The rounds: the seed's loop. */
#ifndef DRIVER_ROUNDS_H
#define DRIVER_ROUNDS_H

#include "driver/job.h"

/* Colours, and while something has no place, spills more and tries again. Requires plan, sources
 * and relief of the job. On success the current function has its places and true is returned; false
 * where nothing is left to cut, after too many rounds, or past the time limit. The cuts only ever
 * grow, but for those of one round's choice, which bounds the rounds. Source: the seed's
 * allocate(). */
bool colour_to_fixpoint(Job *job);

#endif
