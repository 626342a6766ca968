#include "spill/joint/assign.h"

#include <math.h>
#include <string.h>

#include "spill/joint/places.h"
#include "support/sort.h"

/* A number that is not negative as a key of which larger ones sort first. */
static uint64_t falling_key(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return ~bits;
}

bool try_bundle(JointSearch *search, uint32_t lo, uint32_t hi) {
    Bundle bundle = bundle_of(search, lo, hi);
    Rect rect;
    if (!find_free(search, &bundle, false, &rect)) return false;
    assign_bundle(search, &bundle, rect);
    return true;
}

/* Finds other free places for what was unplaced since there were `from`. */
static bool reassign_unplaced(JointSearch *search, size_t from) {
    for (; search->unplaced.count > from; search->unplaced.count--) {
        uint32_t item = search->unplaced.items[search->unplaced.count - 1];
        if (!search->rects[item].mask && !try_bundle(search, item, item)) return false;
    }
    return true;
}

/* Keeps a cut gap if a place is free for both bundles beside it, or is taken only by movable
 * segments that fit elsewhere. */
static bool try_join(JointSearch *search, uint32_t gap) {
    if (search->kept[gap]) return true;
    uint32_t lo = bundle_first(search, gap - 1), hi = bundle_last(search, gap);
    if (try_bundle(search, lo, hi)) return true;
    Bundle bundle = bundle_of(search, lo, hi);
    Rect rect;
    if (!find_free(search, &bundle, true, &rect)) return false;
    size_t undo = search->nundo, unplaced = search->unplaced.count;
    evict_conflicts(search, &bundle, rect);
    assign_bundle(search, &bundle, rect);
    if (reassign_unplaced(search, unplaced)) return true;
    undo_to(search, undo);
    search->unplaced.count = unplaced;
    return false;
}

/* What keeping a gap saves for each granule and point. */
static double worth(const JointSearch *search, uint32_t gap) {
    const JointSegment *item = &search->items[gap];
    double length = 1;
    for (uint32_t i = 0; i < item->gap.count; i++)
        length += item->gap.items[i].last - item->gap.items[i].first + 1;
    return full_gain(search, gap) / (length * item->height);
}

void join_by_worth(JointSearch *search, const uint32_t *gaps, size_t count) {
    SortKey *order = RAW_ARRAY(&search->scratch, SortKey, count);
    for (size_t k = 0; k < count; k++) {
        double noise = search->noise > 0 ? 0.5 + search_draw_unit(search) : 1;
        order[k] = (SortKey){falling_key(worth(search, gaps[k]) * noise), gaps[k]};
    }
    sort_keys(order, count, &search->scratch);
    for (size_t k = 0; k < count && search->steps > 0; k++)
        try_join(search, order[k].id);
    arena_reset(&search->scratch);
}

bool assign_unplaced(JointSearch *search, uint32_t limit) {
    for (uint32_t tries = 0; search->unplaced.count > 0; tries++) {
        uint32_t item = search->unplaced.items[--search->unplaced.count];
        if (search->rects[item].mask || try_bundle(search, item, item)) continue;
        Bundle bundle = bundle_of(search, item, item);
        Rect rect;
        if (tries >= limit || isinf(find_cheapest(search, &bundle, &rect))) return false;
        evict_conflicts(search, &bundle, rect);
        assign_bundle(search, &bundle, rect);
    }
    return true;
}
