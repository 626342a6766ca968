#include "driver/impossible.h"

#include "support/checked.h"

/* A tensor that must be there, and how many of its blocks. */
typedef struct {
    uint32_t tensor;
    int64_t blocks;
    bool stays; /* it is no operand: fixed, pinned, an output or an input at entry */
} Need;

typedef struct {
    const Func *func;
    Arena scratch;
    Need *needs;
    size_t count, capacity;
} Needs;

static void add_need(Needs *needs, uint32_t tensor, int64_t blocks, bool stays) {
    for (size_t i = 0; i < needs->count; i++) {
        if (needs->needs[i].tensor != tensor) continue;
        int64_t sum = needs->needs[i].blocks + blocks, most = needs->func->tensors[tensor].blocks;
        needs->needs[i].blocks = sum < most ? sum : most;
        return;
    }
    Need need = {tensor, blocks, stays};
    PUSH(&needs->scratch, needs->needs, needs->count, needs->capacity, need);
}

/* Operands in the order written, each tensor once; blocks that two operands name alike count once.
 */
static void gather_operands(Needs *needs, const Inst *inst) {
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        const Operand *operand = &inst->operands[o];
        if (needs->func->tensors[operand->tensor].space != SPACE_SB) continue;
        bool again = false;
        for (uint32_t before = 0; before < o && before < 64; before++)
            again |= inst->operands[before].tensor == operand->tensor &&
                     blocks_equal(inst->operands[before].blocks, operand->blocks);
        if (!again)
            add_need(needs, operand->tensor, operand_most_blocks(needs->func, operand), false);
    }
}

/* What is there whether the instruction names it or not. */
static void gather_what_stays(Needs *needs, const Live *live, uint32_t point, bool entry) {
    const Func *func = needs->func;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        if (tensor->space != SPACE_SB) continue;
        bool stays = tensor->fixed || tensor->pin || tensor->output || (entry && tensor->input);
        if (stays && live_at(live->whole[t], point)) {
            int64_t blocks = 0;
            for (int64_t b = 0; b < tensor->blocks; b++)
                blocks += live_at(live_block(live, t, b), point);
            bool operand = false;
            for (size_t i = 0; i < needs->count; i++)
                operand |= needs->needs[i].tensor == t;
            if (!operand) add_need(needs, t, blocks, true);
        }
    }
}

static int64_t need_bytes(const Needs *needs, const Need *need) {
    return saturating_mul(need->blocks, needs->func->tensors[need->tensor].bytes);
}

static void load_band(int64_t *loads, uint8_t mask, int64_t bytes) {
    for (int q = 0; q < QUADRANTS; q++)
        if (mask & (1 << q)) loads[q] = saturating_add(loads[q], bytes);
}

static int64_t band_load(const int64_t *loads, uint8_t mask) {
    int64_t most = 0;
    for (int q = 0; q < QUADRANTS; q++)
        if ((mask & (1 << q)) && loads[q] > most) most = loads[q];
    return most;
}

/* Bytes per partition in the fullest quadrant, when those that can choose go where least is: wide
 * ones first. */
static int64_t bytes_at_once(const Needs *needs) {
    int64_t loads[QUADRANTS] = {0};
    static const uint8_t most_bands[] = {1, 2, 4};
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < needs->count; i++) {
            const Tensor *tensor = &needs->func->tensors[needs->needs[i].tensor];
            Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
            if (bands.count != most_bands[turn]) continue;
            int64_t height = ceil_div(tensor->bytes, GRANULE) * GRANULE;
            for (int64_t b = 0; b < needs->needs[i].blocks; b++) {
                uint8_t best = 0;
                for (uint8_t band = 1; band < bands.count; band++)
                    if (band_load(loads, bands.masks[band]) < band_load(loads, bands.masks[best]))
                        best = band;
                load_band(loads, bands.masks[best], height);
            }
        }
    return band_load(loads, 0xF);
}

