/* The static checks of the format on a function that was read. */
#ifndef TEXT_CHECK_H
#define TEXT_CHECK_H

#include "ir/ir.h"
#include "support/diag.h"

/* Checks every function of `module` against the target in force and queues an error or warning at
 * each place: reads of what nothing has defined, indices that leave their tensor in
 * some iteration, regions outside theirs, expressions that can overflow, outputs never written,
 * wrong operands of load, save and copy, tensors and placements that do not fit the State Buffer,
 * tensors never used, and what check_slips() warns of. Fixed tensors that overlap are
 * check_fixed()'s, which needs live ranges. Returns true if no error was queued. O(size of the
 * module), and iterations tried as find_stray() says. */
bool check_module(const Module *module, DiagQueue *diags);

/* The same for one function of a file that has errors already, so that all are told in one run:
 * `vague` marks the tensors of which too little is known [ntensors], NULL if there are none;
 * without a target what depends on it is left out. */
void check_func(const Func *func, const Target *target, const bool *vague, DiagQueue *diags);

#endif
