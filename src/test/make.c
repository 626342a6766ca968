#include "test/make.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/parse.h"

Builder make_begin(Arena *arena, const char *name) {
    Builder builder;
    build_begin(&builder, arena, str_from(name), (MetaList){NULL, 0}, (Span){0, 0});
    return builder;
}

Tensor make_tensor(Arena *arena, const char *stem, uint32_t number, Space space, int64_t partitions,
                   int64_t bytes) {
    int64_t *shape = NEW_ARRAY(arena, int64_t, 2);
    shape[0] = partitions;
    shape[1] = bytes;
    return (Tensor){.name = str_format(arena, "%s%u", stem, number),
                    .space = space,
                    .dtype = DT_U8,
                    .blocks = 1,
                    .shape = shape,
                    .rank = 2,
                    .partitions = partitions,
                    .bytes = bytes,
                    .align = GRANULE,
                    .base = -1,
                    .offset = -1};
}

MakeInst make_inst(Arena *arena, uint32_t ndst, uint32_t nsrc) {
    return (MakeInst){NEW_ARRAY(arena, Operand, (size_t)ndst + nsrc), ndst, nsrc, 0};
}

void make_operand(MakeInst *inst, uint32_t tensor) {
    assert(inst->count < inst->ndst + inst->nsrc);
    inst->operands[inst->count++].tensor = tensor;
}

void make_finish(Builder *builder, const MakeInst *made, const char *op) {
    assert(made->count == made->ndst + made->nsrc);
    Inst inst = {
        .op = str_from(op), .ndst = made->ndst, .nsrc = made->nsrc, .operands = made->operands};
    inst.kind = op_kind(inst.op);
    build_inst(builder, inst);
}

void make_simple(Builder *builder, const char *op, uint32_t to, uint32_t from) {
    MakeInst inst = make_inst(builder->arena, to != UINT32_MAX, from != UINT32_MAX);
    if (to != UINT32_MAX) make_operand(&inst, to);
    if (from != UINT32_MAX) make_operand(&inst, from);
    make_finish(builder, &inst, op);
}

Module *make_module(Builder *builder, int64_t usable) {
    Module *module = NEW(builder->arena, Module);
    module->target = *target_builtin(STR("trn2"));
    module->target.sb_bytes = usable;
    module->target.sb_reserved = 0;
    module->has_target = true;
    module->funcs = build_finish(builder);
    module->nfuncs = 1;
    return module;
}

Module *make_body(Arena *arena, int64_t usable, const char *body) {
    Str text = str_format(arena,
                          "target t {\n sb_bytes = %lld\n sb_reserved = 0\n sb_init = 1\n"
                          " dma_init = 100\n dma_rate = 1\n}\nfunc @f {\n%s\n}\n",
                          (long long)usable, body);
    Source source;
    source_from_text(&source, arena, "test.lf", text.text, text.length);
    Module *module = NEW(arena, Module);
    DiagQueue diags;
    diag_init(&diags, arena);
    if (!parse_lf(&source, arena, &diags, module)) {
        diag_print(&diags, &source, (DiagStyle){0}, stderr);
        fprintf(stderr, "the test's own text is wrong:\n%s\n", text.text);
        abort();
    }
    return module;
}
