#include "spill/lodge_sweep.h"

#include <assert.h>
#include <string.h>

#include "support/checked.h"
#include "support/sort.h"

enum {
    NO_NODE = UINT32_MAX,
    NO_VALUE = UINT32_MAX,
    INNER = 4 /* states that one may become at a point */
};

/* The loss of what must stay, and the most that anything else counts: sums of them over all that
 * stands do not overflow. */
static const int64_t LOCKED = (int64_t)1 << 42, MOST = (int64_t)1 << 40;

/* The most that a state's payments count in its rank. */
static const int64_t MOST_PAID = (int64_t)1 << 61;

/* Something on chip. */
typedef struct {
    Rect rect;
    uint32_t item; /* the last stay of it that has begun */
    bool fresh;    /* that one begins at this point, and its gap is kept */
} Standing;

/* A place that was given. */
typedef struct {
    uint32_t item;
    Rect rect;
} Made;

/* The same, in a list from the last one back. */
typedef struct {
    uint32_t before;
    Made made;
} Record;

/* A state of the chip. */
typedef struct {
    Standing *standing; /* in order of low */
    uint32_t count;
    uint32_t *stored; /* values that have been stored and may be loaded again */
    uint32_t nstored;
    Made *made; /* at this point */
    uint32_t nmade;
    uint32_t *pending; /* stays of this point without a place */
    uint32_t npending;
    int64_t cost;     /* paid so far */
    int64_t expected; /* the same, without the part of stores that the prices take as paid */
    int64_t rank;     /* the lower the better */
    uint32_t node;    /* of records, before this point */
    uint64_t hash;    /* of standing */
} State;

/* A place for the first pending stay of a state; no place where none waits. */
typedef struct {
    uint32_t state;
    Rect rect;
    int64_t rank;
} Choice;

struct Sweep {
    const LodgeProblem *problem;
    const Lodger *items;
    const LodgePrices *prices;
    Arena *memory;
    SortKey *starts;     /* stays by first point, fixed ones first, then the larger ones */
    uint32_t *value_end; /* [nvalues] the last point where each may be loaded */
    double typical;      /* height, the mean */
    uint32_t most_standing, most_starting, most_stored; /* at once */

    SweepOptions options;
    uint32_t point;
    State *now; /* [width] */
    uint32_t nnow;
    State *inner, *inner_next; /* [INNER] */
    State *found;              /* [width * INNER] all states after this point */
    uint32_t nfound;
    Choice *choices; /* [INNER * tries] */
    uint32_t nchoices;
    Record *records;
    size_t nrecords, record_capacity;
    int64_t *loss;              /* [most_standing] of putting out each */
    uint32_t *by_low, *by_high; /* [most_standing] what stands in a band */
    uint32_t *marks; /* [nvalues] equal to `mark` where the state at hand has stored it */
    uint32_t mark;
    uint64_t steps;
    Arena own; /* of one sweep */
};

/* ---- stays ---- */

static uint32_t first_of(LiveRange range) {
    return range.items[0].first;
}

static uint32_t last_of(LiveRange range) {
    return range.items[range.count - 1].last;
}

static bool goes_on(const Sweep *pass, uint32_t item) {
    return item + 1 < pass->problem->count && pass->items[item + 1].linked;
}

/* True if a stay that carries its value on has not begun before this point: at entry it may begin
 * together with what it carries on, which then waits for nothing. */
static bool waits_for_next(const Sweep *pass, uint32_t item) {
    return goes_on(pass, item) && first_of(pass->items[item + 1].points) >= pass->point;
}

/* ---- worth ---- */

/* Makes the stored values of a state those that store_of() knows. */
static void look_at(Sweep *pass, const State *state) {
    pass->mark++;
    for (uint32_t i = 0; i < state->nstored; i++)
        pass->marks[state->stored[i]] = pass->mark;
    pass->steps += state->nstored / 4 + 1;
}

