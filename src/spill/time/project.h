/* Project: live ranges of the text, from what is kept in time. */
#ifndef SPILL_TIME_PROJECT_H
#define SPILL_TIME_PROJECT_H

#include "spill/rewrite.h"
#include "spill/time/webs.h"

/* Requires the folded text of the webs with the ranges that it has as it stands, and kept[g] of
 * each gap. A block is live at an instruction of the text where it is in some iteration; at an
 * inserted DMA where it is before and behind it, or where that may name it. Makes rewritten->live
 * these ranges, or leaves it where that would take too long. O(points where cells live, a limited
 * number, + cells times instructions). */
void project_live(const Webs *webs, const bool *kept, Rewritten *rewritten, Arena *arena);

#endif
