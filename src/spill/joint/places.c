#include "spill/joint/places.h"

#include <math.h>
#include <string.h>

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

/* True if it is a segment that can move at no cost: no gap beside it is kept. */
static bool is_movable(const JointSearch *search, const JointPiece *piece) {
    uint32_t item = piece_item(piece);
    return !is_gap(piece) && !search->kept[item] && !search->kept[item + 1] &&
           !search->items[item].fixed;
}

/* Marks what is taken while the bundle lives, in bands of its own size and in taller ones. */
static void mark_taken(JointSearch *search, const Bundle *bundle, bool over_movable) {
    int smallest = class_quadrants(search->items[bundle->lo].class);
    int first = smallest == QUADRANTS ? MAP_ANY : smallest == 2 ? MAP_HALVES : 0;
    memset(search->maps[first], 0, (size_t)search->words * (MAPS - first) * sizeof(uint64_t));
    ConflictWalk walk = conflicts_begin(search, bundle);
    for (const JointPiece *piece; (piece = conflicts_next(search, bundle, &walk));) {
        if (!takes_room(search, piece) || (over_movable && is_movable(search, piece))) continue;
        Rect rect = search->rects[piece_item(piece)];
        for (int m = first; m < MAPS; m++)
            if (rect.mask & MASKS[m]) mark(search->maps[m], rect.low, rect.high);
    }
    search_spend(search, search->words / 2);
}

static const uint64_t *map_of_half(const JointSearch *search, uint8_t mask) {
    return search->maps[mask & 3 ? MAP_HALVES : MAP_HALVES + 1];
}

static const uint64_t *map_of(const JointSearch *search, uint8_t mask) {
    int quadrants = __builtin_popcount(mask);
    if (quadrants == QUADRANTS) return search->maps[MAP_ANY];
    return quadrants == 2 ? map_of_half(search, mask) : search->maps[__builtin_ctz(mask)];
}

/* ---- free places ---- */

/* Granules of taller bands that a rectangle would be the first to take a part of. */
static uint32_t broken(const JointSearch *search, Rect rect) {
    int quadrants = __builtin_popcount(rect.mask);
    uint32_t count = 0;
    if (quadrants < QUADRANTS) count += count_free(search->maps[MAP_ANY], rect);
    if (quadrants == 1) count += count_free(map_of_half(search, rect.mask), rect);
    return count;
}

/* Tries both ends of a hole. `by_size`: high segments are drawn to the high end of the axis, others
 * to the low one. */
static void try_hole(const JointSearch *search, const JointSegment *item, Rect hole,
                     uint32_t *least, Rect *best) {
    enum { BROKEN = 2, FAR = 16 };
    uint32_t align = item->align;
    uint32_t lows[2] = {(uint32_t)align_up(hole.low, align),
                        (hole.high - item->height) / align * align};
    for (int side = 0; side < 2; side++) {
        Rect rect = {lows[side], lows[side] + item->height, hole.mask};
        if (rect.low < hole.low || rect.high > hole.high) continue;
        uint32_t waste = hole.high - hole.low - item->height + BROKEN * broken(search, rect);
        uint32_t far = item->height > search->tall ? search->size - rect.high : rect.low;
        if (search->by_size) waste += far / FAR;
        if (waste >= *least) continue;
        *least = waste;
        *best = rect;
    }
}

bool find_free(JointSearch *search, const Bundle *bundle, bool over_movable, Rect *best) {
    const JointSegment *item = &search->items[bundle->lo];
    Bands bands = class_bands(item->class);
    uint32_t least = UINT32_MAX;
    mark_taken(search, bundle, over_movable);
    for (int b = 0; b < bands.count; b++) {
        const uint64_t *map = map_of(search, bands.masks[b]);
        for (uint32_t at = next_granule(map, 0, search->size, false); at < search->size;) {
            uint32_t end = next_granule(map, at, search->size, true);
            Rect hole = {at, end, bands.masks[b]};
            if (end - at >= item->height) try_hole(search, item, hole, &least, best);
            at = next_granule(map, end, search->size, false);
        }
    }
    return least != UINT32_MAX;
}

/* ---- places to be cleared ---- */

/* More than all gaps together, yet so that sums of it can be told apart. */
static const double IMMOVABLE = 1e16;

/* True if the gap takes room at a point of the bundle, and so is counted as a piece of its own. */
static bool is_counted(const JointSearch *search, const Bundle *bundle, uint32_t gap) {
    LiveRange points = search->items[gap].gap;
    return points.count > 0 && points.items[0].first <= bundle->last &&
           points.items[points.count - 1].last >= bundle->first;
}

/* What it costs to evict a piece. A segment takes the gaps beside it along, and each eviction makes
 * the next one dearer. */
static double eviction_price(const JointSearch *search, const Bundle *bundle,
                             const JointPiece *piece) {
    enum { EVICTING = 50 /* cycles */ };
    uint32_t item = piece_item(piece);
    if (is_gap(piece)) return (double)price_of_cut(search, item);
    if (search->items[item].fixed) return IMMOVABLE;
    double price = 1 + (double)EVICTING * search->evictions[item];
    for (uint32_t gap = item; gap <= item + 1; gap++)
        if (search->kept[gap] && !is_counted(search, bundle, gap))
            price += (double)price_of_cut(search, gap);
    return price;
}

/* Adds the price of everything in a band to the places for `height` granules that overlap it. */
static void add_prices(JointSearch *search, const Bundle *bundle, uint8_t band, uint32_t height) {
    memset(search->price, 0, ((size_t)search->size + 2) * sizeof *search->price);
    ConflictWalk walk = conflicts_begin(search, bundle);
    for (const JointPiece *piece; (piece = conflicts_next(search, bundle, &walk));) {
        Rect rect = search->rects[piece_item(piece)];
        if (!takes_room(search, piece) || !(rect.mask & band)) continue;
        double price = eviction_price(search, bundle, piece);
        price *= 1 - search->noise + 2 * search->noise * search_draw_unit(search);
        price = floor(price); /* so that what is added can be taken off again */
        search->price[rect.low >= height ? rect.low - height + 1 : 0] += price;
        search->price[rect.high] -= price;
    }
    search_spend(search, search->size / 8);
}

double find_cheapest(JointSearch *search, const Bundle *bundle, Rect *best) {
    const JointSegment *item = &search->items[bundle->lo];
    Bands bands = class_bands(item->class);
    double least = INFINITY;
    for (int b = 0; b < bands.count && item->height <= search->size; b++) {
        add_prices(search, bundle, bands.masks[b], item->height);
        double sum = 0;
        for (uint32_t low = 0; low <= search->size - item->height; low++) {
            sum += search->price[low];
            if (sum >= least || low % item->align) continue;
            least = sum;
            *best = (Rect){low, low + item->height, bands.masks[b]};
        }
    }
    return least < IMMOVABLE / 2 ? least : INFINITY;
}
