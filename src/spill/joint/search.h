/* The state that all passes of the joint search share: internal to joint/. */
#ifndef SPILL_JOINT_SEARCH_H
#define SPILL_JOINT_SEARCH_H

#include "spill/joint/beam.h"
#include "spill/joint/bundle.h"
#include "spill/joint/problem.h"
#include "support/arena.h"

/* What an item was before a change. */
typedef struct {
    uint32_t item;
    bool kept;
    Rect rect;
} JointUndo;

typedef struct {
    uint32_t *items;
    size_t count, capacity;
} IdList;

/* Bit maps of granules: four quadrants, two halves, any quadrant. */
enum { MAP_HALVES = QUADRANTS, MAP_ANY = QUADRANTS + 2, MAPS };

struct JointSearch {
    const JointProblem *problem;
    const JointSegment *items; /* segments */
    uint32_t count, size;      /* as in the problem */
    JointAxis time;

    /* The solution now. */
    bool *kept;                     /* [count + 1] the gap before each */
    Rect *rects;                    /* [count] mask 0: has no place */
    uint32_t *cuts;                 /* [nvalues] gaps that are cut */
    int64_t cost;                   /* of all gaps that are cut */
    uint32_t *cut_list, *cut_place; /* gaps that are cut, in no order, and where each is there */
    uint32_t ncut;
    JointSolution best, spare;

    /* The move now. */
    JointUndo *undo;
    size_t nundo, undo_capacity;
    uint32_t *evictions; /* [count] how often each segment was evicted: the oftener, the dearer */
    IdList unplaced;     /* segments that were evicted */
    IdList charged;      /* segments whose `evictions` are not 0 */
    IdList cut_now;      /* gaps that were cut with them */

    /* Scratch of the search of places. */
    uint64_t *maps[MAPS]; /* what is taken while a bundle lives */
    uint32_t words;       /* of each map */
    double *price;        /* [size + 2] of evicting what is there, as differences */

    /* How it searches. */
    Beam *beam;    /* NULL: the problem is too large for beam searches */
    bool by_size;  /* beam searches went before: height counts in places, moves are bolder */
    uint32_t tall; /* what is higher is drawn to the high end: half the mean height */
    double noise;  /* prices vary at random by this part of themselves */
    uint64_t random;
    uint64_t steps; /* left */
    Arena *memory;
    Arena scratch; /* of one step of the search */
};

/* Fills the state: fixed segments placed, gaps as the problem has them. O(pieces log pieces). */
void search_begin(JointSearch *search, const JointProblem *problem, Arena *memory);

/* Below `bound`, and in [0, 1). */
uint32_t search_draw(JointSearch *search, uint32_t bound);
double search_draw_unit(JointSearch *search);

static inline void search_spend(JointSearch *search, uint64_t steps) {
    search->steps -= steps < search->steps ? steps : search->steps;
}

/* True if a piece takes room now. */
static inline bool takes_room(const JointSearch *search, const JointPiece *piece) {
    return search->rects[piece_item(piece)].mask &&
           (!is_gap(piece) || search->kept[piece_item(piece)]);
}

/* Cycles that cutting a kept gap costs now, with its value's store if it is the first. */
int64_t price_of_cut(const JointSearch *search, uint32_t gap);

/* What keeping a cut gap saves, with its share of the store. */
double full_gain(const JointSearch *search, uint32_t gap);

/* ---- changes, which can be undone ---- */

/* Undoes the changes since nundo was `to`. */
void undo_to(JointSearch *search, size_t to);

/* Evicts everything that is in the way of a bundle at a place. */
void evict_conflicts(JointSearch *search, const Bundle *bundle, Rect rect);

/* Places the bundle and keeps its gaps. */
void assign_bundle(JointSearch *search, const Bundle *bundle, Rect rect);

/* Cuts the gaps beside a segment and takes its place. */
void evict_segment(JointSearch *search, uint32_t item);

/* ---- solutions ---- */

/* One of no cost yet, in the memory of the search. */
JointSolution solution_make(const JointSearch *search);

/* Copies the solution now. */
void solution_save(const JointSearch *search, JointSolution *solution);

void solution_copy(const JointSearch *search, JointSolution *to, const JointSolution *from);

/* Makes a solution the one now; that cannot be undone. */
void solution_restore(JointSearch *search, const JointSolution *solution);

#endif
