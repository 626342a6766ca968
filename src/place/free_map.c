#include "place/free_map.h"

enum { LANES = BAND_MASKS + 1 };

static const uint32_t MASKS[LANES] = {0x1, 0x2, 0x4, 0x8, 0x3, 0xC, 0xF, 0xF};

/* A part with its bounds. */
typedef struct {
    uint32_t part, low, span;
} PartAt;

static PartAt lower_half(const FreeMap *map, PartAt at) {
    return (PartAt){map->parts[at.part].children, at.low, at.span / 2};
}

static PartAt upper_half(const FreeMap *map, PartAt at) {
    return (PartAt){map->parts[at.part].children + 1, at.low + at.span / 2, at.span / 2};
}

static int mask_index(uint8_t mask) {
    int i = 0;
    while (MASKS[i] != mask)
        i++;
    return i;
}

/* ---- changes ---- */

static void make_alike(FreePart *part, uint8_t free, uint32_t span) {
    part->children = 0;
    part->free = free;
    uint32_t free_lanes = free;
    for (int m = 0; m < LANES; m++)
        part->longest[m] = (free_lanes & MASKS[m]) == MASKS[m] ? span : 0;
    for (int m = 0; m < LANES; m++)
        part->prefix[m] = part->suffix[m] = part->longest[m];
}

static uint32_t make_pair(FreeMap *map) {
    uint32_t pair = map->spare;
    if (pair) {
        map->spare = map->parts[pair].children;
        return pair;
    }
    FreePart none = {0};
    pair = (uint32_t)map->count;
    PUSH(map->arena, map->parts, map->count, map->capacity, none);
    PUSH(map->arena, map->parts, map->count, map->capacity, none);
    return pair;
}

static void split_part(FreeMap *map, PartAt at) {
    uint32_t pair = make_pair(map);
    uint8_t free = map->parts[at.part].free;
    map->parts[at.part].children = pair;
    make_alike(&map->parts[pair], free, at.span / 2);
    make_alike(&map->parts[pair + 1], free, at.span / 2);
}

/* No branch on whether a half is free all over: that cannot be foretold, and keeps loops from
 * becoming vectors. */
static inline void join_lanes(FreePart *restrict part, const FreePart *restrict halves,
                              uint32_t half) {
    const FreePart *restrict lower = halves, *restrict upper = halves + 1;
    for (int m = 0; m < LANES; m++) {
        uint32_t a = lower->longest[m], b = upper->longest[m];
        uint32_t across = lower->suffix[m] + upper->prefix[m], longer = a > b ? a : b;
        part->longest[m] = across > longer ? across : longer;
    }
    for (int m = 0; m < LANES; m++) {
        uint32_t whole = 0 - (uint32_t)(lower->prefix[m] == half);
        part->prefix[m] = lower->prefix[m] + (upper->prefix[m] & whole);
    }
    for (int m = 0; m < LANES; m++) {
        uint32_t whole = 0 - (uint32_t)(upper->suffix[m] == half);
        part->suffix[m] = upper->suffix[m] + (lower->suffix[m] & whole);
    }
}

/* A part from its halves; where they are alike, they are not needed. */
static void join_halves(FreeMap *map, PartAt at) {
    FreePart *part = &map->parts[at.part];
    const FreePart *lower = &map->parts[part->children], *upper = lower + 1;
    uint32_t half = at.span / 2;
    if (!lower->children && !upper->children && lower->free == upper->free) {
        uint32_t pair = part->children;
        make_alike(part, lower->free, at.span);
        map->parts[pair].children = map->spare;
        map->spare = pair;
        return;
    }
    join_lanes(part, lower, half);
}

/* Granules [low, high) that become free in `given` quadrants and taken in the others of a
 * rectangle.
 */
typedef struct {
    uint32_t low, high;
    uint8_t keep, given; /* of what was free, and what is free besides */
} Change;

