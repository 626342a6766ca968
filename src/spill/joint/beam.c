#include "spill/joint/beam.h"

#include <string.h>

#include "spill/joint/beam_places.h"
#include "support/clock.h"
#include "support/search.h"

/* ---- one point ---- */

/* True if a state alike is not in the table yet; enters it. */
static bool is_new(Beam *beam, const BeamState *state) {
    uint64_t hash = state->hash ? state->hash : 1;
    uint32_t at = (uint32_t)hash & (beam->table_size - 1);
    for (; beam->table[at]; at = (at + 1) & (beam->table_size - 1))
        if (beam->table[at] == hash) return false;
    beam->table[at] = hash;
    return true;
}

/* The choices of all states, in order of rank. */
static const SortKey *sort_choices(Beam *beam, Arena *scratch) {
    beam->nchoices = 0;
    for (uint32_t i = 0; i < beam->nnow; i++) {
        if (beam->now[i].npending > 0)
            find_beam_places(beam, i);
        else
            beam->choices[beam->nchoices++] = (BeamBranch){i, {0, 0, 0}, beam->now[i].rank};
    }
    SortKey *order = RAW_ARRAY(scratch, SortKey, beam->nchoices);
    for (uint32_t i = 0; i < beam->nchoices; i++)
        order[i] = (SortKey){(uint64_t)beam->choices[i].rank ^ (uint64_t)1 << 63, i};
    sort_keys(order, beam->nchoices, scratch);
    return order;
}

/* Places one more segment in each state and keeps the best states, no two alike. False once no
 * segment is pending. */
static bool grow(Beam *beam, Arena *scratch) {
    const SortKey *order = sort_choices(beam, scratch);
    bool waits = false;
    uint32_t count = 0;
    memset(beam->table, 0, beam->table_size * sizeof *beam->table);
    for (uint32_t i = 0; i < beam->nchoices && count < beam->options.width; i++) {
        BeamBranch choice = beam->choices[order[i].id];
        BeamState *child = &beam->next[count];
        copy_state(beam, child, &beam->now[choice.state]);
        child->rank = choice.rank;
        if (choice.rect.mask) place_pending(beam, child, choice.rect);
        if (!is_new(beam, child)) continue;
        waits |= child->npending > 0;
        count++;
    }
    BeamState *swap = beam->now;
    beam->now = beam->next;
    beam->next = swap;
    beam->nnow = count;
    arena_reset(scratch);
    return waits;
}

/* Begins the segments of a point: a part of the sorted ones. */
static void search_point(Beam *beam, uint32_t first, uint32_t end, Arena *scratch) {
    bool waits = false;
    drop_ended_values(beam);
    for (uint32_t s = 0; s < beam->nnow; s++) {
        BeamState *state = &beam->now[s];
        drop_ended(beam, state);
        for (uint32_t k = first; k < end; k++)
            begin_segment(beam, state, beam->starts[k].id);
        rank_state(beam, state);
        waits |= state->npending > 0;
    }
    while (waits)
        waits = grow(beam, scratch);
    for (uint32_t s = 0; s < beam->nnow; s++)
        rank_state(beam, &beam->now[s]);
}

/* ---- the whole ---- */

/* The first of some sorted keys that is not below one. */
static uint32_t first_from(const SortKey *keys, uint32_t count, uint64_t key) {
    uint32_t at;
    FIND_FIRST(at, 0, count, keys[at].key >= key);
    return at;
}

/* The first of the sorted segments that begins at a point or later. */
static uint32_t starts_from(const Beam *beam, uint32_t point) {
    return first_from(beam->starts, beam->problem->count, (uint64_t)point << 32);
}

static void go_through(Beam *beam) {
    Arena scratch;
    arena_init(&scratch);
    uint32_t last = starts_from(beam, beam->end);
    beam->next_value = first_from(beam->values, beam->nlisted, beam->from);
    for (uint32_t i = starts_from(beam, beam->from), end; i < last && beam->nnow > 0; i = end) {
        beam->point = (uint32_t)(beam->starts[i].key >> 32);
        for (end = i; end < last && beam->starts[end].key >> 32 == beam->point;)
            end++;
        search_point(beam, i, end, &scratch);
        if (clock_is_past(beam->options.deadline)) beam->nnow = 0;
    }
    arena_free(&scratch);
}

/* Gives the segments gone through the places of a state; one that was given none shares the place
 * of the segment before. False if there is no value in that place for it. */
