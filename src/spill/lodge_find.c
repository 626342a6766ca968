/* Places for a run: free ones, and those that cost least to clear. */
#include <math.h>
#include <string.h>

#include "spill/lodge_state.h"

/* ---- maps ---- */

/* The quadrants that each map stands for. */
static const uint8_t MASKS[MAPS] = {1, 2, 4, 8, 3, 12, 15};

static void mark(uint64_t *map, uint32_t low, uint32_t high) {
    uint32_t first = low / 64, last = (high - 1) / 64;
    uint64_t head = ~0ULL << (low % 64), tail = ~0ULL >> (63 - (high - 1) % 64);
    if (first == last) {
        map[first] |= head & tail;
        return;
    }
    map[first] |= head;
    for (uint32_t w = first + 1; w < last; w++)
        map[w] = ~0ULL;
    map[last] |= tail;
}

/* The first granule from `at` on that is taken, or free; `size` where there is none. */
static uint32_t next_granule(const uint64_t *map, uint32_t at, uint32_t size, bool taken) {
    uint64_t flip = taken ? 0 : ~0ULL;
    if (at >= size) return size;
    uint32_t w = at / 64;
    uint64_t word = (map[w] ^ flip) & (~0ULL << (at % 64));
    while (word == 0) {
        if (++w * 64 >= size) return size;
        word = map[w] ^ flip;
    }
    uint32_t found = w * 64 + (uint32_t)__builtin_ctzll(word);
    return found < size ? found : size;
}

static uint32_t count_free(const uint64_t *map, Rect rect) {
    uint32_t first = rect.low / 64, last = (rect.high - 1) / 64, count = 0;
    for (uint32_t w = first; w <= last; w++) {
        uint64_t word = ~map[w];
        if (w == first) word &= ~0ULL << (rect.low % 64);
        if (w == last) word &= ~0ULL >> (63 - (rect.high - 1) % 64);
        count += (uint32_t)__builtin_popcountll(word);
    }
    return count;
}

/* Marks what is taken while the run lives, in bands of its own size and in taller ones. */
static void mark_taken(Lodge *lodge, const Run *run, bool over_loose) {
    int smallest = class_quadrants(lodge->items[run->lo].class);
    int first = smallest == QUADRANTS ? MAP_ANY : smallest == 2 ? MAP_HALVES : 0;
    memset(lodge->maps[first], 0, (size_t)lodge->words * (MAPS - first) * sizeof(uint64_t));
    Meeting meeting = meeting_begin(lodge, run);
    for (const LodgePiece *piece; (piece = meeting_next(lodge, run, &meeting));) {
        if (!takes_room(lodge, piece) || (over_loose && is_loose(lodge, piece))) continue;
        Rect rect = lodge->rects[item_of(piece)];
        for (int m = first; m < MAPS; m++)
            if (rect.mask & MASKS[m]) mark(lodge->maps[m], rect.low, rect.high);
    }
    lodge_spend(lodge, lodge->words / 2);
}

static const uint64_t *map_of_half(const Lodge *lodge, uint8_t mask) {
    return lodge->maps[mask & 3 ? MAP_HALVES : MAP_HALVES + 1];
}

static const uint64_t *map_of(const Lodge *lodge, uint8_t mask) {
    int quadrants = __builtin_popcount(mask);
    if (quadrants == QUADRANTS) return lodge->maps[MAP_ANY];
    return quadrants == 2 ? map_of_half(lodge, mask) : lodge->maps[__builtin_ctz(mask)];
}

/* ---- free places ---- */

/* Granules of taller bands that a rectangle would be the first to take a part of. */
static uint32_t broken(const Lodge *lodge, Rect rect) {
    int quadrants = __builtin_popcount(rect.mask);
    uint32_t count = 0;
    if (quadrants < QUADRANTS) count += count_free(lodge->maps[MAP_ANY], rect);
    if (quadrants == 1) count += count_free(map_of_half(lodge, rect.mask), rect);
    return count;
}

/* Tries both ends of a hole. `by_size`: high stays are drawn to the high end of the axis, others to
 * the low one. */