/* What cutting a gap costs for the store, and the part of it that the prices do not take as paid.
 */
static int64_t store_of(const Sweep *pass, uint32_t gap, int64_t *expected) {
    uint32_t value = pass->items[gap].value;
    *expected = 0;
    if (value == NO_VALUE || pass->marks[value] == pass->mark) return 0;
    int64_t store = pass->problem->store[value];
    *expected = (int64_t)((double)store * (1 - pass->prices->stored[value]));
    return store;
}

/* What keeping the gap before a stay saves, beyond what its room is worth from `point` on. */
static int64_t worth_of_gap(const Sweep *pass, uint32_t gap, uint32_t point) {
    const Lodger *item = &pass->items[gap];
    int64_t store;
    store_of(pass, gap, &store);
    double gain = (double)item->load + (double)store;
    if (item->gap.count > 0) {
        uint32_t from = first_of(item->gap), end = last_of(item->gap) + 1;
        if (from < point) from = point;
        const double *sums = pass->prices->sums;
        if (from < end) gain -= pass->options.scale * (sums[end] - sums[from]) * lodger_area(item);
    }
    if (gain >= (double)MOST) return MOST;
    return gain > 0 ? (int64_t)gain : 0;
}

static int64_t loss_of(const Sweep *pass, const Standing *standing) {
    const Lodger *item = &pass->items[standing->item];
    if (item->fixed) return LOCKED;
    if (standing->fresh) {
        int64_t store;
        store_of(pass, standing->item, &store);
        int64_t loss = saturating_add(item->load, store);
        return loss < MOST ? loss : MOST;
    }
    if (last_of(item->points) >= pass->point) return LOCKED;
    if (!goes_on(pass, standing->item)) return 0;
    return worth_of_gap(pass, standing->item + 1, pass->point);
}

static uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x7FB5D329728EA185U;
    x ^= x >> 27;
    x *= 0x81DADEF4BC2DD44DU;
    return x ^ x >> 33;
}

/* Ranks a state by what it has paid, less what the things that stand are worth from the next point
 * on. */
static void rank_state(Sweep *pass, State *state) {
    look_at(pass, state);
    state->rank = state->expected;
    state->hash = 0;
    for (uint32_t i = 0; i < state->count; i++) {
        const Standing *standing = &state->standing[i];
        if (goes_on(pass, standing->item))
            state->rank -= worth_of_gap(pass, standing->item + 1, pass->point + 1);
        state->hash += mix((uint64_t)standing->item << 32 ^ (uint64_t)standing->rect.low << 4 ^
                           standing->rect.mask);
    }
    pass->steps += state->count;
}

/* ---- states ---- */

static State *make_states(Sweep *pass, uint32_t count) {
    State *states = NEW_ARRAY(&pass->own, State, count);
    for (uint32_t i = 0; i < count; i++) {
        states[i].standing = RAW_ARRAY(&pass->own, Standing, pass->most_standing);
        states[i].stored = RAW_ARRAY(&pass->own, uint32_t, pass->most_stored);
        states[i].made = RAW_ARRAY(&pass->own, Made, pass->most_starting);
        states[i].pending = RAW_ARRAY(&pass->own, uint32_t, pass->most_starting);
    }
    return states;
}

static void copy_state(Sweep *pass, State *to, const State *from) {
    State copy = *from;
    copy.standing = to->standing;
    copy.stored = to->stored;
    copy.made = to->made;
    copy.pending = to->pending;
    memcpy(copy.standing, from->standing, from->count * sizeof *from->standing);
    memcpy(copy.stored, from->stored, from->nstored * sizeof *from->stored);
    memcpy(copy.made, from->made, from->nmade * sizeof *from->made);
    memcpy(copy.pending, from->pending, from->npending * sizeof *from->pending);
    *to = copy;
    pass->steps += from->count / 8 + 1;
}

static void swap_states(State *a, State *b) {
    State c = *a;
    *a = *b;
    *b = c;
}

