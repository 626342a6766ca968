#include "spill/residency/reduce.h"

#include <string.h>

/* Where the points of the problem lie in the search. */
typedef struct {
    uint32_t *next;  /* [npoints] the first point of the search at or after this one */
    uint8_t *within; /* [npoints] true if the point itself is part of it */
} Map;

static bool competes(const Gap *gap) {
    return !gap->cut && gap->points.count > 0;
}

/* Lanes as coarse as the classes allow: 1 if all take the whole axis, 2 if all take halves. */
static uint32_t coarsest_lanes(const GapProblem *problem) {
    uint32_t lanes = 1;
    for (uint32_t g = 0; g < problem->count; g++) {
        if (!competes(&problem->gaps[g])) continue;
        ShapeClass class = (ShapeClass)problem->gaps[g].class;
        if (class < CLASS_ANY_HALF) return QUADRANTS;
        if (class != CLASS_FULL) lanes = 2;
    }
    return lanes;
}

/* The bands of a class as masks of lanes. */
static Bands lane_bands(ShapeClass class, uint32_t lanes) {
    Bands bands = class_bands(class);
    uint32_t width = QUADRANTS / lanes;
    for (int i = 0; i < bands.count; i++) {
        uint8_t mask = 0;
        for (uint32_t lane = 0; lane < lanes; lane++)
            if (bands.masks[i] >> (lane * width) & 1) mask |= (uint8_t)(1 << lane);
        bands.masks[i] = mask;
    }
    return bands;
}

static uint8_t any_lane(Bands bands) {
    uint8_t mask = 0;
    for (int i = 0; i < bands.count; i++)
        mask |= bands.masks[i];
    return mask;
}

/* Granules free at a point in each quadrant of a lane. */
static uint32_t free_granules(const GapProblem *problem, uint32_t point, uint32_t lane,
                              uint32_t width) {
    uint32_t most = 0;
    for (uint32_t q = lane * width; q < (lane + 1) * width; q++) {
        uint32_t taken = problem->taken[(size_t)point * QUADRANTS + q];
        if (taken > most) most = taken;
    }
    return most < problem->size ? problem->size - most : 0;
}

/* Marks points where the gaps that may lie in some lane do not all fit, and points where an
 * interval starts or has just ended. */
static void mark_points(const GapProblem *problem, uint32_t lanes, uint8_t *tight, uint8_t *start,
                        Arena *scratch) {
    int64_t *change = NEW_ARRAY(scratch, int64_t, ((size_t)problem->npoints + 1) * lanes);
    for (uint32_t g = 0; g < problem->count; g++) {
        const Gap *gap = &problem->gaps[g];
        if (!competes(gap)) continue;
        uint8_t mask = any_lane(lane_bands((ShapeClass)gap->class, lanes));
        for (uint32_t i = 0; i < gap->points.count; i++) {
            Interval interval = gap->points.items[i];
            start[interval.first] = start[interval.last + 1] = 1;
            for (uint32_t lane = 0; lane < lanes; lane++) {
                if (!(mask >> lane & 1)) continue;
                change[(size_t)interval.first * lanes + lane] += gap->height;
                change[((size_t)interval.last + 1) * lanes + lane] -= gap->height;
            }
        }
    }
    int64_t used[QUADRANTS] = {0};
    for (uint32_t p = 0; p < problem->npoints; p++)
        for (uint32_t lane = 0; lane < lanes; lane++) {
            used[lane] += change[(size_t)p * lanes + lane];
            if (used[lane] > free_granules(problem, p, lane, QUADRANTS / lanes)) tight[p] = 1;
        }
}

/* Numbers the runs of tight points between two starts; fills the capacity of each. */
static Map number_points(Choice *choice, const GapProblem *problem, Arena *scratch) {
    uint32_t npoints = problem->npoints;
    uint8_t *tight = NEW_ARRAY(scratch, uint8_t, (size_t)npoints + 1);
    uint8_t *start = NEW_ARRAY(scratch, uint8_t, (size_t)npoints + 1);
    mark_points(problem, choice->lanes, tight, start, scratch);
    for (uint32_t lane = 0; lane < choice->lanes; lane++)
        choice->capacity[lane] = RAW_ARRAY(scratch, uint32_t, (size_t)npoints + 1);
    Map map = {RAW_ARRAY(scratch, uint32_t, npoints), tight};
    uint32_t runs = 0;
    for (uint32_t p = 0; p < npoints; p++) {
        bool opens = tight[p] && (p == 0 || !tight[p - 1] || start[p]);
        if (opens) runs++;
        map.next[p] = tight[p] ? runs - 1 : runs;
        for (uint32_t lane = 0; tight[p] && lane < choice->lanes; lane++) {
            uint32_t granules = free_granules(problem, p, lane, QUADRANTS / choice->lanes);
            uint32_t *capacity = &choice->capacity[lane][runs - 1];
            if (opens || granules < *capacity) *capacity = granules;
        }
    }
    choice->npoints = runs;
    return map;
}

/* Appends the gap's spans in the search, neighbours joined; returns how many. */
static uint32_t add_spans(Choice *choice, uint32_t at, const Gap *gap, const Map *map) {
    uint32_t count = 0;
    Interval *spans = choice->spans + at;
    for (uint32_t i = 0; i < gap->points.count; i++) {
        Interval interval = gap->points.items[i];
        uint32_t first = map->next[interval.first];
        uint32_t end = map->next[interval.last] + map->within[interval.last];
        if (first >= end) continue;
        if (count > 0 && spans[count - 1].last + 1 == first)
            spans[count - 1].last = end - 1;
        else
            spans[count++] = (Interval){first, end - 1};
    }
    return count;
}

