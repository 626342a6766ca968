#include "spill/time/keep.h"

#include <string.h>

#include "spill/residency/capacity_tree.h"
#include "spill/residency/solve.h"
#include "spill/time/classes.h"
#include "support/checked.h"
#include "support/clock.h"
#include "support/rng.h"
#include "support/sort.h"

enum { MOST_SEGMENTS = 2 };

/* The gaps of one class with the same value of one side, next to each other in `order`. */
typedef struct {
    uint32_t first, end; /* in Ordered.gaps */
} Group;

/* The gaps of a class in order of one side. */
typedef struct {
    const uint32_t *gaps;
    const Group *groups;
    uint32_t ngroups;
} Ordered;

typedef struct {
    const Ordered *orders; /* [norders] one for each side that tells gaps apart */
    uint32_t norders;
} ClassOrders;

typedef struct {
    const KeepProblem *problem;
    Arena *scratch;
    CapacityTree trees[QUADRANTS];
    uint32_t lanes;
    uint8_t *mask;       /* [ncells] lanes where it takes room */
    uint32_t *share;     /* [ncells] parts of granules in each */
    bool *kept;          /* [gaps] */
    uint32_t *cuts;      /* [nvalues] gaps cut that need its store */
    int64_t cost;        /* of all that is cut */
    ClassOrders *orders; /* [classes] */
    uint64_t steps, rng;
} Keeper;

/* ---- room ---- */

/* Room is counted in parts of a granule, such that the share of each of 1, 2 or 4 bands is whole.
 */
enum { PARTS = QUADRANTS };

static void share_bands(Keeper *keeper, uint32_t cell) {
    const Func *func = keeper->problem->facts->timeline.func;
    const Tensor *tensor = &func->tensors[keeper->problem->facts->cells.tensor[cell]];
    Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
    uint32_t height = tensor_height(tensor);
    for (int b = 0; b < bands.count; b++)
        keeper->mask[cell] |= bands.masks[b];
    if (tensor->fixed) {
        Rect rect =
            tensor_rect(tensor, tensor->at[cell_block(&keeper->problem->facts->cells, cell)]);
        keeper->mask[cell] = rect.mask;
        keeper->share[cell] = PARTS * (rect.high - rect.low);
    } else {
        keeper->share[cell] = PARTS * height / (uint32_t)bands.count;
    }
}

static void take(uint32_t *taken, uint32_t first, uint32_t last, const Keeper *keeper,
                 uint32_t cell) {
    for (int q = 0; q < QUADRANTS; q++) {
        if (!(keeper->mask[cell] & (1 << q))) continue;
        taken[(size_t)first * QUADRANTS + q] += keeper->share[cell];
        taken[((size_t)last + 1) * QUADRANTS + q] -= keeper->share[cell];
    }
}

/* What is on chip whatever is chosen: blocks at their accesses, and those that must stay. */
static uint32_t *find_taken(const Keeper *keeper) {
    const KeepProblem *problem = keeper->problem;
    const Cells *cells = &problem->facts->cells;
    const Tensor *tensors = problem->facts->timeline.func->tensors;
    uint32_t npoints = problem->facts->timeline.npoints;
    size_t count = ((size_t)npoints + 1) * QUADRANTS;
    uint32_t *taken = NEW_ARRAY(keeper->scratch, uint32_t, count);
    for (uint32_t c = 0; c < cells->ncells; c++) {
        const Tensor *tensor = &tensors[cells->tensor[c]];
        uint32_t first = cells->first[c], end = cells->first[c + 1];
        for (uint32_t a = first; a < end; a++)
            take(taken, cells->accesses[a].point, cells->accesses[a].point, keeper, c);
        if (first == end || npoints == 0) continue;
        uint32_t last = cells->accesses[end - 1].point;
        if (tensor->output && last + 1 < npoints) take(taken, last + 1, npoints - 1, keeper, c);
    }
    for (uint32_t g = 0; g < problem->facts->gaps.count; g++) {
        const TimeGap *gap = &problem->facts->gaps.gaps[g];
        for (uint32_t i = 0;
             problem->facts->gaps.resident[cells->tensor[gap->cell]] && i < gap->points.count; i++)
            take(taken, gap->points.items[i].first, gap->points.items[i].last, keeper, gap->cell);
    }
    for (size_t i = QUADRANTS; i < count; i++)
        taken[i] += taken[i - QUADRANTS]; /* changes, wrapped where they fall, become sums */
    for (uint32_t p = 0; p < npoints; p++)
        for (int q = 0; q < QUADRANTS; q++)
            taken[(size_t)p * QUADRANTS + q] += PARTS * problem->headroom[p];
    return taken;
}

