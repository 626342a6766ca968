/* Makes a Func statement by statement: for the readers and for passes that rewrite. */
#ifndef IR_BUILD_H
#define IR_BUILD_H

#include "ir/ir.h"

typedef struct {
    Arena *arena; /* where the function will live */
    Func func;    /* under construction; its counts are right at any time */
    size_t tensor_capacity, inst_capacity, loop_capacity;
    uint32_t loop; /* the innermost open loop, NO_LOOP if none */
} Builder;

/* Starts a function without tensors and statements. */
void build_begin(Builder *builder, Arena *arena, Str name, MetaList meta, Span span);

/* Makes room for that many tensors and instructions in all, so that fewer copies are made. */
void build_reserve(Builder *builder, uint32_t tensors, uint32_t insts);

/* Each returns the id of what it adds. */
uint32_t build_tensor(Builder *builder, Tensor tensor);
uint32_t build_inst(Builder *builder, Inst inst); /* sets inst.loop to the open loop */
uint32_t build_loop(Builder *builder, Str name, int64_t low, int64_t high, Span span);

/* Closes the innermost open loop. */
void build_end_loop(Builder *builder);

/* Opens or closes the loop that the walk of another function does; nothing at an instruction. */
void build_walked(Builder *builder, const Func *from, const Walk *walk);

/* The function; every loop must be closed. */
Func *build_finish(Builder *builder);

#endif
