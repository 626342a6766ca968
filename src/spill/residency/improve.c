#include "spill/residency/improve.h"

#include <string.h>

#include "support/rng.h"

enum { MOST_NEAR = 64, MOST_OWNED = 32, MOST_TRIED = MOST_NEAR + MOST_OWNED };
enum { DEEPEST_STACK = 80, MOST_DROPPED = 12, WIDEST_LOOK = 8, MOST_LOOKS = 4 };

/* The spans by their first point, with the greatest last point below each node of a tree. */
typedef struct {
    uint32_t *starting; /* [npoints + 1] spans that start before each point */
    uint32_t *item;     /* [spans] in order of first points */
    uint32_t *last;     /* [2 * leaves] */
    uint32_t leaves;
} SpanIndex;

/* An item that was kept or cut, and the band of its owner before. */
typedef struct {
    uint32_t item;
    uint8_t band;
} Flip;

/* From so many steps an item on, a warmer search has time to cool. */
enum { STEPS_FOR_WARMTH = 15000 };

typedef struct {
    Choice *choice;
    Best *best;
    const Prices *prices;
    SpanIndex index;
    uint64_t random;
    double temperature;  /* cycles by which an accepted move may be dearer */
    uint32_t *cut_items; /* [cut] in no order */
    uint32_t *cut_place; /* [count] where in cut_items */
    uint32_t *changed;   /* items that may differ from the best */
    uint8_t *is_changed; /* [count] */
    uint32_t nchanged;
    uint32_t near[MOST_TRIED]; /* items around the point of this move */
    uint32_t nnear;
    uint32_t *found_in; /* [count] the last move that found each item near */
    uint32_t move;
    uint32_t preferred;           /* the value whose items this move favours, or NO_VALUE */
    bool blind;                   /* this move takes items in any order */
    Flip flipped[2 * MOST_TRIED]; /* what this move did, in order */
    uint32_t nflipped;
} Search;

bool is_better(const Choice *choice, const Best *best) {
    return choice->cost < best->cost || (choice->cost == best->cost && choice->cut < best->cut);
}