/* One lane where all cells take the same room in all quadrants. */
static uint32_t count_lanes(const Keeper *keeper) {
    for (uint32_t c = 0; c < keeper->problem->facts->cells.ncells; c++)
        if (keeper->mask[c] != (1 << QUADRANTS) - 1) return QUADRANTS;
    return 1;
}

static void init_trees(Keeper *keeper, const uint32_t *taken) {
    uint32_t npoints = keeper->problem->facts->timeline.npoints;
    uint32_t size = PARTS * keeper->problem->facts->size;
    uint32_t *capacity = RAW_ARRAY(keeper->scratch, uint32_t, npoints);
    for (uint32_t q = 0; q < keeper->lanes; q++) {
        for (uint32_t p = 0; p < npoints; p++) {
            uint32_t used = taken[(size_t)p * QUADRANTS + q];
            capacity[p] = used < size ? size - used : 0;
        }
        tree_init(&keeper->trees[q], capacity, npoints, keeper->scratch);
    }
}

static bool is_lane_of(const Keeper *keeper, uint32_t lane, uint32_t cell) {
    return keeper->lanes == 1 || keeper->mask[cell] & (1 << lane);
}

static void use(Keeper *keeper, const TimeGap *gap, int64_t sign) {
    for (uint32_t q = 0; q < keeper->lanes; q++)
        for (uint32_t i = 0; is_lane_of(keeper, q, gap->cell) && i < gap->points.count; i++)
            tree_add(&keeper->trees[q], gap->points.items[i].first, gap->points.items[i].last,
                     sign * keeper->share[gap->cell]);
    uint64_t steps = (uint64_t)keeper->lanes * keeper->trees[0].levels * gap->points.count;
    keeper->steps -= steps < keeper->steps ? steps : keeper->steps;
}

static bool fits(Keeper *keeper, const TimeGap *gap) {
    uint64_t steps = (uint64_t)keeper->lanes * keeper->trees[0].levels * gap->points.count;
    keeper->steps -= steps < keeper->steps ? steps : keeper->steps;
    for (uint32_t q = 0; q < keeper->lanes; q++)
        for (uint32_t i = 0; is_lane_of(keeper, q, gap->cell) && i < gap->points.count; i++)
            if (tree_most(&keeper->trees[q], gap->points.items[i].first,
                          gap->points.items[i].last) +
                    keeper->share[gap->cell] >
                0)
                return false;
    return true;
}

/* ---- cost ---- */

/* Cycles that keeping the gap saves now. */
static int64_t saving(const Keeper *keeper, const TimeGap *gap) {
    int64_t sum = gap->load;
    if (gap->source != NO_SOURCE) return sum;
    if (keeper->cuts[gap->value] == 1)
        sum = saturating_add(sum, keeper->problem->facts->gaps.store[gap->value]);
    return sum;
}

static void keep(Keeper *keeper, uint32_t g) {
    const TimeGap *gap = &keeper->problem->facts->gaps.gaps[g];
    keeper->cost -= saving(keeper, gap);
    if (gap->source == NO_SOURCE) keeper->cuts[gap->value]--;
    keeper->kept[g] = true;
    use(keeper, gap, 1);
}

static void drop(Keeper *keeper, uint32_t g) {
    const TimeGap *gap = &keeper->problem->facts->gaps.gaps[g];
    if (gap->source == NO_SOURCE) keeper->cuts[gap->value]++;
    keeper->cost += saving(keeper, gap);
    keeper->kept[g] = false;
    use(keeper, gap, -1);
}

static bool is_resident(const Keeper *keeper, uint32_t g) {
    const KeepProblem *problem = keeper->problem;
    return problem->facts->gaps
        .resident[problem->facts->cells.tensor[problem->facts->gaps.gaps[g].cell]];
}