static void add_item(Choice *choice, const GapProblem *problem, uint32_t g, uint32_t count,
                     int64_t dearest) {
    const Gap *gap = &problem->gaps[g];
    Item *item = &choice->items[choice->count];
    uint32_t owner = choice->nowners;
    bool same = choice->count > 0 && problem->gaps[item[-1].gap].owner == gap->owner;
    if (!same) {
        choice->owner_items[owner] = choice->count;
        choice->choices[owner] = lane_bands((ShapeClass)gap->class, choice->lanes);
        choice->band[owner] = choice->choices[owner].masks[0];
        choice->nowners++;
    }
    uint32_t length = 0;
    for (uint32_t s = item->spans; s < item->spans + count; s++)
        length += choice->spans[s].last - choice->spans[s].first + 1;
    item->gap = g;
    item->height = gap->height;
    item->owner = choice->nowners - 1;
    item->value = gap->value;
    item->length = length;
    item->load = gap->load < dearest ? gap->load : dearest;
    item[1].spans = item->spans + count;
    choice->count++;
}

/* True if the item fits in some band, nothing else kept. */
static bool fits_alone(Choice *choice, uint32_t item) {
    Bands bands = choice->choices[choice->items[item].owner];
    for (int i = 0; i < bands.count; i++)
        if (choice_fits(choice, item, bands.masks[i])) return true;
    return false;
}

/* Removes items that never fit; the others keep their order. */
static void drop_hopeless(Choice *choice, GapProblem *problem) {
    uint32_t count = 0, spans = 0, owner = 0;
    for (uint32_t i = 0; i < choice->count; i++) {
        while (owner <= choice->items[i].owner)
            choice->owner_items[owner++] = count;
        uint32_t first = choice->items[i].spans, end = choice->items[i + 1].spans;
        if (!fits_alone(choice, i)) {
            problem->gaps[choice->items[i].gap].cut = true;
            continue;
        }
        for (uint32_t s = first; s < end; s++)
            choice->spans[spans + s - first] = choice->spans[s];
        /* Item i + 1 still needs its own start: it is read above before it is overwritten. */
        Item item = choice->items[i];
        item.spans = spans;
        choice->items[count++] = item;
        spans += end - first;
    }
    while (owner <= choice->nowners)
        choice->owner_items[owner++] = count;
    choice->count = count;
    choice->items[count].spans = spans;
}

/* Where a gap outside the search is cut its value is stored anyway: items pay no store for it. */
static void link_values(Choice *choice, const GapProblem *problem, int64_t dearest,
                        Arena *scratch) {
    uint32_t nvalues = choice->nvalues;
    uint8_t *stored = NEW_ARRAY(scratch, uint8_t, (size_t)nvalues + 1);
    for (uint32_t g = 0; g < problem->count; g++)
        if (problem->gaps[g].cut && problem->gaps[g].value != NO_VALUE)
            stored[problem->gaps[g].value] = 1;
    choice->store = NEW_ARRAY(scratch, int64_t, (size_t)nvalues + 1);
    choice->value_first = NEW_ARRAY(scratch, uint32_t, (size_t)nvalues + 2);
    choice->value_items = RAW_ARRAY(scratch, uint32_t, choice->count);
    for (uint32_t i = 0; i < choice->count; i++) {
        uint32_t value = choice->items[i].value;
        if (value != NO_VALUE && (stored[value] || problem->store[value] <= 0))
            value = choice->items[i].value = NO_VALUE;
        if (value == NO_VALUE) continue;
        int64_t store = problem->store[value];
        choice->store[value] = store < dearest ? store : dearest;
        choice->value_first[value + 2]++;
    }
    for (uint32_t v = 0; v < nvalues; v++)
        choice->value_first[v + 2] += choice->value_first[v + 1];
    for (uint32_t i = 0; i < choice->count; i++)
        if (choice->items[i].value != NO_VALUE)
            choice->value_items[choice->value_first[choice->items[i].value + 1]++] = i;
}

void reduce(Choice *choice, GapProblem *problem, Arena *scratch) {
    uint32_t nspans = 0;
    for (uint32_t g = 0; g < problem->count; g++)
        nspans += problem->gaps[g].points.count;
    /* So that the sum of all loads and stores does not wrap. */
    int64_t dearest = INT64_MAX / 4 / ((int64_t)problem->count + problem->nvalues + 1);
    choice->lanes = coarsest_lanes(problem);
    choice->nvalues = problem->nvalues;
    Map map = number_points(choice, problem, scratch);
    choice->items = NEW_ARRAY(scratch, Item, (size_t)problem->count + 1);
    choice->spans = RAW_ARRAY(scratch, Interval, nspans);
    choice->owner_items = NEW_ARRAY(scratch, uint32_t, (size_t)problem->count + 1);
    choice->choices = RAW_ARRAY(scratch, Bands, problem->count);
    choice->band = RAW_ARRAY(scratch, uint8_t, problem->count);
    for (uint32_t g = 0; g < problem->count; g++) {
        if (!competes(&problem->gaps[g])) continue;
        uint32_t at = choice->items[choice->count].spans;
        uint32_t count = add_spans(choice, at, &problem->gaps[g], &map);
        if (count > 0) add_item(choice, problem, g, count, dearest);
    }
    for (uint32_t lane = 0; lane < choice->lanes; lane++)
        tree_init(&choice->trees[lane], choice->capacity[lane], choice->npoints, scratch);
    drop_hopeless(choice, problem);
    link_values(choice, problem, dearest, scratch);
    choice->kept = NEW_ARRAY(scratch, uint8_t, choice->count);
    choice->nkept = NEW_ARRAY(scratch, uint32_t, choice->nowners);
    choice->cuts = NEW_ARRAY(scratch, uint32_t, (size_t)choice->nvalues + 1);
    choice_clear(choice);
}
