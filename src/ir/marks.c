#include "ir/marks.h"

static const char READY[] = "ready_for_codegen", NO_SPILL[] = "no_spill", ELIDED[] = "elided";

static MetaList with_flag(Arena *arena, MetaList meta, const char *key) {
    if (meta_find(meta, key)) return meta;
    return meta_with(arena, meta, (Meta){.key = str_from(key), .kind = META_FLAG});
}

void mark_header(Func *func, bool spilled, Arena *arena) {
    func->meta = with_flag(arena, func->meta, READY);
    func->meta = spilled ? meta_without(arena, func->meta, NO_SPILL)
                         : with_flag(arena, func->meta, NO_SPILL);
}

/* True if both operands name the same number of blocks and these lie at the same places, in every
 * iteration. */
static bool share_places(const Func *func, const Operand *a, const Operand *b) {
    const Tensor *left = &func->tensors[a->tensor], *right = &func->tensors[b->tensor];
    BlockSpan from = operand_blocks(func, a), to = operand_blocks(func, b);
    if (!left->at || !right->at || a->region || b->region ||
        !((from.exact && to.exact) || blocks_equal(a->blocks, b->blocks)) ||
        from.last - from.first != to.last - to.first || from.first > from.last)
        return false;
    for (int64_t i = 0; i <= from.last - from.first; i++) {
        Place one = left->at[from.first + i], other = right->at[to.first + i];
        if (one.partition != other.partition || one.byte != other.byte) return false;
    }
    return true;
}

static bool is_elided(const Func *func, const Inst *inst) {
    return !inst->accumulate && inst_dst(inst)->tensor != inst_src(inst)->tensor &&
           share_places(func, inst_dst(inst), inst_src(inst));
}

void mark_copies(Func *func, Arena *arena) {
    bool owned = false;
    for (uint32_t i = 0; i < func->ninsts; i++) {
        if (func->insts[i].kind != OP_COPY) continue;
        MetaList meta = func->insts[i].meta;
        bool elided = is_elided(func, &func->insts[i]);
        if (elided == (meta_find(meta, ELIDED) != NULL)) continue;
        if (!owned) own_insts(func, arena);
        owned = true;
        func->insts[i].meta =
            elided ? with_flag(arena, meta, ELIDED) : meta_without(arena, meta, ELIDED);
    }
}

int64_t high_water(const Func *func) {
    int64_t highest = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        if (tensor->space != SPACE_SB || !tensor->at) continue;
        for (int64_t b = 0; b < tensor->blocks; b++)
            if (tensor->at[b].byte + tensor->bytes > highest)
                highest = tensor->at[b].byte + tensor->bytes;
    }
    return highest;
}

bool is_placed(const Func *func) {
    if (!meta_find(func->meta, READY)) return false;
    Arena scratch;
    arena_init(&scratch);
    const bool *named = find_named(func, &scratch);
    bool placed = true;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        bool used = named[t] || (tensor->input && func->ninsts > 0);
        if (tensor->space == SPACE_SB && used && !tensor->at) placed = false;
    }
    arena_free(&scratch);
    return placed;
}
