#include "spill/time/layout.h"

#include "spill/time/classes.h"

#include "support/checked.h"
#include "support/search.h"
#include "support/sort.h"

/* ---- cells ---- */

static void describe_cells(CellLayout *layout) {
    const Cells *cells = layout->cells;
    const Func *func = layout->problem->facts->timeline.func;
    for (uint32_t c = 0; c < cells->ncells; c++) {
        const Tensor *tensor = &func->tensors[cells->tensor[c]];
        layout->height[c] = tensor_height(tensor);
        layout->align[c] = tensor_align(tensor);
        layout->bands[c] = class_bands(shape_class(tensor->partitions, tensor->base));
        layout->fixed[c] = tensor->fixed;
        if (cells->first[c] < cells->first[c + 1]) layout->live_cells[layout->nlive++] = c;
    }
}

typedef struct {
    LiveSpan *items;
    size_t count, capacity;
} SpanList;

static void add_range(Arena *arena, SpanList *list, LiveRange range, uint32_t gap) {
    for (uint32_t i = 0; i < range.count; i++) {
        LiveSpan span = {range.items[i].first, range.items[i].last, gap};
        PUSH(arena, list->items, list->count, list->capacity, span);
    }
}

/* The spans of one cell, in any order; they may overlap where runs have back edges. */
static void collect_spans(const CellLayout *layout, uint32_t c, Arena *arena, SpanList *list) {
    const Cells *cells = layout->cells;
    uint32_t npoints = layout->problem->facts->timeline.npoints;
    bool stays = layout->gaps->resident[cells->tensor[c]];
    for (uint32_t a = cells->first[c]; a < cells->first[c + 1]; a++) {
        uint32_t g = layout->gaps->of[a];
        if (g == UINT32_MAX || layout->gaps->gaps[g].apart) continue;
        add_range(arena, list, layout->gaps->gaps[g].tail, stays ? UINT32_MAX : g);
        add_range(arena, list, layout->gaps->gaps[g].points, stays ? UINT32_MAX : g);
    }
    if (!layout->problem->facts->timeline.func->tensors[cells->tensor[c]].output ||
        cells->first[c] == cells->first[c + 1])
        return;
    uint32_t last = cells->accesses[cells->first[c + 1] - 1].point;
    Interval end = {last + 1, npoints - 1};
    if (last + 1 < npoints) add_range(arena, list, (LiveRange){&end, 1}, UINT32_MAX);
}

/* Adds the spans in order, cut such that any two are the same points or share none. */
static void add_spans(CellLayout *layout, SpanList *found, SpanList *out, Arena *arena) {
    SortKey *starts = RAW_ARRAY(arena, SortKey, found->count);
    SortKey *bounds = RAW_ARRAY(arena, SortKey, 2 * found->count);
    LiveSpan *active = RAW_ARRAY(arena, LiveSpan, found->count);
    for (uint32_t i = 0; i < found->count; i++) {
        starts[i] = (SortKey){found->items[i].first, i};
        bounds[2 * i] = (SortKey){found->items[i].first, 0};
        bounds[2 * i + 1] = (SortKey){(uint64_t)found->items[i].last + 1, 0};
    }
    sort_keys(starts, found->count, arena);
    sort_keys(bounds, 2 * found->count, arena);
    uint32_t next = 0, nactive = 0;
    for (uint32_t b = 0; b + 1 < 2 * found->count; b++) {
        uint32_t first = (uint32_t)bounds[b].key, end = (uint32_t)bounds[b + 1].key;
        if (first == end) continue;
        uint32_t left = 0;
        for (uint32_t i = 0; i < nactive; i++)
            if (active[i].last >= first) active[left++] = active[i];
        nactive = left;
        while (next < found->count && starts[next].key == first)
            active[nactive++] = found->items[starts[next++].id];
        for (uint32_t i = 0; i < nactive; i++) {
            LiveSpan piece = {first, end - 1, active[i].gap};
            PUSH(layout->scratch, out->items, out->count, out->capacity, piece);
        }
    }
}

