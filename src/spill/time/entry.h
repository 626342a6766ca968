/* Entry: inputs that may leave come in by an instruction of their own, before all others. */
#ifndef SPILL_TIME_ENTRY_H
#define SPILL_TIME_ENTRY_H

#include "spill/rewrite.h"

/* The function with one instruction more, the first, which writes all blocks of its sb inputs that
 * may leave: they are no inputs there, but values like others, whose stores follow that
 * instruction. The function itself where it has no such input. O(tensors + instructions). */
const Func *with_entry(const Func *func, Arena *arena);

/* [ninsts of the function with an entry] the same marks of instructions; NULL where there are
 * none. */
const bool *marks_with_entry(const Func *entered, const bool *marks, Arena *arena);

/* Takes the entry out of the text of a function that has one; inputs are inputs again, and the
 * stores of consecutive blocks one. The origins of instructions stay those of the function with an
 * entry until forget_entry(). Forgets ranges. O(instructions + blocks stored there). */
void leave_entry(const Func *func, Rewritten *rewritten, Arena *arena);

/* Origins become those of the function without an entry. Blocks of inputs that nothing reads live
 * at the first instruction. O(instructions + blocks of inputs). */
void forget_entry(const Func *func, Rewritten *rewritten, Arena *arena);

#endif
