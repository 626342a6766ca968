/* Beam searches over the whole problem, and over parts of the best solution. */
#ifndef SPILL_JOINT_NEIGHBOURHOOD_H
#define SPILL_JOINT_NEIGHBOURHOOD_H

#include "spill/joint/search.h"

/* True if a narrow beam search takes but a small part of the steps. */
bool beam_is_affordable(const JointSearch *search, uint64_t steps);

/* Beam searches from the first point to the last; `best` keeps the cheapest solution. A narrow one
 * shows how wide the others can be. Returns the steps that are left. */
uint64_t search_beams(JointSearch *search, JointEffort effort);

/* Large-neighbourhood search: takes short spans of points of `best` apart, at random, and decides
 * them again by a beam search; keeps what costs no more. Requires that `best` is whole and that
 * each segment and gap is one interval. Source: Shaw, "Using constraint programming and local
 * search methods to solve vehicle routing problems", 1998. Ends with the steps or the deadline. */
void search_neighbourhoods(JointSearch *search, JointEffort effort);

#endif
