/* The referee: runs an original and its allocation side by side and compares.
 *
 * Independent of what it judges: it uses support and ir only. */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "ir/ir.h"
#include "support/diag.h"

typedef struct {
    uint64_t step_limit; /* instructions run before loops are shortened; 0: ten million */
    bool placed;  /* the result has places (else: a rewritten function before placement, whose
                     tensors each have storage of their own) */
    bool defined; /* the original must have written something of each block that it reads */
} VerifyOptions;

/* Queues an error for each kind of fault found in `result` (at most 20 of the run), at the place of
 * the instruction or tensor of `result` where it shows; spans of inserted code are those of the
 * original that it serves. A fault of structure or placement is told without a run. `original` may
 * be `result` itself: then placement and clobbering are checked, and with `defined` that. Returns
 * true if no fault was found.
 *
 * Domain: storage is lost by whole granules of a quadrant, values are followed by exact rectangles;
 * a read is right where its value lies, whoever put it there (the other end of an elided copy).
 * Loads and saves with `!reload` and `!spill` may be added to any tensor that is not fixed, pinned
 * or an output, loads of the original dropped or given more comparisons: the run says if that was
 * right. The run ends at an index that leaves its tensor. What the original reads without anybody
 * having written it may be anything, without `defined`; with it a reload may bring nothing, if
 * nothing that runs reads that. Loops are shortened past the step limit as choose_courses() tells.
 * A store to part of a home counts for all rows from its first to its last. Cost: O(steps times
 * operands times log of what lies side by side), and a step for each block of an operand; memory
 * O(tensors + blocks + pieces that differ). */
bool verify(const Func *original, const Func *result, const Target *target, VerifyOptions options,
            DiagQueue *diags);

/* Two fixed blocks that lie over each other while something is needed of one. */
typedef struct {
    uint32_t tensor; /* the one that is read */
    uint32_t taker;  /* what has written over it, UINT32_MAX where the run cannot tell */
    uint32_t inst;   /* that reads, UINT32_MAX: it is wanted at the end */
} FixedOverlap;

enum { MOST_OVERLAPS = 20 };

/* Runs `func` with nothing but its fixed tensors in the State Buffer, all others beside it, and
 * fills `found` with reads that do not find their value, each operand once. Returns how many. A
 * copy that is `!elided` hands its value on where both ends are fixed at one place. Domain and cost
 * are those of verify(). */
uint32_t verify_fixed(const Func *func, FixedOverlap found[MOST_OVERLAPS]);

#endif