static void try_hole(const Lodge *lodge, const Lodger *item, Rect hole, uint32_t *least,
                     Rect *best) {
    enum { BROKEN = 2, FAR = 16 };
    uint32_t align = item->align;
    uint32_t lows[2] = {(uint32_t)align_up(hole.low, align),
                        (hole.high - item->height) / align * align};
    for (int side = 0; side < 2; side++) {
        Rect rect = {lows[side], lows[side] + item->height, hole.mask};
        if (rect.low < hole.low || rect.high > hole.high) continue;
        uint32_t waste = hole.high - hole.low - item->height + BROKEN * broken(lodge, rect);
        uint32_t far = item->height > lodge->tall ? lodge->size - rect.high : rect.low;
        if (lodge->by_size) waste += far / FAR;
        if (waste >= *least) continue;
        *least = waste;
        *best = rect;
    }
}

bool find_free(Lodge *lodge, const Run *run, bool over_loose, Rect *best) {
    const Lodger *item = &lodge->items[run->lo];
    Bands bands = class_bands(item->class);
    uint32_t least = UINT32_MAX;
    mark_taken(lodge, run, over_loose);
    for (int b = 0; b < bands.count; b++) {
        const uint64_t *map = map_of(lodge, bands.masks[b]);
        for (uint32_t at = next_granule(map, 0, lodge->size, false); at < lodge->size;) {
            uint32_t end = next_granule(map, at, lodge->size, true);
            Rect hole = {at, end, bands.masks[b]};
            if (end - at >= item->height) try_hole(lodge, item, hole, &least, best);
            at = next_granule(map, end, lodge->size, false);
        }
    }
    return least != UINT32_MAX;
}

/* ---- places to be cleared ---- */

/* More than all gaps together, yet so that sums of it can be told apart. */
static const double IMMOVABLE = 1e16;

/* True if the gap takes room at a point of the run, and so is counted as a piece of its own. */
static bool is_counted(const Lodge *lodge, const Run *run, uint32_t gap) {
    LiveRange points = lodge->items[gap].gap;
    return points.count > 0 && points.items[0].first <= run->last &&
           points.items[points.count - 1].last >= run->first;
}

/* What it costs to put out a piece. A stay takes the gaps beside it along; that it must find
 * another place is dearer each time. */
static double eviction(const Lodge *lodge, const Run *run, const LodgePiece *piece) {
    enum { LIFTING = 50 /* cycles */ };
    uint32_t item = item_of(piece);
    if (is_gap(piece)) return (double)price_of_cut(lodge, item);
    if (lodge->items[item].fixed) return IMMOVABLE;
    double price = 1 + (double)LIFTING * lodge->moves[item];
    for (uint32_t gap = item; gap <= item + 1; gap++)
        if (lodge->kept[gap] && !is_counted(lodge, run, gap))
            price += (double)price_of_cut(lodge, gap);
    return price;
}

/* Adds the price of everything in a band to the places for `height` granules that meet it. */
static void add_prices(Lodge *lodge, const Run *run, uint8_t band, uint32_t height) {
    memset(lodge->price, 0, ((size_t)lodge->size + 2) * sizeof *lodge->price);
    Meeting meeting = meeting_begin(lodge, run);
    for (const LodgePiece *piece; (piece = meeting_next(lodge, run, &meeting));) {
        Rect rect = lodge->rects[item_of(piece)];
        if (!takes_room(lodge, piece) || !(rect.mask & band)) continue;
        double price = eviction(lodge, run, piece);
        price *= 1 - lodge->noise + 2 * lodge->noise * lodge_draw_unit(lodge);
        price = floor(price); /* so that what is added can be taken off again */
        lodge->price[rect.low >= height ? rect.low - height + 1 : 0] += price;
        lodge->price[rect.high] -= price;
    }
    lodge_spend(lodge, lodge->size / 8);
}

double find_cheapest(Lodge *lodge, const Run *run, Rect *best) {
    const Lodger *item = &lodge->items[run->lo];
    Bands bands = class_bands(item->class);
    double least = INFINITY;
    for (int b = 0; b < bands.count && item->height <= lodge->size; b++) {
        add_prices(lodge, run, bands.masks[b], item->height);
        double sum = 0;
        for (uint32_t low = 0; low <= lodge->size - item->height; low++) {
            sum += lodge->price[low];
            if (sum >= least || low % item->align) continue;
            least = sum;
            *best = (Rect){low, low + item->height, bands.masks[b]};
        }
    }
    return least < IMMOVABLE / 2 ? least : INFINITY;
}
