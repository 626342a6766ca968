/* Classes: gaps of time that one place of the text serves. */
#ifndef SPILL_TIME_CLASSES_H
#define SPILL_TIME_CLASSES_H

#include "spill/time/time_facts.h"
#include "support/sort.h"

/* Requires gaps. Fills facts->classes. O(gaps log gaps). */
void find_classes(TimeFacts *facts, Arena *arena);

/* Gaps of a class in order of the value that a side has in their first iteration, then of time;
 * keys[i].key is that value with its sign bit turned, keys[i].id the place among the members of the
 * class. `keys` has room for all of them. O(gaps log gaps + gaps times depth). */
void order_by_side(const TimeFacts *facts, uint32_t class, Affine side, SortKey *keys,
                   Arena *scratch);

/* True if one reload of the text could serve gaps of both: where it stands and the tensor that it
 * reads are the same. Classes of one place follow each other. */
bool share_place(const GapClass *a, const GapClass *b);

/* What conditions at an instruction may speak of: the operand's block, the sides of its own
 * condition, the index of each loop around it, outermost first. */
typedef struct {
    Affine *items; /* [count] none is constant, no two are equal */
    uint32_t count;
} Sides;

/* `operand`: of the instruction, UINT32_MAX for none. O(depth + condition), squared. */
Sides find_sides(const Func *func, uint32_t inst, uint32_t operand, Arena *arena);

#endif
