#include "text/names.h"

#include <string.h>

enum { CACHE_LINE = 64, SLOTS_IN_LINE = CACHE_LINE / sizeof(NameSlot), FIRST_SLOTS = 64 };

/* The hash leaves out the last letter's low three bits: they number the slot within a line. */
static uint32_t name_hash(Str name) {
    uint64_t hash = name.length;
    const char *at = name.text;
    uint32_t left = name.length - 1;
    for (; left >= 8; left -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
        hash ^= hash >> 32;
    }
    uint64_t word = 0;
    for (; left > 0; left--)
        word = word << 8 | (unsigned char)*at++;
    word = word << 8 | (unsigned char)(*at >> 3);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 32);
}

static uint32_t first_slot(const NameTable *table, uint32_t hash, Str name) {
    uint32_t in_line = (unsigned char)name.text[name.length - 1] % SLOTS_IN_LINE;
    return (hash * SLOTS_IN_LINE + in_line) & table->mask;
}

uint32_t names_get(const NameTable *table, const Tensor *tensors, Str name) {
    if (table->count == 0) return UINT32_MAX;
    uint32_t hash = name_hash(name);
    for (uint32_t slot = first_slot(table, hash, name);; slot = (slot + 1) & table->mask) {
        NameSlot found = table->slots[slot];
        if (found.id == 0) return UINT32_MAX;
        if (found.hash == hash && str_equal(tensors[found.id - 1].name, name)) return found.id - 1;
    }
}

static void put(NameTable *table, uint32_t hash, Str name, uint32_t id) {
    uint32_t slot = first_slot(table, hash, name);
    while (table->slots[slot].id != 0)
        slot = (slot + 1) & table->mask;
    table->slots[slot] = (NameSlot){hash, id + 1};
}

static void enlarge(NameTable *table, Arena *arena, const Tensor *tensors) {
    NameTable larger = {.mask = table->slots ? table->mask * 2 + 1 : FIRST_SLOTS - 1,
                        .count = table->count};
    if (larger.mask == UINT32_MAX) out_of_memory();
    char *room = arena_alloc(arena, ((size_t)larger.mask + 1) * sizeof(NameSlot) + CACHE_LINE, 1);
    larger.slots = (void *)(room + (CACHE_LINE - (uintptr_t)room % CACHE_LINE));
    for (size_t i = 0; table->slots && i <= table->mask; i++) {
        NameSlot slot = table->slots[i];
        if (slot.id != 0) put(&larger, slot.hash, tensors[slot.id - 1].name, slot.id - 1);
    }
    *table = larger;
}

void names_add(NameTable *table, Arena *arena, const Tensor *tensors, uint32_t id) {
    if (!table->slots || table->count > table->mask / 2) enlarge(table, arena, tensors);
    put(table, name_hash(tensors[id].name), tensors[id].name, id);
    table->count++;
}
