#include "bound/rows.h"

#include "support/checked.h"
#include "support/sort.h"

/* How many items begin and end around a point. */
typedef struct {
    uint32_t entering; /* that begin here */
    uint32_t leaving;  /* that ended at the point before */
} PointChange;

typedef struct {
    BoundDemand *demand;
    RowProblem *out;
    Arena *arena;
    Arena scratch;
    PointChange *changes;     /* [npoints + 1] */
    int64_t *need[QUADRANTS]; /* [lanes][npoints + 1] most that items may need */
    uint32_t *row_after;      /* [npoints + 1] rows before this point */
    size_t item_capacity;
} RowPass;

/* ---- items ---- */

static bool has_choice(const LaneShape *shape) {
    return shape->bands.count > 1;
}

static uint8_t lanes_of(const LaneShape *shape) {
    uint8_t mask = 0;
    for (uint8_t b = 0; b < shape->bands.count; b++)
        mask |= shape->bands.masks[b];
    return mask;
}

static void add_item(RowPass *pass, RowItem item) {
    size_t count = pass->out->nitems;
    PUSH(pass->arena, pass->out->items, count, pass->item_capacity, item);
    pass->out->nitems = (uint32_t)count;
}

static void add_change(int64_t *sums, uint32_t first, uint32_t last, int64_t height) {
    sums[first] += height;
    sums[last + 1] -= height;
}

/* What stays in one band is taken from the room; a gap that costs nothing to cut is cut. */
static void sort_gaps(RowPass *pass) {
    BoundDemand *demand = pass->demand;
    int64_t *stays[QUADRANTS];
    for (uint32_t lane = 0; lane < demand->lanes; lane++)
        stays[lane] = NEW_ARRAY(&pass->scratch, int64_t, (size_t)demand->npoints + 1);
    for (uint32_t g = 0; g < demand->ngaps; g++) {
        const DemandGap *gap = &demand->gaps[g];
        bool must = gap->load == MUST_KEEP;
        if (must && !has_choice(&gap->shape)) {
            for (uint32_t lane = 0; lane < demand->lanes; lane++)
                if (gap->shape.bands.masks[0] >> lane & 1)
                    add_change(stays[lane], gap->first, gap->last, gap->shape.height);
        } else if (gap->load <= 0) {
            pass->out->constant = saturating_add(pass->out->constant, gap->load);
        } else if (gap->shape.height > 0) {
            add_item(pass, (RowItem){gap->first, gap->last, gap->shape, gap->load,
                                     must || gap->clean ? 0 : gap->value});
        }
    }
    for (uint32_t lane = 0; lane < demand->lanes; lane++)
        for (uint32_t p = 0; p < demand->npoints; p++) {
            demand->taken[lane][p] += stays[lane][p];
            stays[lane][p + 1] += stays[lane][p];
        }
}

static void add_operands(RowPass *pass) {
    const BoundDemand *demand = pass->demand;
    for (uint32_t o = 0; o < demand->noperands; o++) {
        const DemandOperand *operand = &demand->operands[o];
        add_item(pass, (RowItem){operand->point, operand->point, operand->shape, MUST_KEEP, 0});
    }
}

/* ---- rows ---- */

static void count_changes(RowPass *pass) {
    const RowProblem *out = pass->out;
    size_t count = (size_t)pass->demand->npoints + 2;
    pass->changes = NEW_ARRAY(&pass->scratch, PointChange, count);
    for (uint32_t lane = 0; lane < out->lanes; lane++)
        pass->need[lane] = NEW_ARRAY(&pass->scratch, int64_t, count);
    for (uint32_t i = 0; i < out->nitems; i++) {
        const RowItem *item = &out->items[i];
        pass->changes[item->first].entering++;
        pass->changes[item->last + 1].leaving++;
        for (uint32_t lane = 0; lane < out->lanes; lane++)
            if (lanes_of(&item->shape) >> lane & 1)
                add_change(pass->need[lane], item->first, item->last, item->shape.height);
    }
}

static int64_t room_at(const RowPass *pass, uint32_t lane, uint32_t point) {
    int64_t room = pass->demand->size - pass->demand->taken[lane][point];
    return room > 0 ? room : 0;
}

static bool is_crowded(const RowPass *pass, uint32_t point) {
    for (uint32_t lane = 0; lane < pass->out->lanes; lane++)
        if (pass->need[lane][point] > room_at(pass, lane, point)) return true;
    return false;
}

/* True if a point has no more room than another in any lane. */
static bool is_tighter(const RowPass *pass, uint32_t point, uint32_t other) {
    for (uint32_t lane = 0; lane < pass->out->lanes; lane++)
        if (room_at(pass, lane, point) > room_at(pass, lane, other)) return false;
    return true;
}

static void choose_rows(RowPass *pass) {
    RowProblem *out = pass->out;
    uint32_t entered = 0, left = 0; /* since the last row */
    out->point = RAW_ARRAY(pass->arena, uint32_t, pass->demand->npoints);
    for (uint32_t p = 0; p < pass->demand->npoints; p++) {
        for (uint32_t lane = 0; lane < out->lanes; lane++)
            pass->need[lane][p + 1] += pass->need[lane][p];
        entered += pass->changes[p].entering;
        left += pass->changes[p].leaving;
        if (!is_crowded(pass, p)) continue;
        uint32_t last = out->nrows ? out->point[out->nrows - 1] : 0;
        if (out->nrows && entered == 0 && is_tighter(pass, last, p)) continue;
        if (out->nrows && left == 0 && is_tighter(pass, p, last)) out->nrows--;
        out->point[out->nrows++] = p;
        entered = left = 0;
    }
}

