#include "spill/lodge_sweep.h"

#include <string.h>

#include "spill/sweep_state.h"
#include "support/clock.h"
#include "support/search.h"

/* ---- one point ---- */

/* True if a state alike is not in the table yet; enters it. */
static bool is_new(Sweep *pass, const State *state) {
    uint64_t hash = state->hash ? state->hash : 1;
    uint32_t at = (uint32_t)hash & (pass->table_size - 1);
    for (; pass->table[at]; at = (at + 1) & (pass->table_size - 1))
        if (pass->table[at] == hash) return false;
    pass->table[at] = hash;
    return true;
}

/* The choices of all states, in order of rank. */
static const SortKey *sort_choices(Sweep *pass, Arena *scratch) {
    pass->nchoices = 0;
    for (uint32_t i = 0; i < pass->nnow; i++) {
        if (pass->now[i].npending > 0)
            find_places(pass, i);
        else
            pass->choices[pass->nchoices++] = (Branch){i, {0, 0, 0}, pass->now[i].rank};
    }
    SortKey *order = RAW_ARRAY(scratch, SortKey, pass->nchoices);
    for (uint32_t i = 0; i < pass->nchoices; i++)
        order[i] = (SortKey){(uint64_t)pass->choices[i].rank ^ (uint64_t)1 << 63, i};
    sort_keys(order, pass->nchoices, scratch);
    return order;
}

/* One stay more in each state: the best that come of it, no two alike. False once none waits. */
static bool grow(Sweep *pass, Arena *scratch) {
    const SortKey *order = sort_choices(pass, scratch);
    bool waits = false;
    uint32_t count = 0;
    memset(pass->table, 0, pass->table_size * sizeof *pass->table);
    for (uint32_t i = 0; i < pass->nchoices && count < pass->options.width; i++) {
        Branch choice = pass->choices[order[i].id];
        State *child = &pass->next[count];
        copy_state(pass, child, &pass->now[choice.state]);
        child->rank = choice.rank;
        if (choice.rect.mask) place_pending(pass, child, choice.rect);
        if (!is_new(pass, child)) continue;
        waits |= child->npending > 0;
        count++;
    }
    State *swap = pass->now;
    pass->now = pass->next;
    pass->next = swap;
    pass->nnow = count;
    arena_reset(scratch);
    return waits;
}

/* What begins at a point: stays of the sorted ones. */
static void pass_point(Sweep *pass, uint32_t first, uint32_t end, Arena *scratch) {
    bool waits = false;
    forget_values(pass);
    for (uint32_t s = 0; s < pass->nnow; s++) {
        State *state = &pass->now[s];
        forget(pass, state);
        for (uint32_t k = first; k < end; k++)
            begin_stay(pass, state, pass->starts[k].id);
        rank_state(pass, state);
        waits |= state->npending > 0;
    }
    while (waits)
        waits = grow(pass, scratch);
    for (uint32_t s = 0; s < pass->nnow; s++)
        rank_state(pass, &pass->now[s]);
}

/* ---- the whole ---- */

/* The first of some sorted keys that is not below one. */
static uint32_t first_from(const SortKey *keys, uint32_t count, uint64_t key) {
    uint32_t at;
    FIND_FIRST(at, 0, count, keys[at].key >= key);
    return at;
}

/* The first of the sorted stays that begins at a point or later. */
static uint32_t starts_from(const Sweep *pass, uint32_t point) {
    return first_from(pass->starts, pass->problem->count, (uint64_t)point << 32);
}

static void go_through(Sweep *pass) {
    Arena scratch;
    arena_init(&scratch);
    uint32_t last = starts_from(pass, pass->end);
    pass->next_value = first_from(pass->values, pass->nlisted, pass->from);
    for (uint32_t i = starts_from(pass, pass->from), end; i < last && pass->nnow > 0; i = end) {
        pass->point = (uint32_t)(pass->starts[i].key >> 32);
        for (end = i; end < last && pass->starts[end].key >> 32 == pass->point;)
            end++;
        pass_point(pass, i, end, &scratch);
        if (clock_is_past(pass->options.deadline)) pass->nnow = 0;
    }
    arena_free(&scratch);
}

/* Gives the stays gone through the places of a state: what was given none stands on where it stood.
 * False if something that carries on no value was given none. */
