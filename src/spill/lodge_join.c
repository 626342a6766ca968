#include <math.h>
#include <string.h>

#include "spill/lodge_state.h"
#include "support/sort.h"

/* A number that is not negative as a key of which larger ones sort first. */
static uint64_t falling_key(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return ~bits;
}

bool try_run(Lodge *lodge, uint32_t lo, uint32_t hi) {
    Run run = run_of(lodge, lo, hi);
    Rect rect;
    if (!find_free(lodge, &run, false, &rect)) return false;
    settle_run(lodge, &run, rect);
    return true;
}

/* Finds other free places for what was lifted since there were `from`. */
static bool move_lifted(Lodge *lodge, size_t from) {
    for (; lodge->lifted.count > from; lodge->lifted.count--) {
        uint32_t item = lodge->lifted.items[lodge->lifted.count - 1];
        if (!lodge->rects[item].mask && !try_run(lodge, item, item)) return false;
    }
    return true;
}

/* Keeps a cut gap, if a place is free for both runs beside it, or is but for loose stays that can
 * stand elsewhere. */
static bool try_join(Lodge *lodge, uint32_t gap) {
    if (lodge->kept[gap]) return true;
    uint32_t lo = run_first(lodge, gap - 1), hi = run_last(lodge, gap);
    if (try_run(lodge, lo, hi)) return true;
    Run run = run_of(lodge, lo, hi);
    Rect rect;
    if (!find_free(lodge, &run, true, &rect)) return false;
    size_t undo = lodge->nundo, lifted = lodge->lifted.count;
    clear_place(lodge, &run, rect);
    settle_run(lodge, &run, rect);
    if (move_lifted(lodge, lifted)) return true;
    take_back(lodge, undo);
    lodge->lifted.count = lifted;
    return false;
}

/* What keeping a gap saves for each granule and point. */
static double worth(const Lodge *lodge, uint32_t gap) {
    const Lodger *item = &lodge->items[gap];
    double length = 1;
    for (uint32_t i = 0; i < item->gap.count; i++)
        length += item->gap.items[i].last - item->gap.items[i].first + 1;
    return full_gain(lodge, gap) / (length * item->height);
}

void join_by_worth(Lodge *lodge, const uint32_t *gaps, size_t count) {
    SortKey *order = RAW_ARRAY(&lodge->scratch, SortKey, count);
    for (size_t k = 0; k < count; k++) {
        double noise = lodge->noise > 0 ? 0.5 + lodge_draw_unit(lodge) : 1;
        order[k] = (SortKey){falling_key(worth(lodge, gaps[k]) * noise), gaps[k]};
    }
    sort_keys(order, count, &lodge->scratch);
    for (size_t k = 0; k < count && lodge->steps > 0; k++)
        try_join(lodge, order[k].id);
    arena_reset(&lodge->scratch);
}

bool place_lifted(Lodge *lodge, uint32_t limit) {
    for (uint32_t tries = 0; lodge->lifted.count > 0; tries++) {
        uint32_t item = lodge->lifted.items[--lodge->lifted.count];
        if (lodge->rects[item].mask || try_run(lodge, item, item)) continue;
        Run run = run_of(lodge, item, item);
        Rect rect;
        if (tries >= limit || isinf(find_cheapest(lodge, &run, &rect))) return false;
        clear_place(lodge, &run, rect);
        settle_run(lodge, &run, rect);
    }
    return true;
}