/* Items of some row keep their place among rows, the others go. */
static void keep_competing(RowPass *pass) {
    RowProblem *out = pass->out;
    pass->row_after = NEW_ARRAY(&pass->scratch, uint32_t, (size_t)pass->demand->npoints + 2);
    for (uint32_t r = 0; r < out->nrows; r++)
        pass->row_after[out->point[r] + 1]++;
    for (uint32_t p = 0; p <= pass->demand->npoints; p++)
        pass->row_after[p + 1] += pass->row_after[p];
    uint32_t count = 0;
    for (uint32_t i = 0; i < out->nitems; i++) {
        RowItem item = out->items[i];
        uint32_t end = pass->row_after[item.last + 1];
        item.first = pass->row_after[item.first];
        if (item.first >= end) continue;
        item.last = end - 1;
        out->items[count++] = item;
    }
    out->nitems = count;
}

static void sort_by_value(RowPass *pass) {
    RowProblem *out = pass->out;
    SortKey *keys = RAW_ARRAY(&pass->scratch, SortKey, out->nitems);
    RowItem *items = RAW_ARRAY(pass->arena, RowItem, out->nitems);
    for (uint32_t i = 0; i < out->nitems; i++)
        keys[i] = (SortKey){out->items[i].value, i};
    sort_keys(keys, out->nitems, &pass->scratch);
    for (uint32_t i = 0; i < out->nitems; i++)
        items[i] = out->items[keys[i].id];
    out->items = items;
}

/* ---- capacities ---- */

enum { MOST_HEIGHTS = 256 };

/* How many items of each height may stand in a lane at a row. */
typedef struct {
    uint32_t heights[MOST_HEIGHTS];
    uint32_t counts[QUADRANTS][MOST_HEIGHTS];
    uint32_t nheights;
} HeightCounts;

static uint32_t find_height(HeightCounts *counts, uint32_t height) {
    uint32_t i = 0;
    while (i < counts->nheights && counts->heights[i] != height)
        i++;
    if (i == counts->nheights && i < MOST_HEIGHTS) counts->heights[counts->nheights++] = height;
    return i;
}

static int64_t common_height(const HeightCounts *counts, uint32_t lane) {
    int64_t common = 0;
    for (uint32_t i = 0; i < counts->nheights && common != 1; i++)
        if (counts->counts[lane][i]) common = common_divisor(common, counts->heights[i]);
    return common ? common : 1;
}

static void count_item(const RowPass *pass, HeightCounts *counts, uint32_t item, int by) {
    const LaneShape *shape = &pass->out->items[item].shape;
    uint32_t i = find_height(counts, shape->height);
    for (uint32_t lane = 0; lane < pass->out->lanes; lane++)
        if (lanes_of(shape) >> lane & 1) counts->counts[lane][i] += (uint32_t)by;
}

static void set_capacities(RowPass *pass) {
    RowProblem *out = pass->out;
    for (uint32_t lane = 0; lane < out->lanes; lane++) {
        out->capacity[lane] = RAW_ARRAY(pass->arena, int64_t, out->nrows);
        out->divisor[lane] = RAW_ARRAY(pass->arena, int64_t, out->nrows);
        for (uint32_t r = 0; r < out->nrows; r++) {
            out->capacity[lane][r] = room_at(pass, lane, out->point[r]);
            out->divisor[lane][r] = 1;
        }
    }
}

/* Items in order of the row that `end` picks: 0 the first, 1 the one after the last. */
static SortKey *items_by_row(const RowPass *pass, int end, Arena *scratch) {
    const RowProblem *out = pass->out;
    SortKey *keys = RAW_ARRAY(scratch, SortKey, out->nitems);
    for (uint32_t i = 0; i < out->nitems; i++)
        keys[i] = (SortKey){end ? out->items[i].last + 1 : out->items[i].first, i};
    sort_keys(keys, out->nitems, scratch);
    return keys;
}

/* Heights with a common divisor fill multiples of it (Chvatal and Gomory). */
static void round_capacities(RowPass *pass) {
    RowProblem *out = pass->out;
    HeightCounts *counts = NEW(&pass->scratch, HeightCounts);
    for (uint32_t i = 0; i < out->nitems; i++)
        if (find_height(counts, out->items[i].shape.height) == MOST_HEIGHTS) return;
    const SortKey *in = items_by_row(pass, 0, &pass->scratch);
    const SortKey *gone = items_by_row(pass, 1, &pass->scratch);
    for (uint32_t r = 0, i = 0, j = 0; r < out->nrows; r++) {
        for (; i < out->nitems && in[i].key == r; i++)
            count_item(pass, counts, in[i].id, 1);
        for (; j < out->nitems && gone[j].key == r; j++)
            count_item(pass, counts, gone[j].id, -1);
        for (uint32_t lane = 0; lane < out->lanes; lane++) {
            out->divisor[lane][r] = common_height(counts, lane);
            out->capacity[lane][r] -= out->capacity[lane][r] % out->divisor[lane][r];
        }
    }
}

RowProblem find_rows(BoundDemand *demand, Arena *arena) {
    RowProblem problem = {.lanes = demand->lanes,
                          .nvalues = demand->nvalues,
                          .store = demand->store,
                          .constant = -demand->saved};
    RowPass pass = {.demand = demand, .out = &problem, .arena = arena};
    arena_init(&pass.scratch);
    sort_gaps(&pass);
    add_operands(&pass);
    count_changes(&pass);
    choose_rows(&pass);
    keep_competing(&pass);
    sort_by_value(&pass);
    set_capacities(&pass);
    round_capacities(&pass);
    arena_free(&pass.scratch);
    return problem;
}
