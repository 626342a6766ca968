#include "spill/dual.h"

enum { IDLE_PASSES = 10 };
static const double FIRST_STRIDE = 1.0, MOST_STRIDE = 2.0;
static const double NEWEST_SHARE = 0.1; /* of a pass in the averages */

void dual_init(Dual *dual, const DualProblem *problem, Arena *memory) {
    *dual = (Dual){.problem = problem, .stride = FIRST_STRIDE};
    for (uint32_t lane = 0; lane < problem->lanes; lane++) {
        size_t count = (size_t)problem->npoints + 1;
        dual->best[lane] = NEW_ARRAY(memory, double, count);
        dual->trial[lane] = NEW_ARRAY(memory, double, count);
        dual->sums[lane] = NEW_ARRAY(memory, double, count);
        dual->use[lane] = NEW_ARRAY(memory, double, count);
        dual->change[lane] = NEW_ARRAY(memory, double, count);
    }
    dual->share = NEW_ARRAY(memory, float, problem->count);
    dual->stored = NEW_ARRAY(memory, double, problem->ngroups);
}

static void sum_up(double *sums, const double *prices, uint32_t npoints) {
    for (uint32_t p = 0; p < npoints; p++)
        sums[p + 1] = sums[p] + prices[p];
}

void dual_settle(Dual *dual) {
    for (uint32_t lane = 0; lane < dual->problem->lanes; lane++)
        sum_up(dual->sums[lane], dual->best[lane], dual->problem->npoints);
}

double dual_price(const Dual *dual, uint32_t item, uint8_t lanes) {
    const DualItem *it = &dual->problem->items[item];
    double price = 0;
    for (uint32_t lane = 0; lane < dual->problem->lanes; lane++) {
        if (!(lanes >> lane & 1)) continue;
        const double *sums = dual->sums[lane];
        for (uint32_t s = 0; s < it->nspans; s++)
            price += sums[it->spans[s].last + 1] - sums[it->spans[s].first];
    }
    return price * it->size;
}

/* ---- decisions at given prices ---- */

/* Counts an item as kept: its room in `change`, its part in the average. */
static void count_kept(Dual *dual, uint32_t item, double newest) {
    const DualItem *it = &dual->problem->items[item];
    dual->share[item] += (float)newest;
    for (uint32_t lane = 0; lane < dual->problem->lanes; lane++) {
        if (!(it->lanes >> lane & 1)) continue;
        double *change = dual->change[lane];
        for (uint32_t s = 0; s < it->nspans; s++) {
            change[it->spans[s].first] += it->size;
            change[it->spans[s].last + 1] -= it->size;
        }
    }
}

static double own_price(const Dual *dual, uint32_t item) {
    return dual_price(dual, item, dual->problem->items[item].lanes);
}

/* The cheapest decision for the items of a group: keep all, or pay the store and keep those that
 * are worth their price. Returns its cost, prices included. */
static double decide_group(Dual *dual, uint32_t group, double newest) {
    const DualProblem *problem = dual->problem;
    uint32_t first = problem->group_first[group], end = problem->group_first[group + 1];
    bool storable = problem->store[group] >= 0;
    double all = 0, some = storable ? problem->store[group] : 0;
    for (uint32_t m = first; m < end; m++) {
        double price = own_price(dual, problem->members[m]);
        double load = problem->items[problem->members[m]].load;
        all += price;
        some += price < load ? price : load;
    }
    bool keep_all = storable && all <= some;
    for (uint32_t m = first; m < end; m++) {
        uint32_t item = problem->members[m];
        if (keep_all || own_price(dual, item) < problem->items[item].load)
            count_kept(dual, item, newest);
    }
    if (storable) dual->stored[group] += newest * (!keep_all - dual->stored[group]);
    return keep_all ? all : some;
}

/* Adds the room used in a lane to the average; returns the cost less what the lane's capacity is
 * worth. */
static double count_room(Dual *dual, uint32_t lane, double cost, double newest) {
    const DualProblem *problem = dual->problem;
    double *change = dual->change[lane], used = 0;
    for (uint32_t p = 0; p < problem->npoints; p++) {
        used += change[p];
        change[p] = 0;
        dual->use[lane][p] += newest * (used - dual->use[lane][p]);
        cost -= dual->trial[lane][p] * problem->capacity[lane][p];
    }
    change[problem->npoints] = 0;
    return cost;
}

/* Decides all; adds to the averages; returns the cost that the trial prices prove. */
static double decide_all(Dual *dual, double newest) {
    const DualProblem *problem = dual->problem;
    double cost = 0;
    for (uint32_t item = 0; item < problem->count; item++)
        dual->share[item] *= (float)(1 - newest);
    for (uint32_t group = 0; group < problem->ngroups; group++)
        if (problem->group_first[group] < problem->group_first[group + 1])
            cost += decide_group(dual, group, newest);
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        cost = count_room(dual, lane, cost, newest);
    return cost;
}

/* ---- steps ---- */

/* The squared length of the direction, over the components that can move. */
static double direction_norm(const Dual *dual) {
    const DualProblem *problem = dual->problem;
    double norm = 0;
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        for (uint32_t p = 0; p < problem->npoints; p++) {
            double over = dual->use[lane][p] - problem->capacity[lane][p];
            if (over > 0 || dual->best[lane][p] > 0) norm += over * over;
        }
    return norm;
}

static void take_step(Dual *dual, double step) {
    const DualProblem *problem = dual->problem;
    for (uint32_t lane = 0; lane < problem->lanes; lane++) {
        for (uint32_t p = 0; p < problem->npoints; p++) {
            double over = dual->use[lane][p] - problem->capacity[lane][p];
            double price = dual->best[lane][p] + step * over;
            dual->trial[lane][p] = price > 0 ? price : 0;
        }
        sum_up(dual->sums[lane], dual->trial[lane], problem->npoints);
    }
}

static void accept_trial(Dual *dual, double bound) {
    dual->bound = bound;
    dual->idle = 0;
    for (uint32_t lane = 0; lane < dual->problem->lanes; lane++)
        for (uint32_t p = 0; p < dual->problem->npoints; p++)
            dual->best[lane][p] = dual->trial[lane][p];
}

/* The trial becomes the best where it proves more; the stride follows the success. */
static void judge_trial(Dual *dual, double bound) {
    if (bound > dual->bound) {
        accept_trial(dual, bound);
        dual->stride *= 1.1;
        if (dual->stride > MOST_STRIDE) dual->stride = MOST_STRIDE;
    } else if (++dual->idle % IDLE_PASSES == 0) {
        dual->stride *= 0.66;
        if (dual->stride < dual->least_stride) dual->stride = dual->least_stride;
    }
}

void dual_improve(Dual *dual, double ahead) {
    if (dual->passes++ == 0) {
        accept_trial(dual, decide_all(dual, 1));
        return;
    }
    double norm = direction_norm(dual);
    take_step(dual, norm > 0 ? dual->stride * ahead / norm : 0);
    judge_trial(dual, decide_all(dual, NEWEST_SHARE));
}
