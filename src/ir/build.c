#include "ir/build.h"

#include <assert.h>
#include <string.h>

void build_begin(Builder *builder, Arena *arena, Str name, MetaList meta, Span span) {
    *builder = (Builder){.arena = arena, .loop = NO_LOOP};
    builder->func = (Func){.name = name, .meta = meta, .span = span};
}

void build_reserve(Builder *builder, uint32_t tensors, uint32_t insts) {
    Func *func = &builder->func;
    if (tensors > builder->tensor_capacity) {
        func->tensors = arena_extend(builder->arena, func->tensors, builder->tensor_capacity,
                                     tensors, sizeof *func->tensors);
        builder->tensor_capacity = tensors;
    }
    if (insts > builder->inst_capacity) {
        func->insts = arena_extend(builder->arena, func->insts, builder->inst_capacity, insts,
                                   sizeof *func->insts);
        builder->inst_capacity = insts;
    }
}

uint32_t build_tensor(Builder *builder, Tensor tensor) {
    Func *func = &builder->func;
    PUSH(builder->arena, func->tensors, func->ntensors, builder->tensor_capacity, tensor);
    return func->ntensors - 1;
}

uint32_t build_inst(Builder *builder, Inst inst) {
    Func *func = &builder->func;
    inst.loop = builder->loop;
    PUSH(builder->arena, func->insts, func->ninsts, builder->inst_capacity, inst);
    return func->ninsts - 1;
}

uint32_t build_loop(Builder *builder, Str name, int64_t low, int64_t high, Span span) {
    Func *func = &builder->func;
    uint32_t parent = builder->loop;
    Loop loop = {.name = name,
                 .low = low,
                 .high = high,
                 .parent = parent,
                 .depth = parent == NO_LOOP ? 0 : func->loops[parent].depth + 1,
                 .first = func->ninsts,
                 .end = func->ninsts,
                 .span = span};
    PUSH(builder->arena, func->loops, func->nloops, builder->loop_capacity, loop);
    return builder->loop = func->nloops - 1;
}

void build_end_loop(Builder *builder) {
    assert(builder->loop != NO_LOOP);
    Loop *loop = &builder->func.loops[builder->loop];
    loop->end = builder->func.ninsts;
    builder->loop = loop->parent;
}

void build_walked(Builder *builder, const Func *from, const Walk *walk) {
    if (walk->event == WALK_CLOSE) build_end_loop(builder);
    if (walk->event != WALK_OPEN) return;
    const Loop *loop = &from->loops[walk->loop];
    build_loop(builder, loop->name, loop->low, loop->high, loop->span);
}

Func *build_finish(Builder *builder) {
    assert(builder->loop == NO_LOOP);
    Func *func = NEW(builder->arena, Func);
    *func = builder->func;
    return func;
}
