/* The referee: runs an original and its allocation side by side and compares.
 *
 * Independent of what it judges: it uses support and ir only. */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "ir/ir.h"
#include "support/diag.h"

typedef struct {
    uint64_t step_limit; /* instructions run before loops are shortened; 0: ten million */
    bool placed; /* the result has places (else: a rewritten function before placement, whose
                    tensors each have storage of their own) */
} VerifyOptions;

/* Queues an error for each kind of fault found in `result` (at most 20), at the place of the
 * instruction or tensor of `result` where it shows; spans of inserted code are those of the
 * original that it serves. `original` may be `result` itself: then placement, clobbering and
 * definedness are checked. Returns true if no fault was found. Cost: O(steps of the run times
 * granules an operand touches), memory O(State Buffer + spill area in use). */
bool verify(const Func *original, const Func *result, const Target *target, VerifyOptions options,
            DiagQueue *diags);

#endif