/* All gaps of what may leave are cut. */
static void cut_all(Keeper *keeper) {
    const TimeGaps *gaps = &keeper->problem->facts->gaps;
    keeper->cost = 0;
    for (uint32_t g = 0; g < gaps->count; g++) {
        const TimeGap *gap = &gaps->gaps[g];
        keeper->kept[g] = is_resident(keeper, g);
        if (keeper->kept[g]) continue;
        keeper->cost = saturating_add(keeper->cost, gap->load);
        if (gap->source == NO_SOURCE && keeper->cuts[gap->value]++ == 0)
            keeper->cost = saturating_add(keeper->cost, gaps->store[gap->value]);
    }
}

/* ---- the choice as in straight code ---- */

/* What is taken in whole granules. */
static uint32_t *whole_granules(const Keeper *keeper, const uint32_t *taken) {
    size_t count = ((size_t)keeper->problem->facts->timeline.npoints + 1) * QUADRANTS;
    uint32_t *whole = RAW_ARRAY(keeper->scratch, uint32_t, count);
    for (size_t i = 0; i < count; i++)
        whole[i] = taken[i] / PARTS + (taken[i] % PARTS != 0);
    return whole;
}

static void solve_straight(Keeper *keeper, const uint32_t *taken, uint64_t steps) {
    const KeepProblem *problem = keeper->problem;
    const TimeGaps *gaps = &problem->facts->gaps;
    Gap *items = RAW_ARRAY(keeper->scratch, Gap, gaps->count);
    uint32_t *number = RAW_ARRAY(keeper->scratch, uint32_t, gaps->count), count = 0;
    for (uint32_t g = 0; g < gaps->count; g++) {
        if (is_resident(keeper, g)) continue;
        const TimeGap *gap = &gaps->gaps[g];
        const Tensor *tensor =
            &problem->facts->timeline.func->tensors[problem->facts->cells.tensor[gap->cell]];
        number[count] = g;
        items[count++] = (Gap){.points = gap->points,
                               .owner = gap->cell,
                               .height = tensor_height(tensor),
                               .class = (uint8_t)shape_class(tensor->partitions, tensor->base),
                               .load = gap->load,
                               .value = gap->source == NO_SOURCE ? gap->value : NO_VALUE};
    }
    GapProblem straight = {.gaps = items,
                           .count = count,
                           .store = gaps->store,
                           .nvalues = gaps->nvalues,
                           .npoints = problem->facts->timeline.npoints,
                           .taken = whole_granules(keeper, taken),
                           .size = problem->facts->size};
    solve_gaps(&straight, steps, keeper->scratch);
    for (uint32_t i = 0; i < count; i++)
        if (!items[i].cut && fits(keeper, &gaps->gaps[number[i]])) keep(keeper, number[i]);
}

/* ---- classes in order of their sides ---- */

static bool group_by_side(Keeper *keeper, uint32_t c, Affine side, Ordered *ordered) {
    const TimeFacts *facts = keeper->problem->facts;
    const GapClass *class = &facts->classes.items[c];
    uint32_t count = class->end - class->first, ngroups = 0;
    SortKey *keys = RAW_ARRAY(keeper->scratch, SortKey, count);
    order_by_side(facts, c, side, keys, keeper->scratch);
    uint32_t *gaps = RAW_ARRAY(keeper->scratch, uint32_t, count);
    Group *groups = RAW_ARRAY(keeper->scratch, Group, count);
    for (uint32_t i = 0; i < count; i++) {
        gaps[i] = facts->classes.members[class->first + keys[i].id];
        if (i == 0 || keys[i].key != keys[i - 1].key) groups[ngroups++].first = i;
        groups[ngroups - 1].end = i + 1;
    }
    *ordered = (Ordered){gaps, groups, ngroups};
    return ngroups > 1;
}

