#include "spill/residency/solve.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "spill/residency/choice.h"
#include "spill/residency/improve.h"
#include "spill/residency/prices.h"
#include "spill/residency/reduce.h"
#include "support/checked.h"

/* A positive number as a key of which larger ones sort first. */
static uint64_t falling_key(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return ~bits;
}

static SortKey *sorted_items(const Choice *choice, const double *rank, Arena *scratch) {
    SortKey *keys = RAW_ARRAY(scratch, SortKey, choice->count);
    for (uint32_t i = 0; i < choice->count; i++)
        keys[i] = (SortKey){falling_key(rank[i]), i};
    sort_keys(keys, choice->count, scratch);
    return keys;
}

/* Gives each owner, the largest first, the band whose fullest point is least full if all of its
 * items are kept there. Leaves all items kept; returns true if they fit. */
static bool balance_bands(Choice *choice, Arena *scratch) {
    double *rank = NEW_ARRAY(scratch, double, choice->nowners);
    SortKey *keys = RAW_ARRAY(scratch, SortKey, choice->nowners);
    for (uint32_t i = 0; i < choice->count; i++)
        rank[choice->items[i].owner] += (double)choice->items[i].height * choice->items[i].length;
    for (uint32_t o = 0; o < choice->nowners; o++)
        keys[o] = (SortKey){falling_key(rank[o]), o};
    sort_keys(keys, choice->nowners, scratch);
    for (uint32_t k = 0; k < choice->nowners; k++) {
        uint32_t owner = keys[k].id;
        if (choice_is_free(choice, owner)) choice_roomiest(choice, owner);
        for (uint32_t i = choice->owner_items[owner]; i < choice->owner_items[owner + 1]; i++)
            choice_keep(choice, i);
    }
    for (uint32_t lane = 0; lane < choice->lanes; lane++)
        if (tree_most(&choice->trees[lane], 0, choice->npoints - 1) > 0) return false;
    return true;
}

static void keep_if_better(const Choice *choice, Best *best) {
    if (!is_better(choice, best)) return;
    memcpy(best->kept, choice->kept, choice->count);
    memcpy(best->band, choice->band, choice->nowners);
    best->cost = choice->cost;
    best->cut = choice->cut;
}

/* What an item saves, a part of its value's store included. */
static double full_saving(const Choice *choice, uint32_t item) {
    uint32_t value = choice->items[item].value;
    double saving = (double)choice->items[item].load;
    if (value == NO_VALUE) return saving;
    uint32_t count = choice->value_first[value + 1] - choice->value_first[value];
    return saving + (double)choice->store[value] / count;
}

/* Keeps items from nothing, those first that save most for their price. */
static void fill_by_worth(Choice *choice, const double *price, Best *best, Arena *scratch) {
    double *rank = RAW_ARRAY(scratch, double, choice->count);
    for (uint32_t i = 0; i < choice->count; i++)
        rank[i] = full_saving(choice, i) / (price[i] + 1e-9);
    choice_clear(choice);
    choice_fill(choice, sorted_items(choice, rank, scratch), choice->count, true);
    keep_if_better(choice, best);
}

/* Keeps items from nothing, in the order of their share in the averaged relaxation. */
static void fill_by_share(Choice *choice, const Prices *prices, const double *price, Best *best,
                          Arena *scratch) {
    double *rank = RAW_ARRAY(scratch, double, choice->count);
    for (uint32_t i = 0; i < choice->count; i++) {
        double worth = full_saving(choice, i) / (price[i] + 1e-9);
        rank[i] = prices->dual.share[i] + 0.25 * worth / (1 + worth);
    }
    choice_clear(choice);
    choice_fill(choice, sorted_items(choice, rank, scratch), choice->count, false);
    keep_if_better(choice, best);
}

static void area_prices(const Choice *choice, double *price) {
    for (uint32_t i = 0; i < choice->count; i++)
        price[i] = (double)choice->items[i].height * choice->items[i].length;
}

