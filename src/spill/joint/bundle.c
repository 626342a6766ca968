#include "spill/joint/bundle.h"

#include <assert.h>

#include "spill/joint/search.h"
#include "support/sort.h"

enum { BUCKET = 16 /* points */ };

/* ---- pieces in time ---- */

static LiveRange points_of(const JointSearch *search, uint32_t id) {
    const JointSegment *item = &search->items[id / 2];
    return id % 2 ? item->gap : item->points;
}

static void sort_pieces(JointSearch *search) {
    JointAxis *time = &search->time;
    SortKey *order = RAW_ARRAY(search->memory, SortKey, (size_t)search->count * 2);
    for (uint32_t id = 0; id < 2 * search->count; id++) {
        LiveRange points = points_of(search, id);
        if (id % 2 && (!search->items[id / 2].linked || points.count == 0)) continue;
        assert(points.count > 0);
        search->time.has_holes |= points.count > 1;
        order[time->npieces++] = (SortKey){points.items[0].first, id};
    }
    sort_keys(order, time->npieces, search->memory);
    time->pieces = RAW_ARRAY(search->memory, JointPiece, time->npieces);
    for (uint32_t i = 0; i < time->npieces; i++) {
        LiveRange points = points_of(search, order[i].id);
        time->pieces[i] =
            (JointPiece){points.items[0].first, points.items[points.count - 1].last, order[i].id};
    }
}

static void fill_buckets(JointSearch *search) {
    JointAxis *time = &search->time;
    time->nbuckets = search->problem->npoints / BUCKET + 1;
    time->starting = NEW_ARRAY(search->memory, uint32_t, (size_t)time->nbuckets + 1);
    uint32_t *next = NEW_ARRAY(search->memory, uint32_t, (size_t)time->nbuckets + 2);
    time->entering = next++;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < time->npieces; i++) {
            JointPiece piece = time->pieces[i];
            if (!fill) time->starting[piece.first / BUCKET + 1]++;
            for (uint32_t b = piece.first / BUCKET + 1; b <= piece.last / BUCKET; b++) {
                if (fill)
                    time->entered[next[b]++] = piece;
                else
                    next[b + 1]++;
            }
        }
        if (fill) return;
        for (uint32_t b = 0; b < time->nbuckets; b++) {
            time->starting[b + 1] += time->starting[b];
            next[b + 1] += b + 1 <= time->nbuckets ? next[b] : 0;
        }
        time->entered = RAW_ARRAY(search->memory, JointPiece, next[time->nbuckets]);
    }
}

void timeline_fill(JointSearch *search) {
    sort_pieces(search);
    fill_buckets(search);
}

/* ---- bundles ---- */

uint32_t bundle_first(const JointSearch *search, uint32_t item) {
    while (search->kept[item])
        item--;
    return item;
}

uint32_t bundle_last(const JointSearch *search, uint32_t item) {
    while (search->kept[item + 1])
        item++;
    return item;
}

Bundle bundle_of(const JointSearch *search, uint32_t lo, uint32_t hi) {
    LiveRange begin = search->items[lo].points, end = search->items[hi].points;
    return (Bundle){lo, hi, begin.items[0].first, end.items[end.count - 1].last};
}

/* Exact, where ranges have holes. */
static bool conflicts_with(const JointSearch *search, const Bundle *bundle, uint32_t id) {
    LiveRange points = points_of(search, id);
    for (uint32_t i = bundle->lo; i <= bundle->hi; i++) {
        if (live_overlap(points, search->items[i].points)) return true;
        if (i > bundle->lo && live_overlap(points, search->items[i].gap)) return true;
    }
    return false;
}

ConflictWalk conflicts_begin(const JointSearch *search, const Bundle *bundle) {
    const JointAxis *time = &search->time;
    uint32_t first = bundle->first / BUCKET, last = bundle->last / BUCKET;
    return (ConflictWalk){
        time->entered + time->entering[first], time->entered + time->entering[first + 1],
        time->pieces + time->starting[first], time->pieces + time->starting[last + 1]};
}

const JointPiece *conflicts_next(JointSearch *search, const Bundle *bundle, ConflictWalk *walk) {
    for (;; walk->next++) {
        if (walk->next == walk->end) {
            if (walk->starts == walk->starts_end) return NULL;
            walk->next = walk->starts;
            walk->end = walk->starts = walk->starts_end;
        }
        const JointPiece *piece = walk->next;
        search_spend(search, 1);
        if (piece->first > bundle->last || piece->last < bundle->first) continue;
        uint32_t item = piece_item(piece);
        if (item >= bundle->lo && item <= bundle->hi) continue;
        if (search->time.has_holes && !conflicts_with(search, bundle, piece->id)) continue;
        walk->next++;
        return piece;
    }
}
