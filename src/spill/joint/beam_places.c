#include "spill/joint/beam_places.h"

/* The search of places for the first pending segment of a state. */
typedef struct {
    Beam *beam;
    const BeamState *state;
    uint32_t index; /* of the state */
    const JointSegment *item;
    int quadrants;   /* that it takes */
    const Rect *old; /* where it is in the solution that is changed; NULL: nowhere */
    bool locked;     /* must stay there: it lasts beyond the end */
    int64_t home;    /* what being there is worth beyond the end */
    bool lasts;      /* the gap after it is worth its room */
    double apart;    /* what a granule farther from its end costs, in granules */
    double snug;     /* what wasted granules count, for the typical height squared */
    double price;    /* of a granule and quadrant until its next access */
    uint32_t from;   /* its choices are those from here on */
} PlaceSearch;

/* Inserts a choice in the order of ranks, `tries` at most. */
static void offer(const PlaceSearch *finder, BeamBranch choice) {
    Beam *beam = finder->beam;
    uint32_t at = beam->nchoices;
    if (at - finder->from == beam->options.tries) {
        if (beam->choices[at - 1].rank <= choice.rank) return;
        at--;
    } else {
        beam->nchoices++;
    }
    for (; at > finder->from && beam->choices[at - 1].rank > choice.rank; at--)
        beam->choices[at] = beam->choices[at - 1];
    beam->choices[at] = choice;
}

/* Granules of a hole that are hard to use, times the typical height: few of a tiny one, few of one
 * that others fit in. */
static double wasted(const Beam *beam, uint32_t hole) {
    return hole < beam->typical ? hole * (beam->typical - hole) : 0;
}

/* Granules of the rectangle beside which other quadrants are free. */
static uint32_t breaks(const PlaceSearch *finder, Rect rect) {
    uint32_t covered = 0, reach = rect.low;
    const BeamState *state = finder->state;
    for (uint32_t i = 0; i < state->count && state->residents[i].rect.low < rect.high; i++) {
        Rect other = state->residents[i].rect;
        if (other.high <= reach || (other.mask & rect.mask)) continue;
        uint32_t low = other.low > reach ? other.low : reach;
        reach = other.high < rect.high ? other.high : rect.high;
        covered += reach - low;
    }
    finder->beam->steps += state->count / 2;
    return rect.high - rect.low - covered;
}

/* `below` and `above`: the holes that are left beside the place. */
static void try_place(const PlaceSearch *finder, Rect rect, int64_t loss, uint32_t below,
                      uint32_t above) {
    const Beam *beam = finder->beam;
    bool moved = finder->old && !rects_same(rect, *finder->old);
    if (moved && finder->locked) return;
    int64_t rank = finder->state->rank + loss + (moved ? finder->home : 0);
    bool full = beam->nchoices - finder->from == beam->options.tries;
    if (loss >= LOCKED || (full && beam->choices[beam->nchoices - 1].rank <= rank)) return;
    double far = finder->lasts ? rect.low : beam->problem->size - rect.high;
    double waste = finder->snug * (wasted(beam, below) + wasted(beam, above)) + finder->apart * far;
    if (finder->quadrants < QUADRANTS)
        waste += beam->options.broken * breaks(finder, rect) * (QUADRANTS - finder->quadrants);
    double price = waste * finder->price;
    rank += price < (double)MOST_WORTH ? (int64_t)price : MOST_WORTH;
    offer(finder, (BeamBranch){finder->index, rect, rank});
}

/* The residents of a band, by low ends and by high ends. */
static uint32_t list_band(Beam *beam, const BeamState *state, uint8_t mask) {
    uint32_t count = 0;
    BandEdge *high = beam->by_high;
    for (uint32_t i = 0; i < state->count; i++) {
        Rect rect = state->residents[i].rect;
        if (!(rect.mask & mask)) continue;
        uint32_t at = count;
        for (; at > 0 && high[at - 1].at > rect.high; at--)
            high[at] = high[at - 1];
        high[at] = (BandEdge){rect.high, beam->loss[i]};
        beam->by_low[count++] = (BandEdge){rect.low, beam->loss[i]};
    }
    return count;
}

static uint32_t align_down(uint32_t low, uint32_t align) {
    return align == 1 ? low : low / align * align;
}

