#include "test/shrink.h"

#include "driver/allocate.h"
#include "support/checked.h"

static bool divides(const Func *func, const Operand *operand, int64_t divisor) {
    const Region *region = operand->region;
    int64_t bytes = func->tensors[operand->tensor].bytes;
    if (!region) return true;
    bool end = region->b1 == bytes || region->b1 % divisor == 0;
    return region->b0 % divisor == 0 && end;
}

static bool can_shrink(const Func *func, int64_t divisor) {
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (func->tensors[t].fixed || func->tensors[t].align > GRANULE) return false;
    for (uint32_t p = 0; p < func->ninsts; p++)
        for (uint32_t i = 0; i < func->insts[p].ndst + func->insts[p].nsrc; i++)
            if (!divides(func, &func->insts[p].operands[i], divisor)) return false;
    return true;
}

static void shrink_regions(Func *func, int64_t divisor, Arena *arena) {
    own_insts(func, arena);
    for (uint32_t p = 0; p < func->ninsts; p++) {
        Inst *inst = &func->insts[p];
        Operand *operands = RAW_ARRAY(arena, Operand, inst->ndst + inst->nsrc);
        for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++) {
            operands[i] = inst->operands[i];
            if (!operands[i].region) continue;
            Region *region = NEW(arena, Region);
            *region = *operands[i].region;
            region->b0 /= divisor;
            region->b1 = ceil_div(region->b1, divisor);
            operands[i].region = region;
        }
        inst->operands = operands;
    }
}

static void shrink_tensor(Tensor *tensor, int64_t divisor, Arena *arena) {
    int64_t *shape = RAW_ARRAY(arena, int64_t, 2);
    tensor->bytes = ceil_div(tensor->bytes, divisor);
    shape[0] = tensor->partitions;
    shape[1] = tensor->bytes;
    tensor->shape = shape;
    tensor->rank = 2;
    tensor->dtype = DT_U8;
}

bool shrink_rows(Func *func, int64_t longest, Arena *arena) {
    int64_t most = 1;
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (func->tensors[t].space == SPACE_SB && func->tensors[t].bytes > most)
            most = func->tensors[t].bytes;
    int64_t divisor = ceil_div(most, longest);
    if (!can_shrink(func, divisor)) return false;
    shrink_regions(func, divisor, arena);
    for (uint32_t t = 0; t < func->ntensors; t++)
        shrink_tensor(&func->tensors[t], divisor, arena);
    return true;
}

void shrink_loops(Func *func, int64_t trips, Arena *arena) {
    Loop *loops = RAW_ARRAY(arena, Loop, func->nloops);
    for (uint32_t i = 0; i < func->nloops; i++) {
        loops[i] = func->loops[i];
        if (loops[i].high > loops[i].low + trips) loops[i].high = loops[i].low + trips;
    }
    func->loops = loops;
}

/* --- Rooms --- */

typedef enum { FITS_NOT, FITS_SPILLED, FITS_WHOLE } Fit;

static Fit try_room(const Func *func, Target *target, int64_t room, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    options.effort = 0;
    target->sb_bytes = room + target->sb_reserved;
    Allocation result = allocate(func, target, &options, arena, &diags);
    if (result.status != ALLOCATED) return FITS_NOT;
    return result.report.saves + result.report.reloads > 0 ? FITS_SPILLED : FITS_WHOLE;
}

/* The least room with that fit or a better one. */
static int64_t least_room(const Func *func, Target *target, Fit fit) {
    int64_t low = 0, high = 1024;
    while (high - low > 1) {
        Arena arena;
        arena_init(&arena);
        int64_t middle = (low + high) / 2;
        *(try_room(func, target, middle * GRANULE, &arena) >= fit ? &high : &low) = middle;
        arena_free(&arena);
    }
    return high * GRANULE;
}

uint32_t shrink_rooms(const Func *func, Target *target, int64_t rooms[4]) {
    int64_t least = least_room(func, target, FITS_SPILLED);
    int64_t whole = least_room(func, target, FITS_WHOLE);
    int64_t wanted[] = {least, round_up((least + whole) / 2, GRANULE), whole - GRANULE, whole};
    uint32_t count = 0;
    for (uint32_t i = 0; i < 4; i++)
        if (wanted[i] >= least && (count == 0 || wanted[i] > rooms[count - 1]))
            rooms[count++] = wanted[i];
    return count;
}
