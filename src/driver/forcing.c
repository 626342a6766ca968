#include "driver/forcing.h"

#include <assert.h>

#include "support/sort.h"

#define NONE UINT32_MAX

/* ---- the point of most need ---- */

/* Of equal ones the first. */
static uint32_t better(const uint32_t *need, uint32_t a, uint32_t b) {
    if (a == NONE || b == NONE) return a == NONE ? b : a;
    if (need[a] != need[b]) return need[a] > need[b] ? a : b;
    return a < b ? a : b;
}

static void fill_inner(const Forcing *forcing, uint32_t *tree) {
    for (uint32_t i = forcing->count; i-- > 1;)
        tree[i] = better(forcing->need, tree[2 * (size_t)i], tree[2 * (size_t)i + 1]);
}

static uint32_t find_most(const Forcing *forcing, const uint32_t *tree, Interval points) {
    uint32_t best = NONE;
    size_t low = (size_t)forcing->count + points.first;
    size_t high = (size_t)forcing->count + points.last + 1;
    for (; low < high; low /= 2, high /= 2) {
        if (low % 2 == 1) best = better(forcing->need, best, tree[low++]);
        if (high % 2 == 1) best = better(forcing->need, best, tree[--high]);
    }
    return best;
}

/* ---- what the result has kept ---- */

static void note_left(Forcing *forcing, const Rewritten *code) {
    uint32_t last = 0, next = forcing->count;
    for (uint32_t p = 0; p < code->func->ninsts; p++) {
        uint32_t origin = code->origin_inst[p];
        if (origin != INSERTED) {
            assert(origin >= last);
            forcing->left[forcing->count + origin] = origin;
            last = origin + 1;
        }
        forcing->before[p] = last;
    }
    for (uint32_t p = code->func->ninsts; p-- > 0;) {
        if (code->origin_inst[p] != INSERTED) next = code->origin_inst[p];
        forcing->after[p] = next;
    }
}

Forcing forcing_make(const Rewritten *code, const Live *live, const uint32_t *need, uint32_t count,
                     Arena *arena) {
    Forcing forcing = {.need = need,
                       .count = count,
                       .any = RAW_ARRAY(arena, uint32_t, 2 * (size_t)count),
                       .left = RAW_ARRAY(arena, uint32_t, 2 * (size_t)count),
                       .live = live,
                       .after = RAW_ARRAY(arena, uint32_t, code->func->ninsts),
                       .before = RAW_ARRAY(arena, uint32_t, code->func->ninsts)};
    for (uint32_t p = 0; p < count; p++) {
        forcing.any[count + p] = p;
        forcing.left[count + p] = NONE;
    }
    note_left(&forcing, code);
    fill_inner(&forcing, forcing.any);
    fill_inner(&forcing, forcing.left);
    return forcing;
}

/* ---- while it is away ---- */

/* Points of the function before spilling at which the parts are on chip, in order. */
static LiveRange find_stays(const Forcing *forcing, const uint32_t *parts, uint32_t nparts,
                            Arena *scratch) {
    uint32_t most = 0, count = 0;
    for (uint32_t i = 0; i < nparts; i++)
        most += forcing->live->whole[parts[i]].count;
    Interval *stays = RAW_ARRAY(scratch, Interval, most);
    Interval *sorted = RAW_ARRAY(scratch, Interval, most);
    SortKey *order = RAW_ARRAY(scratch, SortKey, most);
    for (uint32_t i = 0; i < nparts; i++) {
        LiveRange range = forcing->live->whole[parts[i]];
        for (uint32_t j = 0; j < range.count; j++) {
            uint32_t first = forcing->after[range.items[j].first];
            uint32_t end = forcing->before[range.items[j].last];
            if (first >= end) continue;
            order[count] = (SortKey){first, count};
            stays[count++] = (Interval){first, end - 1};
        }
    }
    sort_keys(order, count, scratch);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = stays[order[i].id];
    return (LiveRange){sorted, count};
}

/* The first point of most need in the range that no stay has; NONE: there is none. */
static uint32_t find_away(const Forcing *forcing, LiveRange range, LiveRange stays) {
    uint32_t best = NONE, s = 0, from = 0;
    for (uint32_t i = 0; i < range.count; i++) {
        uint32_t end = range.items[i].last + 1;
        if (from < range.items[i].first) from = range.items[i].first;
        while (from < end) {
            uint32_t until =
                s < stays.count && stays.items[s].first < end ? stays.items[s].first : end;
            if (from < until) {
                Interval away = {from, until - 1};
                best = better(forcing->need, best, find_most(forcing, forcing->left, away));
                from = until;
            }
            if (until == end) break;
            if (from <= stays.items[s].last) from = stays.items[s].last + 1;
            s++;
        }
    }
    return best;
}

uint32_t forcing_point(const Forcing *forcing, LiveRange range, const uint32_t *parts,
                       uint32_t count) {
    Arena scratch;
    arena_init(&scratch);
    LiveRange stays = find_stays(forcing, parts, count, &scratch);
    uint32_t point = find_away(forcing, range, stays);
    arena_free(&scratch);
    if (point != NONE) return point;
    for (uint32_t i = 0; i < range.count; i++)
        point = better(forcing->need, point, find_most(forcing, forcing->any, range.items[i]));
    return point;
}