/* The first and the last point where a cell may live. */
static Interval extent_of(const CellLayout *layout, uint32_t c) {
    const Cells *cells = layout->cells;
    Interval extent = {cells->accesses[cells->first[c]].point,
                       cells->accesses[cells->first[c + 1] - 1].point};
    uint32_t first = layout->first_span[c], end = layout->first_span[c + 1];
    if (first == end) return extent;
    if (layout->spans[first].first < extent.first) extent.first = layout->spans[first].first;
    if (layout->spans[end - 1].last > extent.last) extent.last = layout->spans[end - 1].last;
    return extent;
}

/* Cells by their first points; each meets those that are open when it begins. */
static void find_near(CellLayout *layout) {
    uint32_t n = layout->nlive;
    SortKey *order = RAW_ARRAY(layout->scratch, SortKey, n);
    Interval *extents = RAW_ARRAY(layout->scratch, Interval, layout->cells->ncells);
    uint32_t *open = RAW_ARRAY(layout->scratch, uint32_t, n), nopen;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = layout->live_cells[i];
        extents[c] = extent_of(layout, c);
        order[i] = (SortKey){extents[c].first, c};
    }
    sort_keys(order, n, layout->scratch);
    layout->first_near = NEW_ARRAY(layout->scratch, uint32_t, (size_t)layout->cells->ncells + 2);
    for (int fill = 0; fill < 2; fill++) {
        nopen = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t c = order[i].id, left = 0;
            for (uint32_t k = 0; k < nopen; k++)
                if (extents[open[k]].last >= extents[c].first) open[left++] = open[k];
            nopen = left;
            for (uint32_t k = 0; k < nopen; k++) {
                uint32_t pair[] = {c, open[k]};
                for (int s = 0; s < 2; s++) {
                    if (fill)
                        layout->near[layout->first_near[pair[s] + 1]++] = pair[1 - s];
                    else
                        layout->first_near[pair[s] + 2]++;
                }
            }
            open[nopen++] = c;
        }
        if (fill) break;
        for (uint32_t c = 2; c <= layout->cells->ncells + 1; c++)
            layout->first_near[c] += layout->first_near[c - 1];
        layout->near =
            RAW_ARRAY(layout->scratch, uint32_t, layout->first_near[layout->cells->ncells + 1]);
    }
}

static void find_spans(CellLayout *layout) {
    SpanList all = {0};
    Arena arena;
    arena_init(&arena);
    for (uint32_t c = 0; c < layout->cells->ncells; c++) {
        layout->first_span[c] = (uint32_t)all.count;
        SpanList found = {0};
        arena_reset(&arena);
        collect_spans(layout, c, &arena, &found);
        if (found.count) add_spans(layout, &found, &all, &arena);
    }
    layout->first_span[layout->cells->ncells] = (uint32_t)all.count;
    layout->spans = all.items;
    arena_free(&arena);
}

/* ---- cost ---- */

static int64_t break_cost(const CellLayout *layout, const TimeGap *gap, uint32_t cuts_before) {
    int64_t sum = gap->load;
    if (gap->source == NO_SOURCE && cuts_before == 0)
        sum = saturating_add(sum, layout->gaps->store[gap->value]);
    return sum;
}

/* Breaks between segments of a class beyond one, in the order that has fewest. */
static int64_t class_complexity(const CellLayout *layout, uint32_t class) {
    uint32_t least = UINT32_MAX;
    for (uint32_t o = layout->first_order[class]; o < layout->first_order[class + 1]; o++)
        if (layout->breaks[o] < least) least = layout->breaks[o];
    if (least == UINT32_MAX || least <= 1) return 0;
    return (int64_t)(least - 1) * layout->per_condition;
}

/* The gap has changed: it was kept before, or is now. */
static void note_flip(CellLayout *layout, uint32_t gap, bool kept) {
    uint32_t class = layout->problem->facts->classes.of[gap];
    uint32_t count = layout->first_order[class + 1] - layout->first_order[class];
    if (count == 0) return;
    layout->complexity -= class_complexity(layout, class);
    for (uint32_t k = 0; k < count; k++) {
        const Neighbours *near = &layout->neighbours[layout->first_neighbour[gap] + k];
        uint32_t sides[] = {near->gap_before, near->gap_after};
        for (int s = 0; s < 2; s++) {
            if (sides[s] == UINT32_MAX) continue;
            bool differs = is_kept(layout, sides[s]) != kept;
            layout->breaks[layout->first_order[class] + k] += differs ? 1u : -1u;
        }
    }
    layout->complexity += class_complexity(layout, class);
}