/* What a place would evict: what begins below its high end, less what ends at its low one. */
typedef struct {
    uint32_t nbegun, nended;
    int64_t begun, ended; /* their losses */
} Edges;

static void try_edge(const PlaceSearch *finder, Edges *edges, uint32_t count, Rect rect) {
    const BandEdge *low = finder->beam->by_low, *high = finder->beam->by_high;
    while (edges->nbegun < count && low[edges->nbegun].at < rect.high)
        edges->begun += low[edges->nbegun++].loss;
    while (edges->nended < count && high[edges->nended].at <= rect.low)
        edges->ended += high[edges->nended++].loss;
    uint32_t below = edges->nended ? high[edges->nended - 1].at : 0;
    uint32_t above = edges->nbegun < count ? low[edges->nbegun].at : finder->beam->problem->size;
    try_place(finder, rect, edges->begun - edges->ended, rect.low - below, above - rect.high);
}

/* Places that rest on something, or on the axis' end, and then such as hang below something. */
static void try_band(const PlaceSearch *finder, uint8_t mask) {
    Beam *beam = finder->beam;
    uint32_t count = list_band(beam, finder->state, mask), size = beam->problem->size;
    uint32_t height = finder->item->height, align = finder->item->align;
    Edges resting = {0, 0, 0, 0}, hanging = resting;
    for (uint32_t k = 0; k <= count; k++) {
        uint64_t at = align_up(k == 0 ? 0 : beam->by_high[k - 1].at, align);
        if (at + height > size) break;
        Rect rect = {(uint32_t)at, (uint32_t)at + height, mask};
        try_edge(finder, &resting, count, rect);
    }
    for (uint32_t k = 0; k <= count; k++) {
        uint32_t end = k == count ? size : beam->by_low[k].at;
        if (end < height) continue;
        uint32_t at = align_down(end - height, align);
        try_edge(finder, &hanging, count, (Rect){at, at + height, mask});
    }
    beam->steps += 4 * (uint64_t)count + finder->state->count;
}

/* A place whatever is beside it. */
static void try_there(const PlaceSearch *finder, Rect rect) {
    const BeamState *state = finder->state;
    int64_t loss = 0;
    for (uint32_t i = 0; i < state->count && loss < LOCKED; i++)
        if (rects_meet(state->residents[i].rect, rect)) loss += finder->beam->loss[i];
    try_place(finder, rect, loss, 0, 0);
    finder->beam->steps += state->count / 2;
}

static PlaceSearch make_finder(Beam *beam, uint32_t index) {
    const BeamState *state = &beam->now[index];
    uint32_t id = state->pending[0], next = id + 1;
    const JointSegment *item = &beam->items[id];
    PlaceSearch finder = {.beam = beam,
                          .state = state,
                          .index = index,
                          .item = item,
                          .quadrants = class_quadrants(item->class),
                          .old = beam->rects ? &beam->rects[id] : NULL,
                          .locked = last_of(item->points) >= beam->end,
                          .from = beam->nchoices};
    finder.snug = beam->options.snug * finder.quadrants / beam->typical;
    finder.apart = beam->options.apart * segment_area(item) / beam->problem->size;
    uint32_t end = last_of(item->points) + 1;
    if (goes_on(beam, id)) {
        Rect old = finder.old ? *finder.old : (Rect){0, 0, 0};
        int64_t worth = worth_of_gap(beam, state, next, old, beam->point + 1);
        if (goes_beyond(beam, next)) finder.home = worth;
        finder.lasts = worth > 0;
        end = first_of(beam->items[next].points);
    }
    const double *sums = beam->prices.sums;
    if (end > beam->point) finder.price = sums[end] - sums[beam->point];
    return finder;
}

void find_beam_places(Beam *beam, uint32_t index) {
    PlaceSearch finder = make_finder(beam, index);
    const BeamState *state = finder.state;
    for (uint32_t i = 0; i < state->count; i++)
        beam->loss[i] = loss_of(beam, state, &state->residents[i]);
    if (finder.item->fixed) {
        try_there(&finder, finder.item->rect);
        return;
    }
    if (finder.old) try_there(&finder, *finder.old);
    Bands bands = class_bands(finder.item->class);
    for (int b = 0; b < bands.count && finder.item->height <= beam->problem->size; b++)
        try_band(&finder, bands.masks[b]);
}
