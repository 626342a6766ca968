#include "spill/time/entry.h"

#include <string.h>

#include "ir/build.h"

static bool comes_in(const Tensor *tensor) {
    return tensor->space == SPACE_SB && tensor->input && !tensor->fixed && !tensor->pin &&
           !tensor->output;
}

/* All blocks of all inputs that may leave. */
static Inst entry_inst(const Func *func, Arena *arena) {
    Operand *operands = NEW_ARRAY(arena, Operand, func->ntensors);
    Inst entry = {.op = STR("input"), .operands = operands, .span = func->span};
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (comes_in(&func->tensors[t]))
            operands[entry.ndst++] = (Operand){.tensor = t, .span = func->tensors[t].span};
    return entry;
}

const Func *with_entry(const Func *func, Arena *arena) {
    Inst entry = entry_inst(func, arena);
    if (entry.ndst == 0) return func;
    Builder build;
    build_begin(&build, arena, func->name, func->meta, func->span);
    build_reserve(&build, func->ntensors, func->ninsts + 1);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        Tensor tensor = func->tensors[t];
        tensor.input &= !comes_in(&tensor);
        build_tensor(&build, tensor);
    }
    build_inst(&build, entry);
    for (Walk walk = walk_begin(func); walk_next(&walk);) {
        build_walked(&build, func, &walk);
        if (walk.event == WALK_INST) build_inst(&build, func->insts[walk.inst]);
    }
    return build_finish(&build);
}

const bool *marks_with_entry(const Func *entered, const bool *marks, Arena *arena) {
    if (!marks) return NULL;
    bool *moved = NEW_ARRAY(arena, bool, entered->ninsts);
    memcpy(moved + 1, marks, entered->ninsts - 1);
    return moved;
}

/* ---- stores ---- */

/* One store after the entry, of consecutive blocks. */
typedef struct {
    uint32_t inst;      /* 0: none yet */
    Range blocks;       /* of the tensor */
    int64_t home_first; /* the block of the home where the first goes */
} EntryStore;

static const Blocks *some_blocks(const Func *func, uint32_t tensor, Range blocks, Arena *arena) {
    return blocks_between((Affine){0}, blocks.low, blocks.high, func->tensors[tensor].blocks,
                          arena);
}

static void name_blocks(const Func *func, const EntryStore *store, Arena *arena) {
    /* The operands were made for this text and belong to it. */
    Operand *operands = (Operand *)(uintptr_t)func->insts[store->inst].operands;
    Range home = {store->home_first, store->home_first + store->blocks.high - store->blocks.low};
    operands[0].blocks = some_blocks(func, operands[0].tensor, home, arena);
    operands[1].blocks = some_blocks(func, operands[1].tensor, store->blocks, arena);
}

/* Stores of one block each, those of a tensor in order, become stores of ranges: all at the place
 * of the first. Sets dead[p] of the others. */
static void join_stores(const Rewritten *rewritten, bool *dead, Arena *arena) {
    const Func *func = rewritten->func;
    EntryStore *stores = NEW_ARRAY(arena, EntryStore, func->ntensors);
    for (uint32_t i = 1; i < func->ninsts && func->insts[i].kind == OP_SAVE &&
                         rewritten->origin_inst[i] == INSERTED;
         i++) {
        const Operand *operands = func->insts[i].operands;
        EntryStore *store = &stores[operands[1].tensor];
        int64_t block = operand_blocks(func, &operands[1]).first;
        if (store->inst > 0 && store->blocks.high == block - 1) {
            store->blocks.high++;
            dead[i] = true;
            name_blocks(func, store, arena);
            continue;
        }
        *store = (EntryStore){i, {block, block}, operand_blocks(func, &operands[0]).first};
    }
}

void leave_entry(const Func *func, Rewritten *rewritten, Arena *arena) {
    bool *dead = NEW_ARRAY(arena, bool, rewritten->func->ninsts);
    dead[0] = true;
    join_stores(rewritten, dead, arena);
    drop_insts(rewritten, dead, arena);
    for (uint32_t t = 0; t < func->ntensors; t++)
        rewritten->func->tensors[t].input = func->tensors[t].input;
}

/* Ranges are made anew with every result, so they may be changed. */
static void live_at_entry(LiveRange *range, Arena *arena) {
    if (range->count > 0) return;
    Interval *first = NEW(arena, Interval);
    *range = (LiveRange){first, 1};
}

void forget_entry(const Func *func, Rewritten *rewritten, Arena *arena) {
    for (uint32_t i = 0; i < rewritten->func->ninsts; i++)
        if (rewritten->origin_inst[i] != INSERTED) rewritten->origin_inst[i]--;
    if (rewritten->func->ninsts == 0) return;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (!comes_in(&func->tensors[t])) continue;
        live_at_entry(&rewritten->live->whole[t], arena);
        LiveRange *blocks = rewritten->live->blocks[t];
        for (int64_t b = 0; blocks && b < func->tensors[t].blocks; b++)
            live_at_entry(&blocks[b], arena);
    }
}
