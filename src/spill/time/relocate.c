#include "spill/time/relocate.h"

#include <string.h>

#include "spill/time/layout.h"
#include "support/clock.h"
#include "support/rng.h"
#include "support/sort.h"

/* ---- where a cell could go ---- */

/* Offsets beside or on other cells' ends, each once, in order. */
static uint32_t find_offsets(CellLayout *layout, uint32_t cell, uint32_t *offsets) {
    uint32_t nnear = layout->first_near[cell + 1] - layout->first_near[cell];
    SortKey *keys = RAW_ARRAY(layout->round, SortKey, 4 * (size_t)nnear + 2);
    uint32_t count = 0, height = layout->height[cell], align = layout->align[cell], n = 0;
    uint32_t size = layout->problem->facts->size;
    if (height > size) return 0;
    uint64_t candidates[4];
    keys[count++] = (SortKey){0, 0};
    keys[count++] = (SortKey){(size - height) / align * align, 0};
    for (uint32_t i = 0; i < nnear; i++) {
        Rect rect = layout->rects[layout->near[layout->first_near[cell] + i]];
        if (!rect.mask) continue;
        candidates[0] = align_up(rect.low, align);
        candidates[1] = align_up(rect.high, align);
        candidates[2] = rect.low >= height ? (rect.low - height) / align * align : 0;
        candidates[3] = rect.high >= height ? (rect.high - height) / align * align : 0;
        for (int k = 0; k < 4; k++)
            if (candidates[k] + height <= size) keys[count++] = (SortKey){candidates[k], 0};
    }
    sort_keys(keys, count, layout->round);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || keys[i].key != keys[i - 1].key) offsets[n++] = (uint32_t)keys[i].key;
    return n;
}

/* Puts a cell that has no place where that costs least: of places that cost the same at one by
 * chance. `avoid`: not there, if there is any other. Looks at a few places only once there are no
 * steps left. */
static void put_best(CellLayout *layout, uint32_t cell, Rect avoid) {
    enum { FEW = 16 };
    uint32_t nnear = layout->first_near[cell + 1] - layout->first_near[cell];
    uint32_t *offsets = RAW_ARRAY(layout->round, uint32_t, 4 * (size_t)nnear + 2);
    uint32_t count = find_offsets(layout, cell, offsets), equal = 0;
    const Bands *bands = &layout->bands[cell];
    Rect best = {0};
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < count; i += layout->steps ? 1 : 1 + count / FEW)
        for (int b = 0; b < bands->count; b++) {
            Rect rect = {offsets[i], offsets[i] + layout->height[cell], bands->masks[b]};
            if (avoid.mask && rects_same(rect, avoid)) continue;
            layout_put(layout, cell, rect);
            int64_t now = objective(layout);
            layout_take_out(layout, cell);
            if (now < least) equal = 0;
            if (now > least || (now == least && rng_below(&layout->rng, ++equal + 1) > 0)) continue;
            least = now;
            best = rect;
        }
    layout_put(layout, cell, best.mask ? best : avoid);
}

/* ---- the search ---- */

/* The best layout so far. */
typedef struct {
    Rect *rects; /* [ncells] */
    int64_t objective, cost;
} BestPlaces;

static void note_best(const CellLayout *layout, BestPlaces *best) {
    if (objective(layout) >= best->objective) return;
    best->objective = objective(layout);
    best->cost = layout->cost;
    memcpy(best->rects, layout->rects, layout->cells->ncells * sizeof(Rect));
}

/* A cell that has a broken gap, by chance; UINT32_MAX if there is none among some. */
static uint32_t pick_broken(CellLayout *layout) {
    enum { TRIES = 64 };
    for (int i = 0; i < TRIES && layout->gaps->count; i++) {
        uint32_t g = rng_below(&layout->rng, layout->gaps->count);
        if (!is_kept(layout, g)) return layout->gaps->gaps[g].cell;
    }
    return UINT32_MAX;
}

static bool can_swap(const CellLayout *layout, uint32_t a, uint32_t b) {
    return a != b && !layout->fixed[a] && !layout->fixed[b] &&
           layout->height[a] == layout->height[b] && layout->align[a] == layout->align[b] &&
           layout->bands[a].count == layout->bands[b].count &&
           layout->bands[a].masks[0] == layout->bands[b].masks[0] &&
           !rects_same(layout->rects[a], layout->rects[b]);
}

