/* The states of the chip that a beam search carries from point to point: internal to it. */
#ifndef SPILL_JOINT_BEAM_STATE_H
#define SPILL_JOINT_BEAM_STATE_H

#include "spill/joint/beam.h"
#include "support/arena.h"
#include "support/sort.h"

#define NO_NODE UINT32_MAX

/* The loss of what must stay, and the most that anything else counts: sums of them over all
 * residents do not overflow. */
#define LOCKED ((int64_t)1 << 42)
#define MOST_WORTH ((int64_t)1 << 40)

/* Something on chip. */
typedef struct {
    Rect rect;
    uint32_t item; /* its last segment that has begun */
    bool fresh;    /* that one begins at this point, and its gap is kept */
} Resident;

/* A place that was given, in a list from the last one back. */
typedef struct {
    uint32_t before; /* NO_NODE: the first */
    uint32_t item;
    Rect rect;
} BeamRecord;

/* A state of the chip. */
typedef struct {
    Resident *residents; /* [count] in order of low */
    uint32_t count;
    uint64_t *stored;  /* bits by slots of values: has been stored, may be loaded again */
    uint32_t *pending; /* [npending] segments of this point without a place */
    uint32_t npending;
    int64_t cost;     /* paid so far */
    int64_t expected; /* the same, without the part of stores that the prices take as paid */
    int64_t rank;     /* the lower the better */
    uint32_t node;    /* the last of its records */
    uint64_t hash;    /* of what is where */
} BeamState;

/* A place for the first pending segment of a state; mask 0 where none is pending. */
typedef struct {
    uint32_t state;
    Rect rect;
    int64_t rank; /* about that of the state that it leads to */
} BeamBranch;

/* What keeping a gap is worth at a point. */
typedef struct {
    uint32_t point;
    int64_t worth[2]; /* where its value has not been stored, and where it has */
} GapWorth;

/* Where a resident begins or ends on the byte axis. */
typedef struct {
    uint32_t at;
    int64_t loss; /* of evicting it */
} BandEdge;

struct Beam {
    const JointProblem *problem;
    const JointSegment *items;
    JointPrices prices;
    Arena *memory;
    SortKey *starts;         /* segments by first point, fixed ones first, then the larger ones */
    SortKey *values;         /* [nlisted] values that gaps carry, by when the first of those ends */
    uint32_t nlisted;        /* of them */
    uint32_t *value_end;     /* [nvalues] the last point where each may be loaded */
    uint32_t *slots;         /* [nvalues] of values; two at one time have two */
    uint32_t words;          /* of the bits of all slots */
    double typical;          /* height, the mean */
    uint32_t most_residents; /* at once */
    uint32_t most_starting;  /* at once */
    uint32_t *paid, search_id; /* [nvalues] search_id where it is stored outside of this search */

    BeamOptions options;
    uint32_t from, end;  /* the points gone through: [from, end) */
    const Rect *rects;   /* [items] the solution that is changed: places, and what it keeps; NULL */
    const bool *kept;    /* where there is none */
    uint32_t point;      /* where the states are */
    uint32_t next_value; /* of the list, that has not begun */
    BeamState *now, *next; /* [width] the states, and those after one segment more */
    uint32_t nnow;
    BeamBranch *choices; /* [width * tries] */
    uint32_t nchoices;
    GapWorth *worths;    /* [items] what is known of the gap before each */
    uint64_t *table;     /* [table_size] hashes of the states in `next`; 0: free */
    uint32_t table_size; /* a power of 2 */
    BeamRecord *records;
    size_t nrecords, record_capacity;
    int64_t *loss;              /* [most_residents] of evicting each */
    BandEdge *by_low, *by_high; /* [most_residents] of residents in a band */
    uint64_t steps;
    Arena own; /* of one search */
};

static inline uint32_t first_of(LiveRange range) {
    return range.items[0].first;
}

static inline uint32_t last_of(LiveRange range) {
    return range.items[range.count - 1].last;
}

/* True if the next segment has its value too. */
static inline bool goes_on(const Beam *beam, uint32_t item) {
    return item + 1 < beam->problem->count && beam->items[item + 1].linked;
}

/* True if a gap ends after the last point gone through. */
static inline bool goes_beyond(const Beam *beam, uint32_t gap) {
    return first_of(beam->items[gap].points) >= beam->end;
}

/* Room for the states of one search, the first of which is empty. */
void beam_begin(Beam *beam, BeamOptions options);

/* What keeping the gap before a segment saves, beyond what its room is worth from `point` on, if
 * the segment before it is at `rect`. A gap beyond the end is kept as it was and in its place, or
 * not. */
int64_t worth_of_gap(Beam *beam, const BeamState *state, uint32_t gap, Rect rect, uint32_t point);

/* What evicting a resident at this point loses; LOCKED where it must stay. */
int64_t loss_of(Beam *beam, const BeamState *state, const Resident *resident);

/* Ranks a state by what it has paid, less what its residents are worth from the next point on. */
void rank_state(Beam *beam, BeamState *state);

void copy_state(Beam *beam, BeamState *to, const BeamState *from);

/* Cuts the gap before a segment. */
void pay_for(Beam *beam, BeamState *state, uint32_t item);

/* Drops values that begin again by this point. The same for all states: before they go on. */
void drop_ended_values(Beam *beam);

/* Drops residents that have ended before this point. */
void drop_ended(Beam *beam, BeamState *state);

/* A segment that begins stays where its value is, or is pending. */
void begin_segment(Beam *beam, BeamState *state, uint32_t item);

void insert_resident(BeamState *state, Resident resident);

/* Places the first pending segment; what was there goes, or is pending if it must be on chip now.
 */
void place_pending(Beam *beam, BeamState *state, Rect rect);

#endif
