/* Fold: what was decided on the points of time becomes instructions of the text, under conditions.
 */
#ifndef SPILL_TIME_FOLD_H
#define SPILL_TIME_FOLD_H

#include "spill/rewrite.h"
#include "spill/time/webs.h"

/* A finished choice. */
typedef struct {
    const TimeFacts *facts;
    const Webs *webs; /* what each operand of the text becomes */
    bool *kept;       /* [gaps] fold() cuts more of them where that makes the text simpler */
    bool settled; /* an earlier allocation has decided: no load is narrowed, nor dropped but where
                     nothing reads it */
} Decided;

/* What does not fold into few conditions is chosen anew among what does: gaps are cut, never kept.
 * Makes the text in which blocks that leave do so in place: reloads before their reads, stores
 * after their writes, loads that nobody needs narrowed or dropped. Tensors keep their names; homes
 * have none yet. False where a set of iterations does not fold into few conditions. Places are not
 * set. O(instructions + iterations of the loops around what leaves, times sides). */
bool fold(const Decided *decided, Arena *arena, Rewritten *rewritten);

/* Removes what no operand names any more, since loads were dropped: webs, and spilled tensors for
 * which webs stand. `from` is the text of the webs before. Tensors get new ids, in all that the
 * rewrite holds. O(tensors + operands). */
void drop_unnamed(Rewritten *rewritten, const Func *from, Arena *arena);

#endif
