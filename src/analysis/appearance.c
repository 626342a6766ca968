#include "analysis/appearance.h"

#include "support/sort.h"

/* What tells tensors apart, the last most: in loops how far apart the first operand and the last
 * are that name a tensor, then the first; the rest for those that nothing names. */
enum {
    APPEARANCE_ALIGN,
    APPEARANCE_BASE,
    APPEARANCE_FLAGS,
    APPEARANCE_BYTES,
    APPEARANCE_PARTITIONS,
    APPEARANCE_BLOCKS,
    APPEARANCE_SPACE,
    APPEARANCE_FIRST,
    APPEARANCE_SHORTNESS,
    APPEARANCE_KEYS
};

static void describe(const Tensor *tensor, uint64_t *row) {
    row[APPEARANCE_ALIGN] = (uint64_t)tensor->align;
    row[APPEARANCE_BASE] = (uint64_t)(tensor->base + 1);
    row[APPEARANCE_FLAGS] =
        tensor->input | tensor->output << 1 | tensor->pin << 2 | tensor->fixed << 3;
    row[APPEARANCE_BYTES] = (uint64_t)tensor->bytes;
    row[APPEARANCE_PARTITIONS] = (uint64_t)tensor->partitions;
    row[APPEARANCE_BLOCKS] = (uint64_t)tensor->blocks;
    row[APPEARANCE_SPACE] = tensor->space;
    row[APPEARANCE_FIRST] = row[APPEARANCE_SHORTNESS] = UINT64_MAX;
}

/* [ntensors] the tensors in order. */
static uint32_t *find_order(const Func *func, Arena *scratch) {
    uint64_t *rows = RAW_ARRAY(scratch, uint64_t, (size_t)func->ntensors * APPEARANCE_KEYS);
    uint32_t *order = RAW_ARRAY(scratch, uint32_t, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        describe(&func->tensors[t], &rows[(size_t)t * APPEARANCE_KEYS]);
        order[t] = t;
    }
    uint64_t count = 0;
    for (uint32_t p = 0; p < func->ninsts; p++)
        for (uint32_t o = 0; o < func->insts[p].ndst + func->insts[p].nsrc; o++, count++) {
            uint64_t *row = &rows[(size_t)func->insts[p].operands[o].tensor * APPEARANCE_KEYS];
            if (row[APPEARANCE_FIRST] == UINT64_MAX) row[APPEARANCE_FIRST] = count;
            uint64_t length = func->nloops > 0 ? count - row[APPEARANCE_FIRST] : 0;
            row[APPEARANCE_SHORTNESS] = UINT64_MAX - 1 - length;
        }
    sort_rows(rows, APPEARANCE_KEYS, order, func->ntensors, scratch);
    return order;
}

static AppearanceOrder reorder(const Func *from, const Live *live, const uint32_t *order,
                               Arena *arena) {
    uint32_t *new_id = RAW_ARRAY(arena, uint32_t, from->ntensors);
    Func *func = NEW(arena, Func);
    *func = *from;
    func->tensors = RAW_ARRAY(arena, Tensor, from->ntensors);
    func->insts = RAW_ARRAY(arena, Inst, from->ninsts);
    Live own = {RAW_ARRAY(arena, LiveRange, from->ntensors),
                RAW_ARRAY(arena, LiveRange *, from->ntensors)};
    for (uint32_t i = 0; i < from->ntensors; i++) {
        new_id[order[i]] = i;
        func->tensors[i] = from->tensors[order[i]];
        own.whole[i] = live->whole[order[i]];
        own.blocks[i] = live->blocks[order[i]];
    }
    for (uint32_t p = 0; p < from->ninsts; p++)
        func->insts[p] = renumbered_inst(&from->insts[p], new_id, arena);
    return (AppearanceOrder){func, own};
}

AppearanceOrder order_by_appearance(const Func *func, const Live *live, Arena *arena) {
    enum { LONGEST = 60000 /* instructions: beyond that the copies take too much memory */ };
    if (func->ninsts > LONGEST) return (AppearanceOrder){func, *live};
    Arena scratch;
    arena_init(&scratch);
    const uint32_t *order = find_order(func, &scratch);
    bool moved = false;
    for (uint32_t i = 0; i < func->ntensors; i++)
        moved |= order[i] != i;
    AppearanceOrder ordered = {func, *live};
    if (moved) ordered = reorder(func, live, order, arena);
    arena_free(&scratch);
    return ordered;
}
