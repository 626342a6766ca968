#include "support/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

Str str_from(const char *text) {
    return (Str){text, (uint32_t)strlen(text)};
}

bool str_equal(Str a, Str b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

bool str_is(Str a, const char *text) {
    return str_equal(a, str_from(text));
}

int str_compare(Str a, Str b) {
    uint32_t shared = a.length < b.length ? a.length : b.length;
    int order = shared ? memcmp(a.text, b.text, shared) : 0;
    if (order) return order;
    return (a.length > b.length) - (a.length < b.length);
}

/* Eight bytes at a time, each mixed by a multiplication and a fold of the high half. */
uint64_t str_hash(Str s) {
    uint64_t hash = 0x9E3779B97F4A7C15u ^ s.length;
    const char *at = s.text;
    uint32_t left = s.length;
    while (left > 0) {
        uint64_t word = 0;
        uint32_t step = left < 8 ? left : 8;
        memcpy(&word, at, step);
        hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
        hash ^= hash >> 32;
        at += step;
        left -= step;
    }
    return hash;
}

Str str_format(Arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) return STR("");
    char *text = arena_raw(arena, (size_t)length + 1, 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return (Str){text, (uint32_t)length};
}

enum { LONGEST_SUGGESTION = 63 };

/* Levenshtein distance with neighbouring swaps counted once; both at most LONGEST_SUGGESTION. */
static uint32_t edit_distance(Str a, Str b) {
    uint32_t rows[3][LONGEST_SUGGESTION + 1];
    uint32_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (uint32_t j = 0; j <= b.length; j++)
        above[j] = j;
    for (uint32_t i = 1; i <= a.length; i++) {
        row[0] = i;
        for (uint32_t j = 1; j <= b.length; j++) {
            uint32_t best = above[j - 1] + (a.text[i - 1] != b.text[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a.text[i - 1] == b.text[j - 2] &&
                a.text[i - 2] == b.text[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        uint32_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b.length];
}

Str str_nearest(Str name, const Str *candidates, uint32_t count) {
    Str nearest = STR("");
    if (name.length > LONGEST_SUGGESTION) return nearest;
    uint32_t limit = name.length / 3 ? name.length / 3 : 1;
    for (uint32_t i = 0; i < count; i++) {
        if (candidates[i].length > LONGEST_SUGGESTION) continue;
        uint32_t distance = edit_distance(name, candidates[i]);
        if (distance > limit || distance >= candidates[i].length) continue;
        nearest = candidates[i];
        if (distance == 0) break;
        limit = distance - 1;
        if (distance == 1) break;
    }
    return nearest;
}

void strmap_init(StrMap *map, Arena *arena) {
    *map = (StrMap){.arena = arena};
}

/* The slot of `key`: where it is, or the free one where it belongs. */
static uint32_t find_slot(const StrMap *map, Str key) {
    uint32_t mask = map->capacity - 1;
    uint32_t slot = (uint32_t)str_hash(key) & mask;
    while (map->keys[slot].text && !str_equal(map->keys[slot], key))
        slot = (slot + 1) & mask;
    return slot;
}

static void enlarge(StrMap *map) {
    StrMap larger = {.arena = map->arena, .capacity = map->capacity ? map->capacity * 2 : 64};
    if (larger.capacity < map->capacity) out_of_memory();
    larger.keys = NEW_ARRAY(map->arena, Str, larger.capacity);
    larger.values = NEW_ARRAY(map->arena, uint32_t, larger.capacity);
    for (uint32_t i = 0; i < map->capacity; i++) {
        if (!map->keys[i].text) continue;
        uint32_t slot = find_slot(&larger, map->keys[i]);
        larger.keys[slot] = map->keys[i];
        larger.values[slot] = map->values[i];
    }
    larger.count = map->count;
    *map = larger;
}

uint32_t strmap_get(const StrMap *map, Str key) {
    if (map->count == 0) return UINT32_MAX;
    uint32_t slot = find_slot(map, key);
    return map->keys[slot].text ? map->values[slot] : UINT32_MAX;
}

uint32_t strmap_add(StrMap *map, Str key, uint32_t value) {
    if (map->count >= map->capacity / 2) enlarge(map);
    uint32_t slot = find_slot(map, key);
    if (!map->keys[slot].text) {
        map->keys[slot] = key;
        map->values[slot] = value;
        map->count++;
    }
    return map->values[slot];
}
