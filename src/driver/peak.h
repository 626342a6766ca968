/* Peak: the point at which most of the State Buffer is needed at once, and who lives there. */
#ifndef DRIVER_PEAK_H
#define DRIVER_PEAK_H

#include "driver/occupancy.h"

/* When: an instruction, in one iteration of the loops around it. */
typedef struct {
    uint32_t point;         /* of the peak's function; UINT32_MAX: never */
    uint32_t line;          /* of the input: its own, or that of what it was inserted for; 0: not
                               known */
    const int64_t *indices; /* [depth of its loop + 1] outermost loop first; NULL where iterations
                               are not told apart */
} Moment;

/* A tensor of which some block lives at the peak. */
typedef struct {
    uint32_t tensor;
    int64_t blocks;     /* that live there */
    int64_t bytes;      /* per partition, of these together */
    int64_t shared;     /* of them lie where a tensor listed before it lies, and count there */
    uint32_t shares;    /* that tensor, the first of several; only where `shared` > 0 */
    bool used;          /* the instruction there names one of them */
    Moment first, last; /* between which they live, without a break */
    Moment next;        /* the next access of one of them; never: the end of the function */
} PeakTensor;

typedef struct {
    const Func *func;
    bool in_time; /* iterations are told apart, and blocks by them */
    Moment at;
    int64_t needed;      /* bytes per partition in the fullest quadrant; where all is placed, those
                            that are taken */
    int64_t usable;      /* bytes per partition */
    PeakTensor *tensors; /* [count] those that take most first */
    uint32_t count;
    uint32_t *need;     /* [ninsts] granules, of each instruction likewise: see Occupancy */
    bool placed;        /* all tensors have places, and what follows is known */
    int64_t free;       /* bytes that are free there in all partitions */
    Rect largest;       /* the largest free rectangle that a tensor could have, by area */
    int64_t fragmented; /* bytes that are free beside it */
} Peak;

/* The first point at which most is needed, and who lives there. NULL where nothing does. The
 * occupancy is not needed longer. O(nodes + operands). */
const Peak *peak_of(const Occupancy *all, Arena *arena);

/* The same of a function of which nothing else is asked: see find_occupancy(). */
const Peak *find_peak(const PeakOf *of, Arena *arena);

#endif
