/* Short ways to build the functions that tests and benchmarks are made of. */
#ifndef TEST_MAKE_H
#define TEST_MAKE_H

#include "ir/build.h"

/* A builder of a function with that name. */
Builder make_begin(Arena *arena, const char *name);

/* A tensor `STEMnumber` of one block of that many partitions and bytes of u8. */
Tensor make_tensor(Arena *arena, const char *stem, uint32_t number, Space space, int64_t partitions,
                   int64_t bytes);

/* An instruction under construction: its destinations come first. */
typedef struct {
    Operand *operands; /* [ndst + nsrc] */
    uint32_t ndst, nsrc, count;
} MakeInst;

MakeInst make_inst(Arena *arena, uint32_t ndst, uint32_t nsrc);
void make_operand(MakeInst *inst, uint32_t tensor); /* the next operand: all of the tensor */

/* Adds the instruction. Every operand must have been given. */
void make_finish(Builder *builder, const MakeInst *inst, const char *op);

/* The usual cases: `%to = op %from`, `%to = op` and `op %from`, by UINT32_MAX for what is not
 * there. */
void make_simple(Builder *builder, const char *op, uint32_t to, uint32_t from);

/* A module of the builder's function, for trn2 with so many usable bytes and none reserved. */
Module *make_module(Builder *builder, int64_t usable);

/* The module of one function `@f` whose declarations and statements are `body`, for a target of
 * `usable` bytes whose DMA costs 100 cycles and one a byte of 16 partitions. Fails the test where
 * that is wrong. */
Module *make_body(Arena *arena, int64_t usable, const char *body);

#endif
