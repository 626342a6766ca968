/* An ordered map from ranges of integers to values: what lies where.
 *
 * Used for the granules of a quadrant (who owns them), the bytes of the spill area (likewise) and
 * the blocks of a tensor (what they contain). One range is kept in the map itself; more are kept in
 * a directory of sorted chunks, so that a change moves a bounded number of them. */
#ifndef VERIFY_EXTENTS_H
#define VERIFY_EXTENTS_H

#include "verify/plane.h"

typedef struct {
    int64_t low, high; /* the range [low, high) */
    Contents contents;
} Extent;

typedef struct {
    Extent one; /* while `many` is NULL: the only range, or none where low == high */
    struct ExtentList *many;
} Extents;

/* Storage for the maps of one run: freed chunks are used again. */
enum { CHUNK_SIZES = 5, SMALLEST_CHUNK = 4, LARGEST_CHUNK = 64 };

typedef struct {
    Arena *arena;
    PlanePool *planes;                   /* counts references from extents */
    struct FreeChunk *free[CHUNK_SIZES]; /* by size: 4, 8, ... 64 */
} ExtentPool;

void extent_pool_init(ExtentPool *pool, Arena *arena, PlanePool *planes);

/* A place in a map. Any change of the map makes it stale. */
typedef struct {
    const Extents *map;
    uint32_t chunk, item;
} ExtentCursor;

/* At the first extent that ends behind `key`. O(log extents). */
ExtentCursor extents_seek(const Extents *map, int64_t key);

/* The extent at the cursor, NULL at the end. */
const Extent *extents_at(ExtentCursor cursor);
void extents_next(ExtentCursor *cursor);

/* Makes `contents` what lies in [low, high), low < high, in place of what lay there. Takes over the
 * caller's reference to a plane; those that are covered lose one, those that are cut in two gain
 * one. Amortised O(log extents). */
void extents_assign(Extents *map, ExtentPool *pool, int64_t low, int64_t high, Contents contents);

/* What lies at `key`, with the end of the stretch from `key` on that has it, at most `limit`. */
Contents extents_stretch(const Extents *map, int64_t key, int64_t limit, int64_t *end);

/* Empties the map. */
void extents_clear(Extents *map, ExtentPool *pool);

#endif