/* Cuts the gap before a stay. */
static void pay_for(Sweep *pass, State *state, uint32_t item) {
    if (!pass->items[item].linked) return;
    look_at(pass, state);
    int64_t expected, store = store_of(pass, item, &expected);
    int64_t load = pass->items[item].load;
    state->cost = saturating_add(state->cost, saturating_add(load, store));
    state->expected = saturating_add(state->expected, saturating_add(load, expected));
    if (state->expected > MOST_PAID) state->expected = MOST_PAID;
    uint32_t value = pass->items[item].value;
    if (value != NO_VALUE && pass->marks[value] != pass->mark)
        state->stored[state->nstored++] = value;
}

/* Forgets what has ended before this point, and values that no gap carries any more. */
static void forget(Sweep *pass, State *state) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < state->count; i++) {
        Standing standing = state->standing[i];
        standing.fresh = false;
        bool lives = last_of(pass->items[standing.item].points) >= pass->point;
        if (lives || waits_for_next(pass, standing.item)) state->standing[count++] = standing;
    }
    state->count = count;
    count = 0;
    for (uint32_t i = 0; i < state->nstored; i++)
        if (pass->value_end[state->stored[i]] >= pass->point)
            state->stored[count++] = state->stored[i];
    state->nstored = count;
    state->nmade = state->npending = 0;
}

/* A stay that begins stands on, or is to be loaded. */
static void begin_stay(Sweep *pass, State *state, uint32_t item) {
    for (uint32_t i = 0; pass->items[item].linked && i < state->count; i++) {
        if (state->standing[i].item + 1 != item) continue;
        state->standing[i].item = item;
        state->standing[i].fresh = true;
        return;
    }
    pay_for(pass, state, item);
    state->pending[state->npending++] = item;
}

static void insert_standing(State *state, Standing standing) {
    uint32_t at = state->count++;
    for (; at > 0 && state->standing[at - 1].rect.low > standing.rect.low; at--)
        state->standing[at] = state->standing[at - 1];
    state->standing[at] = standing;
}

/* Gives the first pending stay a place; what was there goes, or waits if it must be on chip now. */
static void place_pending(Sweep *pass, State *state, Rect rect) {
    uint32_t item = state->pending[0], count = 0;
    memmove(state->pending, state->pending + 1, --state->npending * sizeof *state->pending);
    for (uint32_t i = 0; i < state->count; i++) {
        Standing standing = state->standing[i];
        if (!rects_meet(standing.rect, rect)) {
            state->standing[count++] = standing;
        } else if (standing.fresh) {
            pay_for(pass, state, standing.item);
            state->pending[state->npending++] = standing.item;
        }
    }
    state->count = count;
    assert(count < pass->most_standing);
    insert_standing(state, (Standing){rect, item, false});
    state->made[state->nmade++] = (Made){item, rect};
}

/* ---- places ---- */

/* The search of places for the first pending stay of a state. */
typedef struct {
    Sweep *pass;
    const State *state;
    uint32_t index; /* of the state */
    const Lodger *item;
    bool lasts;    /* the gap after it is worth its room */
    double price;  /* of a granule and quadrant until its next access */
    uint32_t from; /* its choices are those from here on */
} Finder;

/* Inserts a choice in the order of ranks, `tries` at most. */
static void offer(const Finder *finder, Choice choice) {
    Sweep *pass = finder->pass;
    uint32_t at = pass->nchoices;
    if (at - finder->from == pass->options.tries) {
        if (pass->choices[at - 1].rank <= choice.rank) return;
        at--;
    } else {
        pass->nchoices++;
    }
    for (; at > finder->from && pass->choices[at - 1].rank > choice.rank; at--)
        pass->choices[at] = pass->choices[at - 1];
    pass->choices[at] = choice;
}

/* Granules of a hole that are hard to use: few of a tiny one, few of one that others fit in. */
static double wasted(const Sweep *pass, uint32_t hole) {
    return hole < pass->typical ? hole * (1 - hole / pass->typical) : 0;
}

