#include "spill/keep_unspilled.h"

typedef struct {
    Rewritten *rewritten;
    const Func *from;
    Arena *arena;   /* of the result */
    Arena scratch;  /* of this pass */
    bool *is_web;   /* [from->ntensors] a part of an earlier one, by its name */
    bool *spilled;  /* [from->ntensors] some DMA was inserted for it */
    bool *has_own;  /* [from->ntensors] its declaration is there, or cannot be */
    bool *restored; /* [tensors of the rewrite] a part that is the tensor again */
} Unspilled;

static void find_webs(Unspilled *pass, const Str *names) {
    StrMap firsts;
    strmap_init(&firsts, &pass->scratch);
    pass->is_web = RAW_ARRAY(&pass->scratch, bool, pass->from->ntensors);
    for (uint32_t t = 0; t < pass->from->ntensors; t++)
        pass->is_web[t] = strmap_add(&firsts, names[t], t) != t;
}

static void find_spilled(Unspilled *pass) {
    const Func *func = pass->rewritten->func;
    pass->spilled = NEW_ARRAY(&pass->scratch, bool, pass->from->ntensors);
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        if (pass->rewritten->origin_inst[p] != INSERTED) continue;
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
            if (func->tensors[inst->operands[o].tensor].space == SPACE_SB)
                pass->spilled[pass->rewritten->origin[inst->operands[o].tensor]] = true;
    }
}

static void find_parts(Unspilled *pass) {
    Rewritten *rewritten = pass->rewritten;
    pass->has_own = NEW_ARRAY(&pass->scratch, bool, pass->from->ntensors);
    for (uint32_t u = 0; u < rewritten->func->ntensors; u++) {
        uint32_t t = rewritten->origin[u];
        bool kept = rewritten->role[u] == ROLE_KEPT;
        bool copy = rewritten->role[u] == ROLE_COPY && !pass->spilled[t];
        if (kept && !pass->is_web[t]) pass->has_own[t] = true;
        if (copy || (kept && pass->is_web[t])) rewritten->role[u] = ROLE_PART;
    }
}

/* Place of each block of the whole tensor, from those of the blocks that the part holds. */
static const Place *spread_places(const Place *at, const BlockRange *range, int64_t blocks,
                                  Arena *arena) {
    if (!at) return NULL;
    Place *places = RAW_ARRAY(arena, Place, (size_t)blocks);
    for (int64_t b = 0; b < blocks; b++)
        places[b] = at[0];
    for (int64_t i = 0; i < range->count; i++)
        places[range->offsets[i]] = at[i];
    return places;
}

/* Makes the first part of a tensor that tensor, where it holds the same blocks all the time. */
static void restore(Unspilled *pass, uint32_t u) {
    Rewritten *rewritten = pass->rewritten;
    uint32_t t = rewritten->origin[u];
    if (rewritten->role[u] != ROLE_PART || pass->has_own[t] || pass->is_web[t]) return;
    pass->has_own[t] = true;
    const BlockRange *range = rewritten->block_range[u];
    if (range->base.count > 0) return;
    Tensor *tensor = &rewritten->func->tensors[u];
    const Tensor *original = &pass->from->tensors[t];
    const Place *at = spread_places(tensor->at, range, original->blocks, pass->arena);
    if (tensor->blocks != original->blocks) rewritten->live = NULL;
    *tensor = *original;
    tensor->at = at;
    rewritten->role[u] = ROLE_KEPT;
    pass->restored[u] = true;
}

/* Operands of a restored tensor name the blocks that they named before the rewrite. */
static void restore_all(Unspilled *pass) {
    const Func *func = pass->rewritten->func;
    pass->restored = NEW_ARRAY(&pass->scratch, bool, func->ntensors);
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            uint32_t u = inst->operands[o].tensor;
            restore(pass, u);
            if (!pass->restored[u]) continue;
            /* The operands of a rewrite with copies were made by it and belong to it. */
            Operand *operand = (Operand *)(uintptr_t)&inst->operands[o];
            const Inst *was = &pass->from->insts[pass->rewritten->origin_inst[p]];
            operand->blocks = was->operands[o].blocks;
        }
    }
}

void keep_unspilled(Rewritten *rewritten, const Func *from, const Str *names, Arena *arena) {
    if (is_as_declared(rewritten, from, names)) return;
    Unspilled pass = {.rewritten = rewritten, .from = from, .arena = arena};
    arena_init(&pass.scratch);
    find_webs(&pass, names);
    find_spilled(&pass);
    find_parts(&pass);
    restore_all(&pass);
    arena_free(&pass.scratch);
}
