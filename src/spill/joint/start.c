#include "spill/joint/start.h"

#include <string.h>

#include "spill/joint/assign.h"
#include "support/sort.h"

/* Whole bundles in order of first points; of those that begin together the longest first. */
static SortKey *order_bundles(JointSearch *search, uint32_t *count) {
    SortKey *order = RAW_ARRAY(search->memory, SortKey, search->count);
    *count = 0;
    for (uint32_t i = 0; i < search->count; i = bundle_last(search, i) + 1) {
        if (search->items[i].fixed) continue;
        Bundle bundle = bundle_of(search, i, bundle_last(search, i));
        order[(*count)++] = (SortKey){(uint64_t)bundle.first << 32 | (UINT32_MAX - bundle.last), i};
    }
    sort_keys(order, *count, search->memory);
    return order;
}

/* Evicts the segments of bundles that fit nowhere. */
static void place_bundles(JointSearch *search) {
    uint32_t count;
    const SortKey *order = order_bundles(search, &count);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t lo = order[k].id, hi = bundle_last(search, lo);
        if (try_bundle(search, lo, hi)) continue;
        for (uint32_t i = lo; i <= hi; i++)
            evict_segment(search, i);
    }
}

/* True if a bundle can lie where all its segments do in the problem. */
static bool is_free_as_given(JointSearch *search, const Bundle *bundle) {
    Rect rect = search->items[bundle->lo].rect;
    for (uint32_t i = bundle->lo; i <= bundle->hi; i++)
        if (!rects_same(search->items[i].rect, rect)) return false;
    ConflictWalk walk = conflicts_begin(search, bundle);
    for (const JointPiece *piece; (piece = conflicts_next(search, bundle, &walk));)
        if (takes_room(search, piece) && rects_meet(search->rects[piece_item(piece)], rect))
            return false;
    return rect.mask != 0;
}

/* Bundles go where the problem has them; evicts the segments of those that cannot. */
static void place_as_given(JointSearch *search) {
    for (uint32_t lo = 0, hi; lo < search->count; lo = hi + 1) {
        hi = bundle_last(search, lo);
        Bundle bundle = bundle_of(search, lo, hi);
        if (search->items[lo].fixed) continue;
        if (is_free_as_given(search, &bundle)) {
            assign_bundle(search, &bundle, search->items[lo].rect);
            continue;
        }
        for (uint32_t i = lo; i <= hi; i++)
            evict_segment(search, i);
    }
}

bool first_solution(JointSearch *search) {
    enum { START_STEPS = 100000000 }; /* for long bundles that all conflict */
    search->steps = START_STEPS;
    if (search->problem->placed)
        place_as_given(search);
    else
        place_bundles(search);
    bool placed = assign_unplaced(search, 100 + 10 * search->count);
    uint32_t *gaps = RAW_ARRAY(search->memory, uint32_t, search->ncut);
    if (search->ncut) memcpy(gaps, search->cut_list, search->ncut * sizeof *gaps);
    join_by_worth(search, gaps, search->ncut);
    return placed;
}