static void order_class(Keeper *keeper, uint32_t c) {
    const KeepProblem *problem = keeper->problem;
    const GapClass *class = &problem->facts->classes.items[c];
    Sides sides =
        find_sides(problem->facts->timeline.func, class->inst, class->operand, keeper->scratch);
    Ordered *orders = RAW_ARRAY(keeper->scratch, Ordered, (size_t)sides.count + 1);
    uint32_t norders = 0;
    uint32_t count = class->end - class->first;
    for (uint32_t s = 0; s < sides.count && count > 1; s++)
        norders += group_by_side(keeper, c, sides.items[s], &orders[norders]);
    if (norders == 0) { /* nothing tells them apart: all or none */
        Group *all = NEW(keeper->scratch, Group);
        *all = (Group){0, count};
        orders[norders++] = (Ordered){problem->facts->classes.members + class->first, all, 1};
    }
    keeper->orders[c] = (ClassOrders){orders, norders};
}

/* ---- segments ---- */

/* Keeps the gaps of a group that are cut: all of them, or none where they do not fit together. */
static bool keep_group(Keeper *keeper, const Ordered *ordered, uint32_t group) {
    const Group *of = &ordered->groups[group];
    for (uint32_t i = of->first; i < of->end; i++) {
        uint32_t g = ordered->gaps[i];
        if (keeper->kept[g]) return false; /* of a segment that is there already */
        if (fits(keeper, &keeper->problem->facts->gaps.gaps[g])) {
            keep(keeper, g);
            continue;
        }
        while (i-- > of->first)
            drop(keeper, ordered->gaps[i]);
        return false;
    }
    return true;
}

static void drop_groups(Keeper *keeper, const Ordered *ordered, uint32_t first, uint32_t end) {
    for (uint32_t i = end; i-- > first;)
        for (uint32_t k = ordered->groups[i].end; k-- > ordered->groups[i].first;)
            drop(keeper, ordered->gaps[k]);
}

/* A segment of a class: groups [first, end) of one order. */
typedef struct {
    uint32_t order, first, end;
    int64_t gain;
} KeptSegment;

/* Prefers segments that end where the class ends: one condition less. */
static void note_segment(KeptSegment *best, KeptSegment found, uint32_t ngroups) {
    int64_t bonus = (found.first == 0) + (found.end == ngroups);
    found.gain = saturating_add(saturating_mul(found.gain, 64), bonus);
    if (found.end > found.first && found.gain > best->gain) *best = found;
}

/* Tries each maximal segment of one order, from one end or the other. */
static void try_order(Keeper *keeper, uint32_t c, uint32_t order, bool falling, KeptSegment *best) {
    const Ordered *ordered = &keeper->orders[c].orders[order];
    uint32_t n = ordered->ngroups, begin = 0, length = 0;
    int64_t before = keeper->cost;
    for (uint32_t step = 0; step <= n; step++) {
        uint32_t group = falling ? n - 1 - step : step;
        if (step < n && keep_group(keeper, ordered, group)) {
            if (length++ == 0) begin = group;
            continue;
        }
        if (length == 0) continue;
        uint32_t first = falling ? begin + 1 - length : begin;
        note_segment(best, (KeptSegment){order, first, first + length, before - keeper->cost}, n);
        drop_groups(keeper, ordered, first, first + length);
        length = 0;
    }
}

/* The best segment of any order. */
static KeptSegment find_segment(Keeper *keeper, uint32_t c) {
    const ClassOrders *orders = &keeper->orders[c];
    KeptSegment best = {.gain = 0};
    for (uint32_t o = 0; o < orders->norders; o++)
        for (int falling = 0; falling < 2; falling++)
            if (orders->orders[o].ngroups > 1 || !falling) try_order(keeper, c, o, falling, &best);
    return best;
}

/* Keeps the best segments of a class that fit, at most `percent` of the groups of each. */
static void fill_class(Keeper *keeper, uint32_t c, uint32_t percent) {
    const ClassOrders *orders = &keeper->orders[c];
    for (int s = 0; s < MOST_SEGMENTS; s++) {
        KeptSegment best = find_segment(keeper, c);
        if (best.gain <= 0) return;
        const Ordered *ordered = &orders->orders[best.order];
        uint32_t length = best.end - best.first;
        uint32_t some = (uint32_t)((uint64_t)length * percent / 100);
        if (some == 0) some = 1;
        bool at_end = best.end == ordered->ngroups && best.first > 0;
        uint32_t first = at_end ? best.end - some : best.first;
        for (uint32_t i = 0; i < some; i++)
            keep_group(keeper, ordered, first + i);
        if (ordered->ngroups == 1) return;
    }
}

