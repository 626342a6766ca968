/* What one block of a tensor contains: symbolic values, by exact rectangles.
 *
 * A value is a number. Its elements have coordinates (block, partition, byte). A block whose parts
 * come from several values, or from a shifted one, has a plane: a list of pieces. Planes are
 * immutable and counted, so that a copy hands one on in O(1). */
#ifndef VERIFY_PLANE_H
#define VERIFY_PLANE_H

#include "ir/ir.h"

#define NO_VALUE UINT64_C(0)          /* nothing was ever written there */
#define PLANE_BIT (UINT64_C(1) << 63) /* set: the rest is the number of a plane */
#define ANYWHERE ((Region){INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX})

/* NO_VALUE, a value that fills the block, or a plane. Block b of the tensor has the value's block
 * b - shift. In maps of ownership `value` is the owner's number plus 1 and `shift` the writer. */
typedef struct {
    uint64_t value;
    int64_t shift;
} Contents;

/* Part of a block: element (b, p, y) of the tensor is the value's (b - blocks, p - partitions,
 * y - bytes), where `blocks` adds to the shift of the Contents that names the plane. */
typedef struct {
    Region rect;
    uint64_t value;
    int64_t blocks, partitions, bytes;
} PlanePiece;

typedef struct {
    uint32_t references; /* 0: free */
    uint32_t count, capacity;
    PlanePiece *pieces; /* disjoint; in the pool's arena */
} Plane;

enum { PIECE_SIZES = 40 };

typedef struct {
    Arena *arena;
    Plane *planes;
    uint32_t count;
    size_t capacity;
    uint32_t *free; /* numbers of free planes */
    uint32_t nfree;
    size_t free_capacity;
    struct FreePieces *free_pieces[PIECE_SIZES]; /* by capacity: 1, 2, 4, ... */
    PlanePiece *scratch;                         /* of one operation */
    uint32_t nscratch;
    size_t scratch_capacity;
} PlanePool;

void plane_pool_init(PlanePool *pool, Arena *arena);

static inline bool is_plane(Contents contents) {
    return (contents.value & PLANE_BIT) != 0;
}

/* One reference more or less; nothing where the contents are no plane. */
void contents_keep(PlanePool *pool, Contents contents);
void contents_drop(PlanePool *pool, Contents contents);

/* The pieces, for reading; those of a plain value are one that reaches everywhere, in *plain. Their
 * `blocks` do not include the shift. */
const PlanePiece *contents_pieces(const PlanePool *pool, Contents contents, PlanePiece *plain,
                                  uint32_t *count);

/* `old` without what lay in `rect`, with `count` fresh pieces (inside `rect`, their `blocks` the
 * whole shift). `block` is all of the block. Takes over the reference to `old`, returns a new one.
 * O(pieces). */
Contents contents_overlay(PlanePool *pool, Contents old, Region block, Region rect,
                          const PlanePiece *fresh, uint32_t count);

/* False where they have no element in common. */
bool regions_meet(Region a, Region b, Region *common);
bool region_covers(Region outer, Region inner);

/* The value at one element, NO_VALUE if none. */
uint64_t contents_value(const PlanePool *pool, Contents contents, int64_t partition, int64_t byte);

/* Where two contents differ. */
typedef struct {
    Region rect;         /* the first rectangle that is wrong */
    Region within;       /* of all that was compared */
    PlanePiece expected; /* what should lie there */
    uint64_t found;      /* the value at its first corner, NO_VALUE if none */
} Difference;

/* True if `actual` has in `rect` whatever `wanted` has there; what `wanted` lacks may be anything.
 * Both seen from the same block number. O(pieces of one times pieces of the other), less where they
 * are cut alike. */
bool contents_agree(PlanePool *pool, Contents wanted, Contents actual, Region rect,
                    Difference *difference);

#endif
