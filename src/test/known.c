#include "test/known.h"

#include "test/chance.h"
#include "test/make.h"

typedef enum { TIME, BYTES, QUADRANT, AXES } BoxAxis;

/* low[axis] .. high[axis] - 1 in time slots, granules and quadrants. */
typedef struct {
    int64_t low[AXES], high[AXES];
    uint32_t tensor; /* whose piece it is */
    bool whole;      /* one of two pieces of a tensor: not cut any further */
} Box;

typedef struct {
    Arena *arena;
    KnownCuts cuts;
    Chance chance;
    Box *boxes;
    size_t count, capacity;
    uint32_t tensors; /* so far */
} Cutter;

static int64_t length(const Box *box, BoxAxis axis) {
    return box->high[axis] - box->low[axis];
}

static int64_t volume(const Box *box) {
    return length(box, TIME) * length(box, BYTES) * length(box, QUADRANT);
}

static void add_box(Cutter *cutter, Box box) {
    PUSH(cutter->arena, cutter->boxes, cutter->count, cutter->capacity, box);
}

/* The part of a box from `low` to `high` of one axis. */
static Box part(Box box, BoxAxis axis, int64_t low, int64_t high) {
    box.low[axis] = low;
    box.high[axis] = high;
    return box;
}

static bool can_cut(const Cutter *cutter, const Box *box, BoxAxis axis) {
    return length(box, axis) >= 2 && (axis != QUADRANT || cutter->cuts.bands);
}

/* Where to cut: quadrants in halves, so that every piece is a band. */
static int64_t cut_place(Cutter *cutter, const Box *box, BoxAxis axis) {
    if (axis == QUADRANT) return (box->low[axis] + box->high[axis]) / 2;
    return chance_between(&cutter->chance, box->low[axis] + 1, box->high[axis] - 1);
}

static bool cut_straight(Cutter *cutter, size_t which) {
    Box box = cutter->boxes[which];
    BoxAxis axis = (BoxAxis)chance_below(&cutter->chance, AXES);
    for (int tries = 0; tries < AXES && !can_cut(cutter, &box, axis); tries++)
        axis = (BoxAxis)((axis + 1) % AXES);
    if (!can_cut(cutter, &box, axis)) return false;
    int64_t place = cut_place(cutter, &box, axis);
    cutter->boxes[which] = part(box, axis, box.low[axis], place);
    Box rest = part(box, axis, place, box.high[axis]);
    rest.tensor = cutter->tensors++;
    add_box(cutter, rest);
    return true;
}

/* Five boxes, four of them around the fifth like the wings of a windmill. */
static bool cut_pinwheel(Cutter *cutter, size_t which) {
    Box box = cutter->boxes[which];
    if (length(&box, TIME) < 3 || length(&box, BYTES) < 3) return false;
    int64_t t1 = chance_between(&cutter->chance, box.low[TIME] + 1, box.high[TIME] - 2);
    int64_t t2 = chance_between(&cutter->chance, t1 + 1, box.high[TIME] - 1);
    int64_t b1 = chance_between(&cutter->chance, box.low[BYTES] + 1, box.high[BYTES] - 2);
    int64_t b2 = chance_between(&cutter->chance, b1 + 1, box.high[BYTES] - 1);
    int64_t t0 = box.low[TIME], t3 = box.high[TIME], b0 = box.low[BYTES], b3 = box.high[BYTES];
    const int64_t wings[5][4] = {
        {t0, t2, b0, b1}, {t2, t3, b0, b2}, {t1, t3, b2, b3}, {t0, t1, b1, b3}, {t1, t2, b1, b2}};
    for (int i = 0; i < 5; i++) {
        Box wing = part(part(box, TIME, wings[i][0], wings[i][1]), BYTES, wings[i][2], wings[i][3]);
        if (i > 0) wing.tensor = cutter->tensors++;
        if (i == 0)
            cutter->boxes[which] = wing;
        else
            add_box(cutter, wing);
    }
    return true;
}

