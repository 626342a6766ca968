/* Bundles, and what conflicts with them in time. */
#ifndef SPILL_JOINT_BUNDLE_H
#define SPILL_JOINT_BUNDLE_H

#include "spill/joint/problem.h"
#include "support/arena.h"

typedef struct JointSearch JointSearch;

/* A segment or a gap: piece 2 i is segment i, piece 2 i + 1 the gap before it. */
typedef struct {
    uint32_t first, last; /* of its points */
    uint32_t id;
} JointPiece;

/* All pieces, by when they begin, and by buckets of points. */
typedef struct {
    JointPiece *pieces; /* [npieces] in order of first points */
    uint32_t npieces;
    uint32_t *starting;  /* [nbuckets + 1] how many begin before each bucket */
    JointPiece *entered; /* pieces that begin before a bucket and reach into it */
    uint32_t *entering;  /* [nbuckets + 1] the first of those of each bucket */
    uint32_t nbuckets;
    bool has_holes; /* the points of some piece are more than one interval */
} JointAxis;

/* Fills the timeline of the search. O(pieces log pieces + buckets that pieces cross). */
void timeline_fill(JointSearch *search);

/* A bundle: segments lo to hi and the gaps between them, which share one place. */
typedef struct {
    uint32_t lo, hi;
    uint32_t first, last; /* points */
} Bundle;

/* The first and the last segment of the bundle that a segment belongs to. */
uint32_t bundle_first(const JointSearch *search, uint32_t item);
uint32_t bundle_last(const JointSearch *search, uint32_t item);
Bundle bundle_of(const JointSearch *search, uint32_t lo, uint32_t hi);

/* Walks over the pieces that share a point with a bundle, except those of its own segments, whether
 * they are kept and placed or not. */
typedef struct {
    const JointPiece *next, *end, *starts, *starts_end;
} ConflictWalk;

ConflictWalk conflicts_begin(const JointSearch *search, const Bundle *bundle);
const JointPiece *conflicts_next(JointSearch *search, const Bundle *bundle, ConflictWalk *walk);

static inline bool is_gap(const JointPiece *piece) {
    return piece->id % 2;
}

static inline uint32_t piece_item(const JointPiece *piece) {
    return piece->id / 2;
}

#endif
