#include "spill/sweep_state.h"

/* The search of places for the first pending stay of a state. */
typedef struct {
    Sweep *pass;
    const State *state;
    uint32_t index; /* of the state */
    const Lodger *item;
    int quadrants;   /* that it takes */
    const Rect *old; /* where it stood in the answer that is changed; NULL: nowhere */
    bool stays;      /* must stand there: it lasts beyond the end */
    int64_t home;    /* what standing there is worth beyond the end */
    bool lasts;      /* the gap after it is worth its room */
    double apart;    /* what a granule farther from its end costs, in granules */
    double snug;     /* what wasted granules count, for the typical height squared */
    double price;    /* of a granule and quadrant until its next access */
    uint32_t from;   /* its choices are those from here on */
} Finder;

/* Inserts a choice in the order of ranks, `tries` at most. */
static void offer(const Finder *finder, Branch choice) {
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

/* Granules of a hole that are hard to use, times the typical height: few of a tiny one, few of one
 * that others fit in. */
static double wasted(const Sweep *pass, uint32_t hole) {
    return hole < pass->typical ? hole * (pass->typical - hole) : 0;
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
    bool moved = finder->old && !rects_same(rect, *finder->old);
    if (moved && finder->stays) return;
    int64_t rank = finder->state->rank + loss + (moved ? finder->home : 0);
    bool full = pass->nchoices - finder->from == pass->options.tries;
    if (loss >= LOCKED || (full && pass->choices[pass->nchoices - 1].rank <= rank)) return;
    double far = finder->lasts ? rect.low : pass->problem->size - rect.high;
    double waste = finder->snug * (wasted(pass, below) + wasted(pass, above)) + finder->apart * far;
    if (finder->quadrants < QUADRANTS)
        waste += pass->options.broken * breaks(finder, rect) * (QUADRANTS - finder->quadrants);
    double price = waste * finder->price;
    rank += price < (double)MOST_WORTH ? (int64_t)price : MOST_WORTH;
    offer(finder, (Branch){finder->index, rect, rank});
}

/* What stands in a band, by its low ends and by its high ends. */
static uint32_t list_band(Sweep *pass, const State *state, uint8_t mask) {
    uint32_t count = 0;
    Edge *high = pass->by_high;
    for (uint32_t i = 0; i < state->count; i++) {
        Rect rect = state->standing[i].rect;
        if (!(rect.mask & mask)) continue;
        uint32_t at = count;
        for (; at > 0 && high[at - 1].at > rect.high; at--)
            high[at] = high[at - 1];
        high[at] = (Edge){rect.high, pass->loss[i]};
        pass->by_low[count++] = (Edge){rect.low, pass->loss[i]};
    }
    return count;
}

static uint32_t align_down(uint32_t low, uint32_t align) {
    return align == 1 ? low : low / align * align;
}

/* What a place would put out is what begins below its high end, less what ends at its low one. */
typedef struct {
    uint32_t nbegun, nended;
    int64_t begun, ended; /* their losses */
} Edges;

static void try_edge(const Finder *finder, Edges *edges, uint32_t count, Rect rect) {
    const Edge *low = finder->pass->by_low, *high = finder->pass->by_high;
    while (edges->nbegun < count && low[edges->nbegun].at < rect.high)
        edges->begun += low[edges->nbegun++].loss;
    while (edges->nended < count && high[edges->nended].at <= rect.low)
        edges->ended += high[edges->nended++].loss;
    uint32_t below = edges->nended ? high[edges->nended - 1].at : 0;
    uint32_t above = edges->nbegun < count ? low[edges->nbegun].at : finder->pass->problem->size;
    try_place(finder, rect, edges->begun - edges->ended, rect.low - below, above - rect.high);
}

/* Places that rest on something, or on the axis' end, and then such as hang below something. */
static void try_band(const Finder *finder, uint8_t mask) {
    Sweep *pass = finder->pass;
    uint32_t count = list_band(pass, finder->state, mask), size = pass->problem->size;
    uint32_t height = finder->item->height, align = finder->item->align;
    Edges resting = {0, 0, 0, 0}, hanging = resting;
    for (uint32_t k = 0; k <= count; k++) {
        uint64_t at = align_up(k == 0 ? 0 : pass->by_high[k - 1].at, align);
        if (at + height > size) break;
        Rect rect = {(uint32_t)at, (uint32_t)at + height, mask};
        try_edge(finder, &resting, count, rect);
    }
    for (uint32_t k = 0; k <= count; k++) {
        uint32_t end = k == count ? size : pass->by_low[k].at;
        if (end < height) continue;
        uint32_t at = align_down(end - height, align);
        try_edge(finder, &hanging, count, (Rect){at, at + height, mask});
    }
    pass->steps += 4 * (uint64_t)count + finder->state->count;
}

/* A place whatever is beside it. */
static void try_there(const Finder *finder, Rect rect) {
    const State *state = finder->state;
    int64_t loss = 0;
    for (uint32_t i = 0; i < state->count && loss < LOCKED; i++)
        if (rects_meet(state->standing[i].rect, rect)) loss += finder->pass->loss[i];
    try_place(finder, rect, loss, 0, 0);
    finder->pass->steps += state->count / 2;
}

static Finder make_finder(Sweep *pass, uint32_t index) {
    const State *state = &pass->now[index];
    uint32_t id = state->pending[0], next = id + 1;
    const Lodger *item = &pass->items[id];
    Finder finder = {.pass = pass,
                     .state = state,
                     .index = index,
                     .item = item,
                     .quadrants = class_quadrants(item->class),
                     .old = pass->rects ? &pass->rects[id] : NULL,
                     .stays = last_of(item->points) >= pass->end,
                     .from = pass->nchoices};
    finder.snug = pass->options.snug * finder.quadrants / pass->typical;
    finder.apart = pass->options.apart * lodger_area(item) / pass->problem->size;
    uint32_t end = last_of(item->points) + 1;
    if (goes_on(pass, id)) {
        Rect old = finder.old ? *finder.old : (Rect){0, 0, 0};
        int64_t worth = worth_of_gap(pass, state, next, old, pass->point + 1);
        if (goes_beyond(pass, next)) finder.home = worth;
        finder.lasts = worth > 0;
        end = first_of(pass->items[next].points);
    }
    const double *sums = pass->prices->sums;
    if (end > pass->point) finder.price = sums[end] - sums[pass->point];
    return finder;
}

void find_places(Sweep *pass, uint32_t index) {
    Finder finder = make_finder(pass, index);
    const State *state = finder.state;
    for (uint32_t i = 0; i < state->count; i++)
        pass->loss[i] = loss_of(pass, state, &state->standing[i]);
    if (finder.item->fixed) {
        try_there(&finder, finder.item->rect);
        return;
    }
    if (finder.old) try_there(&finder, *finder.old);
    Bands bands = class_bands(finder.item->class);
    for (int b = 0; b < bands.count && finder.item->height <= pass->problem->size; b++)
        try_band(&finder, bands.masks[b]);
}
