/* Furthest next use: of what does not fit, the gap that ends last is cut. */
#ifndef SPILL_FARTHEST_H
#define SPILL_FARTHEST_H

#include "spill/choice.h"

/* Makes the choice that a sweep over the points makes: where something does not fit, it cuts the
 * gap whose end is furthest, until it does. Least gaps cut where all have one height (Belady,
 * "A study of replacement algorithms", 1966). A gap of several spans counts as one from its first
 * point to its last. Replaces what is kept. O(items log items + lanes * points). */
void choose_farthest(Choice *choice, Arena *scratch);

#endif
