/* Where each tensor is read and written: first definitions, last uses and loads come from here. */
#ifndef ANALYSIS_ACCESS_H
#define ANALYSIS_ACCESS_H

#include "ir/ir.h"

/* One operand of one instruction. */
typedef struct {
    uint32_t inst;
    uint32_t operand; /* position in inst.operands: a destination where below inst.ndst */
} Access;

/* Accesses of all tensors, each tensor's in program order. */
typedef struct {
    uint32_t *first; /* [ntensors + 1] tensor t has items[first[t] .. first[t + 1]) */
    Access *items;
} Accesses;

/* Requires nothing. O(operands + tensors). */
Accesses find_accesses(const Func *func, Arena *arena);

bool access_writes(const Func *func, Access access);

/* True for sources and for the destination of an accumulation. */
bool access_reads(const Func *func, Access access);

#endif