static bool take_places(const Sweep *pass, const State *state, Rect *rects, bool *kept) {
    const Lodger *items = pass->items;
    uint32_t from = starts_from(pass, pass->from), end = starts_from(pass, pass->end);
    for (uint32_t i = from; i < end; i++)
        rects[pass->starts[i].id].mask = 0;
    for (uint32_t node = state->node; node != NO_NODE; node = pass->records[node].before)
        rects[pass->records[node].item] = pass->records[node].rect;
    for (uint32_t i = from; i < end; i++) {
        uint32_t id = pass->starts[i].id;
        kept[id] = rects[id].mask == 0;
        if (!kept[id]) continue;
        if (!items[id].linked) return false;
        rects[id] = rects[id - 1];
    }
    return true;
}

static const State *cheapest(const Sweep *pass) {
    const State *best = &pass->now[0];
    for (uint32_t i = 1; i < pass->nnow; i++)
        if (pass->now[i].cost < best->cost) best = &pass->now[i];
    return best;
}

bool sweep(Sweep *pass, SweepOptions options, Rect *rects, bool *kept, uint64_t *steps) {
    pass->from = 0;
    pass->end = pass->problem->npoints;
    pass->rects = NULL;
    pass->kept = NULL;
    sweep_make_states(pass, options);
    go_through(pass);
    bool found = pass->nnow > 0 && take_places(pass, cheapest(pass), rects, kept);
    *steps += pass->steps;
    arena_free(&pass->own);
    return found;
}

/* ---- between two points ---- */

/* True if an answer has it on chip before a point and at it. */
static bool stands_across(const Sweep *pass, uint32_t item, uint32_t point) {
    const Lodger *items = pass->items;
    if (first_of(items[item].points) >= point) return false;
    if (last_of(items[item].points) >= point) return true;
    return goes_on(pass, item) && pass->kept[item + 1] && first_of(items[item + 1].points) >= point;
}

/* The state when the first point begins. */
static void enter(Sweep *pass) {
    State *state = &pass->now[0];
    for (uint32_t i = 0; i < pass->problem->count; i++) {
        const Lodger *item = &pass->items[i];
        if (stands_across(pass, i, pass->from))
            insert_standing(state, (Standing){pass->rects[i], i, false});
        if (!item->linked || pass->kept[i] || item->value == NO_VALUE) continue;
        uint32_t at = first_of(item->points);
        if (at < pass->from || at >= pass->end) pass->paid[item->value] = pass->sweep_id;
    }
    pass->steps += pass->problem->count / 4;
}

/* True if a gap lies across the end, and was kept. */
static bool was_kept_across(const Sweep *pass, uint32_t gap) {
    return pass->kept[gap] && goes_beyond(pass, gap) &&
           first_of(pass->items[gap - 1].points) < pass->end;
}

/* True if what goes on beyond the end stands where it stood. */
static bool still_stands(const Sweep *pass, const State *state, uint32_t item) {
    for (uint32_t i = 0; i < state->count; i++)
        if (state->standing[i].item == item)
            return rects_same(state->standing[i].rect, pass->rects[item + 1]);
    return false;
}

/* Pays for what was kept across the end and does not stand there. */
static void leave(Sweep *pass) {
    for (uint32_t i = 1; i < pass->problem->count; i++) {
        if (!was_kept_across(pass, i)) continue;
        for (uint32_t s = 0; s < pass->nnow; s++)
            if (!still_stands(pass, &pass->now[s], i - 1)) pay_for(pass, &pass->now[s], i);
    }
    pass->steps += pass->problem->count / 4;
}

bool sweep_between(Sweep *pass, SweepOptions options, uint32_t from, uint32_t end, Rect *rects,
                   bool *kept, uint64_t *steps) {
    pass->from = from;
    pass->end = end;
    pass->rects = rects;
    pass->kept = kept;
    sweep_make_states(pass, options);
    enter(pass);
    go_through(pass);
    bool found = pass->nnow > 0;
    if (found) {
        leave(pass);
        const State *best = cheapest(pass);
        for (uint32_t i = 1; i < pass->problem->count; i++)
            if (was_kept_across(pass, i)) kept[i] = still_stands(pass, best, i - 1);
        found = take_places(pass, best, rects, kept);
    }
    *steps += pass->steps;
    arena_free(&pass->own);
    return found;
}

/* ---- before the first sweep ---- */

