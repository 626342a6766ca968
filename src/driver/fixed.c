#include "driver/fixed.h"

#include <string.h>

#include "support/sort.h"

/* A block while it is live. */
typedef struct {
    uint32_t low, high; /* granules */
    uint32_t tensor, last;
} Holder;

/* The blocks that hold places in one quadrant, sorted by low; they do not overlap. */
typedef struct {
    Holder *items;
    size_t count, capacity;
} Quadrant;

/* One interval of one block. */
typedef struct {
    Interval interval;
    Rect rect;
    uint32_t tensor;
} Stay;

typedef struct {
    const Func *func;
    DiagQueue *diags;
    Arena scratch;
    Stay *stays;
    size_t nstays, stay_capacity;
    Quadrant quadrants[QUADRANTS];
    bool *reported; /* [ntensors] */
    bool clean;
} Check;

static void gather_stays(Check *check, const Live *live) {
    for (uint32_t t = 0; t < check->func->ntensors; t++) {
        const Tensor *tensor = &check->func->tensors[t];
        if (tensor->space != SPACE_SB || !tensor->at) continue;
        for (int64_t b = 0; b < tensor->blocks; b++) {
            LiveRange range = live_block(live, t, b);
            for (uint32_t i = 0; i < range.count; i++) {
                Stay stay = {range.items[i], tensor_rect(tensor, tensor->at[b]), t};
                PUSH(&check->scratch, check->stays, check->nstays, check->stay_capacity, stay);
            }
        }
    }
}

/* True if the instruction is an elided copy between the two. */
static bool joins(const Inst *inst, uint32_t a, uint32_t b) {
    if (inst->kind != OP_COPY || !meta_find(inst->meta, "elided")) return false;
    uint32_t dst = inst_dst(inst)->tensor, src = inst_src(inst)->tensor;
    return (dst == a && src == b) || (dst == b && src == a);
}

static void report(Check *check, uint32_t tensor, uint32_t other) {
    check->clean = false;
    const Tensor *a = &check->func->tensors[tensor], *b = &check->func->tensors[other];
    if (b->span.begin > a->span.begin) {
        const Tensor *spare = a;
        a = b;
        b = spare;
        tensor = other;
    }
    if (check->reported[tensor]) return;
    check->reported[tensor] = true;
    diag_error(check->diags, a->span, "fixed tensor %%%.*s overlaps %%%.*s while both are live",
               (int)a->name.length, a->name.text, (int)b->name.length, b->name.text);
    diag_note(check->diags, b->span, true, "%%%.*s is placed here", (int)b->name.length,
              b->name.text);
}

static void remove_holder(Quadrant *quadrant, size_t at) {
    quadrant->count--;
    memmove(quadrant->items + at, quadrant->items + at + 1,
            (quadrant->count - at) * sizeof *quadrant->items);
}

/* Takes a place in one quadrant from `stay->interval.first` on; what has ended makes way. */
static void hold(Check *check, Quadrant *quadrant, const Stay *stay) {
    uint32_t point = stay->interval.first;
    size_t low = 0, high = quadrant->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (quadrant->items[middle].high <= stay->rect.low)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < quadrant->count && quadrant->items[low].low < stay->rect.high) {
        const Holder *other = &quadrant->items[low];
        bool ended = other->last < point;
        bool handed_on =
            other->last == point && joins(&check->func->insts[point], stay->tensor, other->tensor);
        if (!ended && !handed_on) {
            report(check, stay->tensor, other->tensor);
            return;
        }
        remove_holder(quadrant, low);
    }
    Holder holder = {stay->rect.low, stay->rect.high, stay->tensor, stay->interval.last};
    PUSH(&check->scratch, quadrant->items, quadrant->count, quadrant->capacity, holder);
    memmove(quadrant->items + low + 1, quadrant->items + low,
            (quadrant->count - 1 - low) * sizeof holder);
    quadrant->items[low] = holder;
}

bool check_fixed(const Func *func, const Live *live, DiagQueue *diags) {
    Check check = {.func = func, .diags = diags, .clean = true};
    gather_stays(&check, live);
    check.reported = NEW_ARRAY(&check.scratch, bool, func->ntensors);
    SortKey *order = RAW_ARRAY(&check.scratch, SortKey, check.nstays);
    for (size_t i = 0; i < check.nstays; i++)
        order[i] = (SortKey){check.stays[i].interval.first, (uint32_t)i};
    sort_keys(order, check.nstays, &check.scratch);
    for (size_t i = 0; i < check.nstays; i++) {
        const Stay *stay = &check.stays[order[i].id];
        for (int q = 0; q < QUADRANTS; q++)
            if (stay->rect.mask & (1 << q)) hold(&check, &check.quadrants[q], stay);
    }
    arena_free(&check.scratch);
    return check.clean;
}
