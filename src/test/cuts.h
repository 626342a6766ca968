/* Random plans: what spilling could be asked to do, sensible or not. */
#ifndef TEST_CUTS_H
#define TEST_CUTS_H

#include "spill/plan.h"
#include "test/chance.h"

/* Cuts gaps and loops of the plan's tensors at random, without closing it. Some tensors are left
 * alone and some cut all through. */
void random_cuts(Plan *plan, Chance *chance);

#endif