static bool take_places(const Beam *beam, const BeamState *state, JointSolution *solution) {
    const JointSegment *items = beam->items;
    Rect *rects = solution->rects;
    bool *kept = solution->kept;
    uint32_t from = starts_from(beam, beam->from), end = starts_from(beam, beam->end);
    for (uint32_t i = from; i < end; i++)
        rects[beam->starts[i].id].mask = 0;
    for (uint32_t node = state->node; node != NO_NODE; node = beam->records[node].before)
        rects[beam->records[node].item] = beam->records[node].rect;
    for (uint32_t i = from; i < end; i++) {
        uint32_t id = beam->starts[i].id;
        kept[id] = rects[id].mask == 0;
        if (!kept[id]) continue;
        if (!items[id].linked) return false;
        rects[id] = rects[id - 1];
    }
    return true;
}

static const BeamState *cheapest(const Beam *beam) {
    const BeamState *best = &beam->now[0];
    for (uint32_t i = 1; i < beam->nnow; i++)
        if (beam->now[i].cost < best->cost) best = &beam->now[i];
    return best;
}

bool beam_search(Beam *beam, BeamOptions options, JointSolution *solution) {
    beam->from = 0;
    beam->end = beam->problem->npoints;
    beam->rects = NULL;
    beam->kept = NULL;
    beam_begin(beam, options);
    go_through(beam);
    bool found = beam->nnow > 0 && take_places(beam, cheapest(beam), solution);
    arena_free(&beam->own);
    return found;
}

/* ---- between two points ---- */

/* True if the solution has it on chip before a point and at it. */
static bool resident_across(const Beam *beam, uint32_t item, uint32_t point) {
    const JointSegment *items = beam->items;
    if (first_of(items[item].points) >= point) return false;
    if (last_of(items[item].points) >= point) return true;
    return goes_on(beam, item) && beam->kept[item + 1] && first_of(items[item + 1].points) >= point;
}

/* The state when the first point begins. */
static void enter(Beam *beam) {
    BeamState *state = &beam->now[0];
    for (uint32_t i = 0; i < beam->problem->count; i++) {
        const JointSegment *item = &beam->items[i];
        if (resident_across(beam, i, beam->from))
            insert_resident(state, (Resident){beam->rects[i], i, false});
        if (!item->linked || beam->kept[i] || item->value == NO_VALUE) continue;
        uint32_t at = first_of(item->points);
        if (at < beam->from || at >= beam->end) beam->paid[item->value] = beam->search_id;
    }
    beam->steps += beam->problem->count / 4;
}

/* True if a gap lies across the end, and was kept. */
static bool was_kept_across(const Beam *beam, uint32_t gap) {
    return beam->kept[gap] && goes_beyond(beam, gap) &&
           first_of(beam->items[gap - 1].points) < beam->end;
}

/* True if what goes on beyond the end is where it was. */
static bool still_resident(const Beam *beam, const BeamState *state, uint32_t item) {
    for (uint32_t i = 0; i < state->count; i++)
        if (state->residents[i].item == item)
            return rects_same(state->residents[i].rect, beam->rects[item + 1]);
    return false;
}

/* Pays for what was kept across the end and is not there any more. */
static void leave(Beam *beam) {
    for (uint32_t i = 1; i < beam->problem->count; i++) {
        if (!was_kept_across(beam, i)) continue;
        for (uint32_t s = 0; s < beam->nnow; s++)
            if (!still_resident(beam, &beam->now[s], i - 1)) pay_for(beam, &beam->now[s], i);
    }
    beam->steps += beam->problem->count / 4;
}

bool beam_search_between(Beam *beam, BeamOptions options, uint32_t from, uint32_t end,
                         JointSolution *solution) {
    beam->from = from;
    beam->end = end;
    beam->rects = solution->rects;
    beam->kept = solution->kept;
    beam_begin(beam, options);
    enter(beam);
    go_through(beam);
    bool found = beam->nnow > 0;
    if (found) {
        leave(beam);
        const BeamState *best = cheapest(beam);
        for (uint32_t i = 1; i < beam->problem->count; i++)
            if (was_kept_across(beam, i)) solution->kept[i] = still_resident(beam, best, i - 1);
        found = take_places(beam, best, solution);
    }
    arena_free(&beam->own);
    return found;
}

uint64_t beam_steps(const Beam *beam) {
    return beam->steps;
}
