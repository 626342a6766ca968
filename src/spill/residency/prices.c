#include "spill/residency/prices.h"

static const double FIRST_STRIDE = 1.1, LEAST_STRIDE = 1e-4;

static void fill_items(DualProblem *problem, const Choice *choice, Arena *scratch) {
    problem->count = choice->count;
    problem->items = RAW_ARRAY(scratch, DualItem, choice->count);
    for (uint32_t i = 0; i < choice->count; i++) {
        const Item *item = &choice->items[i];
        problem->items[i] = (DualItem){.spans = choice->spans + item->spans,
                                       .nspans = item[1].spans - item->spans,
                                       .size = item->height,
                                       .load = (double)item->load};
    }
}

static void add_group(DualProblem *problem, uint32_t end, double store) {
    problem->store[problem->ngroups] = store;
    problem->group_first[++problem->ngroups] = end;
}

/* Each item without a value alone, then those of each value. */
static void fill_groups(DualProblem *problem, const Choice *choice, Arena *scratch) {
    size_t most = (size_t)choice->count + choice->nvalues;
    uint32_t count = 0;
    problem->store = RAW_ARRAY(scratch, double, most);
    problem->group_first = NEW_ARRAY(scratch, uint32_t, most + 1);
    problem->members = RAW_ARRAY(scratch, uint32_t, choice->count);
    for (uint32_t i = 0; i < choice->count; i++) {
        if (choice->items[i].value != NO_VALUE) continue;
        problem->members[count++] = i;
        add_group(problem, count, NO_STORE);
    }
    for (uint32_t value = 0; value < choice->nvalues; value++) {
        for (uint32_t i = choice->value_first[value]; i < choice->value_first[value + 1]; i++)
            problem->members[count++] = choice->value_items[i];
        add_group(problem, count, (double)choice->store[value]);
    }
}

static void fill_capacity(DualProblem *problem, const Choice *choice, Arena *scratch) {
    problem->npoints = choice->npoints;
    problem->lanes = choice->lanes;
    for (uint32_t lane = 0; lane < choice->lanes; lane++) {
        problem->capacity[lane] = RAW_ARRAY(scratch, double, choice->npoints);
        for (uint32_t p = 0; p < choice->npoints; p++)
            problem->capacity[lane][p] = choice->capacity[lane][p];
    }
}

void prices_init(Prices *prices, const Choice *choice, Arena *scratch) {
    prices->problem = (DualProblem){0};
    fill_items(&prices->problem, choice, scratch);
    fill_groups(&prices->problem, choice, scratch);
    fill_capacity(&prices->problem, choice, scratch);
    dual_init(&prices->dual, &prices->problem, scratch);
    prices->dual.stride = FIRST_STRIDE;
    prices->dual.least_stride = LEAST_STRIDE;
}

void prices_improve(Prices *prices, Choice *choice, int64_t cost) {
    for (uint32_t i = 0; i < choice->count; i++)
        prices->problem.items[i].lanes = choice->band[choice->items[i].owner];
    /* A little past the best cost known, or steps would vanish at the optimum. */
    dual_improve(&prices->dual, (double)cost * 1.02 - prices->dual.bound);
    spend(choice, choice->items[choice->count].spans + choice->nvalues +
                      3 * (uint64_t)choice->lanes * choice->npoints);
}

void prices_settle(Prices *prices, Choice *choice) {
    dual_settle(&prices->dual);
    spend(choice, (uint64_t)choice->lanes * choice->npoints);
}

double prices_of(const Prices *prices, uint32_t item, uint8_t band) {
    return dual_price(&prices->dual, item, band);
}