/* Three boxes in time, the outer two of one tensor. */
static bool cut_hole(Cutter *cutter, size_t which) {
    Box box = cutter->boxes[which];
    if (length(&box, TIME) < 3) return false;
    int64_t t1 = chance_between(&cutter->chance, box.low[TIME] + 1, box.high[TIME] - 2);
    int64_t t2 = chance_between(&cutter->chance, t1 + 1, box.high[TIME] - 1);
    Box middle = part(box, TIME, t1, t2);
    middle.tensor = cutter->tensors++;
    add_box(cutter, middle);
    Box before = part(box, TIME, box.low[TIME], t1), after = part(box, TIME, t2, box.high[TIME]);
    before.whole = after.whole = true;
    cutter->boxes[which] = before;
    add_box(cutter, after);
    return true;
}

/* The largest of a few boxes at random that may be cut; false if there was none among them. */
static bool choose_box(Cutter *cutter, size_t *which) {
    bool found = false;
    for (int tries = 0; tries < 4; tries++) {
        size_t box = (size_t)chance_below(&cutter->chance, cutter->count);
        if (cutter->boxes[box].whole) continue;
        if (found && volume(&cutter->boxes[box]) <= volume(&cutter->boxes[*which])) continue;
        *which = box;
        found = true;
    }
    return found;
}

static void cut_all(Cutter *cutter) {
    add_box(cutter,
            (Box){{0, 0, 0}, {cutter->cuts.times, cutter->cuts.granules, QUADRANTS}, 0, false});
    cutter->tensors = 1;
    uint32_t failures = 0, most = 1000;
    while (cutter->tensors < cutter->cuts.count && failures < most) {
        size_t which = 0;
        bool done = false;
        if (choose_box(cutter, &which)) {
            bool large = cutter->tensors > 8;
            if (large && chance_percent(&cutter->chance, cutter->cuts.holes))
                done = cut_hole(cutter, which);
            else if (cutter->cuts.pinwheels && chance_percent(&cutter->chance, 40))
                done = cut_pinwheel(cutter, which);
            if (!done) done = cut_straight(cutter, which);
        }
        failures = done ? 0 : failures + 1;
    }
}

