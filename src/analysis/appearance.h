/* Appearance: tensors in the order in which the text names them, whatever their declarations say.
 */
#ifndef ANALYSIS_APPEARANCE_H
#define ANALYSIS_APPEARANCE_H

#include "analysis/live.h"

typedef struct {
    const Func *func; /* the function itself where its tensors are in order already */
    Live live;        /* its ranges */
} AppearanceOrder;

/* Requires the ranges of the function. Numbers tensors by the first operand that names each, in
 * loops those before that are named longest; those that none names come last, by what they are.
 * Passes break ties by number, so none decides by the order of declarations, but between tensors
 * that are alike in all. Functions of more than 60,000 instructions are left as they are.
 * Instructions keep their numbers. O(operands + tensors log tensors). */
AppearanceOrder order_by_appearance(const Func *func, const Live *live, Arena *arena);

#endif
