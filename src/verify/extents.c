#include "verify/extents.h"

#include <string.h>

#include "support/search.h"

typedef struct FreeChunk {
    struct FreeChunk *next;
} FreeChunk;

typedef struct {
    Extent *items; /* [capacity], sorted, none empty */
    uint32_t count, capacity;
} Chunk;

typedef struct ExtentList {
    Chunk *chunks; /* [count] in order; none is empty */
    uint32_t count;
    size_t capacity;
} ExtentList;

void extent_pool_init(ExtentPool *pool, Arena *arena, PlanePool *planes) {
    *pool = (ExtentPool){.arena = arena, .planes = planes};
}

static uint32_t size_class(uint32_t capacity) {
    return (uint32_t)__builtin_ctz(capacity / SMALLEST_CHUNK);
}

static Extent *take_items(ExtentPool *pool, uint32_t capacity) {
    FreeChunk *free = pool->free[size_class(capacity)];
    if (!free) return RAW_ARRAY(pool->arena, Extent, capacity);
    pool->free[size_class(capacity)] = free->next;
    return (Extent *)(void *)free;
}

static void give_items(ExtentPool *pool, Extent *items, uint32_t capacity) {
    FreeChunk *free = (FreeChunk *)(void *)items;
    free->next = pool->free[size_class(capacity)];
    pool->free[size_class(capacity)] = free;
}

static int64_t chunk_end(const Chunk *chunk) {
    return chunk->items[chunk->count - 1].high;
}

/* The first chunk whose last extent ends behind `key`. */
static uint32_t seek_chunk(const ExtentList *list, int64_t key) {
    uint32_t at;
    FIND_FIRST(at, 0, list->count, chunk_end(&list->chunks[at]) > key);
    return at;
}

static uint32_t seek_item(const Chunk *chunk, int64_t key) {
    uint32_t at;
    FIND_FIRST(at, 0, chunk->count, chunk->items[at].high > key);
    return at;
}

ExtentCursor extents_seek(const Extents *map, int64_t key) {
    if (!map->many) return (ExtentCursor){map, 0, map->one.high <= key};
    uint32_t chunk = seek_chunk(map->many, key);
    if (chunk == map->many->count) return (ExtentCursor){map, chunk, 0};
    return (ExtentCursor){map, chunk, seek_item(&map->many->chunks[chunk], key)};
}

const Extent *extents_at(ExtentCursor cursor) {
    const Extents *map = cursor.map;
    if (!map->many) return cursor.item == 0 && map->one.low < map->one.high ? &map->one : NULL;
    if (cursor.chunk == map->many->count) return NULL;
    return &map->many->chunks[cursor.chunk].items[cursor.item];
}

void extents_next(ExtentCursor *cursor) {
    cursor->item++;
    const ExtentList *list = cursor->map->many;
    if (!list || cursor->item < list->chunks[cursor->chunk].count) return;
    cursor->chunk++;
    cursor->item = 0;
}

Contents extents_stretch(const Extents *map, int64_t key, int64_t limit, int64_t *end) {
    const Extent *extent = extents_at(extents_seek(map, key));
    *end = limit;
    if (!extent) return (Contents){NO_VALUE, 0};
    if (extent->low > key) {
        if (extent->low < limit) *end = extent->low;
        return (Contents){NO_VALUE, 0};
    }
    if (extent->high < limit) *end = extent->high;
    return extent->contents;
}

static void insert_chunk(ExtentList *list, ExtentPool *pool, uint32_t at, uint32_t capacity) {
    PUSH(pool->arena, list->chunks, list->count, list->capacity, (Chunk){0});
    memmove(list->chunks + at + 1, list->chunks + at, (list->count - 1 - at) * sizeof(Chunk));
    list->chunks[at] = (Chunk){take_items(pool, capacity), 0, capacity};
}

static void remove_chunk(ExtentList *list, ExtentPool *pool, uint32_t at) {
    give_items(pool, list->chunks[at].items, list->chunks[at].capacity);
    memmove(list->chunks + at, list->chunks + at + 1, (list->count - 1 - at) * sizeof(Chunk));
    list->count--;
}

static void enlarge_chunk(Chunk *chunk, ExtentPool *pool) {
    Extent *larger = take_items(pool, chunk->capacity * 2);
    memcpy(larger, chunk->items, chunk->count * sizeof(Extent));
    give_items(pool, chunk->items, chunk->capacity);
    chunk->items = larger;
    chunk->capacity *= 2;
}

/* Makes room in a full chunk; the cursor stays at its extent, or at its chunk's end. An append at
 * the very end opens a new chunk, so that a map that is filled in order has full ones. */