static void block(CellLayout *layout, uint32_t g) {
    if (layout->blockers[g]++ > 0) return;
    const TimeGap *gap = &layout->gaps->gaps[g];
    uint32_t before = gap->source == NO_SOURCE ? layout->cuts[gap->value]++ : 0;
    layout->cost += break_cost(layout, gap, before);
    note_flip(layout, g, false);
}

static void unblock(CellLayout *layout, uint32_t g) {
    if (--layout->blockers[g] > 0) return;
    const TimeGap *gap = &layout->gaps->gaps[g];
    uint32_t after = gap->source == NO_SOURCE ? --layout->cuts[gap->value] : 0;
    layout->cost -= break_cost(layout, gap, after);
    note_flip(layout, g, true);
}

/* ---- pairs of cells ---- */

static void add_conflict(CellLayout *layout, int sign) {
    layout->conflicts += sign;
    layout->cost += sign * HARD;
}

/* Accesses of `other` in the spans of `cell` break its gaps, if they share a granule. `sign` 1:
 * they do now; -1: no more. */
static void meet_one_way(CellLayout *layout, uint32_t cell, uint32_t other, int sign) {
    const Cells *cells = layout->cells;
    const CellAccess *access = &cells->accesses[cells->first[other]],
                     *end = &cells->accesses[cells->first[other + 1]];
    const LiveSpan *span = &layout->spans[layout->first_span[cell]],
                   *last = &layout->spans[layout->first_span[cell + 1]];
    while (access < end && span < last) {
        if (access->point < span->first) {
            access++;
        } else if (access->point > span->last) {
            span++;
        } else {
            for (const LiveSpan *same = span; same < last && same->first == span->first; same++)
                if (same->gap == UINT32_MAX)
                    add_conflict(layout, sign);
                else
                    (sign > 0 ? block : unblock)(layout, same->gap);
            access++;
        }
    }
}

/* Both accessed at one point. */
static void meet_at_points(CellLayout *layout, uint32_t a, uint32_t b, int sign) {
    const CellAccess *items = layout->cells->accesses;
    uint32_t i = layout->cells->first[a], j = layout->cells->first[b];
    uint32_t end = layout->cells->first[a + 1], last = layout->cells->first[b + 1];
    while (i < end && j < last) {
        if (items[i].point == items[j].point) add_conflict(layout, sign);
        if (items[i].point <= items[j].point)
            i++;
        else
            j++;
    }
}

/* One cell more, or less, shares granules with this one: that counts for the first few. */
static void count_sharer(CellLayout *layout, uint32_t cell, int sign) {
    enum { MOST = 6 };
    uint32_t before = layout->sharers[cell], now = before + (uint32_t)sign;
    layout->sharers[cell] = now;
    if (before < MOST && sign > 0) layout->complexity -= layout->per_sharer;
    if (now < MOST && sign < 0) layout->complexity += layout->per_sharer;
}

static void meet(CellLayout *layout, uint32_t a, uint32_t b, int sign) {
    const Cells *cells = layout->cells;
    spend_steps(layout,
                cells->first[a + 1] - cells->first[a] + cells->first[b + 1] - cells->first[b]);
    count_sharer(layout, a, sign);
    count_sharer(layout, b, sign);
    meet_at_points(layout, a, b, sign);
    meet_one_way(layout, a, b, sign);
    meet_one_way(layout, b, a, sign);
}

static void meet_all(CellLayout *layout, uint32_t cell, int sign) {
    uint32_t end = layout->first_near[cell + 1];
    spend_steps(layout, (end - layout->first_near[cell]) / 8);
    for (uint32_t i = layout->first_near[cell]; i < end; i++) {
        uint32_t other = layout->near[i];
        if (layout->rects[other].mask && rects_meet(layout->rects[cell], layout->rects[other]))
            meet(layout, cell, other, sign);
    }
}

void layout_put(CellLayout *layout, uint32_t cell, Rect rect) {
    layout->rects[cell] = rect;
    meet_all(layout, cell, 1);
}

void layout_take_out(CellLayout *layout, uint32_t cell) {
    meet_all(layout, cell, -1);
    layout->rects[cell].mask = 0;
}

/* ---- complexity ---- */

