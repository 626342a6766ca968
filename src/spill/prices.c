#include "spill/prices.h"

enum { IDLE_PASSES = 10 };
static const double FIRST_STRIDE = 1.0, LEAST_STRIDE = 1e-4, MOST_STRIDE = 2.0;
static const double NEWEST_SHARE = 0.1; /* of a pass in the averages */

void prices_init(Prices *prices, const Choice *choice, Arena *scratch) {
    *prices = (Prices){.stride = FIRST_STRIDE};
    for (uint32_t lane = 0; lane < choice->lanes; lane++) {
        size_t count = (size_t)choice->npoints + 1;
        prices->best[lane] = NEW_ARRAY(scratch, double, count);
        prices->trial[lane] = NEW_ARRAY(scratch, double, count);
        prices->sums[lane] = NEW_ARRAY(scratch, double, count);
        prices->use[lane] = NEW_ARRAY(scratch, double, count);
        prices->change[lane] = NEW_ARRAY(scratch, double, count);
    }
    prices->share = NEW_ARRAY(scratch, float, choice->count);
}

static void sum_up(double *sums, const double *prices, uint32_t npoints) {
    for (uint32_t p = 0; p < npoints; p++)
        sums[p + 1] = sums[p] + prices[p];
}

void prices_settle(Prices *prices, Choice *choice) {
    for (uint32_t lane = 0; lane < choice->lanes; lane++)
        sum_up(prices->sums[lane], prices->best[lane], choice->npoints);
    spend(choice, (uint64_t)choice->lanes * choice->npoints);
}

double prices_of(const Prices *prices, const Choice *choice, uint32_t item, uint8_t band) {
    const Item *it = &choice->items[item];
    double price = 0;
    for (uint32_t lane = 0; lane < choice->lanes; lane++) {
        if (!(band >> lane & 1)) continue;
        const double *sums = prices->sums[lane];
        for (uint32_t s = it->spans; s < it[1].spans; s++)
            price += sums[choice->spans[s].last + 1] - sums[choice->spans[s].first];
    }
    return price * it->height;
}

/* Counts an item as kept: its room in `change`, its part in the average. */
static void count_kept(Prices *prices, const Choice *choice, uint32_t item, double newest) {
    const Item *it = &choice->items[item];
    prices->share[item] += (float)newest;
    for (uint32_t lane = 0; lane < choice->lanes; lane++) {
        if (!(choice->band[it->owner] >> lane & 1)) continue;
        double *change = prices->change[lane];
        for (uint32_t s = it->spans; s < it[1].spans; s++) {
            change[choice->spans[s].first] += it->height;
            change[choice->spans[s].last + 1] -= it->height;
        }
    }
}

static double item_price(const Prices *prices, const Choice *choice, uint32_t item) {
    return prices_of(prices, choice, item, choice->band[choice->items[item].owner]);
}

/* The cheapest decision for one item without a store; returns its cost, price included. */
static double decide_item(Prices *prices, const Choice *choice, uint32_t item, double newest) {
    double price = item_price(prices, choice, item), load = (double)choice->items[item].load;
    if (price >= load) return load;
    count_kept(prices, choice, item, newest);
    return price;
}

/* The cheapest decision for all items of a value: keep them all, or pay the store and keep those
 * that are worth their price. */
static double decide_value(Prices *prices, const Choice *choice, uint32_t value, double newest) {
    uint32_t first = choice->value_first[value], end = choice->value_first[value + 1];
    double all = 0, some = (double)choice->store[value];
    for (uint32_t i = first; i < end; i++) {
        uint32_t item = choice->value_items[i];
        double price = item_price(prices, choice, item), load = (double)choice->items[item].load;
        all += price;
        some += price < load ? price : load;
    }
    if (all <= some) {
        for (uint32_t i = first; i < end; i++)
            count_kept(prices, choice, choice->value_items[i], newest);
        return all;
    }
    for (uint32_t i = first; i < end; i++)
        decide_item(prices, choice, choice->value_items[i], newest);
    return some;
}

/* Decides all; adds to the averages; returns the cost that the trial prices prove. */
static double decide_all(Prices *prices, Choice *choice, double newest) {
    double cost = 0;
    for (uint32_t item = 0; item < choice->count; item++) {
        prices->share[item] *= (float)(1 - newest);
        if (choice->items[item].value == NO_VALUE)
            cost += decide_item(prices, choice, item, newest);
    }
    for (uint32_t value = 0; value < choice->nvalues; value++)
        if (choice->value_first[value] < choice->value_first[value + 1])
            cost += decide_value(prices, choice, value, newest);
    for (uint32_t lane = 0; lane < choice->lanes; lane++) {
        double *change = prices->change[lane], used = 0;
        for (uint32_t p = 0; p < choice->npoints; p++) {
            used += change[p];
            change[p] = 0;
            prices->use[lane][p] += newest * (used - prices->use[lane][p]);
            cost -= prices->trial[lane][p] * choice->capacity[lane][p];
        }
        change[choice->npoints] = 0;
    }
    return cost;
}

/* The squared length of the direction, over the components that can move. */
static double direction_norm(const Prices *prices, const Choice *choice) {
    double norm = 0;
    for (uint32_t lane = 0; lane < choice->lanes; lane++)
        for (uint32_t p = 0; p < choice->npoints; p++) {
            double over = prices->use[lane][p] - choice->capacity[lane][p];
            if (over > 0 || prices->best[lane][p] > 0) norm += over * over;
        }
    return norm;
}

static void take_step(Prices *prices, const Choice *choice, double step) {
    for (uint32_t lane = 0; lane < choice->lanes; lane++) {
        for (uint32_t p = 0; p < choice->npoints; p++) {
            double over = prices->use[lane][p] - choice->capacity[lane][p];
            double price = prices->best[lane][p] + step * over;
            prices->trial[lane][p] = price > 0 ? price : 0;
        }
        sum_up(prices->sums[lane], prices->trial[lane], choice->npoints);
    }
}

/* The trial becomes the best where it proves more; the stride follows the success. */
static void judge_trial(Prices *prices, const Choice *choice, double bound) {
    if (bound > prices->bound || prices->passes == 0) {
        prices->bound = bound;
        prices->idle = 0;
        prices->stride *= 1.1;
        if (prices->stride > MOST_STRIDE) prices->stride = MOST_STRIDE;
        for (uint32_t lane = 0; lane < choice->lanes; lane++)
            for (uint32_t p = 0; p < choice->npoints; p++)
                prices->best[lane][p] = prices->trial[lane][p];
    } else if (++prices->idle % IDLE_PASSES == 0) {
        prices->stride *= 0.66;
        if (prices->stride < LEAST_STRIDE) prices->stride = LEAST_STRIDE;
    }
}

void prices_improve(Prices *prices, Choice *choice, int64_t cost) {
    if (prices->passes > 0) {
        double norm = direction_norm(prices, choice);
        /* A little past the best cost known, or steps would vanish at the optimum. */
        double ahead = (double)cost * 1.02 - prices->bound;
        take_step(prices, choice, norm > 0 ? prices->stride * ahead / norm : 0);
    }
    double bound = decide_all(prices, choice, prices->passes ? NEWEST_SHARE : 1.0);
    judge_trial(prices, choice, bound);
    prices->passes++;
    spend(choice, choice->items[choice->count].spans + choice->nvalues +
                      3 * (uint64_t)choice->lanes * choice->npoints);
}
