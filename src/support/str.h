/* Text as a pointer and a length: not terminated, not owned, never changed. */
#ifndef SUPPORT_STR_H
#define SUPPORT_STR_H

#include <stdbool.h>
#include <stdint.h>

#include "support/arena.h"

typedef struct {
    const char *text; /* UTF-8; lives in an arena or in static storage */
    uint32_t length;  /* bytes */
} Str;

#define STR(literal) ((Str){(literal), sizeof(literal) - 1})

/* `STR_ARGS(text)` for a `%.*s`. */
#define STR_ARGS(s) (int)(s).length, (s).text

Str str_from(const char *text);
bool str_equal(Str a, Str b);
bool str_is(Str a, const char *text);

/* Total order by bytes. */
int str_compare(Str a, Str b);
uint64_t str_hash(Str s);

/* Text made by printf, in the arena. */
__attribute__((format(printf, 2, 3))) Str str_format(Arena *arena, const char *format, ...);

/* The candidate nearest to `name` where it is near enough to be a slip of the keys (at most a third
 * of its letters wrong), else an empty Str. Ties go to the first. */
Str str_nearest(Str name, const Str *candidates, uint32_t count);

/* A set of names with a number each: open addressing, in an arena. */
typedef struct {
    Arena *arena;
    Str *keys;        /* [capacity]; text NULL where free */
    uint32_t *values; /* [capacity] */
    uint32_t count, capacity;
} StrMap;

void strmap_init(StrMap *map, Arena *arena);

/* The number of `key`, or UINT32_MAX. */
uint32_t strmap_get(const StrMap *map, Str key);

/* Adds `key` where it is new. Returns the number that it has now: `value` if it was added. */
uint32_t strmap_add(StrMap *map, Str key, uint32_t value);

#endif