static void split_chunk(ExtentList *list, ExtentPool *pool, ExtentCursor *at) {
    Chunk *chunk = &list->chunks[at->chunk];
    if (chunk->capacity < LARGEST_CHUNK) {
        enlarge_chunk(chunk, pool);
        return;
    }
    bool append = at->item == chunk->count && at->chunk + 1 == list->count;
    uint32_t kept = append ? chunk->count : chunk->count / 2;
    insert_chunk(list, pool, at->chunk + 1, LARGEST_CHUNK);
    chunk = &list->chunks[at->chunk];
    Chunk *second = chunk + 1;
    second->count = chunk->count - kept;
    memcpy(second->items, chunk->items + kept, second->count * sizeof(Extent));
    chunk->count = kept;
    if (at->item < kept || (at->item == kept && !append)) return;
    at->chunk++;
    at->item -= kept;
}

/* Inserts before the cursor and moves it behind what it inserted. */
static void insert_extent(ExtentList *list, ExtentPool *pool, ExtentCursor *at, Extent extent) {
    if (list->count == 0) insert_chunk(list, pool, 0, SMALLEST_CHUNK);
    if (at->chunk == list->count) {
        at->chunk--;
        at->item = list->chunks[at->chunk].count;
    }
    if (list->chunks[at->chunk].count == list->chunks[at->chunk].capacity)
        split_chunk(list, pool, at);
    Chunk *chunk = &list->chunks[at->chunk];
    memmove(chunk->items + at->item + 1, chunk->items + at->item,
            (chunk->count - at->item) * sizeof(Extent));
    chunk->items[at->item++] = extent;
    chunk->count++;
}

/* Removes `count` extents from the cursor on; it then stands before what followed them. */
static void remove_extents(ExtentList *list, ExtentPool *pool, ExtentCursor *at, uint32_t count) {
    while (count > 0) {
        Chunk *chunk = &list->chunks[at->chunk];
        uint32_t here = chunk->count - at->item;
        if (here > count) here = count;
        memmove(chunk->items + at->item, chunk->items + at->item + here,
                (chunk->count - at->item - here) * sizeof(Extent));
        chunk->count -= here;
        count -= here;
        if (chunk->count == 0) {
            remove_chunk(list, pool, at->chunk);
            at->item = 0;
        } else if (at->item == chunk->count) {
            at->chunk++;
            at->item = 0;
        }
    }
}

static void make_list(Extents *map, ExtentPool *pool) {
    map->many = NEW(pool->arena, ExtentList);
    ExtentCursor start = {map, 0, 0};
    insert_extent(map->many, pool, &start, map->one);
}

/* What replaces the extents that meet [low, high): up to three, and how many it replaces. */
typedef struct {
    Extent fresh[3];
    uint32_t count, replaced;
} Replacement;

static Replacement plan_change(ExtentCursor at, ExtentPool *pool, Extent extent) {
    Replacement change = {.count = 0, .replaced = 0};
    Extent right = {0};
    for (const Extent *old; (old = extents_at(at)) && old->low < extent.high; extents_next(&at)) {
        bool left_stays = old->low<extent.low, right_stays = old->high> extent.high;
        if (left_stays)
            change.fresh[change.count++] = (Extent){old->low, extent.low, old->contents};
        if (right_stays) right = (Extent){extent.high, old->high, old->contents};
        if (left_stays && right_stays) contents_keep(pool->planes, old->contents);
        if (!left_stays && !right_stays) contents_drop(pool->planes, old->contents);
        change.replaced++;
    }
    change.fresh[change.count++] = extent;
    if (right.low < right.high) change.fresh[change.count++] = right;
    return change;
}

void extents_assign(Extents *map, ExtentPool *pool, int64_t low, int64_t high, Contents contents) {
    Extent extent = {low, high, contents};
    if (!map->many) {
        bool empty = map->one.low == map->one.high;
        if (empty || (low <= map->one.low && high >= map->one.high)) {
            if (!empty) contents_drop(pool->planes, map->one.contents);
            map->one = extent;
            return;
        }
        make_list(map, pool);
    }
    ExtentCursor at = extents_seek(map, low);
    Replacement change = plan_change(at, pool, extent);
    uint32_t done = 0;
    /* Overwrites in place as far as old and new lie in one chunk. */
    if (change.replaced > 0) {
        Chunk *chunk = &map->many->chunks[at.chunk];
        while (done < change.count && done < change.replaced && at.item < chunk->count)
            chunk->items[at.item++] = change.fresh[done++];
        if (at.item == chunk->count) {
            at.chunk++;
            at.item = 0;
        }
    }
    remove_extents(map->many, pool, &at, change.replaced - done);
    while (done < change.count)
        insert_extent(map->many, pool, &at, change.fresh[done++]);
}

void extents_clear(Extents *map, ExtentPool *pool) {
    for (ExtentCursor at = extents_seek(map, INT64_MIN); extents_at(at); extents_next(&at))
        contents_drop(pool->planes, extents_at(at)->contents);
    for (uint32_t i = 0; map->many && i < map->many->count; i++)
        give_items(pool, map->many->chunks[i].items, map->many->chunks[i].capacity);
    *map = (Extents){0};
}