/* Granules of the rectangle beside which nothing stands in other quadrants yet. */
static uint32_t breaks(const Finder *finder, Rect rect) {
    uint32_t covered = 0, reach = rect.low;
    const State *state = finder->state;
    for (uint32_t i = 0; i < state->count && state->standing[i].rect.low < rect.high; i++) {
        Rect other = state->standing[i].rect;
        if (other.high <= reach || (other.mask & rect.mask)) continue;
        uint32_t low = other.low > reach ? other.low : reach;
        reach = other.high < rect.high ? other.high : rect.high;
        covered += reach - low;
    }
    finder->pass->steps += state->count / 2;
    return rect.high - rect.low - covered;
}

/* `below` and `above`: the holes that stay beside the place. */
static void try_place(const Finder *finder, Rect rect, int64_t loss, uint32_t below,
                      uint32_t above) {
    const Sweep *pass = finder->pass;
    int64_t rank = finder->state->rank + loss;
    bool full = pass->nchoices - finder->from == pass->options.tries;
    if (loss >= LOCKED || (full && pass->choices[pass->nchoices - 1].rank <= rank)) return;
    int quadrants = __builtin_popcount(rect.mask);
    double far = finder->lasts ? rect.low : pass->problem->size - rect.high;
    double waste = pass->options.snug * (wasted(pass, below) + wasted(pass, above)) * quadrants;
    waste += pass->options.apart * lodger_area(finder->item) * far / pass->problem->size;
    if (quadrants < QUADRANTS)
        waste += pass->options.broken * breaks(finder, rect) * (QUADRANTS - quadrants);
    double price = waste * finder->price;
    rank += price < (double)MOST ? (int64_t)price : MOST;
    offer(finder, (Choice){finder->index, rect, rank});
}

/* What stands in a band, by its low ends and by its high ends. */
static uint32_t list_band(Sweep *pass, const State *state, uint8_t mask) {
    const Standing *standing = state->standing;
    uint32_t count = 0, *high = pass->by_high;
    for (uint32_t i = 0; i < state->count; i++) {
        if (!(standing[i].rect.mask & mask)) continue;
        uint32_t at = count;
        for (; at > 0 && standing[high[at - 1]].rect.high > standing[i].rect.high; at--)
            high[at] = high[at - 1];
        high[at] = i;
        pass->by_low[count++] = i;
    }
    return count;
}

/* The k-th place that rests on something (the axis' end first) or, hanging, that lies below
 * something (the other end last). False where there is no room for it. */
static bool nth_place(const Finder *finder, bool hanging, uint32_t k, uint32_t count,
                      uint32_t *at) {
    const Sweep *pass = finder->pass;
    const Standing *standing = finder->state->standing;
    uint32_t align = finder->item->align, height = finder->item->height, size = pass->problem->size;
    if (!hanging) {
        uint32_t low = k == 0 ? 0 : standing[pass->by_high[k - 1]].rect.high;
        *at = (low + align - 1) / align * align;
        return *at + height <= size;
    }
    uint32_t high = k == count ? size : standing[pass->by_low[k]].rect.low;
    *at = high < height ? 0 : (high - height) / align * align;
    return high >= height;
}

/* What a place would put out is what begins below its high end, less what ends at its low one. */
static void try_band(const Finder *finder, uint8_t mask) {
    Sweep *pass = finder->pass;
    const Standing *standing = finder->state->standing;
    uint32_t count = list_band(pass, finder->state, mask), height = finder->item->height;
    const uint32_t *low = pass->by_low, *high = pass->by_high;
    for (int hanging = 0; hanging < 2; hanging++) {
        int64_t begun = 0, ended = 0;
        uint32_t nbegun = 0, nended = 0, at;
        for (uint32_t k = 0; k <= count; k++) {
            if (!nth_place(finder, hanging, k, count, &at)) continue;
            while (nbegun < count && standing[low[nbegun]].rect.low < at + height)
                begun += pass->loss[low[nbegun++]];
            while (nended < count && standing[high[nended]].rect.high <= at)
                ended += pass->loss[high[nended++]];
            uint32_t below = nended ? standing[high[nended - 1]].rect.high : 0;
            uint32_t above = nbegun < count ? standing[low[nbegun]].rect.low : pass->problem->size;
            try_place(finder, (Rect){at, at + height, mask}, begun - ended, at - below,
                      above - at - height);
        }
    }
    pass->steps += 4 * (uint64_t)count + finder->state->count;
}

