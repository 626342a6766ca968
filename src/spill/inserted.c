#include "spill/inserted.h"

static MetaList inserted_meta(const char *key, const Inst *served, Arena *arena) {
    Meta *items = NEW_ARRAY(arena, Meta, 2);
    items[0] = (Meta){.key = str_from(key), .kind = META_FLAG};
    const Meta *place = served ? meta_find(served->meta, "loc") : NULL;
    if (place) items[1] = *place;
    return (MetaList){items, place ? 2 : 1};
}

Inst inserted_dma(SpillDma dma, Arena *arena) {
    Operand *operands = NEW_ARRAY(arena, Operand, 2);
    Span span = dma.served ? dma.served->span : (Span){0, 0};
    bool reload = dma.kind == OP_LOAD;
    operands[0] = dma.dst;
    operands[1] = dma.src;
    operands[0].span = operands[1].span = span;
    return (Inst){.op = reload ? STR("load") : STR("save"),
                  .kind = dma.kind,
                  .ndst = 1,
                  .nsrc = 1,
                  .operands = operands,
                  .condition = dma.condition,
                  .meta = inserted_meta(reload ? "reload" : "spill", dma.served, arena),
                  .span = span};
}

Tensor added_tensor(const Tensor *original, Space space, int64_t blocks) {
    Tensor tensor = *original;
    tensor.name = STR("");
    tensor.space = space;
    tensor.blocks = blocks;
    tensor.input = tensor.output = tensor.pin = tensor.fixed = false;
    tensor.at = NULL;
    tensor.offset = -1;
    tensor.meta = (MetaList){NULL, 0};
    if (space == SPACE_DRAM) {
        tensor.base = -1;
        tensor.align = GRANULE;
    }
    return tensor;
}