static void link_by_side(CellLayout *layout, uint32_t class, Affine side, uint32_t k) {
    const TimeFacts *facts = layout->problem->facts;
    const GapClass *info = &facts->classes.items[class];
    const uint32_t *members = facts->classes.members + info->first;
    uint32_t count = info->end - info->first;
    SortKey *keys = RAW_ARRAY(layout->scratch, SortKey, count);
    order_by_side(facts, class, side, keys, layout->scratch);
    for (uint32_t i = 0; i < count; i++) {
        Neighbours *near = &layout->neighbours[layout->first_neighbour[members[keys[i].id]] + k];
        near->gap_before = i ? members[keys[i - 1].id] : UINT32_MAX;
        near->gap_after = i + 1 < count ? members[keys[i + 1].id] : UINT32_MAX;
    }
}

static void find_orders(CellLayout *layout) {
    const Classes *classes = &layout->problem->facts->classes;
    const Func *func = layout->problem->facts->timeline.func;
    Sides *sides = RAW_ARRAY(layout->scratch, Sides, classes->count);
    uint32_t orders = 0;
    size_t near = 0;
    for (uint32_t c = 0; c < classes->count; c++) {
        const GapClass *class = &classes->items[c];
        layout->first_order[c] = orders;
        sides[c] = find_sides(func, class->inst, class->operand, layout->scratch);
        if (class->end - class->first < 2) sides[c].count = 0;
        orders += sides[c].count;
        for (uint32_t i = class->first; i < class->end; i++) {
            layout->first_neighbour[classes->members[i]] = (uint32_t)near;
            near += sides[c].count;
        }
    }
    layout->first_order[classes->count] = orders;
    layout->breaks = NEW_ARRAY(layout->scratch, uint32_t, orders);
    layout->neighbours = RAW_ARRAY(layout->scratch, Neighbours, near);
    for (uint32_t c = 0; c < classes->count; c++)
        for (uint32_t k = 0; k < sides[c].count; k++)
            link_by_side(layout, c, sides[c].items[k], k);
}

/* Cycles of one reload, the mean of all gaps. */
static double mean_load(const CellLayout *layout) {
    double sum = 0;
    for (uint32_t g = 0; g < layout->gaps->count; g++)
        sum += (double)layout->gaps->gaps[g].load;
    return layout->gaps->count ? sum / layout->gaps->count : 0;
}

/* ---- the layout ---- */

void layout_init(CellLayout *layout, const KeepProblem *problem, Arena *scratch) {
    enum { PER_CONDITION = 16, PER_SHARER = 6 };
    const Cells *cells = &problem->facts->cells;
    uint32_t ncells = cells->ncells, ngaps = problem->facts->gaps.count;
    *layout = (CellLayout){
        .problem = problem,
        .gaps = &problem->facts->gaps,
        .cells = cells,
        .scratch = scratch,
        .rects = NEW_ARRAY(scratch, Rect, ncells),
        .height = NEW_ARRAY(scratch, uint32_t, ncells),
        .align = NEW_ARRAY(scratch, uint32_t, ncells),
        .bands = NEW_ARRAY(scratch, Bands, ncells),
        .fixed = NEW_ARRAY(scratch, bool, ncells),
        .first_span = NEW_ARRAY(scratch, uint32_t, (size_t)ncells + 1),
        .blockers = NEW_ARRAY(scratch, uint32_t, ngaps),
        .cuts = NEW_ARRAY(scratch, uint32_t, problem->facts->gaps.nvalues),
        .first_order = NEW_ARRAY(scratch, uint32_t, (size_t)problem->facts->classes.count + 1),
        .first_neighbour = NEW_ARRAY(scratch, uint32_t, ngaps),
        .live_cells = NEW_ARRAY(scratch, uint32_t, ncells),
        .sharers = NEW_ARRAY(scratch, uint32_t, ncells)};
    describe_cells(layout);
    find_spans(layout);
    find_near(layout);
    find_orders(layout);
    layout->load = mean_load(layout);
    layout->per_condition = 1 + (int64_t)layout->load / PER_CONDITION;
    layout->per_sharer = layout->per_condition / PER_SHARER;
    for (uint32_t g = 0; g < ngaps; g++)
        if (problem->facts->gaps.gaps[g].apart) block(layout, g);
}