static void find_places(Sweep *pass, const State *state, uint32_t index) {
    uint32_t item = state->pending[0];
    const Lodger *info = &pass->items[item];
    bool on = goes_on(pass, item);
    uint32_t end = on ? first_of(pass->items[item + 1].points) : last_of(info->points) + 1;
    const double *sums = pass->prices->sums;
    look_at(pass, state);
    for (uint32_t i = 0; i < state->count; i++)
        pass->loss[i] = loss_of(pass, &state->standing[i]);
    Finder finder = {.pass = pass,
                     .state = state,
                     .index = index,
                     .item = info,
                     .lasts = on && worth_of_gap(pass, item + 1, pass->point + 1) > 0,
                     .price = end > pass->point ? sums[end] - sums[pass->point] : 0,
                     .from = pass->nchoices};
    if (info->fixed) {
        int64_t loss = 0;
        for (uint32_t i = 0; i < state->count && loss < LOCKED; i++)
            if (rects_meet(state->standing[i].rect, info->rect)) loss += pass->loss[i];
        try_place(&finder, info->rect, loss, 0, 0);
        return;
    }
    Bands bands = class_bands(info->class);
    for (int b = 0; b < bands.count && info->height <= pass->problem->size; b++)
        try_band(&finder, bands.masks[b]);
}

/* ---- one point ---- */

/* The best choices, in order of rank. */
static uint32_t best_choices(const Sweep *pass, uint32_t chosen[INNER]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < pass->nchoices; i++) {
        int64_t rank = pass->choices[i].rank;
        if (count == INNER && pass->choices[chosen[INNER - 1]].rank <= rank) continue;
        uint32_t at = count < INNER ? count++ : INNER - 1;
        for (; at > 0 && pass->choices[chosen[at - 1]].rank > rank; at--)
            chosen[at] = chosen[at - 1];
        chosen[at] = i;
    }
    return count;
}

/* One stay more for each of the inner states; false once none waits. */
static bool grow(Sweep *pass, uint32_t *ninner) {
    bool waits = false;
    pass->nchoices = 0;
    for (uint32_t i = 0; i < *ninner; i++) {
        const State *state = &pass->inner[i];
        if (state->npending > 0)
            find_places(pass, state, i);
        else
            pass->choices[pass->nchoices++] = (Choice){i, {0, 0, 0}, state->rank};
    }
    uint32_t chosen[INNER] = {0};
    *ninner = best_choices(pass, chosen);
    for (uint32_t i = 0; i < *ninner; i++) {
        Choice choice = pass->choices[chosen[i]];
        State *child = &pass->inner_next[i];
        copy_state(pass, child, &pass->inner[choice.state]);
        child->rank = choice.rank;
        if (choice.rect.mask) place_pending(pass, child, choice.rect);
        waits |= child->npending > 0;
    }
    State *swap = pass->inner;
    pass->inner = pass->inner_next;
    pass->inner_next = swap;
    return waits;
}

/* Adds all that one state may become at this point to `found`. */
static void branch(Sweep *pass, const State *state) {
    copy_state(pass, &pass->inner[0], state);
    uint32_t ninner = 1;
    for (bool waits = state->npending > 0; waits;)
        waits = grow(pass, &ninner);
    for (uint32_t i = 0; i < ninner; i++) {
        rank_state(pass, &pass->inner[i]);
        swap_states(&pass->found[pass->nfound++], &pass->inner[i]);
    }
}

