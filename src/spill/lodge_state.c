#include "spill/lodge_state.h"

#include <assert.h>
#include <string.h>

#include "support/rng.h"
#include "support/sort.h"

enum { BUCKET = 16 /* points */ };

uint32_t lodge_draw(Lodge *lodge, uint32_t bound) {
    return rng_below(&lodge->random, bound);
}

double lodge_draw_unit(Lodge *lodge) {
    return lodge_draw(lodge, 1U << 24) / (double)(1U << 24);
}

/* ---- pieces in time ---- */

static LiveRange points_of(const Lodge *lodge, uint32_t id) {
    const Lodger *item = &lodge->items[id / 2];
    return id % 2 ? item->gap : item->points;
}

static void sort_pieces(Lodge *lodge) {
    Timeline *time = &lodge->time;
    SortKey *order = RAW_ARRAY(lodge->memory, SortKey, (size_t)lodge->count * 2);
    for (uint32_t id = 0; id < 2 * lodge->count; id++) {
        LiveRange points = points_of(lodge, id);
        if (id % 2 && (!lodge->items[id / 2].linked || points.count == 0)) continue;
        assert(points.count > 0);
        lodge->has_holes |= points.count > 1;
        order[time->npieces++] = (SortKey){points.items[0].first, id};
    }
    sort_keys(order, time->npieces, lodge->memory);
    time->pieces = RAW_ARRAY(lodge->memory, LodgePiece, time->npieces);
    for (uint32_t i = 0; i < time->npieces; i++) {
        LiveRange points = points_of(lodge, order[i].id);
        time->pieces[i] =
            (LodgePiece){points.items[0].first, points.items[points.count - 1].last, order[i].id};
    }
}

static void fill_buckets(Lodge *lodge) {
    Timeline *time = &lodge->time;
    time->nbuckets = lodge->problem->npoints / BUCKET + 1;
    time->starting = NEW_ARRAY(lodge->memory, uint32_t, (size_t)time->nbuckets + 1);
    uint32_t *next = NEW_ARRAY(lodge->memory, uint32_t, (size_t)time->nbuckets + 2);
    time->entering = next++;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < time->npieces; i++) {
            LodgePiece piece = time->pieces[i];
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
        time->entered = RAW_ARRAY(lodge->memory, LodgePiece, next[time->nbuckets]);
    }
}

uint32_t run_first(const Lodge *lodge, uint32_t item) {
    while (lodge->kept[item])
        item--;
    return item;
}

uint32_t run_last(const Lodge *lodge, uint32_t item) {
    while (lodge->kept[item + 1])
        item++;
    return item;
}

Run run_of(const Lodge *lodge, uint32_t lo, uint32_t hi) {
    LiveRange begin = lodge->items[lo].points, end = lodge->items[hi].points;
    return (Run){lo, hi, begin.items[0].first, end.items[end.count - 1].last};
}

/* Exact, where ranges have holes. */
static bool meets_run(const Lodge *lodge, const Run *run, uint32_t id) {
    LiveRange points = points_of(lodge, id);
    for (uint32_t i = run->lo; i <= run->hi; i++) {
        if (live_overlap(points, lodge->items[i].points)) return true;
        if (i > run->lo && live_overlap(points, lodge->items[i].gap)) return true;
    }
    return false;
}

Meeting meeting_begin(const Lodge *lodge, const Run *run) {
    const Timeline *time = &lodge->time;
    uint32_t first = run->first / BUCKET, last = run->last / BUCKET;
    return (Meeting){time->entered + time->entering[first],
                     time->entered + time->entering[first + 1],
                     time->pieces + time->starting[first], time->pieces + time->starting[last + 1]};
}

const LodgePiece *meeting_next(Lodge *lodge, const Run *run, Meeting *meeting) {
    for (;; meeting->next++) {
        if (meeting->next == meeting->end) {
            if (meeting->starts == meeting->starts_end) return NULL;
            meeting->next = meeting->starts;
            meeting->end = meeting->starts = meeting->starts_end;
        }
        const LodgePiece *piece = meeting->next;
        lodge_spend(lodge, 1);
        if (piece->first > run->last || piece->last < run->first) continue;
        uint32_t item = item_of(piece);
        if (item >= run->lo && item <= run->hi) continue;
        if (lodge->has_holes && !meets_run(lodge, run, piece->id)) continue;
        meeting->next++;
        return piece;
    }
}

/* ---- prices ---- */

/* With its store, if just so many gaps of its value are cut. */
static int64_t price_at(const Lodge *lodge, uint32_t gap, uint32_t cuts) {
    const Lodger *item = &lodge->items[gap];
    bool stores = item->value != NO_VALUE && lodge->cuts[item->value] == cuts;
    return item->load + (stores ? lodge->problem->store[item->value] : 0);
}

int64_t price_of_cut(const Lodge *lodge, uint32_t gap) {
    return price_at(lodge, gap, 0);
}

double full_gain(const Lodge *lodge, uint32_t gap) {
    const Lodger *item = &lodge->items[gap];
    double gain = (double)item->load;
    if (item->value == NO_VALUE || lodge->cuts[item->value] == 0) return gain;
    return gain + (double)lodge->problem->store[item->value] / lodge->cuts[item->value];
}

/* ---- changes ---- */

static void note(Lodge *lodge, uint32_t item) {
    Undo undo = {item, lodge->kept[item], lodge->rects[item]};
    PUSH(lodge->memory, lodge->undo, lodge->nundo, lodge->undo_capacity, undo);
}

