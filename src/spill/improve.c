#include "spill/improve.h"

#include <string.h>

enum { MOST_NEAR = 64, DEEPEST_STACK = 80, MOST_DROPPED = 12 };

/* The spans by their first point, with the greatest last point below each node of a tree. */
typedef struct {
    uint32_t *starting; /* [npoints + 1] spans that start before each point */
    uint32_t *item;     /* [spans] in order of first points */
    uint32_t *last;     /* [2 * leaves] */
    uint32_t leaves;
} SpanIndex;

typedef struct {
    Choice *choice;
    Best *best;
    const double *price;
    SpanIndex index;
    uint64_t random;
    double heat;         /* how much dearer a choice may be to be accepted, cycles */
    uint32_t *cut_items; /* [cut] in no order */
    uint32_t *cut_place; /* [count] where in cut_items */
    uint32_t *changed;   /* items that may differ from the best */
    uint8_t *is_changed; /* [count] */
    uint32_t nchanged;
    uint32_t near[MOST_NEAR]; /* items around the point of this trial */
    uint32_t nnear;
    uint32_t *met; /* [count] the last trial that met each item */
    uint32_t trial;
    uint32_t flipped[2 * MOST_NEAR]; /* what this trial did, in order */
    uint32_t nflipped;
} Search;

bool is_better(const Choice *choice, const Best *best) {
    return choice->cost < best->cost || (choice->cost == best->cost && choice->cut < best->cut);
}

static uint32_t draw(Search *search, uint32_t bound) {
    search->random ^= search->random >> 12;
    search->random ^= search->random << 25;
    search->random ^= search->random >> 27;
    return (uint32_t)((search->random * 0x2545F4914F6CDD1DU >> 32) * bound >> 32);
}

/* In [0, 1). */
static double draw_unit(Search *search) {
    return draw(search, 1U << 24) / (double)(1U << 24);
}

static void index_spans(SpanIndex *index, const Choice *choice, Arena *scratch) {
    uint32_t nspans = choice->items[choice->count].spans;
    index->starting = NEW_ARRAY(scratch, uint32_t, (size_t)choice->npoints + 2);
    index->item = RAW_ARRAY(scratch, uint32_t, nspans);
    for (index->leaves = 1; index->leaves < nspans;)
        index->leaves *= 2;
    index->last = NEW_ARRAY(scratch, uint32_t, (size_t)index->leaves * 2);
    for (uint32_t s = 0; s < nspans; s++)
        index->starting[choice->spans[s].first + 1]++;
    for (uint32_t p = 0; p < choice->npoints; p++)
        index->starting[p + 1] += index->starting[p];
    uint32_t *next = RAW_ARRAY(scratch, uint32_t, (size_t)choice->npoints + 1);
    memcpy(next, index->starting, ((size_t)choice->npoints + 1) * sizeof *next);
    for (uint32_t item = 0; item < choice->count; item++)
        for (uint32_t s = choice->items[item].spans; s < choice->items[item + 1].spans; s++) {
            uint32_t at = next[choice->spans[s].first]++;
            index->item[at] = item;
            index->last[index->leaves + at] = choice->spans[s].last;
        }
    for (uint32_t node = index->leaves - 1; node >= 1; node--) {
        uint32_t left = index->last[2 * node], right = index->last[2 * node + 1];
        index->last[node] = left > right ? left : right;
    }
}

/* Adds an item met; when there is no more space, replaces one by chance. */
static void meet(Search *search, uint32_t item, uint32_t *seen) {
    if (search->met[item] == search->trial) return;
    search->met[item] = search->trial;
    uint32_t at = (*seen)++;
    if (at >= MOST_NEAR) at = draw(search, *seen);
    if (at >= MOST_NEAR) return;
    search->near[at] = item;
    if (search->nnear < MOST_NEAR) search->nnear++;
}

/* Fills `near` with the items that have a span over some point of [first, last]. */
static void find_near(Search *search, uint32_t first, uint32_t last) {
    const SpanIndex *index = &search->index;
    uint32_t limit = index->starting[last + 1], seen = 0, depth = 0;
    uint64_t visited = 0;
    struct {
        uint32_t node, low, width;
    } stack[DEEPEST_STACK];
    search->nnear = 0;
    search->trial++;
    stack[depth++].node = 1;
    stack[0].low = 0;
    stack[0].width = index->leaves;
    while (depth > 0) {
        uint32_t node = stack[--depth].node, low = stack[depth].low, width = stack[depth].width;
        visited++;
        if (low >= limit || index->last[node] < first) continue;
        if (width == 1) {
            meet(search, index->item[low], &seen);
            continue;
        }
        stack[depth].node = 2 * node + 1;
        stack[depth].low = low + width / 2;
        stack[depth++].width = width / 2;
        stack[depth].node = 2 * node;
        stack[depth].low = low;
        stack[depth++].width = width / 2;
    }
    spend(search->choice, visited);
}

static void list_cut(Search *search, uint32_t item, bool cut) {
    Choice *choice = search->choice;
    if (cut) {
        search->cut_place[item] = choice->cut - 1;
        search->cut_items[choice->cut - 1] = item;
        return;
    }
    uint32_t place = search->cut_place[item], moved = search->cut_items[choice->cut];
    search->cut_items[place] = moved;
    search->cut_place[moved] = place;
}

