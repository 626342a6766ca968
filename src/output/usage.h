/* What pictures show of one function beside its rectangles: what is needed, and where instructions
 * stand in the user's source. */
#ifndef OUTPUT_USAGE_H
#define OUTPUT_USAGE_H

#include "output/json.h"
#include "spill/time/text_need.h"
#include "support/source.h"

/* The functions of one file, allocated or read. */
typedef struct {
    const Target *target;
    const Source *source; /* that they were read from */
    const JsonFunc *funcs;
    uint32_t count;
} Drawing;

typedef struct {
    TextNeed now;            /* of the function as it is */
    TextNeed before;         /* of what it was made from */
    const uint32_t *outline; /* [ninsts] granules needed before spilling, at what is inserted the
                                less of both sides; NULL where nothing was spilled, or that is not
                                known */
    const Str *where; /* [ninsts] `!loc`, else the line of the source; empty where neither is known,
                         or spilling inserted it */
    bool has_loc;     /* some have a `!loc` */
} Usage;

/* Requires a placed function. O(size of source), and what find_text_need() takes. */
Usage find_usage(const Drawing *drawing, uint32_t index, Arena *arena);

#endif
