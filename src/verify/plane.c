#include "verify/plane.h"

#include <string.h>

typedef struct FreePieces {
    struct FreePieces *next;
} FreePieces;

void plane_pool_init(PlanePool *pool, Arena *arena) {
    *pool = (PlanePool){.arena = arena};
}

bool regions_meet(Region a, Region b, Region *common) {
    Region r = {a.p0 > b.p0 ? a.p0 : b.p0, a.p1 < b.p1 ? a.p1 : b.p1, a.b0 > b.b0 ? a.b0 : b.b0,
                a.b1 < b.b1 ? a.b1 : b.b1};
    *common = r;
    return r.p0 < r.p1 && r.b0 < r.b1;
}

bool region_covers(Region outer, Region inner) {
    return outer.p0 <= inner.p0 && outer.p1 >= inner.p1 && outer.b0 <= inner.b0 &&
           outer.b1 >= inner.b1;
}

/* a without b: up to four rectangles. Returns how many. */
static uint32_t region_subtract(Region a, Region b, Region rest[4]) {
    Region c;
    if (!regions_meet(a, b, &c)) {
        rest[0] = a;
        return 1;
    }
    uint32_t count = 0;
    if (a.p0 < c.p0) rest[count++] = (Region){a.p0, c.p0, a.b0, a.b1};
    if (a.b0 < c.b0) rest[count++] = (Region){c.p0, c.p1, a.b0, c.b0};
    if (c.b1 < a.b1) rest[count++] = (Region){c.p0, c.p1, c.b1, a.b1};
    if (c.p1 < a.p1) rest[count++] = (Region){c.p1, a.p1, a.b0, a.b1};
    return count;
}

static uint32_t size_class(uint32_t capacity) {
    uint32_t class = 0;
    while ((UINT64_C(1) << class) < capacity)
        class ++;
    return class;
}

static PlanePiece *take_pieces(PlanePool *pool, uint32_t count, uint32_t *capacity) {
    uint32_t class = size_class(count);
    *capacity = UINT32_C(1) << class;
    FreePieces *free = pool->free_pieces[class];
    if (!free) return RAW_ARRAY(pool->arena, PlanePiece, *capacity);
    pool->free_pieces[class] = free->next;
    return (PlanePiece *)(void *)free;
}

static void give_pieces(PlanePool *pool, PlanePiece *pieces, uint32_t capacity) {
    FreePieces *free = (FreePieces *)(void *)pieces;
    uint32_t class = size_class(capacity);
    free->next = pool->free_pieces[class];
    pool->free_pieces[class] = free;
}

static Plane *plane_of(const PlanePool *pool, Contents contents) {
    return &pool->planes[contents.value & ~PLANE_BIT];
}

void contents_keep(PlanePool *pool, Contents contents) {
    if (is_plane(contents)) plane_of(pool, contents)->references++;
}

void contents_drop(PlanePool *pool, Contents contents) {
    if (!is_plane(contents)) return;
    Plane *plane = plane_of(pool, contents);
    if (--plane->references > 0) return;
    give_pieces(pool, plane->pieces, plane->capacity);
    uint32_t number = (uint32_t)(contents.value & ~PLANE_BIT);
    PUSH(pool->arena, pool->free, pool->nfree, pool->free_capacity, number);
}

const PlanePiece *contents_pieces(const PlanePool *pool, Contents contents, PlanePiece *plain,
                                  uint32_t *count) {
    if (is_plane(contents)) {
        const Plane *plane = plane_of(pool, contents);
        *count = plane->count;
        return plane->pieces;
    }
    *count = contents.value != NO_VALUE;
    *plain = (PlanePiece){ANYWHERE, contents.value, 0, 0, 0};
    return plain;
}

/* A plane of the pieces in scratch, which are at least one. */
static Contents make_plane(PlanePool *pool) {
    uint32_t number;
    if (pool->nfree > 0) {
        number = pool->free[--pool->nfree];
    } else {
        number = pool->count;
        PUSH(pool->arena, pool->planes, pool->count, pool->capacity, (Plane){0});
    }
    Plane *plane = &pool->planes[number];
    plane->references = 1;
    plane->count = pool->nscratch;
    plane->pieces = take_pieces(pool, plane->count, &plane->capacity);
    memcpy(plane->pieces, pool->scratch, plane->count * sizeof(PlanePiece));
    return (Contents){number | PLANE_BIT, 0};
}

static void push_piece(PlanePool *pool, PlanePiece piece) {
    PUSH(pool->arena, pool->scratch, pool->nscratch, pool->scratch_capacity, piece);
}