static void swap_cells(CellLayout *layout, uint32_t a, uint32_t b) {
    Rect at = layout->rects[a], to = layout->rects[b];
    layout_take_out(layout, a);
    layout_take_out(layout, b);
    layout_put(layout, a, to);
    layout_put(layout, b, at);
}

static bool accepts(CellLayout *layout, int64_t before, double temperature) {
    double worse = (double)(objective(layout) - before);
    return worse <= temperature * rng_below(&layout->rng, 1000) / 1000;
}

/* Another block of the cell's tensor, or of any, by chance. */
static uint32_t pick_other(CellLayout *layout, uint32_t cell) {
    const Cells *cells = layout->cells;
    uint32_t t = cells->tensor[cell];
    uint32_t first = cells->first_cell[t], end = cells->first_cell[t + 1];
    if (end - first > 1 && rng_below(&layout->rng, 4)) {
        uint32_t other = first + rng_below(&layout->rng, end - first);
        return layout->rects[other].mask ? other : cell;
    }
    return layout->live_cells[rng_below(&layout->rng, layout->nlive)];
}

static void try_swap(CellLayout *layout, uint32_t cell, double temperature) {
    uint32_t other = pick_other(layout, cell);
    int64_t before = objective(layout);
    if (!can_swap(layout, cell, other)) return;
    swap_cells(layout, cell, other);
    if (!accepts(layout, before, temperature)) swap_cells(layout, cell, other);
}

/* Beside or on another cell, by chance; mask 0 where it would not fit. */
static Rect pick_place(CellLayout *layout, uint32_t cell) {
    enum { ON = 5 };
    uint32_t first = layout->first_near[cell], count = layout->first_near[cell + 1] - first;
    if (count == 0) return (Rect){0};
    const Rect *other = &layout->rects[layout->near[first + rng_below(&layout->rng, count)]];
    uint32_t height = layout->height[cell], align = layout->align[cell];
    uint32_t kind = rng_below(&layout->rng, ON + 3);
    uint64_t low = align_up(other->low, align);
    if (kind == 0) low = align_up(other->high, align);
    if (kind == 1) low = other->low >= height ? (other->low - height) / align * align : 0;
    if (kind == 2) low = other->high >= height ? (other->high - height) / align * align : 0;
    if (low + height > layout->problem->facts->size || !other->mask) return (Rect){0};
    const Bands *bands = &layout->bands[cell];
    uint8_t mask = bands->masks[rng_below(&layout->rng, bands->count)];
    return (Rect){(uint32_t)low, (uint32_t)low + height, mask};
}

/* Moves a cell to a place, or where mask is 0 to the best. */
static void try_place(CellLayout *layout, uint32_t cell, Rect to, double temperature) {
    Rect was = layout->rects[cell];
    int64_t before = objective(layout);
    layout_take_out(layout, cell);
    if (to.mask)
        layout_put(layout, cell, to);
    else
        put_best(layout, cell, was);
    if (accepts(layout, before, temperature)) return;
    layout_take_out(layout, cell);
    layout_put(layout, cell, was);
}

static void try_near(CellLayout *layout, uint32_t cell, double temperature) {
    Rect to = pick_place(layout, cell);
    if (to.mask && !rects_same(to, layout->rects[cell])) try_place(layout, cell, to, temperature);
}

/* Moves one cell, or lets two change places; takes it back where that costs too much. */
static void move_cell(CellLayout *layout, double temperature) {
    enum { KINDS = 64, BEST = 1, SWAPS = 28 };
    uint32_t cell = rng_below(&layout->rng, 4) ? pick_broken(layout) : UINT32_MAX;
    if (cell == UINT32_MAX) cell = layout->live_cells[rng_below(&layout->rng, layout->nlive)];
    if (layout->fixed[cell]) return;
    spend_steps(layout, 20);
    uint32_t kind = rng_below(&layout->rng, KINDS);
    if (kind < BEST)
        try_place(layout, cell, (Rect){0}, temperature);
    else if (kind < BEST + SWAPS)
        try_swap(layout, cell, temperature);
    else
        try_near(layout, cell, temperature);
}

