/* The joint problem solved: a start, then beam searches, annealing and large-neighbourhood search.
 */
#ifndef SPILL_JOINT_SOLVE_H
#define SPILL_JOINT_SOLVE_H

#include "spill/joint/problem.h"

/* Looks for a place for every segment so that the cut gaps cost little: first_solution() (start.h);
 * then, within the steps (one is a look at one segment or gap), anneal(). Where the problem is
 * small enough, beam searches go before it and search_neighbourhoods() after it, within eight times
 * the steps. The result costs no more than with no steps. Same input, same result. Sets the places
 * and kept gaps of the problem; returns false where some segment has no place. The start costs
 * O(bundles times pieces that conflict with one). */
bool solve_joint(JointProblem *problem, JointEffort effort, Arena *scratch);

#endif
