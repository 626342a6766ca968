#include "verify/intern.h"

void interned_init(Interned *interned, Arena *arena) {
    *interned = (Interned){.arena = arena};
    strmap_init(&interned->map, arena);
}

static void push(Interned *interned, int64_t word) {
    PUSH(interned->arena, interned->key, interned->nkey, interned->key_capacity, word);
}

static void push_shape(Interned *interned, const MachineAccess *access) {
    push(interned, access->count);
    push(interned, access->rect.p1 - access->rect.p0);
    push(interned, access->rect.b1 - access->rect.b0);
}

static void push_piece(Interned *interned, PlanePiece piece) {
    push(interned, piece.rect.p0);
    push(interned, piece.rect.p1);
    push(interned, piece.rect.b0);
    push(interned, piece.rect.b1);
    push(interned, (int64_t)piece.value);
    push(interned, piece.blocks);
    push(interned, piece.partitions);
    push(interned, piece.bytes);
}

/* What was read, seen from the corner of the rectangle, as numbers. */
static Str make_key(Interned *interned, Machine *machine, const Segments *segments,
                    const MachineAccess *source, const MachineAccess *target) {
    interned->nkey = 0;
    push_shape(interned, source);
    push_shape(interned, target);
    for (size_t i = 0; i < segments->count; i++) {
        push(interned, segments->items[i].low);
        push(interned, segments->items[i].high);
        segment_pieces(machine, &segments->items[i], source->rect, (Region){0, 0, 0, 0},
                       &interned->pieces);
        for (size_t j = 0; j < interned->pieces.count; j++)
            push_piece(interned, interned->pieces.items[j]);
    }
    return (Str){(const char *)(const void *)interned->key,
                 (uint32_t)(interned->nkey * sizeof(int64_t))};
}

uint64_t intern_transfer(Interned *interned, Machine *machine, const Segments *segments,
                         const MachineAccess *source, const MachineAccess *target, uint64_t fresh) {
    Str key = make_key(interned, machine, segments, source, target);
    uint32_t known = strmap_get(&interned->map, key);
    if (known != UINT32_MAX) return interned->values[known];
    key.text = arena_copy(interned->arena, key.text, key.length);
    strmap_add(&interned->map, key, (uint32_t)interned->count);
    PUSH(interned->arena, interned->values, interned->count, interned->values_capacity, fresh);
    return fresh;
}
