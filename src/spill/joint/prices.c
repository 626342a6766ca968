#include "spill/joint/prices.h"

#include "spill/dual.h"

static const double LEAST_STRIDE = 1e-3;

static bool takes_part(const JointSegment *item) {
    return item->linked && item->gap.count > 0;
}

/* Gaps by the value that they carry; the last group is of those without one. */
static void fill_groups(DualProblem *dual, const JointProblem *problem, Arena *memory) {
    dual->ngroups = problem->nvalues + 1;
    dual->store = RAW_ARRAY(memory, double, dual->ngroups);
    for (uint32_t value = 0; value < problem->nvalues; value++)
        dual->store[value] = (double)problem->store[value];
    dual->store[problem->nvalues] = NO_STORE;
    uint32_t *next = NEW_ARRAY(memory, uint32_t, (size_t)dual->ngroups + 2);
    dual->group_first = next++;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0, gap = 0; i < problem->count; i++) {
            const JointSegment *item = &problem->items[i];
            if (!takes_part(item)) continue;
            uint32_t group = item->value == NO_VALUE ? problem->nvalues : item->value;
            if (fill)
                dual->members[next[group]++] = gap++;
            else
                next[group + 1]++;
        }
        for (uint32_t group = 0; !fill && group < dual->ngroups; group++)
            next[group + 1] += next[group];
    }
}

static void fill_gaps(DualProblem *dual, const JointProblem *problem, Arena *memory) {
    dual->items = RAW_ARRAY(memory, DualItem, problem->count);
    dual->members = RAW_ARRAY(memory, uint32_t, problem->count);
    for (uint32_t i = 0; i < problem->count; i++) {
        const JointSegment *item = &problem->items[i];
        if (takes_part(item))
            dual->items[dual->count++] = (DualItem){.spans = item->gap.items,
                                                    .nspans = item->gap.count,
                                                    .lanes = 1,
                                                    .size = segment_area(item),
                                                    .load = (double)item->load};
    }
}

/* The area that segments leave at each point. */
static double *area_left(const JointProblem *problem, Arena *memory) {
    double *area = NEW_ARRAY(memory, double, (size_t)problem->npoints + 1);
    for (uint32_t i = 0; i < problem->count; i++) {
        LiveRange points = problem->items[i].points;
        for (uint32_t k = 0; k < points.count; k++) {
            area[points.items[k].first] += segment_area(&problem->items[i]);
            area[points.items[k].last + 1] -= segment_area(&problem->items[i]);
        }
    }
    double taken = 0, all = (double)problem->size * QUADRANTS;
    for (uint32_t p = 0; p < problem->npoints; p++) {
        taken += area[p];
        area[p] = taken < all ? all - taken : 0;
    }
    return area;
}

/* With every gap cut. */
static double cost_of_loads(const JointProblem *problem) {
    double cost = 0;
    for (uint32_t i = 0; i < problem->count; i++)
        if (problem->items[i].linked) cost += (double)problem->items[i].load;
    return cost;
}

JointPrices joint_prices(const JointProblem *problem, uint32_t passes, Arena *memory) {
    DualProblem relaxed = {.npoints = problem->npoints, .lanes = 1};
    fill_gaps(&relaxed, problem, memory);
    fill_groups(&relaxed, problem, memory);
    relaxed.capacity[0] = area_left(problem, memory);
    Dual dual;
    dual_init(&dual, &relaxed, memory);
    dual.least_stride = LEAST_STRIDE;
    double most = cost_of_loads(problem);
    for (uint32_t pass = 0; pass < passes; pass++)
        dual_improve(&dual, dual.bound > most / 8 ? dual.bound * 0.1 : most / 8);
    dual_settle(&dual);
    return (JointPrices){dual.sums[0], dual.stored};
}