static void sort_starts(Sweep *pass) {
    const LodgeProblem *problem = pass->problem;
    pass->starts = RAW_ARRAY(pass->memory, SortKey, problem->count);
    double sum = 0;
    for (uint32_t i = 0; i < problem->count; i++) {
        const Lodger *item = &problem->items[i];
        uint32_t order = item->fixed ? 0 : UINT32_MAX - (uint32_t)lodger_area(item);
        pass->starts[i] = (SortKey){(uint64_t)first_of(item->points) << 32 | order, i};
        sum += item->height;
    }
    sort_keys(pass->starts, problem->count, pass->memory);
    pass->typical = problem->count ? sum / problem->count : 0;
}

/* The most ranges at once, of those that `change` counts as differences. */
static uint32_t most_at_once(const uint32_t *change, uint32_t npoints) {
    uint32_t now = 0, most = 0;
    for (uint32_t p = 0; p < npoints; p++) {
        now += change[p];
        if (now > most) most = now;
    }
    return most;
}

static void count_standing(Sweep *pass) {
    const LodgeProblem *problem = pass->problem;
    uint32_t *change = NEW_ARRAY(pass->memory, uint32_t, (size_t)problem->npoints + 1);
    for (uint32_t i = 0; i < problem->count; i++) {
        uint32_t last = last_of(problem->items[i].points);
        if (goes_on(pass, i) && first_of(problem->items[i + 1].points) > last)
            last = first_of(problem->items[i + 1].points);
        change[first_of(problem->items[i].points)]++;
        change[last + 1]--;
    }
    pass->most_standing = most_at_once(change, problem->npoints);
}

static void count_starting(Sweep *pass) {
    for (uint32_t i = 0, same = 0; i < pass->problem->count; i++) {
        bool begins = i == 0 || pass->starts[i].key >> 32 != pass->starts[i - 1].key >> 32;
        same = begins ? 1 : same + 1;
        if (2 * same > pass->most_starting) pass->most_starting = 2 * same; /* loaded, or put out */
    }
}

/* From when to when each value may be stored or loaded, and its slot meanwhile. */
static void find_values(Sweep *pass) {
    const LodgeProblem *problem = pass->problem;
    uint32_t *begin = NEW_ARRAY(pass->memory, uint32_t, problem->nvalues);
    pass->value_end = NEW_ARRAY(pass->memory, uint32_t, problem->nvalues);
    for (uint32_t v = 0; v < problem->nvalues; v++)
        begin[v] = UINT32_MAX;
    for (uint32_t i = 0; i < problem->count; i++) {
        const Lodger *item = &pass->items[i];
        uint32_t value = item->value, point = first_of(item->points);
        if (!item->linked || value == NO_VALUE) continue;
        if (point < begin[value]) begin[value] = point;
        if (point > pass->value_end[value]) pass->value_end[value] = point;
    }
    pass->values = RAW_ARRAY(pass->memory, SortKey, problem->nvalues);
    for (uint32_t v = 0; v < problem->nvalues; v++)
        if (begin[v] != UINT32_MAX) pass->values[pass->nlisted++] = (SortKey){begin[v], v};
    sort_keys(pass->values, pass->nlisted, pass->memory);
}

/* The lowest slot that is free for each value, as of registers: by when each ends, those in use
 * are few. */
static void find_slots(Sweep *pass) {
    uint32_t *busy_to = RAW_ARRAY(pass->memory, uint32_t, pass->nlisted), used = 0;
    pass->slots = NEW_ARRAY(pass->memory, uint32_t, pass->problem->nvalues);
    for (uint32_t i = 0; i < pass->nlisted; i++) {
        uint32_t value = pass->values[i].id, slot = 0;
        while (slot < used && busy_to[slot] >= pass->values[i].key)
            slot++;
        if (slot == used) used++;
        busy_to[slot] = pass->value_end[value];
        pass->slots[value] = slot;
    }
    pass->words = (used + 63) / 64;
    pass->paid = NEW_ARRAY(pass->memory, uint32_t, pass->problem->nvalues);
}

Sweep *sweep_begin(const LodgeProblem *problem, const LodgePrices *prices, Arena *memory) {
    Sweep *pass = NEW(memory, Sweep);
    pass->problem = problem;
    pass->items = problem->items;
    pass->prices = prices;
    pass->memory = memory;
    sort_starts(pass);
    count_standing(pass);
    count_starting(pass);
    find_values(pass);
    find_slots(pass);
    pass->loss = RAW_ARRAY(memory, int64_t, pass->most_standing);
    pass->by_low = RAW_ARRAY(memory, Edge, pass->most_standing);
    pass->by_high = RAW_ARRAY(memory, Edge, pass->most_standing);
    return pass;
}
