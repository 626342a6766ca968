/* The state of the search that lodge() makes: internal to it. */
#ifndef SPILL_LODGE_STATE_H
#define SPILL_LODGE_STATE_H

#include "spill/lodge.h"
#include "support/arena.h"

/* A stay or a gap: piece 2 i is stay i, piece 2 i + 1 the gap before it. */
typedef struct {
    uint32_t first, last; /* of its points */
    uint32_t id;
} LodgePiece;

/* All pieces, by when they begin, and by buckets of points. */
typedef struct {
    LodgePiece *pieces; /* [npieces] in order of first points */
    uint32_t npieces;
    uint32_t *starting;  /* [nbuckets + 1] how many begin before each bucket */
    LodgePiece *entered; /* pieces that begin before a bucket and reach into it */
    uint32_t *entering;  /* [nbuckets + 1] the first of those of each bucket */
    uint32_t nbuckets;
} Timeline;

/* Stays lo to hi and the gaps between them, which share one place. */
typedef struct {
    uint32_t lo, hi;
    uint32_t first, last; /* points */
} Run;

/* What an item was before a change. */
typedef struct {
    uint32_t item;
    bool kept;
    Rect rect;
} Undo;

typedef struct {
    uint32_t *items;
    size_t count, capacity;
} IdList;

/* Bit maps of granules: four quadrants, two halves, any quadrant. */
enum { MAP_HALVES = QUADRANTS, MAP_ANY = QUADRANTS + 2, MAPS };

typedef struct {
    const LodgeProblem *problem;
    const Lodger *items;
    uint32_t count, size; /* as in the problem */
    Timeline time;
    bool has_holes; /* the points of some piece are more than one interval */

    bool *kept;                     /* [count + 1] the gap before each */
    Rect *rects;                    /* [count] mask 0: has no place */
    uint32_t *cuts;                 /* [nvalues] gaps that are cut */
    int64_t cost;                   /* of all gaps that are cut */
    uint32_t *cut_list, *cut_place; /* gaps that are cut, in no order, and where each is there */
    uint32_t ncut;
    uint32_t *moves; /* [count] how often each stay was put out: the oftener, the dearer */

    Undo *undo;
    size_t nundo, undo_capacity;
    IdList lifted;  /* stays that were put out */
    IdList moved;   /* stays whose `moves` are not 0 */
    IdList evicted; /* gaps that were cut with them */

    uint64_t *maps[MAPS]; /* what is taken while a run lives */
    uint32_t words;       /* of each map */
    double *price;        /* [size + 2] what others there cost, as differences */
    bool by_size;  /* sweeps went before: places are chosen by height too, trials are bolder */
    uint32_t tall; /* what is higher is drawn to the high end: half the mean height */
    double noise;  /* prices vary at random by so much of themselves */
    uint64_t random;
    uint64_t steps; /* left */
    Arena *memory;
    Arena scratch; /* of one step of the search */
} Lodge;

/* Fills the state: fixed stays placed, gaps as the problem has them. O(pieces log pieces). */
void lodge_begin(Lodge *lodge, const LodgeProblem *problem, Arena *memory);

/* Below `bound`, and in [0, 1). */
uint32_t lodge_draw(Lodge *lodge, uint32_t bound);
double lodge_draw_unit(Lodge *lodge);

static inline void lodge_spend(Lodge *lodge, uint64_t steps) {
    lodge->steps -= steps < lodge->steps ? steps : lodge->steps;
}

/* ---- runs ---- */

/* The first and the last stay of the run that a stay belongs to. */
uint32_t run_first(const Lodge *lodge, uint32_t item);
uint32_t run_last(const Lodge *lodge, uint32_t item);
Run run_of(const Lodge *lodge, uint32_t lo, uint32_t hi);

/* Walks over the pieces that share a point with a run, those of its own stays left out, whether
 * they are kept and placed or not. */
typedef struct {
    const LodgePiece *next, *end, *starts, *starts_end;
} Meeting;

Meeting meeting_begin(const Lodge *lodge, const Run *run);
const LodgePiece *meeting_next(Lodge *lodge, const Run *run, Meeting *meeting);

static inline bool is_gap(const LodgePiece *piece) {
    return piece->id % 2;
}

static inline uint32_t item_of(const LodgePiece *piece) {
    return piece->id / 2;
}

/* True if it takes room now. */
static inline bool takes_room(const Lodge *lodge, const LodgePiece *piece) {
    return lodge->rects[item_of(piece)].mask && (!is_gap(piece) || lodge->kept[item_of(piece)]);
}

/* True if it is a stay that can stand elsewhere at no cost: no gap beside it is kept. */
static inline bool is_loose(const Lodge *lodge, const LodgePiece *piece) {
    uint32_t item = item_of(piece);
    return !is_gap(piece) && !lodge->kept[item] && !lodge->kept[item + 1] &&
           !lodge->items[item].fixed;
}

/* ---- prices ---- */

/* Cycles that cutting a kept gap costs now, its value's store included where it is the first. */
int64_t price_of_cut(const Lodge *lodge, uint32_t gap);

/* What keeping a cut gap is worth, with its share of the store. */
double full_gain(const Lodge *lodge, uint32_t gap);

/* ---- changes, which can be taken back ---- */

/* Takes back the changes since nundo was `to`. */
void take_back(Lodge *lodge, size_t to);

/* Puts out everything that stands in the way of a run at a place. */
void clear_place(Lodge *lodge, const Run *run, Rect rect);

/* Gives the run a place and keeps its gaps. */
void settle_run(Lodge *lodge, const Run *run, Rect rect);

/* Cuts the gaps beside a stay and takes its place. */
void lift_stay(Lodge *lodge, uint32_t item);

/* ---- places ---- */

/* The free place for a run that leaves least useless room beside it. `over_loose`: loose stays do
 * not count as taken. */
bool find_free(Lodge *lodge, const Run *run, bool over_loose, Rect *best);

/* The place where it costs least to put out what stands in the way, and what that is; INFINITY
 * where there is none. */
double find_cheapest(Lodge *lodge, const Run *run, Rect *best);

/* ---- runs laid and joined ---- */

/* Gives stays lo to hi one place that is free; false if there is none. */
bool try_run(Lodge *lodge, uint32_t lo, uint32_t hi);

/* Joins what it can of some cut gaps, those first that are worth most, while there are steps. */
void join_by_worth(Lodge *lodge, const uint32_t *gaps, size_t count);

/* Gives all lifted stays a place again, putting out others; false if that goes on and on. */
bool place_lifted(Lodge *lodge, uint32_t limit);

/* ---- answers ---- */

/* Places and kept gaps, whole. */
typedef struct {
    Rect *rects;  /* [count] */
    bool *kept;   /* [count] */
    int64_t cost; /* INT64_MAX: none */
} Answer;

/* One of no cost yet, in the lodge's memory. */
Answer make_answer(const Lodge *lodge);

/* Keeps what there is now. */
void save_answer(const Lodge *lodge, Answer *answer);

void copy_answer(const Lodge *lodge, Answer *to, const Answer *from);

/* Makes an answer what there is now; that cannot be taken back. */
void go_to_answer(Lodge *lodge, const Answer *answer);

#endif
