#include "test/room.h"

#include <string.h>

#include "ir/geometry.h"
#include "support/checked.h"
#include "test/observe.h"

/* ---- fixed tensors ---- */

/* The first free byte of each quadrant; rectangles are laid on top. */
typedef struct {
    int64_t free[QUADRANTS];
} Skyline;

static int64_t skyline_top(const Skyline *skyline, uint8_t mask) {
    int64_t top = 0;
    for (int q = 0; q < QUADRANTS; q++)
        if (mask >> q & 1 && skyline->free[q] > top) top = skyline->free[q];
    return top;
}

static void skyline_raise(Skyline *skyline, uint8_t mask, int64_t top) {
    for (int q = 0; q < QUADRANTS; q++)
        if (mask >> q & 1) skyline->free[q] = top;
}

static void fix(Tensor *tensor, Skyline *skyline, Chance *chance, Arena *arena) {
    static const int64_t SHIFTS[] = {0, 0, 0, 4, 4, 12, 2, 7};
    Place *places = NEW_ARRAY(arena, Place, (size_t)tensor->blocks);
    Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
    for (int64_t block = 0; block < tensor->blocks; block++) {
        uint8_t mask = bands.masks[chance_below(chance, bands.count)];
        int64_t byte = skyline_top(skyline, mask) + SHIFTS[chance_below(chance, 8)];
        if (chance_percent(chance, 10)) byte += chance_between(chance, 1, 8) * GRANULE;
        places[block] = (Place){band_start(mask), byte};
        skyline_raise(skyline, mask, round_up(byte + tensor->bytes, GRANULE));
    }
    tensor->at = places;
}

void place_fixed(Func *func, Chance *chance, Arena *arena) {
    Skyline skyline = {{0}};
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (func->tensors[t].fixed) fix(&func->tensors[t], &skyline, chance, arena);
}

/* ---- demands ---- */

static int64_t fixed_top(const Func *func) {
    int64_t top = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        for (int64_t block = 0; tensor->at && block < tensor->blocks; block++) {
            int64_t end = tensor->at[block].byte + tensor->bytes;
            if (end > top) top = end;
        }
    }
    return round_up(top, GRANULE);
}

/* Lays `count` blocks on the skyline, each in its lowest band; `wide`: over all partitions. */
static void stack(Skyline *skyline, const Tensor *tensor, int64_t count, bool wide) {
    Bands bands = class_bands(wide ? CLASS_FULL : shape_class(tensor->partitions, tensor->base));
    for (int64_t i = 0; i < count; i++) {
        uint8_t best = bands.masks[0];
        for (int band = 1; band < bands.count; band++)
            if (skyline_top(skyline, bands.masks[band]) < skyline_top(skyline, best))
                best = bands.masks[band];
        int64_t byte = round_up(skyline_top(skyline, best), tensor->align);
        skyline_raise(skyline, best, round_up(byte + tensor->bytes, GRANULE));
    }
}

static bool stays(const Tensor *tensor) {
    return tensor->pin || tensor->output;
}

static bool moves(const Tensor *tensor) {
    return tensor->space == SPACE_SB && !tensor->fixed && !stays(tensor);
}

/* The blocks [low, high) that an operand may name. */
static Range blocks_range(const Func *func, const Operand *operand) {
    const Blocks *blocks = operand->blocks;
    int64_t all = func->tensors[operand->tensor].blocks;
    if (!blocks || blocks->kind == BLOCKS_ALL) return (Range){0, all};
    Range low = affine_range(blocks->low, func, NULL), high = {low.low + 1, low.high + 1};
    if (blocks->kind == BLOCKS_RANGE) high = affine_range(blocks->high, func, NULL);
    return (Range){low.low > 0 ? low.low : 0, high.high < all ? high.high : all};
}

/* How many blocks of its tensor an operand names at a time, where it is the only one. */
static int64_t blocks_named(const Func *func, const Operand *operand) {
    if (operand->blocks && operand->blocks->kind == BLOCKS_ONE) return 1;
    Range range = blocks_range(func, operand);
    return range.high > range.low ? range.high - range.low : 0;
}

/* The blocks that one copy holds for all operands of a tensor that the instruction has; 0 unless
 * `last` is the last of them. Several share one copy of all that they may name together. */
