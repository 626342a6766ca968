/* A second judge of results, as plain as can be: every byte of every memory is a number.
 *
 * It shares nothing with the referee but the model of a function, and is far too slow for more than
 * small programs. Tests compare the two. */
#ifndef TEST_BYTES_H
#define TEST_BYTES_H

#include "ir/ir.h"

/* A result whose instructions are known. */
typedef struct {
    const Func *func;
    const uint32_t *pair; /* [func->ninsts] the instruction of the original, UINT32_MAX: inserted */
    const uint32_t *of;   /* [func->ntensors] the tensor of the original that it is or stands for */
} PairedResult;

/* Bytes that a run touches, about: how long bytes_agree() takes. Saturated. */
int64_t bytes_work(const Func *func);

/* True if a run of `result`, placed, reads and returns what a run of `original` does; whatever the
 * original leaves undefined may differ. False too where an index of the result leaves its tensor, a
 * destination lies over another operand of
 * its instruction, or the ends of an `!elided` copy lie apart. */
bool bytes_agree(const Func *original, PairedResult result, const Target *target, Arena *arena);

#endif
