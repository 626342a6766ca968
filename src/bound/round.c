#include "bound/round.h"

#include "support/checked.h"
#include "support/sort.h"

/* Different costs of loads and stores. */
typedef struct {
    int64_t *items;
    uint32_t count;
    int64_t common; /* what divides all of them */
} DmaCosts;

static DmaCosts find_costs(const RowProblem *problem, Arena *scratch) {
    SortKey *keys = RAW_ARRAY(scratch, SortKey, (size_t)problem->nitems * 2);
    uint32_t count = 0;
    for (uint32_t i = 0; i < problem->nitems; i++) {
        const RowItem *item = &problem->items[i];
        if (item->load != MUST_KEEP) keys[count] = (SortKey){(uint64_t)item->load, count}, count++;
        if (item->value)
            keys[count] = (SortKey){(uint64_t)problem->store[item->value], count}, count++;
    }
    sort_keys(keys, count, scratch);
    DmaCosts costs = {.items = RAW_ARRAY(scratch, int64_t, count)};
    for (uint32_t i = 0; i < count; i++)
        if (keys[i].key > 0 && (i == 0 || keys[i].key != keys[i - 1].key))
            costs.items[costs.count++] = (int64_t)keys[i].key;
    return costs;
}

/* Which sums of costs are reached, in order, until one is that is high enough (a knapsack without
 * limits). */
static int64_t next_sum(const DmaCosts *costs, int64_t parts, Arena *scratch) {
    int64_t end = (parts + costs->items[0]) / costs->common + 1;
    bool *reached = NEW_ARRAY(scratch, bool, (size_t)end + 1);
    reached[0] = true;
    for (int64_t sum = 0; sum <= end; sum++) {
        for (uint32_t c = 0; c < costs->count && !reached[sum]; c++) {
            int64_t before = sum - costs->items[c] / costs->common;
            reached[sum] = before >= 0 && reached[before];
        }
        if (reached[sum] && sum * costs->common >= parts) return sum * costs->common;
    }
    return parts;
}

int64_t round_to_sums(const RowProblem *problem, int64_t parts, Arena *scratch) {
    enum { MOST_STEPS = 1 << 22 };
    if (parts <= 0) return 0;
    DmaCosts costs = find_costs(problem, scratch);
    for (uint32_t c = 0; c < costs.count; c++)
        costs.common = common_divisor(costs.items[c], costs.common);
    if (costs.count == 0) return parts;
    int64_t up = (parts + costs.common - 1) / costs.common;
    if (up > MOST_STEPS / costs.count || costs.items[0] / costs.common > MOST_STEPS)
        return up * costs.common;
    return next_sum(&costs, parts, scratch);
}