static void set_kept(Lodge *lodge, uint32_t gap, bool kept) {
    uint32_t value = lodge->items[gap].value;
    lodge->kept[gap] = kept;
    if (kept) {
        lodge->cost -= price_at(lodge, gap, 1);
        if (value != NO_VALUE) lodge->cuts[value]--;
        uint32_t at = lodge->cut_place[gap], moved = lodge->cut_list[--lodge->ncut];
        lodge->cut_list[at] = moved;
        lodge->cut_place[moved] = at;
    } else {
        lodge->cost += price_at(lodge, gap, 0);
        if (value != NO_VALUE) lodge->cuts[value]++;
        lodge->cut_place[gap] = lodge->ncut;
        lodge->cut_list[lodge->ncut++] = gap;
    }
}

static void change_kept(Lodge *lodge, uint32_t gap, bool kept) {
    if (lodge->kept[gap] == kept) return;
    note(lodge, gap);
    set_kept(lodge, gap, kept);
}

static void change_rect(Lodge *lodge, uint32_t item, Rect rect) {
    note(lodge, item);
    lodge->rects[item] = rect;
}

void take_back(Lodge *lodge, size_t to) {
    while (lodge->nundo > to) {
        Undo undo = lodge->undo[--lodge->nundo];
        lodge->rects[undo.item] = undo.rect;
        if (lodge->kept[undo.item] != undo.kept) set_kept(lodge, undo.item, undo.kept);
    }
}

static void push(Lodge *lodge, IdList *list, uint32_t id) {
    PUSH(lodge->memory, list->items, list->count, list->capacity, id);
}

static void evict_gap(Lodge *lodge, uint32_t gap) {
    if (!lodge->kept[gap]) return;
    change_kept(lodge, gap, false);
    push(lodge, &lodge->evicted, gap);
}

void lift_stay(Lodge *lodge, uint32_t item) {
    evict_gap(lodge, item);
    evict_gap(lodge, item + 1);
    change_rect(lodge, item, (Rect){0, 0, 0});
    lodge->moves[item]++;
    push(lodge, &lodge->moved, item);
    push(lodge, &lodge->lifted, item);
}

void clear_place(Lodge *lodge, const Run *run, Rect rect) {
    Meeting meeting = meeting_begin(lodge, run);
    for (const LodgePiece *piece; (piece = meeting_next(lodge, run, &meeting));) {
        if (!takes_room(lodge, piece) || !rects_meet(lodge->rects[item_of(piece)], rect)) continue;
        if (is_gap(piece))
            evict_gap(lodge, item_of(piece));
        else
            lift_stay(lodge, item_of(piece));
    }
}

void settle_run(Lodge *lodge, const Run *run, Rect rect) {
    for (uint32_t i = run->lo; i <= run->hi; i++) {
        change_rect(lodge, i, rect);
        if (i > run->lo) change_kept(lodge, i, true);
    }
}

/* ---- the first state ---- */

void lodge_begin(Lodge *lodge, const LodgeProblem *problem, Arena *memory) {
    uint32_t count = problem->count;
    *lodge = (Lodge){.problem = problem,
                     .items = problem->items,
                     .count = count,
                     .size = problem->size,
                     .kept = NEW_ARRAY(memory, bool, (size_t)count + 1),
                     .rects = NEW_ARRAY(memory, Rect, count),
                     .cuts = NEW_ARRAY(memory, uint32_t, (size_t)problem->nvalues + 1),
                     .cut_list = RAW_ARRAY(memory, uint32_t, count),
                     .cut_place = RAW_ARRAY(memory, uint32_t, count),
                     .moves = NEW_ARRAY(memory, uint32_t, count),
                     .words = problem->size / 64 + 1,
                     .price = RAW_ARRAY(memory, double, (size_t)problem->size + 2),
                     .random = 0x9E3779B97F4A7C15U,
                     .steps = UINT64_MAX,
                     .memory = memory};
    arena_init(&lodge->scratch);
    lodge->maps[0] = RAW_ARRAY(memory, uint64_t, (size_t)lodge->words * MAPS);
    for (int m = 1; m < MAPS; m++)
        lodge->maps[m] = lodge->maps[m - 1] + lodge->words;
    for (uint32_t i = 0; i < count; i++) {
        const Lodger *item = &problem->items[i];
        if (item->fixed) lodge->rects[i] = item->rect;
        lodge->kept[i] = item->linked;
        if (item->linked && !item->kept) set_kept(lodge, i, false);
    }
    sort_pieces(lodge);
    fill_buckets(lodge);
}

/* ---- answers ---- */

Answer make_answer(const Lodge *lodge) {
    return (Answer){RAW_ARRAY(lodge->memory, Rect, lodge->count),
                    RAW_ARRAY(lodge->memory, bool, lodge->count), INT64_MAX};
}

void save_answer(const Lodge *lodge, Answer *answer) {
    memcpy(answer->rects, lodge->rects, lodge->count * sizeof *answer->rects);
    memcpy(answer->kept, lodge->kept, lodge->count * sizeof *answer->kept);
    answer->cost = lodge->cost;
}

void copy_answer(const Lodge *lodge, Answer *to, const Answer *from) {
    memcpy(to->rects, from->rects, lodge->count * sizeof *to->rects);
    memcpy(to->kept, from->kept, lodge->count * sizeof *to->kept);
    to->cost = from->cost;
}

void go_to_answer(Lodge *lodge, const Answer *answer) {
    lodge->nundo = 0;
    for (uint32_t i = 0; i < lodge->count; i++) {
        lodge->rects[i] = answer->rects[i];
        change_kept(lodge, i, answer->kept[i]);
        lodge->moves[i] = 0;
    }
    lodge->nundo = 0;
}
