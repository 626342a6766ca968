/* The states of the chip that sweep() carries from point to point: internal to it. */
#ifndef SPILL_SWEEP_STATE_H
#define SPILL_SWEEP_STATE_H

#include "spill/lodge_sweep.h"
#include "support/arena.h"
#include "support/sort.h"

#define NO_NODE UINT32_MAX

/* The loss of what must stay, and the most that anything else counts: sums of them over all that
 * stands do not overflow. */
#define LOCKED ((int64_t)1 << 42)
#define MOST_WORTH ((int64_t)1 << 40)

/* Something on chip. */
typedef struct {
    Rect rect;
    uint32_t item; /* the last stay of it that has begun */
    bool fresh;    /* that one begins at this point, and its gap is kept */
} Standing;

/* A place that was given, in a list from the last one back. */
typedef struct {
    uint32_t before; /* NO_NODE: the first */
    uint32_t item;
    Rect rect;
} Record;

/* A state of the chip. */
typedef struct {
    Standing *standing; /* [count] in order of low */
    uint32_t count;
    uint64_t *stored;  /* bits by slots of values: has been stored, may be loaded again */
    uint32_t *pending; /* [npending] stays of this point without a place */
    uint32_t npending;
    int64_t cost;     /* paid so far */
    int64_t expected; /* the same, without the part of stores that the prices take as paid */
    int64_t rank;     /* the lower the better */
    uint32_t node;    /* the last of its records */
    uint64_t hash;    /* of what stands where */
} State;

/* A place for the first pending stay of a state; mask 0 where none waits. */
typedef struct {
    uint32_t state;
    Rect rect;
    int64_t rank; /* about that of the state that it leads to */
} Branch;

/* What keeping a gap is worth at a point. */
typedef struct {
    uint32_t point;
    int64_t worth[2]; /* where its value has not been stored, and where it has */
} Worth;

/* Where something that stands begins or ends on the byte axis. */
typedef struct {
    uint32_t at;
    int64_t loss; /* of putting it out */
} Edge;

struct Sweep {
    const LodgeProblem *problem;
    const Lodger *items;
    const LodgePrices *prices;
    Arena *memory;
    SortKey *starts;        /* stays by first point, fixed ones first, then the larger ones */
    SortKey *values;        /* [nlisted] values that gaps carry, by when the first of those ends */
    uint32_t nlisted;       /* of them */
    uint32_t *value_end;    /* [nvalues] the last point where each may be loaded */
    uint32_t *slots;        /* [nvalues] of values; two at one time have two */
    uint32_t words;         /* of the bits of all slots */
    double typical;         /* height, the mean */
    uint32_t most_standing; /* at once */
    uint32_t most_starting; /* at once */
    uint32_t *paid, sweep_id; /* [nvalues] sweep_id where it is stored outside of this sweep */

    SweepOptions options;
    uint32_t from, end;  /* the points gone through: [from, end) */
    const Rect *rects;   /* [items] the answer that is changed: places, and what it keeps; NULL */
    const bool *kept;    /* where there is none */
    uint32_t point;      /* where the states are */
    uint32_t next_value; /* of the list, that has not begun */
    State *now, *next;   /* [width] the states, and those after one stay more */
    uint32_t nnow;
    Branch *choices; /* [width * tries] */
    uint32_t nchoices;
    Worth *worths;       /* [items] what is known of the gap before each */
    uint64_t *table;     /* [table_size] hashes of the states in `next`; 0: free */
    uint32_t table_size; /* a power of 2 */
    Record *records;
    size_t nrecords, record_capacity;
    int64_t *loss;          /* [most_standing] of putting out each */
    Edge *by_low, *by_high; /* [most_standing] of what stands in a band */
    uint64_t steps;
    Arena own; /* of one sweep */
};

static inline uint32_t first_of(LiveRange range) {
    return range.items[0].first;
}

static inline uint32_t last_of(LiveRange range) {
    return range.items[range.count - 1].last;
}

/* True if some stay carries its value on. */
static inline bool goes_on(const Sweep *pass, uint32_t item) {
    return item + 1 < pass->problem->count && pass->items[item + 1].linked;
}

/* True if a gap ends behind the last point gone through. */
static inline bool goes_beyond(const Sweep *pass, uint32_t gap) {
    return first_of(pass->items[gap].points) >= pass->end;
}

/* Room for the states of one sweep, the first of which is empty. */
void sweep_make_states(Sweep *pass, SweepOptions options);

/* What keeping the gap before a stay saves, beyond what its room is worth from `point` on, if the
 * stay before it stands there. A gap beyond the end is kept as it was and in its place, or not. */
int64_t worth_of_gap(Sweep *pass, const State *state, uint32_t gap, Rect rect, uint32_t point);

/* What putting something out at this point loses; LOCKED where it must stay. */
int64_t loss_of(Sweep *pass, const State *state, const Standing *standing);

/* Ranks a state by what it has paid, less what the things that stand are worth from the next point
 * on. */
void rank_state(Sweep *pass, State *state);

void copy_state(Sweep *pass, State *to, const State *from);

/* Cuts the gap before a stay. */
void pay_for(Sweep *pass, State *state, uint32_t item);

/* Forgets values that begin anew by this point. The same for all states: before they go on. */
void forget_values(Sweep *pass);

/* Forgets what has ended before this point. */
void forget(Sweep *pass, State *state);

/* A stay that begins stands on, or is to be loaded. */
void begin_stay(Sweep *pass, State *state, uint32_t item);

void insert_standing(State *state, Standing standing);

/* Gives the first pending stay a place; what was there goes, or waits if it must be on chip now. */
void place_pending(Sweep *pass, State *state, Rect rect);

/* Adds to the choices the best places for the first pending stay of a state, `tries` at most. */
void find_places(Sweep *pass, uint32_t state);

#endif
