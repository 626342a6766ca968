/* Shapes on the partition axis: bands, classes, and how much one placement can spoil for another.
 *
 * The partition axis has four quadrants of 32. A rectangle of at most 32 partitions stands in one
 * quadrant, one of at most 64 in a half, any other takes all. A set of quadrants is a 4-bit mask,
 * bit q for quadrant q. */
#ifndef IR_GEOMETRY_H
#define IR_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    CLASS_ANY_QUADRANT, /* 0 */
    CLASS_QUADRANT_0,   /* 1 to 4: that quadrant only */
    CLASS_QUADRANT_1,
    CLASS_QUADRANT_2,
    CLASS_QUADRANT_3,
    CLASS_ANY_HALF,   /* 5 */
    CLASS_LOWER_HALF, /* 6 */
    CLASS_UPPER_HALF, /* 7 */
    CLASS_FULL        /* 8 */
} ShapeClass;

enum { CLASS_COUNT = 9, MOST_BANDS = 4 };

/* Granules [low, high) of the byte axis in the quadrants of `mask`. */
typedef struct {
    uint32_t low, high;
    uint8_t mask;
} Rect;

/* True if both take some granule of one quadrant. */
static inline bool rects_meet(Rect a, Rect b) {
    return (a.mask & b.mask) && a.low < b.high && b.low < a.high;
}

/* True if two rectangles of one height stand at one place. */
static inline bool rects_same(Rect a, Rect b) {
    return a.low == b.low && a.mask == b.mask;
}

/* `at` rounded up to a multiple of `align`; 64 bits, so that it cannot wrap. */
static inline uint64_t align_up(uint64_t at, uint32_t align) {
    return align == 1 ? at : (at + align - 1) / align * align;
}

/* The class of a tensor of `partitions` (1 to 128) that must start at `base`, or -1 if free. */
ShapeClass shape_class(int64_t partitions, int32_t base);

/* The bands where a class may stand, lowest first. */
typedef struct {
    uint8_t count;             /* 1, 2 or 4 */
    uint8_t masks[MOST_BANDS]; /* quadrants of each */
} Bands;

Bands class_bands(ShapeClass class);

/* Quadrants that a rectangle of the class takes, wherever it stands. */
int class_quadrants(ShapeClass class);

/* The band taken by a rectangle of `partitions` that starts at the legal partition `start`. */
uint8_t band_mask(int64_t start, int64_t partitions);

/* The first partition of a band, 0, 32, 64 or 96. */
int32_t band_start(uint8_t mask);

/* True if a rectangle of `partitions` may start at partition `start`. */
bool start_is_legal(int64_t start, int64_t partitions);

/* table[m][n]: the largest number of n's bands that one placement of a node of class m touches.
 * Derived from the bands; equals the table that the seed gives as inferred. */
typedef struct {
    uint8_t bands[CLASS_COUNT][CLASS_COUNT];
} ImpactTable;

ImpactTable impact_table(void);

#endif