static void restore_places(CellLayout *layout, const BestPlaces *best) {
    for (uint32_t i = 0; i < layout->nlive; i++) {
        uint32_t c = layout->live_cells[i];
        if (!rects_same(layout->rects[c], best->rects[c])) layout_take_out(layout, c);
    }
    for (uint32_t i = 0; i < layout->nlive; i++) {
        uint32_t c = layout->live_cells[i];
        if (!layout->rects[c].mask) layout_put(layout, c, best->rects[c]);
    }
}

/* Cools once from a temperature: for so many moves, or steps. */
static void cool(CellLayout *layout, double hot, uint64_t moves, uint64_t steps, BestPlaces *best) {
    uint64_t begin = layout->steps;
    for (uint64_t i = 0; i < moves && layout->steps > 0 && begin - layout->steps < steps; i++) {
        double done = (double)i / (double)moves;
        double spent = (double)(begin - layout->steps) / (double)steps;
        double left = 1 - (done > spent ? done : spent);
        move_cell(layout, hot * left * left);
        arena_reset(layout->round);
        note_best(layout, best);
    }
}

/* Anneals again and again from the best places, from temperatures at which a reload more is rarely
 * or often accepted. */
static void anneal_layout(CellLayout *layout, BestPlaces *best) {
    enum { IDLE = 9, MOVES = 4000, MOVES_EACH = 120, HOT = 3, KINDS = 3, ROUNDS = 8 };
    static const double PART[KINDS] = {0.125, 0.5, 1};
    uint64_t moves = MOVES + MOVES_EACH * (uint64_t)layout->nlive;
    uint64_t steps = layout->steps / ROUNDS + 1;
    uint32_t idle = 0;
    double deadline = layout->problem->deadline;
    for (uint32_t round = 0; layout->steps > 0 && best->cost > 0 && idle < IDLE; round++) {
        if (clock_is_past(deadline)) return;
        int64_t before = best->objective;
        cool(layout, HOT * layout->load * PART[round % KINDS], moves, steps, best);
        idle = best->objective < before ? 0 : idle + 1;
        restore_places(layout, best);
    }
}

/* Where a fixed block lies. */
static Rect fixed_rect(const CellLayout *layout, uint32_t cell) {
    uint32_t t = layout->cells->tensor[cell];
    const Tensor *tensor = &layout->problem->facts->func->tensors[t];
    return tensor_rect(tensor, tensor->at[cell_block(layout->cells, cell)]);
}

/* Cells that have a place; then the others, the largest first, where they break least. */
static void begin_places(CellLayout *layout, const Rect *begin) {
    SortKey *left = RAW_ARRAY(layout->scratch, SortKey, layout->nlive);
    uint32_t nleft = 0;
    for (uint32_t i = 0; i < layout->nlive; i++) {
        uint32_t c = layout->live_cells[i];
        if (layout->fixed[c])
            layout_put(layout, c, fixed_rect(layout, c));
        else if (begin[c].mask)
            layout_put(layout, c, begin[c]);
        else
            left[nleft++] = (SortKey){UINT32_MAX - layout->height[c], c};
    }
    sort_keys(left, nleft, layout->scratch);
    for (uint32_t i = 0; i < nleft; i++) {
        put_best(layout, left[i].id, (Rect){0});
        arena_reset(layout->round);
    }
}

CellPlaces relocate(const KeepProblem *problem, const Rect *begin, uint64_t *steps, Arena *arena) {
    uint32_t ncells = problem->facts->cells.ncells, ngaps = problem->facts->gaps.count;
    Arena scratch, round;
    arena_init(&scratch);
    arena_init(&round);
    CellLayout layout;
    layout_init(&layout, problem, &scratch);
    layout.round = &round;
    layout.steps = *steps;
    layout.rng = problem->seed | 1;
    begin_places(&layout, begin);
    CellPlaces places = {.rects = NEW_ARRAY(arena, Rect, ncells),
                         .kept = RAW_ARRAY(arena, bool, ngaps)};
    BestPlaces best = {places.rects, INT64_MAX, INT64_MAX};
    note_best(&layout, &best);
    anneal_layout(&layout, &best);
    restore_places(&layout, &best);
    places.legal = layout.conflicts == 0;
    places.cost = layout.cost;
    for (uint32_t g = 0; g < ngaps; g++)
        places.kept[g] = is_kept(&layout, g);
    *steps = layout.steps;
    arena_free(&scratch);
    arena_free(&round);
    return places;
}
