#include "spill/lodge_prices.h"

enum { IDLE_PASSES = 10 };
static const double FIRST_STRIDE = 1.0, LEAST_STRIDE = 1e-3, MOST_STRIDE = 2.0;
static const double NEWEST_SHARE = 0.1; /* of a pass in the averages */

/* The linked gaps that take room, by the value that they carry. */
typedef struct {
    const LodgeProblem *problem;
    uint32_t *first; /* [nvalues + 2] into gaps; the last list is of those without a value */
    uint32_t *gaps;
    double *room;   /* [npoints] area that the stays leave */
    double *best;   /* [npoints] the best prices so far */
    double *trial;  /* [npoints] those that are tried */
    double *sums;   /* [npoints + 1] of the trial */
    double *use;    /* [npoints] area that is kept, an average over passes */
    double *change; /* [npoints + 1] scratch */
    double *stored; /* [nvalues] an average over passes */
} Dual;

double lodger_area(const Lodger *item) {
    return (double)item->height * class_quadrants(item->class);
}

static void list_gaps(Dual *dual, Arena *memory) {
    const LodgeProblem *problem = dual->problem;
    uint32_t nlists = problem->nvalues + 1;
    dual->first = NEW_ARRAY(memory, uint32_t, (size_t)nlists + 2);
    dual->gaps = RAW_ARRAY(memory, uint32_t, problem->count);
    uint32_t *next = dual->first + 1;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < problem->count; i++) {
            const Lodger *item = &problem->items[i];
            if (!item->linked || item->gap.count == 0) continue;
            uint32_t list = item->value == NO_VALUE ? problem->nvalues : item->value;
            if (fill)
                dual->gaps[next[list]++] = i;
            else
                next[list + 1]++;
        }
        for (uint32_t list = 0; !fill && list < nlists; list++)
            next[list + 1] += next[list];
    }
}

static void add_range(double *change, LiveRange range, double amount) {
    for (uint32_t i = 0; i < range.count; i++) {
        change[range.items[i].first] += amount;
        change[range.items[i].last + 1] -= amount;
    }
}

static void find_room(Dual *dual) {
    const LodgeProblem *problem = dual->problem;
    for (uint32_t i = 0; i < problem->count; i++)
        add_range(dual->change, problem->items[i].points, lodger_area(&problem->items[i]));
    double taken = 0, all = (double)problem->size * QUADRANTS;
    for (uint32_t p = 0; p < problem->npoints; p++) {
        taken += dual->change[p];
        dual->change[p] = 0;
        dual->room[p] = taken < all ? all - taken : 0;
    }
    dual->change[problem->npoints] = 0;
}

static double price_of(const Dual *dual, uint32_t gap) {
    const Lodger *item = &dual->problem->items[gap];
    double sum = 0;
    for (uint32_t i = 0; i < item->gap.count; i++)
        sum += dual->sums[item->gap.items[i].last + 1] - dual->sums[item->gap.items[i].first];
    return sum * lodger_area(item);
}

static void count_kept(Dual *dual, uint32_t gap) {
    const Lodger *item = &dual->problem->items[gap];
    add_range(dual->change, item->gap, lodger_area(item));
}

/* The cheapest decision for the gaps of a value: all are kept, or the store is paid and those are
 * kept that are worth their price. Returns its cost, prices included. */
static double decide_value(Dual *dual, uint32_t value, double newest) {
    uint32_t first = dual->first[value], end = dual->first[value + 1];
    bool storable = value < dual->problem->nvalues;
    double all = 0, some = storable ? (double)dual->problem->store[value] : 0;
    for (uint32_t g = first; g < end; g++) {
        double price = price_of(dual, dual->gaps[g]);
        double load = (double)dual->problem->items[dual->gaps[g]].load;
        all += price;
        some += price < load ? price : load;
    }
    bool keep_all = storable && all <= some;
    for (uint32_t g = first; g < end; g++) {
        double load = (double)dual->problem->items[dual->gaps[g]].load;
        if (keep_all || price_of(dual, dual->gaps[g]) < load) count_kept(dual, dual->gaps[g]);
    }
    if (storable) dual->stored[value] += newest * (!keep_all - dual->stored[value]);
    return keep_all ? all : some;
}

static double decide_all(Dual *dual, double newest) {
    double cost = 0, used = 0;
    for (uint32_t value = 0; value <= dual->problem->nvalues; value++)
        if (dual->first[value] < dual->first[value + 1]) cost += decide_value(dual, value, newest);
    for (uint32_t p = 0; p < dual->problem->npoints; p++) {
        used += dual->change[p];
        dual->change[p] = 0;
        dual->use[p] += newest * (used - dual->use[p]);
        cost -= dual->trial[p] * dual->room[p];
    }
    dual->change[dual->problem->npoints] = 0;
    return cost;
}

static void take_step(Dual *dual, double ahead, double stride) {
    uint32_t npoints = dual->problem->npoints;
    double norm = 0;
    for (uint32_t p = 0; p < npoints; p++) {
        double over = dual->use[p] - dual->room[p];
        if (over > 0 || dual->best[p] > 0) norm += over * over;
    }
    double step = norm > 0 ? stride * ahead / norm : 0;
    for (uint32_t p = 0; p < npoints; p++) {
        double price = dual->best[p] + step * (dual->use[p] - dual->room[p]);
        dual->trial[p] = price > 0 ? price : 0;
        dual->sums[p + 1] = dual->sums[p] + dual->trial[p];
    }
}

static double most_cost(const LodgeProblem *problem) {
    double cost = 0;
    for (uint32_t i = 0; i < problem->count; i++)
        if (problem->items[i].linked) cost += (double)problem->items[i].load;
    return cost;
}

static void improve(Dual *dual, uint32_t passes) {
    uint32_t npoints = dual->problem->npoints, idle = 0;
    double bound = decide_all(dual, 1), stride = FIRST_STRIDE, most = most_cost(dual->problem);
    for (uint32_t pass = 1; pass < passes; pass++) {
        double ahead = bound > most / 8 ? bound * 0.1 : most / 8;
        take_step(dual, ahead, stride);
        double found = decide_all(dual, NEWEST_SHARE);
        if (found > bound) {
            bound = found;
            idle = 0;
            stride = stride * 1.1 < MOST_STRIDE ? stride * 1.1 : MOST_STRIDE;
            for (uint32_t p = 0; p < npoints; p++)
                dual->best[p] = dual->trial[p];
        } else if (++idle % IDLE_PASSES == 0) {
            stride = stride * 0.66 > LEAST_STRIDE ? stride * 0.66 : LEAST_STRIDE;
        }
    }
    for (uint32_t p = 0; p < npoints; p++)
        dual->sums[p + 1] = dual->sums[p] + dual->best[p];
}

LodgePrices lodge_prices(const LodgeProblem *problem, uint32_t passes, Arena *memory) {
    size_t npoints = problem->npoints;
    Dual dual = {.problem = problem,
                 .room = NEW_ARRAY(memory, double, npoints),
                 .best = NEW_ARRAY(memory, double, npoints),
                 .trial = NEW_ARRAY(memory, double, npoints),
                 .sums = NEW_ARRAY(memory, double, npoints + 1),
                 .use = NEW_ARRAY(memory, double, npoints),
                 .change = NEW_ARRAY(memory, double, npoints + 1),
                 .stored = NEW_ARRAY(memory, double, (size_t)problem->nvalues + 1)};
    list_gaps(&dual, memory);
    find_room(&dual);
    improve(&dual, passes);
    return (LodgePrices){dual.sums, dual.stored};
}
