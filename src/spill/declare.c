#include "spill/declare.h"

#include <string.h>

#include "support/sort.h"

/* The number at the end of a name, as far as 32 bits hold it. */
static uint64_t serial_of(Str name) {
    uint64_t serial = 0, unit = 1;
    for (uint32_t i = name.length; i-- > 0 && name.text[i] >= '0' && name.text[i] <= '9';) {
        serial += unit * (uint64_t)(name.text[i] - '0');
        if (serial > UINT32_MAX) return UINT32_MAX;
        unit *= 10;
    }
    return serial;
}

/* Sorts as the declarations stand: what is added behind all else, by tensor, role and number. */
static uint64_t order_key(const Rewritten *rewritten, uint32_t u, uint32_t tensor) {
    static const uint64_t RANKS[ROLE_COUNT] = {[ROLE_PART] = 0, [ROLE_HOME] = 1, [ROLE_COPY] = 2};
    if (rewritten->role[u] == ROLE_KEPT) return tensor;
    uint64_t added = UINT64_C(1) << 63;
    return added | (uint64_t)tensor << 34 | RANKS[rewritten->role[u]] << 32 |
           serial_of(rewritten->func->tensors[u].name);
}

/* The tensors in order; each goes by the tensor of the input that has its origin's name. */
static SortKey *sort_declarations(const Rewritten *rewritten, const Func *input, const Str *names,
                                  Arena *scratch) {
    uint32_t count = rewritten->func->ntensors;
    SortKey *keys = RAW_ARRAY(scratch, SortKey, count);
    StrMap declared;
    strmap_init(&declared, scratch);
    for (uint32_t t = 0; t < input->ntensors; t++)
        strmap_add(&declared, input->tensors[t].name, t);
    for (uint32_t u = 0; u < count; u++) {
        uint32_t tensor = strmap_get(&declared, names[rewritten->origin[u]]);
        keys[u] = (SortKey){order_key(rewritten, u, tensor), u};
    }
    sort_keys(keys, count, scratch);
    return keys;
}

/* The items of an array in their new order. */
static void *reordered(const void *items, size_t size, const SortKey *order, uint32_t count,
                       Arena *arena) {
    char *result = arena_raw(arena, count, size);
    for (uint32_t i = 0; i < count; i++)
        memcpy(result + i * size, (const char *)items + order[i].id * size, size);
    return result;
}

/* What names tensors by their numbers: operands, and the blocks that were placed in time. */
static void renumber_all(Rewritten *rewritten, const uint32_t *new_id, Arena *arena) {
    Func *func = rewritten->func;
    own_insts(func, arena);
    for (uint32_t p = 0; p < func->ninsts; p++)
        func->insts[p] = renumbered_inst(&func->insts[p], new_id, arena);
    Nodes *blocks = &rewritten->blocks.nodes;
    for (uint32_t n = 0; n < blocks->count; n++)
        blocks->items[n].tensor = new_id[blocks->items[n].tensor];
}

static void reorder(Rewritten *rewritten, const SortKey *order, Arena *arena) {
    Func *func = rewritten->func;
    uint32_t count = func->ntensors;
    func->tensors = reordered(func->tensors, sizeof *func->tensors, order, count, arena);
    rewritten->origin = reordered(rewritten->origin, sizeof(uint32_t), order, count, arena);
    rewritten->role = reordered(rewritten->role, 1, order, count, arena);
    rewritten->first_access =
        reordered(rewritten->first_access, sizeof(uint32_t), order, count, arena);
    rewritten->end_access = reordered(rewritten->end_access, sizeof(uint32_t), order, count, arena);
    if (rewritten->block_range)
        rewritten->block_range =
            reordered(rewritten->block_range, sizeof *rewritten->block_range, order, count, arena);
    if (!rewritten->live) return;
    Live *live = NEW(arena, Live);
    live->whole = reordered(rewritten->live->whole, sizeof *live->whole, order, count, arena);
    live->blocks = reordered(rewritten->live->blocks, sizeof *live->blocks, order, count, arena);
    rewritten->live = live;
}

const uint32_t *order_declarations(Rewritten *rewritten, const Func *input, const Str *names,
                                   Arena *arena) {
    if (is_as_declared(rewritten, input, names)) return NULL;
    Arena scratch;
    arena_init(&scratch);
    uint32_t count = rewritten->func->ntensors;
    const SortKey *order = sort_declarations(rewritten, input, names, &scratch);
    uint32_t *new_id = RAW_ARRAY(arena, uint32_t, count);
    bool moved = false;
    for (uint32_t i = 0; i < count; i++) {
        new_id[order[i].id] = i;
        moved |= order[i].id != i;
    }
    if (moved) {
        reorder(rewritten, order, arena);
        renumber_all(rewritten, new_id, arena);
    }
    arena_free(&scratch);
    return moved ? new_id : NULL;
}
