/* Split copies: webs of a result that share a working copy. */
#ifndef SPILL_SPLIT_COPIES_H
#define SPILL_SPLIT_COPIES_H

#include "spill/rewrite.h"

/* Requires a rewritten function, without names. What split_webs() would take apart when the result
 * is read again is taken apart now, in the same places: a plan may leave two values in one copy, or
 * what joined them is gone. Returns [tensors] which of the tensors before each one was or is a part
 * of, or NULL where nothing was split. Forgets ranges where anything was. The cost of split_webs().
 */
const uint32_t *split_copies(Rewritten *rewritten, Arena *arena);

#endif