/* 0 .. count - 1 in random order. */
static uint32_t *shuffled(Arena *arena, uint32_t count, Chance *chance) {
    uint32_t *order = RAW_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = (uint32_t)chance_below(chance, (uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

static Tensor box_tensor(Cutter *cutter, const Box *box, uint32_t number) {
    /* Enough partitions to touch every quadrant of the band. */
    static const int64_t LEAST[] = {0, 1, 33, 0, 97};
    int64_t quadrants = length(box, QUADRANT), most = quadrants * QUADRANT_PARTITIONS;
    int64_t partitions = chance_percent(&cutter->chance, 70)
                             ? most
                             : chance_between(&cutter->chance, LEAST[quadrants], most);
    Tensor tensor =
        make_tensor(cutter->arena, "r", number, SPACE_SB, partitions, length(box, BYTES) * GRANULE);
    if (!cutter->cuts.placed) return tensor;
    Place *place = NEW(cutter->arena, Place);
    *place = (Place){(int32_t)box->low[QUADRANT] * QUADRANT_PARTITIONS, box->low[BYTES] * GRANULE};
    tensor.fixed = true;
    tensor.at = place;
    return tensor;
}

/* Boxes by the slot where they begin or end. */
typedef struct {
    uint32_t *first; /* [times + 1] */
    uint32_t *boxes;
} Slots;

static int64_t edge(const Box *box, bool end) {
    return end ? box->high[TIME] - 1 : box->low[TIME];
}

static Slots sort_boxes(const Cutter *cutter, bool end) {
    Slots slots = {NEW_ARRAY(cutter->arena, uint32_t, (size_t)cutter->cuts.times + 2),
                   RAW_ARRAY(cutter->arena, uint32_t, cutter->count)};
    for (size_t i = 0; i < cutter->count; i++)
        slots.first[edge(&cutter->boxes[i], end) + 1]++;
    for (uint32_t t = 0; t < cutter->cuts.times; t++)
        slots.first[t + 1] += slots.first[t];
    uint32_t *next = RAW_ARRAY(cutter->arena, uint32_t, (size_t)cutter->cuts.times + 1);
    for (uint32_t t = 0; t <= cutter->cuts.times; t++)
        next[t] = slots.first[t];
    for (size_t i = 0; i < cutter->count; i++)
        slots.boxes[next[edge(&cutter->boxes[i], end)]++] = (uint32_t)i;
    return slots;
}

static void emit_slot(const Cutter *cutter, Builder *builder, const uint32_t *ids, Slots slots,
                      uint32_t time, bool end) {
    uint32_t first = slots.first[time], count = slots.first[time + 1] - first;
    if (count == 0) return;
    MakeInst inst = make_inst(cutter->arena, end ? 0 : count, end ? count : 0);
    for (uint32_t i = 0; i < count; i++)
        make_operand(&inst, ids[cutter->boxes[slots.boxes[first + i]].tensor]);
    make_finish(builder, &inst, end ? "finish" : "begin");
}

Module *known_cuts(Arena *arena, KnownCuts cuts) {
    Cutter cutter = {.arena = arena, .cuts = cuts, .chance = {cuts.seed}};
    cut_all(&cutter);
    Builder builder = make_begin(arena, "known");
    uint32_t *order = shuffled(arena, cutter.tensors, &cutter.chance);
    uint32_t *ids = NEW_ARRAY(arena, uint32_t, cutter.tensors);
    const Box **piece = NEW_ARRAY(arena, const Box *, cutter.tensors);
    for (size_t i = 0; i < cutter.count; i++)
        piece[cutter.boxes[i].tensor] = &cutter.boxes[i];
    for (uint32_t i = 0; i < cutter.tensors; i++)
        ids[order[i]] = build_tensor(&builder, box_tensor(&cutter, piece[order[i]], i));
    Slots begins = sort_boxes(&cutter, false), ends = sort_boxes(&cutter, true);
    for (uint32_t time = 0; time < cuts.times; time++) {
        emit_slot(&cutter, &builder, ids, begins, time, false);
        emit_slot(&cutter, &builder, ids, ends, time, true);
    }
    return make_module(&builder, cuts.granules * GRANULE);
}

static void define_together(Builder *builder, uint32_t u, uint32_t v) {
    MakeInst def = make_inst(builder->arena, 2, 0), use = make_inst(builder->arena, 0, 2);
    make_operand(&def, u);
    make_operand(&def, v);
    make_operand(&use, u);
    make_operand(&use, v);
    make_finish(builder, &def, "def");
    make_finish(builder, &use, "use");
}

Module *known_colours(Arena *arena, uint32_t count, uint32_t colours, uint32_t percent,
                      uint64_t seed) {
    Chance chance = {seed};
    Builder builder = make_begin(arena, "planted");
    uint32_t *colour = NEW_ARRAY(arena, uint32_t, count);
    bool *joined = NEW_ARRAY(arena, bool, count);
    for (uint32_t i = 0; i < count; i++) {
        build_tensor(&builder, make_tensor(arena, "v", i, SPACE_SB, PARTITIONS, GRANULE));
        colour[i] = (uint32_t)chance_below(&chance, colours);
    }
    for (uint32_t v = 1; v < count; v++)
        for (uint32_t u = 0; u < v; u++)
            if (colour[u] != colour[v] && chance_percent(&chance, percent)) {
                define_together(&builder, u, v);
                joined[u] = joined[v] = true;
            }
    for (uint32_t v = 0; v < count; v++)
        if (!joined[v]) make_simple(&builder, "def", v, UINT32_MAX);
    return make_module(&builder, (int64_t)colours * GRANULE);
}