static uint32_t draw(Search *search, uint32_t bound) {
    return rng_below(&search->random, bound);
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

/* Adds an item to near[base] and after; where those are full, replaces one at random. */
static void add_near(Search *search, uint32_t item, uint32_t base, uint32_t *seen) {
    if (search->found_in[item] == search->move) return;
    search->found_in[item] = search->move;
    uint32_t at = (*seen)++;
    if (base + at >= MOST_NEAR) at = draw(search, *seen);
    if (base + at >= MOST_NEAR) return;
    search->near[base + at] = item;
    if (search->nnear <= base + at) search->nnear = base + at + 1;
}

/* Adds to `near` the items that have a span over some point of [first, last]. */
static void find_near(Search *search, uint32_t first, uint32_t last) {
    const SpanIndex *index = &search->index;
    uint32_t base = search->nnear, limit = index->starting[last + 1], seen = 0, depth = 0;
    uint64_t visited = 0;
    struct {
        uint32_t node, low, width;
    } stack[DEEPEST_STACK];
    stack[depth++].node = 1;
    stack[0].low = 0;
    stack[0].width = index->leaves;
    while (depth > 0) {
        uint32_t node = stack[--depth].node, low = stack[depth].low, width = stack[depth].width;
        visited++;
        if (low >= limit || index->last[node] < first) continue;
        if (width == 1) {
            add_near(search, index->item[low], base, &seen);
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

/* Flips an item, its owner in the given band from then on; notes how to undo it. */
static void try_flip(Search *search, uint32_t item, uint8_t band) {
    uint8_t *now = &search->choice->band[search->choice->items[item].owner];
    search->flipped[search->nflipped++] = (Flip){item, *now};
    *now = band;
    flip(search, item);
}

static void undo_flips(Search *search) {
    while (search->nflipped > 0) {
        Flip last = search->flipped[--search->nflipped];
        flip(search, last.item);
        search->choice->band[search->choice->items[last.item].owner] = last.band;
    }
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

static uint8_t band_of(const Search *search, uint32_t item) {
    return search->choice->band[search->choice->items[item].owner];
}

/* Cuts all items of an owner, so that it may choose another band, and adds them to `near`. */
static void ruin_owner(Search *search, uint32_t owner) {
    const Choice *choice = search->choice;
    uint32_t first = choice->owner_items[owner], end = choice->owner_items[owner + 1];
    if (end - first > MOST_OWNED) return;
    for (uint32_t item = first; item < end; item++) {
        if (choice->kept[item]) try_flip(search, item, choice->band[owner]);
        if (search->found_in[item] == search->move) continue;
        search->found_in[item] = search->move;
        search->near[search->nnear++] = item;
    }
}

/* Ruin: cuts a few random kept items near, sometimes all those of an owner first. */
static void ruin(Search *search) {
    const Choice *choice = search->choice;
    uint32_t wanted = 1 + draw(search, MOST_DROPPED), start = draw(search, search->nnear);
    uint32_t owner = choice->items[search->near[start]].owner;
    if (choice->choices[owner].count > 1 && draw(search, 2)) ruin_owner(search, owner);
    for (uint32_t i = 0; i < search->nnear && wanted > 0; i++) {
        uint32_t item = search->near[(start + i) % search->nnear];
        if (!choice->kept[item] || draw(search, 2)) continue;
        try_flip(search, item, band_of(search, item));
        wanted--;
    }
}

/* What keeping an item saves over the price of its granules, randomised. */
static double worth(Search *search, uint32_t item) {
    const Choice *choice = search->choice;
    const Item *it = &choice->items[item];
    double saving = (double)it->load;
    if (it->value != NO_VALUE) saving += (double)choice->store[it->value] / choice->cuts[it->value];
    double price = prices_of(search->prices, item, band_of(search, item));
    double chance = 0.5 + draw_unit(search);
    if (it->value != NO_VALUE && it->value == search->preferred) chance *= 16;
    return search->blind ? chance : saving / (price + 1e-9) * chance;
}

/* Keeps a cut item if it fits, in the cheapest band if its owner is free. */
static void try_keep(Search *search, uint32_t item) {
    Choice *choice = search->choice;
    uint32_t owner = choice->items[item].owner;
    if (!choice_is_free(choice, owner)) {
        if (choice_fits(choice, item, choice->band[owner]))
            try_flip(search, item, choice->band[owner]);
        return;
    }
    Bands bands = choice->choices[owner];
    uint8_t chosen = 0;
    double least = 0;
    for (int b = 0; b < bands.count; b++) {
        if (!choice_fits(choice, item, bands.masks[b])) continue;
        double price = prices_of(search->prices, item, bands.masks[b]);
        price *= 0.5 + draw_unit(search);
        if (chosen && price >= least) continue;
        chosen = bands.masks[b];
        least = price;
    }
    if (chosen) try_flip(search, item, chosen);
}

/* Recreate: keeps the cut items near that fit, the worthiest first. */
static void recreate(Search *search) {
    uint32_t items[MOST_TRIED], count = 0;
    double worths[MOST_TRIED];
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
    for (uint32_t i = 0; i < count; i++)
        try_keep(search, items[i]);
}

/* Adds to `near` the items that pass a random point of the item or one of the few points after. */
static void look_around(Search *search, uint32_t item) {
    const Choice *choice = search->choice;
    const Item *it = &choice->items[item];
    Interval span = choice->spans[it->spans + draw(search, it[1].spans - it->spans)];
    uint32_t point = span.first + draw(search, span.last - span.first + 1);
    uint32_t last = point + draw(search, WIDEST_LOOK);
    find_near(search, point, last < choice->npoints ? last : choice->npoints - 1);
}

/* Looks around a random cut item. Sometimes looks around the others of its value too and prefers
 * them: only all of them together save its store. */
static void look(Search *search) {
    const Choice *choice = search->choice;
    uint32_t picked = search->cut_items[draw(search, choice->cut)];
    uint32_t value = choice->items[picked].value;
    search->nnear = 0;
    search->move++;
    search->preferred = NO_VALUE;
    look_around(search, picked);
    if (value == NO_VALUE || draw(search, 4)) return;
    search->preferred = value;
    uint32_t end = choice->value_first[value + 1], looks = 0;
    for (uint32_t i = choice->value_first[value]; i < end && looks < MOST_LOOKS; i++) {
        uint32_t item = choice->value_items[i];
        if (choice->kept[item] || item == picked) continue;
        look_around(search, item);
        looks++;
    }
}

/* One move: ruins and recreates somewhere; undoes it if that is too dear. */
static void try_move(Search *search) {
    Choice *choice = search->choice;
    int64_t before = choice->cost;
    uint32_t cut = choice->cut;
    search->nflipped = 0;
    search->blind = draw(search, 4) == 0;
    look(search);
    ruin(search);
    recreate(search);
    double dearer = (double)(choice->cost - before) + (choice->cut > cut ? 1e-6 : 0);
    if (dearer > 0 && dearer > search->temperature * draw_unit(search))
        undo_flips(search);
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
    search->found_in = NEW_ARRAY(scratch, uint32_t, choice->count);
    uint32_t cut = 0;
    for (uint32_t item = 0; item < choice->count; item++) {
        if (choice->kept[item]) continue;
        search->cut_place[item] = cut;
        search->cut_items[cut++] = item;
    }
}

void improve(Choice *choice, Best *best, const Prices *prices, int64_t bound, Arena *scratch) {
    choice_restore(choice, best->kept, best->band);
    Search search = {.choice = choice, .best = best, .prices = prices};
    search_init(&search, scratch);
    uint64_t all = choice->steps;
    double warmth = all / choice->count >= STEPS_FOR_WARMTH ? 0.5 : 0.2;
    double mean = choice->cut ? (double)choice->cost / choice->cut : 0;
    while (choice->steps > 0 && choice->cut > 0 && best->cost > bound) {
        double left = (double)choice->steps / (double)all;
        search.temperature = mean * warmth * left * left;
        try_move(&search);
    }
}