/* The contents that the pieces in scratch make: plain where they are one unshifted whole. */
static Contents from_scratch(PlanePool *pool, Region block) {
    if (pool->nscratch == 0) return (Contents){NO_VALUE, 0};
    PlanePiece first = pool->scratch[0];
    if (pool->nscratch == 1 && region_covers(first.rect, block) && first.partitions == 0 &&
        first.bytes == 0)
        return (Contents){first.value, first.blocks};
    return make_plane(pool);
}

Contents contents_overlay(PlanePool *pool, Contents old, Region block, Region rect,
                          const PlanePiece *fresh, uint32_t count) {
    PlanePiece plain;
    uint32_t had;
    const PlanePiece *pieces = contents_pieces(pool, old, &plain, &had);
    pool->nscratch = 0;
    for (uint32_t i = 0; i < had; i++) {
        PlanePiece piece = pieces[i];
        piece.blocks += old.shift;
        Region whole, rest[4];
        if (!regions_meet(piece.rect, block, &whole)) continue;
        uint32_t parts = region_subtract(whole, rect, rest);
        for (uint32_t j = 0; j < parts; j++) {
            piece.rect = rest[j];
            push_piece(pool, piece);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        push_piece(pool, fresh[i]);
    Contents result = from_scratch(pool, block);
    contents_drop(pool, old);
    return result;
}

static bool same_source(const PlanePiece *a, int64_t a_shift, const PlanePiece *b,
                        int64_t b_shift) {
    return a->value == b->value && a->blocks + a_shift == b->blocks + b_shift &&
           a->partitions == b->partitions && a->bytes == b->bytes;
}

/* Takes out of the rectangles in scratch what `rect` covers. */
static void remove_covered(PlanePool *pool, Region rect) {
    uint32_t before = pool->nscratch, kept = 0;
    for (uint32_t i = 0; i < before; i++) {
        PlanePiece piece = pool->scratch[i];
        Region rest[4];
        uint32_t parts = region_subtract(piece.rect, rect, rest);
        for (uint32_t j = 0; j < parts; j++) {
            piece.rect = rest[j];
            if (j == 0)
                pool->scratch[kept++] = piece;
            else
                push_piece(pool, piece);
        }
    }
    /* What was pushed behind the old ones closes up to those that were kept. */
    memmove(pool->scratch + kept, pool->scratch + before,
            (pool->nscratch - before) * sizeof(PlanePiece));
    pool->nscratch = kept + (pool->nscratch - before);
}

uint64_t contents_value(const PlanePool *pool, Contents contents, int64_t partition, int64_t byte) {
    PlanePiece plain;
    uint32_t count;
    const PlanePiece *pieces = contents_pieces(pool, contents, &plain, &count);
    Region point = {partition, partition + 1, byte, byte + 1}, common;
    for (uint32_t i = 0; i < count; i++)
        if (regions_meet(pieces[i].rect, point, &common)) return pieces[i].value;
    return NO_VALUE;
}

bool contents_agree(PlanePool *pool, Contents wanted, Contents actual, Region rect,
                    Difference *difference) {
    if (wanted.value == NO_VALUE) return true;
    if (wanted.value == actual.value && wanted.shift == actual.shift) return true;
    PlanePiece plain_wanted, plain_actual;
    uint32_t nwanted, nactual;
    const PlanePiece *want = contents_pieces(pool, wanted, &plain_wanted, &nwanted);
    const PlanePiece *have = contents_pieces(pool, actual, &plain_actual, &nactual);
    for (uint32_t i = 0; i < nwanted; i++) {
        Region rest;
        if (!regions_meet(want[i].rect, rect, &rest)) continue;
        /* Mostly both were cut by the same writes, in the same order. */
        if (i < nactual && same_source(&want[i], wanted.shift, &have[i], actual.shift) &&
            region_covers(have[i].rect, rest))
            continue;
        pool->nscratch = 0;
        push_piece(pool, (PlanePiece){rest, 0, 0, 0, 0});
        for (uint32_t j = 0; j < nactual && pool->nscratch > 0; j++)
            if (same_source(&want[i], wanted.shift, &have[j], actual.shift))
                remove_covered(pool, have[j].rect);
        if (pool->nscratch == 0) continue;
        Region wrong = pool->scratch[0].rect;
        *difference =
            (Difference){wrong, rect, want[i], contents_value(pool, actual, wrong.p0, wrong.b0)};
        return false;
    }
    return true;
}
