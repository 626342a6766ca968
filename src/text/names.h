/* The tensor names of one function: a hash table that keeps names of a series (t120 to t127) in one
 * cache line, because programs name their tensors in series and use them in that order. */
#ifndef TEXT_NAMES_H
#define TEXT_NAMES_H

#include "ir/ir.h"

typedef struct {
    uint32_t hash; /* 32 bits of the name's hash */
    uint32_t id;   /* the tensor plus 1; 0 where free */
} NameSlot;

typedef struct {
    NameSlot *slots; /* [mask + 1], in an arena, on a cache line's start */
    uint32_t mask;
    uint32_t count;
} NameTable;

/* A zeroed table is empty. The tensor of that name among `tensors`, or UINT32_MAX. */
uint32_t names_get(const NameTable *table, const Tensor *tensors, Str name);

/* Adds the name of tensor `id`, which is not there yet. */
void names_add(NameTable *table, Arena *arena, const Tensor *tensors, uint32_t id);

#endif