static void note_places(Sweep *pass, State *state) {
    for (uint32_t m = 0; m < state->nmade; m++) {
        Record record = {state->node, state->made[m]};
        PUSH(&pass->own, pass->records, pass->nrecords, pass->record_capacity, record);
        state->node = (uint32_t)pass->nrecords - 1;
    }
}

/* Keeps the best of what was found, no two alike. */
static void select_states(Sweep *pass, Arena *scratch) {
    SortKey *order = RAW_ARRAY(scratch, SortKey, pass->nfound);
    for (uint32_t i = 0; i < pass->nfound; i++)
        order[i] = (SortKey){(uint64_t)pass->found[i].rank ^ (uint64_t)1 << 63, i};
    sort_keys(order, pass->nfound, scratch);
    pass->nnow = 0;
    for (uint32_t i = 0; i < pass->nfound && pass->nnow < pass->options.width; i++) {
        State *state = &pass->found[order[i].id];
        bool known = false;
        for (uint32_t j = 0; j < pass->nnow && !known; j++)
            known = pass->now[j].hash == state->hash;
        if (known) continue;
        note_places(pass, state);
        swap_states(&pass->now[pass->nnow++], state);
    }
}

/* ---- the whole ---- */

static void go_through(Sweep *pass) {
    Arena scratch;
    arena_init(&scratch);
    pass->nnow = 1;
    pass->now[0].node = NO_NODE;
    for (uint32_t i = 0, end; i < pass->problem->count && pass->nnow > 0; i = end) {
        pass->point = (uint32_t)(pass->starts[i].key >> 32);
        for (end = i; end < pass->problem->count && pass->starts[end].key >> 32 == pass->point;)
            end++;
        pass->nfound = 0;
        for (uint32_t s = 0; s < pass->nnow; s++) {
            State *state = &pass->now[s];
            forget(pass, state);
            for (uint32_t k = i; k < end; k++)
                begin_stay(pass, state, pass->starts[k].id);
            rank_state(pass, state);
            branch(pass, state);
        }
        select_states(pass, &scratch);
        arena_reset(&scratch);
    }
    arena_free(&scratch);
}

/* Places of the cheapest state: what was given none stands on where it stood. False if something
 * that carries on no value was given none. */
static bool take_places(const Sweep *pass, Rect *rects, bool *kept) {
    const State *best = &pass->now[0];
    for (uint32_t i = 1; i < pass->nnow; i++)
        if (pass->now[i].cost < best->cost) best = &pass->now[i];
    memset(rects, 0, pass->problem->count * sizeof *rects);
    for (uint32_t node = best->node; node != NO_NODE; node = pass->records[node].before)
        rects[pass->records[node].made.item] = pass->records[node].made.rect;
    for (uint32_t i = 0; i < pass->problem->count; i++) {
        kept[i] = rects[i].mask == 0;
        if (!kept[i]) continue;
        if (!pass->problem->items[i].linked) return false;
        rects[i] = rects[i - 1];
    }
    return true;
}

bool sweep(Sweep *pass, SweepOptions options, Rect *rects, bool *kept, uint64_t *steps) {
    arena_init(&pass->own);
    pass->options = options;
    pass->steps = 0;
    pass->now = make_states(pass, options.width);
    pass->inner = make_states(pass, INNER);
    pass->inner_next = make_states(pass, INNER);
    pass->found = make_states(pass, options.width * INNER);
    pass->choices = RAW_ARRAY(&pass->own, Choice, (size_t)INNER * options.tries);
    pass->nrecords = pass->record_capacity = 0;
    go_through(pass);
    bool found = pass->nnow > 0 && take_places(pass, rects, kept);
    *steps += pass->steps;
    arena_free(&pass->own);
    return found;
}

/* ---- before the first sweep ---- */