/* What no placement can go below: the even share of all, or what one quadrant must hold. */
static int64_t least_at_once(const Needs *needs) {
    int64_t loads[QUADRANTS] = {0}, area = 0;
    for (size_t i = 0; i < needs->count; i++) {
        const Tensor *tensor = &needs->func->tensors[needs->needs[i].tensor];
        Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
        int64_t height = ceil_div(tensor->bytes, GRANULE) * GRANULE;
        int64_t all = saturating_mul(height, needs->needs[i].blocks);
        area = saturating_add(area, saturating_mul(all, __builtin_popcount(bands.masks[0])));
        if (bands.count == 1) load_band(loads, bands.masks[0], all);
    }
    int64_t share = ceil_div(ceil_div(area, QUADRANTS), GRANULE) * GRANULE;
    int64_t most = band_load(loads, 0xF);
    return most > share ? most : share;
}

static void note_needs(const Needs *needs, Span span, DiagQueue *diags) {
    for (size_t i = 0; i < needs->count; i++) {
        const Need *need = &needs->needs[i];
        const Tensor *tensor = &needs->func->tensors[need->tensor];
        const char *why = !need->stays     ? ""
                          : tensor->fixed  ? ", fixed and live here"
                          : tensor->pin    ? ", pinned and live here"
                          : tensor->output ? ", an output and live here"
                                           : ", an input";
        int32_t first = tensor->at ? tensor->at[0].partition : tensor->base < 0 ? 0 : tensor->base;
        Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
        if (bands.count > 1 && !tensor->at)
            diag_note(diags, span, false, "  %%%.*s  %lld bytes, %lld partitions of any %s%s",
                      (int)tensor->name.length, tensor->name.text,
                      (long long)need_bytes(needs, need), (long long)tensor->partitions,
                      bands.count == 4 ? "quadrant" : "half", why);
        else
            diag_note(diags, span, false, "  %%%.*s  %lld bytes, partitions %d-%lld%s",
                      (int)tensor->name.length, tensor->name.text,
                      (long long)need_bytes(needs, need), first,
                      (long long)(first + tensor->partitions - 1), why);
    }
}

static bool nothing_can_go(const Needs *needs) {
    for (size_t i = 0; i < needs->count; i++) {
        const Tensor *tensor = &needs->func->tensors[needs->needs[i].tensor];
        if (!tensor->fixed && !tensor->pin && !tensor->output) return false;
    }
    return true;
}

void report_impossible(const Func *func, const Live *live, const Target *target, uint32_t inst,
                       bool proved, DiagQueue *diags) {
    Needs needs = {.func = func};
    bool entry = inst == UINT32_MAX;
    if (!entry) gather_operands(&needs, &func->insts[inst]);
    gather_what_stays(&needs, live, entry ? 0 : inst, entry);
    Span span = entry && needs.count > 0 ? func->tensors[needs.needs[0].tensor].span
                : entry                  ? func->span
                                         : func->insts[inst].span;
    int64_t bytes = bytes_at_once(&needs), usable = target_usable(target);
    if (bytes > usable && !proved) bytes = least_at_once(&needs);
    diag_error(diags, span, "couldn't allocate every tensor in SB and spilling can't help");
    const char *what = entry ? "the inputs need" : "this instruction needs";
    if (bytes > usable)
        diag_note(diags, span, false,
                  "%s %lld bytes/partition at once, %lld are usable, %lld too few", what,
                  (long long)bytes, (long long)usable, (long long)(bytes - usable));
    else
        diag_note(diags, span, false, "%s %lld bytes/partition at once, %lld are usable, but %s",
                  what, (long long)bytes, (long long)usable,
                  proved ? "bands, alignment and fixed places leave no room for them"
                         : "found no placement within the budget of steps");
    if (nothing_can_go(&needs))
        diag_note(diags, span, false, "all of them are pinned, fixed or outputs");
    note_needs(&needs, span, diags);
    arena_free(&needs.scratch);
}