/* The part meets the change. Recursion as deep as the tree. */
static void change(FreeMap *map, PartAt at, const Change *what) {
    FreePart *part = &map->parts[at.part];
    if (!part->children) {
        uint8_t free = (part->free & what->keep) | what->given;
        if (free == part->free) return;
        if (what->low <= at.low && at.low + at.span <= what->high) {
            make_alike(part, free, at.span);
            return;
        }
        split_part(map, at);
    }
    uint32_t middle = at.low + at.span / 2;
    if (what->low < middle) change(map, lower_half(map, at), what);
    if (what->high > middle) change(map, upper_half(map, at), what);
    join_halves(map, at);
}

static PartAt root(const FreeMap *map) {
    return (PartAt){0, 0, map->span};
}

FreeMap free_map_make(uint32_t size, Arena *arena) {
    enum { LARGEST = 1 << 30 /* granules: 8 GiB */ };
    FreeMap map = {.span = 1, .arena = arena};
    while (map.span < size && map.span < LARGEST)
        map.span *= 2;
    FreePart all = {0};
    make_alike(&all, 0xF, map.span);
    PUSH(arena, map.parts, map.count, map.capacity, all);
    if (size < map.span) free_map_take(&map, (Rect){size, map.span, 0xF});
    return map;
}

static void change_rect(FreeMap *map, Rect rect, bool give) {
    Change what = {rect.low, rect.high, give ? 0xF : (uint8_t)~rect.mask, give ? rect.mask : 0};
    if (rect.low < rect.high && rect.low < map->span) change(map, root(map), &what);
}

void free_map_take(FreeMap *map, Rect rect) {
    change_rect(map, rect, false);
}

void free_map_give(FreeMap *map, Rect rect) {
    change_rect(map, rect, true);
}

/* ---- searches ---- */

/* The lowest run of a length, or the highest one: where it begins. */
static bool find_run(const FreeMap *map, int mask, uint64_t length, bool highest, uint32_t *low) {
    PartAt at = root(map);
    if (map->parts[0].longest[mask] < length) return false;
    while (map->parts[at.part].children) {
        PartAt lower = lower_half(map, at), upper = upper_half(map, at);
        const FreePart *a = &map->parts[lower.part], *b = &map->parts[upper.part];
        bool better = (highest ? b : a)->longest[mask] >= length;
        if (!better && (uint64_t)a->suffix[mask] + b->prefix[mask] >= length) {
            *low = highest ? upper.low + b->prefix[mask] - (uint32_t)length
                           : upper.low - a->suffix[mask];
            return true;
        }
        at = better == highest ? upper : lower;
    }
    *low = highest ? at.low + at.span - (uint32_t)length : at.low;
    return true;
}

/* Recursion as deep as the tree. */
static bool is_free(const FreeMap *map, PartAt at, Rect rect) {
    if (rect.high <= at.low || at.low + at.span <= rect.low) return true;
    const FreePart *part = &map->parts[at.part];
    if (!part->children) return (part->free & rect.mask) == rect.mask;
    return is_free(map, lower_half(map, at), rect) && is_free(map, upper_half(map, at), rect);
}

bool free_map_find(const FreeMap *map, uint32_t align, bool highest, Rect *rect) {
    int mask = mask_index(rect->mask);
    uint32_t height = rect->high - rect->low, low;
    if (!find_run(map, mask, height, highest, &low)) return false;
    uint64_t aligned = highest ? low / align * align : align_up(low, align);
    *rect = (Rect){(uint32_t)aligned, (uint32_t)aligned + height, rect->mask};
    if (aligned == low || (aligned + height <= map->span && is_free(map, root(map), *rect)))
        return true;
    if (!find_run(map, mask, (uint64_t)height + align - 1, highest, &low)) return false;
    aligned = highest ? (low + align - 1) / align * align : align_up(low, align);
    *rect = (Rect){(uint32_t)aligned, (uint32_t)aligned + height, rect->mask};
    return true;
}
