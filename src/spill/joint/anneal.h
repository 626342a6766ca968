/* Simulated annealing from the solution now. */
#ifndef SPILL_JOINT_ANNEAL_H
#define SPILL_JOINT_ANNEAL_H

#include "spill/joint/search.h"

/* Keeps cut gaps in places where little must be evicted; the temperature falls to 0 as the steps
 * run out. Requires a whole solution and leaves one. Source: simulated annealing (Kirkpatrick,
 * Gelatt and Vecchi, 1983), a move being an ejection chain. Ends with the steps or the deadline. */
void anneal(JointSearch *search, JointEffort effort);

#endif
