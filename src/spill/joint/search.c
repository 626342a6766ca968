#include "spill/joint/search.h"

#include <string.h>

#include "support/rng.h"

uint32_t search_draw(JointSearch *search, uint32_t bound) {
    return rng_below(&search->random, bound);
}

double search_draw_unit(JointSearch *search) {
    return search_draw(search, 1U << 24) / (double)(1U << 24);
}

/* ---- prices ---- */

/* With its store, if exactly `cuts` gaps of its value are cut. */
static int64_t price_at(const JointSearch *search, uint32_t gap, uint32_t cuts) {
    const JointSegment *item = &search->items[gap];
    bool stores = item->value != NO_VALUE && search->cuts[item->value] == cuts;
    return item->load + (stores ? search->problem->store[item->value] : 0);
}

int64_t price_of_cut(const JointSearch *search, uint32_t gap) {
    return price_at(search, gap, 0);
}

double full_gain(const JointSearch *search, uint32_t gap) {
    const JointSegment *item = &search->items[gap];
    double gain = (double)item->load;
    if (item->value == NO_VALUE || search->cuts[item->value] == 0) return gain;
    return gain + (double)search->problem->store[item->value] / search->cuts[item->value];
}

/* ---- changes ---- */

static void note(JointSearch *search, uint32_t item) {
    JointUndo undo = {item, search->kept[item], search->rects[item]};
    PUSH(search->memory, search->undo, search->nundo, search->undo_capacity, undo);
}

static void set_kept(JointSearch *search, uint32_t gap, bool kept) {
    uint32_t value = search->items[gap].value;
    search->kept[gap] = kept;
    if (kept) {
        search->cost -= price_at(search, gap, 1);
        if (value != NO_VALUE) search->cuts[value]--;
        uint32_t at = search->cut_place[gap], moved = search->cut_list[--search->ncut];
        search->cut_list[at] = moved;
        search->cut_place[moved] = at;
    } else {
        search->cost += price_at(search, gap, 0);
        if (value != NO_VALUE) search->cuts[value]++;
        search->cut_place[gap] = search->ncut;
        search->cut_list[search->ncut++] = gap;
    }
}

static void change_kept(JointSearch *search, uint32_t gap, bool kept) {
    if (search->kept[gap] == kept) return;
    note(search, gap);
    set_kept(search, gap, kept);
}

static void change_rect(JointSearch *search, uint32_t item, Rect rect) {
    note(search, item);
    search->rects[item] = rect;
}

void undo_to(JointSearch *search, size_t to) {
    while (search->nundo > to) {
        JointUndo undo = search->undo[--search->nundo];
        search->rects[undo.item] = undo.rect;
        if (search->kept[undo.item] != undo.kept) set_kept(search, undo.item, undo.kept);
    }
}

static void push(JointSearch *search, IdList *list, uint32_t id) {
    PUSH(search->memory, list->items, list->count, list->capacity, id);
}

static void evict_gap(JointSearch *search, uint32_t gap) {
    if (!search->kept[gap]) return;
    change_kept(search, gap, false);
    push(search, &search->cut_now, gap);
}

void evict_segment(JointSearch *search, uint32_t item) {
    evict_gap(search, item);
    evict_gap(search, item + 1);
    change_rect(search, item, (Rect){0, 0, 0});
    search->evictions[item]++;
    push(search, &search->charged, item);
    push(search, &search->unplaced, item);
}

void evict_conflicts(JointSearch *search, const Bundle *bundle, Rect rect) {
    ConflictWalk walk = conflicts_begin(search, bundle);
    for (const JointPiece *piece; (piece = conflicts_next(search, bundle, &walk));) {
        if (!takes_room(search, piece) || !rects_meet(search->rects[piece_item(piece)], rect))
            continue;
        if (is_gap(piece))
            evict_gap(search, piece_item(piece));
        else
            evict_segment(search, piece_item(piece));
    }
}

void assign_bundle(JointSearch *search, const Bundle *bundle, Rect rect) {
    for (uint32_t i = bundle->lo; i <= bundle->hi; i++) {
        change_rect(search, i, rect);
        if (i > bundle->lo) change_kept(search, i, true);
    }
}

/* ---- the first state ---- */

void search_begin(JointSearch *search, const JointProblem *problem, Arena *memory) {
    uint32_t count = problem->count;
    *search = (JointSearch){.problem = problem,
                            .items = problem->items,
                            .count = count,
                            .size = problem->size,
                            .kept = NEW_ARRAY(memory, bool, (size_t)count + 1),
                            .rects = NEW_ARRAY(memory, Rect, count),
                            .cuts = NEW_ARRAY(memory, uint32_t, (size_t)problem->nvalues + 1),
                            .cut_list = RAW_ARRAY(memory, uint32_t, count),
                            .cut_place = RAW_ARRAY(memory, uint32_t, count),
                            .evictions = NEW_ARRAY(memory, uint32_t, count),
                            .words = problem->size / 64 + 1,
                            .price = RAW_ARRAY(memory, double, (size_t)problem->size + 2),
                            .random = 0x9E3779B97F4A7C15U,
                            .steps = UINT64_MAX,
                            .memory = memory};
    arena_init(&search->scratch);
    search->maps[0] = RAW_ARRAY(memory, uint64_t, (size_t)search->words * MAPS);
    for (int m = 1; m < MAPS; m++)
        search->maps[m] = search->maps[m - 1] + search->words;
    for (uint32_t i = 0; i < count; i++) {
        const JointSegment *item = &problem->items[i];
        if (item->fixed) search->rects[i] = item->rect;
        search->kept[i] = item->linked;
        if (item->linked && !item->kept) set_kept(search, i, false);
    }
    timeline_fill(search);
}

/* ---- solutions ---- */

JointSolution solution_make(const JointSearch *search) {
    return (JointSolution){RAW_ARRAY(search->memory, Rect, search->count),
                           RAW_ARRAY(search->memory, bool, search->count), INT64_MAX};
}

void solution_save(const JointSearch *search, JointSolution *solution) {
    memcpy(solution->rects, search->rects, search->count * sizeof *solution->rects);
    memcpy(solution->kept, search->kept, search->count * sizeof *solution->kept);
    solution->cost = search->cost;
}

void solution_copy(const JointSearch *search, JointSolution *to, const JointSolution *from) {
    memcpy(to->rects, from->rects, search->count * sizeof *to->rects);
    memcpy(to->kept, from->kept, search->count * sizeof *to->kept);
    to->cost = from->cost;
}

void solution_restore(JointSearch *search, const JointSolution *solution) {
    search->nundo = 0;
    for (uint32_t i = 0; i < search->count; i++) {
        search->rects[i] = solution->rects[i];
        change_kept(search, i, solution->kept[i]);
        search->evictions[i] = 0;
    }
    search->nundo = 0;
}
