/* Which iterations of each loop a run goes through. */
#ifndef VERIFY_SHORTEN_H
#define VERIFY_SHORTEN_H

#include "verify/match.h"

typedef struct {
    bool skip;     /* nothing in it runs: it is passed over */
    bool full;     /* all iterations from low to high */
    int64_t *list; /* [count] otherwise: those that are run, ascending */
    size_t count;
} Course;

/* A course for each loop, in the arena, such that the steps of the run (an instruction counts as
 * many steps as sixteenths of blocks that it names, at least one) stay below `limit`:
 *   - all loops in full, where that is little enough; else
 *   - a loop whose index picks no block runs its first two iterations, its last, and those around
 *     each value where a comparison on its index changes; else
 *   - the longest of the other loops as well, as many as needed; else
 *   - only the first two iterations of each; else
 *   - only the first iteration of loops with more than h levels of loops in them, h as large as
 *     possible.
 * The last three are a last resort: they end whatever the trip counts are.
 * O(size of both functions times 64, plus comparisons log comparisons). */
Course *choose_courses(const Match *match, uint64_t limit, Arena *arena);

#endif