static void empty_class(Keeper *keeper, uint32_t c) {
    const Classes *classes = &keeper->problem->facts->classes;
    for (uint32_t i = classes->items[c].first; i < classes->items[c].end; i++)
        if (keeper->kept[classes->members[i]]) drop(keeper, classes->members[i]);
}

/* ---- folding the first choice ---- */

/* The fewest segments that the kept gaps make in any order of the class; UINT32_MAX where groups
 * are kept in part. */
static uint32_t count_segments(const Keeper *keeper, uint32_t c) {
    const ClassOrders *orders = &keeper->orders[c];
    uint32_t fewest = UINT32_MAX;
    for (uint32_t o = 0; o < orders->norders; o++) {
        const Ordered *ordered = &orders->orders[o];
        uint32_t segments = 0;
        bool before = false;
        for (uint32_t i = 0; i < ordered->ngroups && segments != UINT32_MAX; i++) {
            const Group *group = &ordered->groups[i];
            bool kept = keeper->kept[ordered->gaps[group->first]];
            for (uint32_t k = group->first; k < group->end; k++)
                if (keeper->kept[ordered->gaps[k]] != kept) segments = UINT32_MAX;
            if (segments != UINT32_MAX && kept && !before) segments++;
            before = kept;
        }
        if (segments < fewest) fewest = segments;
    }
    return fewest;
}

/* Classes whose kept gaps do not fold lose them, and are filled again: those first that had the
 * largest part of their gaps kept. */
static void fold_choice(Keeper *keeper) {
    const Classes *classes = &keeper->problem->facts->classes;
    SortKey *keys = RAW_ARRAY(keeper->scratch, SortKey, classes->count);
    uint32_t count = 0;
    for (uint32_t c = 0; c < classes->count; c++) {
        if (count_segments(keeper, c) <= MOST_SEGMENTS) continue;
        const GapClass *class = &classes->items[c];
        uint32_t kept = 0, all = class->end - class->first;
        for (uint32_t i = class->first; i < class->end; i++)
            kept += keeper->kept[classes->members[i]];
        keys[count++] = (SortKey){(uint64_t)(all - kept) * 1000000 / all, c};
    }
    for (uint32_t i = 0; i < count; i++)
        empty_class(keeper, keys[i].id);
    sort_keys(keys, count, keeper->scratch);
    for (uint32_t i = 0; i < count; i++)
        fill_class(keeper, keys[i].id, 100);
}

/* ---- large-neighbourhood search ---- */

typedef struct {
    bool *kept;
    int64_t cost;
} BestKeep;

static void note_best(const Keeper *keeper, BestKeep *best) {
    if (keeper->cost >= best->cost) return;
    best->cost = keeper->cost;
    memcpy(best->kept, keeper->kept, keeper->problem->facts->gaps.count * sizeof(bool));
}

/* Drops what `kept` does not keep, then, once that is done for all classes, keeps what it does. */
static void restore_class(Keeper *keeper, uint32_t c, const bool *kept, bool keeping) {
    const Classes *classes = &keeper->problem->facts->classes;
    for (uint32_t i = classes->items[c].first; i < classes->items[c].end; i++) {
        uint32_t g = classes->members[i];
        if (keeper->kept[g] != kept[g] && kept[g] == keeping) (keeping ? keep : drop)(keeper, g);
    }
}

/* True if the class has a gap that may be kept or cut. */
static bool is_open(const Keeper *keeper, uint32_t c) {
    return !is_resident(
        keeper,
        keeper->problem->facts->classes.members[keeper->problem->facts->classes.items[c].first]);
}

/* Classes of which some gap may be cut. */
typedef struct {
    uint32_t *items;
    uint32_t count;
    bool *saved; /* [gaps] scratch */
} OpenClasses;

static OpenClasses find_open(const Keeper *keeper) {
    const Classes *classes = &keeper->problem->facts->classes;
    OpenClasses open = {.items = RAW_ARRAY(keeper->scratch, uint32_t, classes->count),
                        .saved =
                            NEW_ARRAY(keeper->scratch, bool, keeper->problem->facts->gaps.count)};
    for (uint32_t c = 0; c < classes->count; c++)
        if (is_open(keeper, c)) open.items[open.count++] = c;
    return open;
}

