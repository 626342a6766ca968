/* How often instructions run, and which blocks they name then: conditions are evaluated. */
#ifndef IR_RUNS_H
#define IR_RUNS_H

#include "ir/ir.h"

/* Iterations of the loops around an instruction in which its condition holds; saturated. The index
 * of the longest loop is solved for, those of the other loops that the condition names are tried
 * one by one: O(comparisons times their trips). Past a million tries all iterations count. */
int64_t inst_runs(const Func *func, const Inst *inst);

/* Blocks that one of its operands names in all of those together; saturated. Where the number of
 * blocks varies, all loops that decide are tried; past a million tries each run names the most. */
int64_t inst_moves(const Func *func, const Inst *inst, const Operand *operand);

/* The blocks that an operand names where its loops' indices[loop] are these: [low, high). */
Range named_now(const Func *func, const Operand *operand, const int64_t *indices);

/* Sets named[b] for each block b that the operand names in some run, past a million tries for each
 * that it might. Returns how many were not set before. */
int64_t mark_named(const Func *func, const Inst *inst, const Operand *operand, bool *named);

/* Which blocks of each sb tensor leave the State Buffer and come back in place: those that a load
 * with `!reload` names. A working copy has none: it is another tensor's, and one with as many
 * blocks holds the same. */
typedef struct {
    bool **blocks;  /* [ntensors] [blocks of the tensor]; NULL: none */
    int64_t *count; /* [ntensors] how many */
    int64_t *all;   /* [ntensors] and how many leave with those that come back to working copies */
} Leaving;

/* O(instructions, and what mark_named() takes for reloads). In the arena. */
Leaving leaving_blocks(const Func *func, Arena *arena);

#endif
