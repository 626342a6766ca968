/* What pictures show of one function beside its rectangles: what is needed, and where instructions
 * stand in the user's source. */
#ifndef OUTPUT_USAGE_H
#define OUTPUT_USAGE_H

#include "output/json.h"
#include "support/source.h"

/* The functions of one file, allocated or read. */
typedef struct {
    const Target *target;
    const Source *source; /* that they were read from */
    const JsonFunc *funcs;
    uint32_t count;
} Drawing;

typedef struct {
    const Peak *now;         /* of the function as it is; NULL where nothing lives */
    const Peak *before;      /* of what it was made from; NULL where nothing was spilled, or that is
                                not known */
    const uint32_t *need;    /* [ninsts] granules taken */
    const uint32_t *outline; /* [ninsts] granules needed before spilling, at what is inserted the
                                less of both sides; NULL without `before` */
    const Str *where; /* [ninsts] `!loc`, else the line of the source; of what spilling inserted
                         that of what it serves; empty where neither is known */
    bool has_loc;     /* some have a `!loc` */
} Usage;

/* Bytes of a peak; 0 of none. */
static inline int64_t peak_bytes(const Peak *peak) {
    return peak ? peak->needed : 0;
}

/* Where a moment of one of the two peaks is, as in `where`. */
Str where_of_moment(const Usage *usage, const Peak *peak, Moment moment, Arena *arena);

/* The end of a path: what stands after its last slash. */
Str base_name(Str where);

/* Requires a placed function. O(size of source), and what find_peak() takes where the report has no
 * peaks. */
Usage find_usage(const Drawing *drawing, uint32_t index, Arena *arena);

#endif