static void sort_starts(Sweep *pass) {
    const LodgeProblem *problem = pass->problem;
    pass->starts = RAW_ARRAY(pass->memory, SortKey, problem->count);
    double sum = 0;
    for (uint32_t i = 0; i < problem->count; i++) {
        const Lodger *item = &problem->items[i];
        uint32_t order = item->fixed ? 0 : UINT32_MAX - (uint32_t)lodger_area(item);
        pass->starts[i] = (SortKey){(uint64_t)first_of(item->points) << 32 | order, i};
        sum += item->height;
    }
    sort_keys(pass->starts, problem->count, pass->memory);
    pass->typical = problem->count ? sum / problem->count : 0;
}

/* The most ranges at once, of those that `change` counts as differences. */
static uint32_t most_at_once(const uint32_t *change, uint32_t npoints) {
    uint32_t now = 0, most = 0;
    for (uint32_t p = 0; p < npoints; p++) {
        now += change[p];
        if (now > most) most = now;
    }
    return most;
}

static void count_standing(Sweep *pass) {
    const LodgeProblem *problem = pass->problem;
    uint32_t *change = NEW_ARRAY(pass->memory, uint32_t, (size_t)problem->npoints + 1);
    for (uint32_t i = 0; i < problem->count; i++) {
        uint32_t last = last_of(problem->items[i].points);
        if (goes_on(pass, i) && first_of(problem->items[i + 1].points) > last)
            last = first_of(problem->items[i + 1].points);
        change[first_of(problem->items[i].points)]++;
        change[last + 1]--;
    }
    pass->most_standing = most_at_once(change, problem->npoints);
}

static void count_starting(Sweep *pass) {
    for (uint32_t i = 0, same = 0; i < pass->problem->count; i++) {
        bool begins = i == 0 || pass->starts[i].key >> 32 != pass->starts[i - 1].key >> 32;
        same = begins ? 1 : same + 1;
        if (2 * same > pass->most_starting) pass->most_starting = 2 * same; /* loaded, or put out */
    }
}

/* From when to when each value may be stored or loaded. */
static void find_values(Sweep *pass) {
    const LodgeProblem *problem = pass->problem;
    uint32_t *begin = NEW_ARRAY(pass->memory, uint32_t, problem->nvalues);
    uint32_t *change = NEW_ARRAY(pass->memory, uint32_t, (size_t)problem->npoints + 1);
    pass->value_end = NEW_ARRAY(pass->memory, uint32_t, problem->nvalues);
    pass->marks = NEW_ARRAY(pass->memory, uint32_t, problem->nvalues);
    for (uint32_t v = 0; v < problem->nvalues; v++)
        begin[v] = UINT32_MAX;
    for (uint32_t i = 0; i < problem->count; i++) {
        const Lodger *item = &pass->items[i];
        uint32_t value = item->value, point = first_of(item->points);
        if (!item->linked || value == NO_VALUE) continue;
        if (point < begin[value]) begin[value] = point;
        if (point > pass->value_end[value]) pass->value_end[value] = point;
    }
    for (uint32_t v = 0; v < problem->nvalues; v++) {
        if (begin[v] == UINT32_MAX) continue;
        change[begin[v]]++;
        change[pass->value_end[v] + 1]--;
    }
    pass->most_stored = most_at_once(change, problem->npoints);
}

Sweep *sweep_begin(const LodgeProblem *problem, const LodgePrices *prices, Arena *memory) {
    Sweep *pass = NEW(memory, Sweep);
    pass->problem = problem;
    pass->items = problem->items;
    pass->prices = prices;
    pass->memory = memory;
    sort_starts(pass);
    count_standing(pass);
    count_starting(pass);
    find_values(pass);
    pass->loss = RAW_ARRAY(memory, int64_t, pass->most_standing);
    pass->by_low = RAW_ARRAY(memory, uint32_t, pass->most_standing);
    pass->by_high = RAW_ARRAY(memory, uint32_t, pass->most_standing);
    return pass;
}