static void settle_prices(Prices *prices, Choice *choice, double *price) {
    prices_settle(prices, choice);
    for (uint32_t i = 0; i < choice->count; i++)
        price[i] = prices_of(prices, i, choice->band[choice->items[i].owner]);
}

/* More steps than these brought no gain when measured: so many, and so many more for each item. */
enum { ROUNDS = 6, PASSES = 50, USEFUL_STEPS = 200000, USEFUL_STEPS_EACH = 40000 };

/* True if no owner has a choice of bands, so that the prices prove a bound for the problem. */
static bool has_no_choice(const Choice *choice) {
    for (uint32_t o = 0; o < choice->nowners; o++)
        if (choice->choices[o].count > 1) return false;
    return true;
}

static void search_choice(Choice *choice, Best *best, Arena *scratch) {
    uint64_t useful = USEFUL_STEPS + (uint64_t)USEFUL_STEPS_EACH * choice->count;
    if (choice->steps > useful) choice->steps = useful;
    uint64_t steps = choice->steps;
    double *price = RAW_ARRAY(scratch, double, choice->count);
    area_prices(choice, price);
    fill_by_worth(choice, price, best, scratch);
    Prices prices;
    prices_init(&prices, choice, scratch);
    for (int round = 0; round < ROUNDS && choice->steps > steps / 2; round++) {
        for (int pass = 0; pass < PASSES && choice->steps > steps / 2; pass++)
            prices_improve(&prices, choice, best->cost);
        settle_prices(&prices, choice, price);
        fill_by_share(choice, &prices, price, best, scratch);
    }
    double least = ceil(prices.dual.bound - 1e-6 * fabs(prices.dual.bound));
    int64_t bound = has_no_choice(choice) && least < (double)best->cost ? (int64_t)least : 0;
    improve(choice, best, &prices, bound, scratch);
}

/* Writes the best choice into the problem; returns its cost, of gaps outside the search too. */
static int64_t write_back(const GapProblem *problem, const Choice *choice, const Best *best,
                          Arena *scratch) {
    uint8_t *stored = NEW_ARRAY(scratch, uint8_t, (size_t)problem->nvalues + 1);
    for (uint32_t i = 0; i < choice->count; i++)
        problem->gaps[choice->items[i].gap].cut = !best->kept[i];
    int64_t cost = 0;
    for (uint32_t g = 0; g < problem->count; g++) {
        const Gap *gap = &problem->gaps[g];
        if (!gap->cut) continue;
        cost = saturating_add(cost, gap->load);
        if (gap->value == NO_VALUE || stored[gap->value]) continue;
        stored[gap->value] = 1;
        cost = saturating_add(cost, problem->store[gap->value]);
    }
    return cost;
}

/* For the assert: gaps are in order of owner, and cover points of the problem, ascending. */
static inline bool gaps_are_sound(const GapProblem *problem) {
    for (uint32_t g = 0; g < problem->count; g++) {
        const Gap *gap = &problem->gaps[g];
        if (gap->load < 0 || (g > 0 && gap[-1].owner > gap->owner)) return false;
        if (gap->value != NO_VALUE && gap->value >= problem->nvalues) return false;
        for (uint32_t i = 0; i < gap->points.count; i++) {
            const Interval *interval = &gap->points.items[i];
            if (interval->last < interval->first || interval->last >= problem->npoints ||
                (i > 0 && interval[-1].last >= interval->first))
                return false;
        }
    }
    return true;
}

int64_t solve_gaps(GapProblem *problem, uint64_t steps, Arena *scratch) {
    assert(gaps_are_sound(problem));
    Choice choice = {.steps = steps};
    reduce(&choice, problem, scratch);
    Best best = {.kept = NEW_ARRAY(scratch, uint8_t, choice.count),
                 .band = NEW_ARRAY(scratch, uint8_t, choice.nowners),
                 .cost = INT64_MAX};
    if (choice.count > 0) {
        if (balance_bands(&choice, scratch))
            keep_if_better(&choice, &best);
        else
            search_choice(&choice, &best, scratch);
    }
    return write_back(problem, &choice, &best, scratch);
}
