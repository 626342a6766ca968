/* What all beam searches over one problem share. */
#include "spill/joint/beam_state.h"

static void sort_starts(Beam *beam) {
    const JointProblem *problem = beam->problem;
    beam->starts = RAW_ARRAY(beam->memory, SortKey, problem->count);
    double sum = 0;
    for (uint32_t i = 0; i < problem->count; i++) {
        const JointSegment *item = &problem->items[i];
        uint32_t order = item->fixed ? 0 : UINT32_MAX - (uint32_t)segment_area(item);
        beam->starts[i] = (SortKey){(uint64_t)first_of(item->points) << 32 | order, i};
        sum += item->height;
    }
    sort_keys(beam->starts, problem->count, beam->memory);
    beam->typical = problem->count ? sum / problem->count : 0;
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

static void count_residents(Beam *beam) {
    const JointProblem *problem = beam->problem;
    uint32_t *change = NEW_ARRAY(beam->memory, uint32_t, (size_t)problem->npoints + 1);
    for (uint32_t i = 0; i < problem->count; i++) {
        uint32_t last = last_of(problem->items[i].points);
        if (goes_on(beam, i) && first_of(problem->items[i + 1].points) > last)
            last = first_of(problem->items[i + 1].points);
        change[first_of(problem->items[i].points)]++;
        change[last + 1]--;
    }
    beam->most_residents = most_at_once(change, problem->npoints);
}

static void count_starting(Beam *beam) {
    for (uint32_t i = 0, same = 0; i < beam->problem->count; i++) {
        bool begins = i == 0 || beam->starts[i].key >> 32 != beam->starts[i - 1].key >> 32;
        same = begins ? 1 : same + 1;
        if (2 * same > beam->most_starting) beam->most_starting = 2 * same; /* loaded, or evicted */
    }
}

/* From when to when each value may be stored or loaded, and its slot meanwhile. */
static void find_values(Beam *beam) {
    const JointProblem *problem = beam->problem;
    uint32_t *begin = NEW_ARRAY(beam->memory, uint32_t, problem->nvalues);
    beam->value_end = NEW_ARRAY(beam->memory, uint32_t, problem->nvalues);
    for (uint32_t v = 0; v < problem->nvalues; v++)
        begin[v] = UINT32_MAX;
    for (uint32_t i = 0; i < problem->count; i++) {
        const JointSegment *item = &beam->items[i];
        uint32_t value = item->value, point = first_of(item->points);
        if (!item->linked || value == NO_VALUE) continue;
        if (point < begin[value]) begin[value] = point;
        if (point > beam->value_end[value]) beam->value_end[value] = point;
    }
    beam->values = RAW_ARRAY(beam->memory, SortKey, problem->nvalues);
    for (uint32_t v = 0; v < problem->nvalues; v++)
        if (begin[v] != UINT32_MAX) beam->values[beam->nlisted++] = (SortKey){begin[v], v};
    sort_keys(beam->values, beam->nlisted, beam->memory);
}

/* The lowest slot that is free for each value, as of registers: by when each ends, those in use
 * are few. */
static void find_slots(Beam *beam) {
    uint32_t *busy_to = RAW_ARRAY(beam->memory, uint32_t, beam->nlisted), used = 0;
    beam->slots = NEW_ARRAY(beam->memory, uint32_t, beam->problem->nvalues);
    for (uint32_t i = 0; i < beam->nlisted; i++) {
        uint32_t value = beam->values[i].id, slot = 0;
        while (slot < used && busy_to[slot] >= beam->values[i].key)
            slot++;
        if (slot == used) used++;
        busy_to[slot] = beam->value_end[value];
        beam->slots[value] = slot;
    }
    beam->words = (used + 63) / 64;
    beam->paid = NEW_ARRAY(beam->memory, uint32_t, beam->problem->nvalues);
}

Beam *beam_make(const JointProblem *problem, JointPrices prices, Arena *memory) {
    Beam *beam = NEW(memory, Beam);
    beam->problem = problem;
    beam->items = problem->items;
    beam->prices = prices;
    beam->memory = memory;
    sort_starts(beam);
    count_residents(beam);
    count_starting(beam);
    find_values(beam);
    find_slots(beam);
    beam->loss = RAW_ARRAY(memory, int64_t, beam->most_residents);
    beam->by_low = RAW_ARRAY(memory, BandEdge, beam->most_residents);
    beam->by_high = RAW_ARRAY(memory, BandEdge, beam->most_residents);
    return beam;
}
