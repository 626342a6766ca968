/* Joining items before a search. Only the placement search includes this. */
#ifndef PLACE_EXACT_JOIN_H
#define PLACE_EXACT_JOIN_H

#include "place/exact/internal.h"

typedef struct JoinPiece JoinPiece;

/* A part of a problem with some of its items joined. */
typedef struct {
    PackProblem problem; /* what is to be placed; no fixed items */
    uint32_t *piece_of;  /* [problem.count] */
    JoinPiece *pieces;   /* [npieces] the items of the part in turn, then what was joined */
    uint32_t npieces, sections;
    PackPart part;
} Joined;

/* Which matches are joined. */
typedef struct {
    double most;  /* at most this likely to be chance */
    double noise; /* makes tries differ; 0: none */
} JoinRule;

/* Joins items of a part that fill a larger rectangle between them without waste: on each other or
 * side by side where they live at the same time, one after the other, or five like a windmill. Such
 * a rectangle takes no more room than its parts, but what should not have been joined makes
 * the problem harder: a placement found is one of the part, and that there is none says nothing.
 * False: nothing was joined. Requires that no fixed item overlaps the part. O(n log n + matches) a
 * round. */
bool pack_join(const PackPart *part, JoinRule rule, Budget *budget, Arena *scratch, Joined *joined);

/* Undoes some percent of the joins, and what was made of those, and joins again whatever matches,
 * with noise. */
void pack_join_again(const Joined *before, uint32_t percent, Budget *budget, Arena *scratch,
                     Joined *joined);

/* Gives the items of the part the places that the problem's have. */
void pack_unjoin(const Joined *joined, Arena *scratch, PackPlaces *places);

#endif
