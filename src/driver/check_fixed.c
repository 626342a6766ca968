#include "driver/check_fixed.h"

#include "place/overlap.h"
#include "verify/verify.h"

typedef struct {
    const Func *func;
    DiagQueue *diags;
    Arena scratch;
    PlacedInterval *placed;
    size_t nplaced, placed_capacity;
    bool *reported;   /* [ntensors] */
    uint32_t suspect; /* a fixed tensor that by its live range overlaps `other` */
    uint32_t other;
} Check;

static void gather_placed(Check *check, const Live *live) {
    for (uint32_t t = 0; t < check->func->ntensors; t++) {
        const Tensor *tensor = &check->func->tensors[t];
        if (tensor->space != SPACE_SB || !tensor->at) continue;
        for (int64_t b = 0; b < tensor->blocks; b++) {
            LiveRange range = live_block(live, t, b);
            for (uint32_t i = 0; i < range.count; i++) {
                PlacedInterval one = {range.items[i], tensor_rect(tensor, tensor->at[b]), t};
                PUSH(&check->scratch, check->placed, check->nplaced, check->placed_capacity, one);
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

/* False if it is reported already. */
static bool report(Check *check, uint32_t tensor, uint32_t other) {
    const Tensor *a = &check->func->tensors[tensor], *b = &check->func->tensors[other];
    if (b->span.begin > a->span.begin) {
        const Tensor *spare = a;
        a = b;
        b = spare;
        tensor = other;
    }
    if (check->reported[tensor]) return false;
    check->reported[tensor] = true;
    if (a == b) {
        diag_error(check->diags, a->span,
                   "blocks of fixed tensor %%%.*s overlap while both are live", (int)a->name.length,
                   a->name.text);
        return true;
    }
    diag_error(check->diags, a->span, "fixed tensor %%%.*s overlaps %%%.*s while both are live",
               (int)a->name.length, a->name.text, (int)b->name.length, b->name.text);
    diag_note(check->diags, b->span, true, "%%%.*s is placed here", (int)b->name.length,
              b->name.text);
    return true;
}

/* True if two rectangles are one and the same place, to the byte. */
static bool coincide(const Check *check, const PlacedInterval *a, const PlacedInterval *b) {
    const Tensor *one = &check->func->tensors[a->owner], *other = &check->func->tensors[b->owner];
    return a->rect.low == b->rect.low && a->rect.high == b->rect.high &&
           a->rect.mask == b->rect.mask && one->at[0].byte % GRANULE == other->at[0].byte % GRANULE;
}

/* The two ends of an elided copy, at one place, may meet where one of them ends. */
static bool judge(void *context, const PlacedInterval *earlier, const PlacedInterval *later) {
    Check *check = context;
    uint32_t point = later->interval.first;
    bool hands_on = earlier->interval.last == point || later->interval.last == point;
    if (hands_on && coincide(check, earlier, later) &&
        joins(&check->func->insts[point], earlier->owner, later->owner))
        return true;
    check->suspect = later->owner;
    check->other = earlier->owner;
    return false;
}

/* Live ranges may be too long: the run says which of the overlaps loses a value. */
static bool check_by_run(Check *check) {
    FixedOverlap found[MOST_OVERLAPS];
    uint32_t count = verify_fixed(check->func, found);
    for (uint32_t i = 0; i < count; i++) {
        bool known = found[i].taker != UINT32_MAX;
        bool told = report(check, known ? found[i].tensor : check->suspect,
                           known ? found[i].taker : check->other);
        const Inst *inst = found[i].inst != UINT32_MAX ? &check->func->insts[found[i].inst] : NULL;
        if (inst && told)
            diag_note(check->diags, inst->span, true, "`%.*s` does not find its value",
                      (int)inst->op.length, inst->op.text);
    }
    return count == 0;
}

bool check_fixed(const Func *func, const Live *live, DiagQueue *diags) {
    Check check = {.func = func, .diags = diags};
    gather_placed(&check, live);
    check.reported = NEW_ARRAY(&check.scratch, bool, func->ntensors);
    bool clean = check_overlaps(check.placed, check.nplaced, judge, &check) || check_by_run(&check);
    arena_free(&check.scratch);
    return clean;
}
