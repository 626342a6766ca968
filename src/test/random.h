/* Random programs that are valid by construction. */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include "ir/ir.h"

/* How much room the State Buffer leaves. */
typedef enum {
    ROOM_ANY,        /* one of the others, at random */
    ROOM_AMPLE,      /* everything fits side by side */
    ROOM_TIGHT,      /* about the highest demand of any point */
    ROOM_SPILLING,   /* once to three times the most that one instruction needs */
    ROOM_IMPOSSIBLE, /* some instruction probably cannot have its operands */
    ROOM_COUNT
} RandomRoom;

typedef enum {
    CODE_ANY,         /* all that the format can say */
    CODE_STRAIGHT,    /* no loops, all block indices constant, no conditions */
    CODE_BLOCK_LOOPS, /* straight code, and loops that write or read one block an iteration, in turn
                       */
    CODE_COUNT
} RandomCode;

typedef enum { SIZE_ANY, SIZE_SMALL, SIZE_MEDIUM, SIZE_LARGE, SIZE_COUNT } RandomSize;

typedef struct {
    RandomRoom room;
    RandomCode code;
    RandomSize size;
} RandomShape;

enum { RANDOM_STEPS = 5000, RANDOM_POINTS = 64 };

/* One function that passes the static checks and reads nothing undefined, with at most
 * RANDOM_POINTS instructions that run in at most RANDOM_STEPS steps. Deterministic in seed and
 * shape. Everything lives in `arena`; spans are empty. */
Module *random_module(Arena *arena, uint64_t seed, RandomShape shape);

/* What a program has of the features that the tests must meet often. */
typedef enum {
    FEATURE_NEST,
    FEATURE_BLOCKS,
    FEATURE_INDEX_ONE,
    FEATURE_INDEX_SEVERAL,
    FEATURE_INDEX_OFFSET,
    FEATURE_INDEX_NEGATIVE,
    FEATURE_INDEX_GUARDED,
    FEATURE_INDEX_REMAINDER,
    FEATURE_BLOCK_LOOP,
    FEATURE_RANGE_CONSTANT,
    FEATURE_RANGE_DYNAMIC,
    FEATURE_CONDITION_ONE,
    FEATURE_CONDITION_TWO,
    FEATURE_CONDITION_AND,
    FEATURE_CONDITION_REMAINDER,
    FEATURE_REGION_BYTES,
    FEATURE_REGION_PARTITIONS,
    FEATURE_ACCUMULATE,
    FEATURE_DEFINITIONS,
    FEATURE_FIXED,
    FEATURE_FIXED_UNALIGNED,
    FEATURE_PIN,
    FEATURE_BASE,
    FEATURE_ALIGN,
    FEATURE_SB_INPUT,
    FEATURE_SB_OUTPUT,
    FEATURE_SAVED_OVER,
    FEATURE_COPY,
    FEATURE_COPY_CHAIN,
    FEATURE_PSUM,
    FEATURE_NAMED_TWICE,
    FEATURE_NEVER_READ,
    FEATURE_META,
    FEATURE_DEFINED_LATER,
    FEATURE_DEAD_LOAD,
    FEATURE_DESTINATIONS,
    FEATURE_EMPTY_LOOP,
    FEATURE_QUADRANT,
    FEATURE_HALF,
    FEATURE_FULL,
    FEATURE_ODD_BYTES,
    FEATURE_QUOTED,
    FEATURE_COUNT
} Feature;

/* Bit f: the function has feature f. Read off the function, whoever made it. At most
 * RANDOM_POINTS instructions. */
uint64_t random_features(const Func *func, Arena *scratch);
const char *feature_name(Feature feature);

/* Bytes per partition with which spill-everywhere surely succeeds: fixed, pinned and output
 * tensors stacked, and above them the operands of the most demanding instruction (or all `sb`
 * inputs) stacked too, each over all partitions. Less may do. */
int64_t random_enough(const Func *func);

#endif