static int64_t blocks_at_last(const Func *func, const Inst *inst, uint32_t last) {
    uint32_t tensor = inst->operands[last].tensor, operands = 0;
    Range together = {INT64_MAX, 0};
    for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++) {
        if (inst->operands[i].tensor != tensor) continue;
        if (i > last) return 0;
        Range range = blocks_range(func, &inst->operands[i]);
        if (range.low < together.low) together.low = range.low;
        if (range.high > together.high) together.high = range.high;
        operands++;
    }
    if (operands == 1) return blocks_named(func, &inst->operands[last]);
    return together.high - together.low;
}

static Skyline base_skyline(const Func *func, bool wide) {
    Skyline skyline;
    skyline_raise(&skyline, 15, fixed_top(func));
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        if (tensor->space == SPACE_SB && !tensor->fixed && stays(tensor))
            stack(&skyline, tensor, tensor->blocks, wide);
    }
    return skyline;
}

/* What spill-everywhere needs: exact enough for a random size where bands are used, an upper bound
 * where all is stacked `wide`. */
static int64_t demand(const Func *func, bool wide) {
    Skyline base = base_skyline(func, wide), inputs = base;
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (moves(&func->tensors[t]) && func->tensors[t].input)
            stack(&inputs, &func->tensors[t], func->tensors[t].blocks, wide);
    int64_t most = skyline_top(&inputs, 15);
    for (uint32_t point = 0; point < func->ninsts; point++) {
        const Inst *inst = &func->insts[point];
        Skyline skyline = base;
        for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++) {
            const Tensor *tensor = &func->tensors[inst->operands[i].tensor];
            if (moves(tensor)) stack(&skyline, tensor, blocks_at_last(func, inst, i), wide);
        }
        if (skyline_top(&skyline, 15) > most) most = skyline_top(&skyline, 15);
    }
    return most;
}

int64_t random_enough(const Func *func) {
    return demand(func, true);
}

/* Everything at once. */
static int64_t all_stacked(const Func *func) {
    Skyline skyline = base_skyline(func, true);
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (moves(&func->tensors[t]))
            stack(&skyline, &func->tensors[t], func->tensors[t].blocks, true);
    return skyline_top(&skyline, 15);
}

/* The least that the static checks allow. */
static int64_t least(const Func *func) {
    int64_t bytes = fixed_top(func);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        if (tensor->space == SPACE_SB && round_up(tensor->bytes, GRANULE) > bytes)
            bytes = round_up(tensor->bytes, GRANULE);
    }
    return bytes;
}

static int64_t random_usable(const Func *func, RandomRoom room, Chance *chance, Arena *scratch) {
    int64_t need = demand(func, false);
    if (room == ROOM_AMPLE) return all_stacked(func) + chance_between(chance, 0, 64);
    if (room == ROOM_IMPOSSIBLE) return chance_between(chance, need / 2, need - need / 8);
    Observed observed = observe(func, scratch);
    int64_t peak = ceil_div(observed_peak(&observed), QUADRANTS) * GRANULE;
    int64_t most = room == ROOM_TIGHT ? peak * chance_between(chance, 95, 115) / 100 : 3 * need;
    if (room == ROOM_TIGHT || chance_percent(chance, 15)) return most > need ? most : need;
    if (most > peak) most = peak > need ? peak : need;
    return chance_percent(chance, 40) ? need : chance_between(chance, need, most);
}

Target random_target(const Func *func, RandomRoom room, Chance *chance, Arena *scratch) {
    static const char *const NAMES[] = {"tiny", "trn2", "trn1", "x.y_1"};
    static const int64_t RESERVED[] = {0, 0, 0, 64, 13};
    static const int64_t INIT[] = {1300, 1300, 100, 1};
    static const int64_t RATE[] = {23, 17, 4, 1};
    int64_t usable = random_usable(func, room, chance, scratch);
    if (usable < least(func)) usable = least(func);
    if (room == ROOM_AMPLE && chance_percent(chance, 20)) {
        const Target *builtin = target_builtin(STR("trn2"));
        if (target_usable(builtin) >= usable) return *builtin;
    }
    Target target = {.name = str_from(NAMES[chance_below(chance, 4)]),
                     .sb_reserved = RESERVED[chance_below(chance, 5)],
                     .sb_init = 64,
                     .dma_init = INIT[chance_below(chance, 4)],
                     .dma_rate = RATE[chance_below(chance, 4)]};
    target.sb_bytes = usable + target.sb_reserved;
    return target;
}