/* Turns an item from kept to cut or back, and notes it. */
static void flip(Search *search, uint32_t item) {
    bool cut = search->choice->kept[item];
    if (cut)
        choice_drop(search->choice, item);
    else
        choice_keep(search->choice, item);
    list_cut(search, item, cut);
    if (search->is_changed[item]) return;
    search->is_changed[item] = 1;
    search->changed[search->nchanged++] = item;
}

static void try_flip(Search *search, uint32_t item) {
    flip(search, item);
    search->flipped[search->nflipped++] = item;
}

static void remember_best(Search *search) {
    Choice *choice = search->choice;
    for (uint32_t i = 0; i < search->nchanged; i++) {
        uint32_t item = search->changed[i], owner = choice->items[item].owner;
        search->best->kept[item] = choice->kept[item];
        search->best->band[owner] = choice->band[owner];
        search->is_changed[item] = 0;
    }
    search->nchanged = 0;
    search->best->cost = choice->cost;
    search->best->cut = choice->cut;
}

/* Cuts a few of the kept items near, by chance; `spared` stays. */
static void ruin(Search *search) {
    uint32_t wanted = 1 + draw(search, MOST_DROPPED), start = draw(search, search->nnear);
    for (uint32_t i = 0; i < search->nnear && wanted > 0; i++) {
        uint32_t item = search->near[(start + i) % search->nnear];
        if (!search->choice->kept[item] || draw(search, 2)) continue;
        try_flip(search, item);
        wanted--;
    }
}

/* What a cut item saves against the worth of its room, with some chance in it. */
static double worth(Search *search, uint32_t item) {
    const Choice *choice = search->choice;
    const Item *it = &choice->items[item];
    double saving = (double)it->load;
    if (it->value != NO_VALUE) saving += (double)choice->store[it->value] / choice->cuts[it->value];
    return saving / (search->price[item] + 1e-9) * (0.5 + draw_unit(search));
}

/* Keeps cut items near, the worthiest first, as they fit. */
static void recreate(Search *search) {
    uint32_t items[MOST_NEAR], count = 0;
    double worths[MOST_NEAR];
    for (uint32_t i = 0; i < search->nnear; i++) {
        uint32_t item = search->near[i], at = count;
        if (search->choice->kept[item]) continue;
        double own = worth(search, item);
        for (; at > 0 && worths[at - 1] < own; at--) {
            worths[at] = worths[at - 1];
            items[at] = items[at - 1];
        }
        worths[at] = own;
        items[at] = item;
        count++;
    }
    Choice *choice = search->choice;
    for (uint32_t i = 0; i < count; i++)
        if (choice_fits(choice, items[i], choice->band[choice->items[items[i]].owner]))
            try_flip(search, items[i]);
}

/* One trial around a point of some cut item. */
static void try_point(Search *search) {
    Choice *choice = search->choice;
    uint32_t item = search->cut_items[draw(search, choice->cut)];
    const Item *it = &choice->items[item];
    Interval span = choice->spans[it->spans + draw(search, it[1].spans - it->spans)];
    uint32_t point = span.first + draw(search, span.last - span.first + 1);
    uint32_t last = point + draw(search, 8);
    if (last >= choice->npoints) last = choice->npoints - 1;
    int64_t before = choice->cost;
    uint32_t cut = choice->cut;
    search->nflipped = 0;
    find_near(search, point, last);
    ruin(search);
    recreate(search);
    double dearer = (double)(choice->cost - before) + (choice->cut > cut ? 1e-6 : 0);
    if (dearer > 0 && dearer > search->heat * draw_unit(search))
        while (search->nflipped > 0)
            flip(search, search->flipped[--search->nflipped]);
    else if (is_better(choice, search->best))
        remember_best(search);
}

static void search_init(Search *search, Arena *scratch) {
    Choice *choice = search->choice;
    index_spans(&search->index, choice, scratch);
    search->random = 0x9E3779B97F4A7C15U;
    search->cut_items = RAW_ARRAY(scratch, uint32_t, choice->count);
    search->cut_place = RAW_ARRAY(scratch, uint32_t, choice->count);
    search->changed = RAW_ARRAY(scratch, uint32_t, choice->count);
    search->is_changed = NEW_ARRAY(scratch, uint8_t, choice->count);
    search->met = NEW_ARRAY(scratch, uint32_t, choice->count);
    uint32_t cut = 0;
    for (uint32_t item = 0; item < choice->count; item++) {
        if (choice->kept[item]) continue;
        search->cut_place[item] = cut;
        search->cut_items[cut++] = item;
    }
}

static void return_to_best(Search *search) {
    while (search->nchanged > 0) {
        uint32_t item = search->changed[--search->nchanged];
        if (search->choice->kept[item] != search->best->kept[item]) {
            search->is_changed[item] = 1;
            flip(search, item);
        }
        search->is_changed[item] = 0;
    }
}

void improve_choice(Choice *choice, Best *best, double *price, int64_t bound, uint64_t steps,
                    Arena *scratch) {
    Search search = {.choice = choice, .best = best, .price = price};
    search_init(&search, scratch);
    uint64_t all = steps < choice->steps ? steps : choice->steps, end = choice->steps - all;
    double mean = choice->cut ? (double)choice->cost / choice->cut : 0;
    while (choice->steps > end && choice->cut > 0 && best->cost > bound) {
        double left = (double)(choice->steps - end) / (double)all;
        search.heat = mean * 0.5 * left * left;
        try_point(&search);
    }
    return_to_best(&search);
}
