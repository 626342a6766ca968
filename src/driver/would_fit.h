/* What would make a function fit: small changes, each enough by itself. */
#ifndef DRIVER_WOULD_FIT_H
#define DRIVER_WOULD_FIT_H

#include "driver/fit_change.h"
#include "driver/options.h"

/* Who takes room where it is short. */
typedef struct {
    const uint32_t *tensors; /* [count] of the function, those that take most first */
    const int64_t *blocks;   /* [count] how many blocks of each are there */
    uint32_t count;
    int64_t over;   /* bytes per partition too few; 0 where places are missing, not room */
    uint32_t point; /* UINT32_MAX: entry */
} Shortage;

typedef struct {
    const Func *func; /* the input */
    const Target *target;
    const Options *options;
    bool may_spill;  /* it has to be allocated at all; else nothing may leave */
    double deadline; /* by clock_now(), when tries end; 0: never */
} FitQuestion;

typedef struct {
    FitChange *items;
    uint32_t count;
    bool cut_short; /* some were not tried */
} FitChanges;

/* True if the function can be allocated, without spilling if it may not, as far as the quick
 * strategies tell. */
bool does_fit(const FitQuestion *question, const Func *func, const Target *target);

/* What one try may cost: steps that the function takes as it runs, some thousands at least, a
 * million at most, and eight for each block. */
uint64_t work_of_try(const Func *func);

/* What all tries for one question may cost. */
enum { MOST_WORK_OF_TRIES = 4000000 };

/* Changes that were made and found to fit, of the tensors that take most; where no load that is
 * moved, buffers or data type of one tensor was found to, a pair of these; where none of these is
 * told, and no smaller blocks nor fewer partitions, a pair with smaller blocks. In the order of
 * FitChangeKind, a pair where its dearer kind is, then those first that take off least; targets
 * last. A bounded number is tried, fewer of a long function. */
FitChanges find_changes(const FitQuestion *question, const Shortage *shortage, Arena *arena);

#endif