enum { MOST_RUINED = 6 };

/* A few different classes by chance. */
static uint32_t pick_classes(Keeper *keeper, const OpenClasses *open, uint32_t *picked) {
    uint32_t count = 2 + rng_below(&keeper->rng, MOST_RUINED - 1);
    if (count > open->count) count = open->count;
    for (uint32_t i = 0; i < count;) {
        picked[i] = open->items[rng_below(&keeper->rng, open->count)];
        bool again = false;
        for (uint32_t k = 0; k < i; k++)
            again |= picked[k] == picked[i];
        i += !again;
    }
    return count;
}

/* Empties a few classes and fills them again in another order; takes the old choice back where the
 * new one costs more. */
static void ruin_and_recreate(Keeper *keeper, const OpenClasses *open, double temperature) {
    uint32_t ruined[MOST_RUINED];
    uint32_t count = pick_classes(keeper, open, ruined);
    int64_t before = keeper->cost;
    const Classes *classes = &keeper->problem->facts->classes;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t m = classes->items[ruined[i]].first; m < classes->items[ruined[i]].end; m++)
            open->saved[classes->members[m]] = keeper->kept[classes->members[m]];
    for (uint32_t i = 0; i < count; i++)
        empty_class(keeper, ruined[i]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t percent = rng_below(&keeper->rng, 3) ? 100 : 10 + rng_below(&keeper->rng, 90);
        fill_class(keeper, ruined[i], percent);
    }
    for (uint32_t i = 0; i < count; i++)
        fill_class(keeper, ruined[i], 100);
    double worse = (double)(keeper->cost - before);
    if (worse <= temperature * (1 + rng_below(&keeper->rng, 1000)) / 1000) return;
    for (int keeping = 0; keeping < 2; keeping++)
        for (uint32_t i = 0; i < count; i++)
            restore_class(keeper, ruined[i], open->saved, keeping);
}

static void search_folded(Keeper *keeper, const OpenClasses *open, BestKeep *best) {
    enum { IDLE = 400, PART = 50 };
    uint32_t idle = 0, most = IDLE + 20 * open->count;
    uint64_t all = keeper->steps;
    while (open->count > 0 && keeper->steps > 0 && idle < most && best->cost > 0 &&
           !clock_is_past(keeper->problem->deadline)) {
        double left = (double)keeper->steps / (double)all;
        int64_t before = best->cost;
        ruin_and_recreate(keeper, open, (double)best->cost / PART * left);
        note_best(keeper, best);
        idle = best->cost < before ? 0 : idle + 1;
    }
}

int64_t keep_gaps(const KeepProblem *problem, bool *kept, Arena *scratch) {
    const TimeGaps *gaps = &problem->facts->gaps;
    uint32_t ncells = problem->facts->cells.ncells;
    Keeper keeper = {.problem = problem,
                     .scratch = scratch,
                     .mask = NEW_ARRAY(scratch, uint8_t, ncells),
                     .share = NEW_ARRAY(scratch, uint32_t, ncells),
                     .kept = NEW_ARRAY(scratch, bool, gaps->count),
                     .cuts = NEW_ARRAY(scratch, uint32_t, gaps->nvalues),
                     .orders = NEW_ARRAY(scratch, ClassOrders, problem->facts->classes.count),
                     .steps = problem->steps,
                     .rng = problem->seed | 1};
    for (uint32_t c = 0; c < ncells; c++)
        share_bands(&keeper, c);
    keeper.lanes = count_lanes(&keeper);
    const uint32_t *taken = find_taken(&keeper);
    init_trees(&keeper, taken);
    cut_all(&keeper);
    for (uint32_t c = 0; c < problem->facts->classes.count; c++)
        order_class(&keeper, c);
    BestKeep best = {kept, INT64_MAX};
    solve_straight(&keeper, taken, problem->steps / 4);
    fold_choice(&keeper);
    note_best(&keeper, &best);
    OpenClasses open = find_open(&keeper);
    search_folded(&keeper, &open, &best);
    return best.cost;
}
