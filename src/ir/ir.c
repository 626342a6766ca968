#include "ir/ir.h"

#include <string.h>

#include "support/checked.h"

typedef struct {
    Str name;
    int64_t bytes;
} DtypeInfo;

static const DtypeInfo DTYPES[DTYPE_COUNT] = {
    [DT_U8] = {{"u8", 2}, 1},       [DT_I8] = {{"i8", 2}, 1},       [DT_FP8E3] = {{"fp8e3", 5}, 1},
    [DT_FP8E4] = {{"fp8e4", 5}, 1}, [DT_FP8E5] = {{"fp8e5", 5}, 1}, [DT_U16] = {{"u16", 3}, 2},
    [DT_I16] = {{"i16", 3}, 2},     [DT_F16] = {{"f16", 3}, 2},     [DT_BF16] = {{"bf16", 4}, 2},
    [DT_U32] = {{"u32", 3}, 4},     [DT_I32] = {{"i32", 3}, 4},     [DT_F32] = {{"f32", 3}, 4},
    [DT_U64] = {{"u64", 3}, 8},     [DT_I64] = {{"i64", 3}, 8},     [DT_F64] = {{"f64", 3}, 8},
};

static const Str SPACES[] = {{"sb", 2}, {"dram", 4}, {"psum", 4}};
static const Str COMPARISONS[] = {{"==", 2}, {"!=", 2}, {"<", 1}, {"<=", 2}, {">", 1}, {">=", 2}};

Str space_name(Space space) {
    return SPACES[space];
}

int space_from_name(Str name) {
    for (int i = 0; i < 3; i++)
        if (str_equal(name, SPACES[i])) return i;
    return -1;
}

Str dtype_name(Dtype dtype) {
    return DTYPES[dtype].name;
}

int dtype_from_name(Str name) {
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (str_equal(name, DTYPES[i].name)) return i;
    return -1;
}

int64_t dtype_bytes(Dtype dtype) {
    return DTYPES[dtype].bytes;
}

Str comparison_name(Comparison comparison) {
    return COMPARISONS[comparison];
}

OpKind op_kind(Str op) {
    if (op.length != 4) return OP_OTHER;
    if (str_equal(op, STR("load"))) return OP_LOAD;
    if (str_equal(op, STR("save"))) return OP_SAVE;
    return str_equal(op, STR("copy")) ? OP_COPY : OP_OTHER;
}

int64_t loop_trips(const Func *func, uint32_t loop) {
    int64_t trips = 1;
    for (; loop != NO_LOOP && trips < INT64_MAX; loop = func->loops[loop].parent)
        trips = saturating_mul(trips, func->loops[loop].high - func->loops[loop].low);
    return trips;
}

bool loop_encloses(const Func *func, uint32_t outer, uint32_t inner) {
    if (outer == NO_LOOP) return true;
    while (inner != NO_LOOP && func->loops[inner].depth > func->loops[outer].depth)
        inner = func->loops[inner].parent;
    return inner == outer;
}

uint32_t loop_outermost(const Func *func, uint32_t loop) {
    while (loop != NO_LOOP && func->loops[loop].parent != NO_LOOP)
        loop = func->loops[loop].parent;
    return loop;
}

uint32_t loop_common(const Func *func, uint32_t a, uint32_t b) {
    while (a != b) {
        if (a == NO_LOOP || b == NO_LOOP) return NO_LOOP;
        /* Ids ascend from parent to child, so the larger id cannot lie around the other. */
        if (a > b)
            a = func->loops[a].parent;
        else
            b = func->loops[b].parent;
    }
    return a;
}

uint32_t loop_inward(const Func *func, uint32_t point, uint32_t outer) {
    uint32_t inner = func->insts[point].loop, loop = outer + 1;
    if (outer == inner) return NO_LOOP;
    if (outer == NO_LOOP)
        for (loop = inner; func->loops[loop].parent != NO_LOOP;)
            loop = func->loops[loop].parent;
    while (func->loops[loop].end <= point)
        loop++;
    return loop;
}

const Meta *meta_find(MetaList meta, const char *key) {
    for (uint32_t i = 0; i < meta.count; i++)
        if (str_is(meta.items[i].key, key)) return &meta.items[i];
    return NULL;
}

MetaList meta_with(Arena *arena, MetaList meta, Meta item) {
    Meta *items = NEW_ARRAY(arena, Meta, (size_t)meta.count + 1);
    for (uint32_t i = 0; i < meta.count; i++)
        items[i] = meta.items[i];
    items[meta.count] = item;
    return (MetaList){items, meta.count + 1};
}

MetaList meta_without(Arena *arena, MetaList meta, const char *key) {
    if (!meta_find(meta, key)) return meta;
    Meta *items = NEW_ARRAY(arena, Meta, meta.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < meta.count; i++)
        if (!str_is(meta.items[i].key, key)) items[count++] = meta.items[i];
    return (MetaList){items, count};
}

BlockSpan operand_blocks(const Func *func, const Operand *operand) {
    int64_t last = func->tensors[operand->tensor].blocks - 1;
    if (!operand->blocks || operand->blocks->kind == BLOCKS_ALL) return (BlockSpan){0, last, true};
    Range low = affine_range(operand->blocks->low, func, NULL);
    Range high = low;
    if (operand->blocks->kind == BLOCKS_RANGE) {
        high = affine_range(operand->blocks->high, func, NULL);
        high.low = saturating_sub(high.low, 1);
        high.high = saturating_sub(high.high, 1);
    }
    bool exact = low.low == low.high && high.low == high.high;
    BlockSpan span = {low.low > 0 ? low.low : 0, high.high < last ? high.high : last, exact};
    return span.first <= span.last ? span : (BlockSpan){0, -1, exact};
}

int64_t operand_most_blocks(const Func *func, const Operand *operand) {
    int64_t all = func->tensors[operand->tensor].blocks;
    if (!operand->blocks || operand->blocks->kind == BLOCKS_ALL) return all;
    if (operand->blocks->kind == BLOCKS_ONE) return 1;
    Arena scratch;
    arena_init(&scratch);
    Affine width = affine_difference(&scratch, operand->blocks->high, operand->blocks->low);
    Range range = affine_range(width, func, NULL);
    arena_free(&scratch);
    return range.high < 0 ? 0 : range.high < all ? range.high : all;
}

bool blocks_equal(const Blocks *a, const Blocks *b) {
    BlocksKind x = a ? a->kind : BLOCKS_ALL, y = b ? b->kind : BLOCKS_ALL;
    if (x != y) return false;
    if (x == BLOCKS_ALL || a == b) return true;
    return affine_equal(a->low, b->low) && (x != BLOCKS_RANGE || affine_equal(a->high, b->high));
}

bool operand_is_whole(const Func *func, const Operand *operand) {
    const Region *region = operand->region;
    const Tensor *tensor = &func->tensors[operand->tensor];
    return !region || (region->p0 == 0 && region->p1 == tensor->partitions && region->b0 == 0 &&
                       region->b1 == tensor->bytes);
}

bool tensor_stays(const Tensor *tensor) {
    return tensor->fixed || tensor->pin || tensor->output;
}

uint32_t tensor_height(const Tensor *tensor) {
    return (uint32_t)ceil_div(tensor->bytes, GRANULE);
}

uint32_t tensor_align(const Tensor *tensor) {
    int64_t align = tensor->align / GRANULE;
    return align > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)align;
}

Rect tensor_rect(const Tensor *tensor, Place place) {
    return (Rect){(uint32_t)(place.byte / GRANULE),
                  (uint32_t)ceil_div(place.byte + tensor->bytes, GRANULE),
                  band_mask(place.partition, tensor->partitions)};
}

Place place_at(uint32_t offset, uint8_t band) {
    return (Place){band_start(band), (int64_t)offset * GRANULE};
}

Walk walk_begin(const Func *func) {
    return (Walk){.func = func, .current = NO_LOOP};
}

/* At each point loops open before others close: an empty loop ends where it begins, and a loop can
 * only open inside the current one. */
bool walk_next(Walk *walk) {
    const Func *func = walk->func;
    walk->inst = walk->next_inst;
    if (walk->next_loop < func->nloops && func->loops[walk->next_loop].first == walk->next_inst &&
        func->loops[walk->next_loop].parent == walk->current) {
        walk->event = WALK_OPEN;
        walk->loop = walk->current = walk->next_loop++;
        return true;
    }
    walk->loop = walk->current;
    if (walk->current != NO_LOOP && func->loops[walk->current].end == walk->next_inst) {
        walk->event = WALK_CLOSE;
        walk->current = func->loops[walk->current].parent;
        return true;
    }
    if (walk->next_inst == func->ninsts) return false;
    walk->event = WALK_INST;
    walk->next_inst++;
    return true;
}

bool *find_named(const Func *func, Arena *arena) {
    bool *named = NEW_ARRAY(arena, bool, func->ntensors);
    for (uint32_t i = 0; i < func->ninsts; i++)
        for (uint32_t o = 0; o < func->insts[i].ndst + func->insts[i].nsrc; o++)
            named[func->insts[i].operands[o].tensor] = true;
    return named;
}

void own_insts(Func *func, Arena *arena) {
    Inst *own = RAW_ARRAY(arena, Inst, func->ninsts);
    if (func->ninsts > 0) memcpy(own, func->insts, func->ninsts * sizeof *own);
    func->insts = own;
}

Inst renumbered_inst(const Inst *inst, const uint32_t *new_id, Arena *arena) {
    Inst result = *inst;
    uint32_t count = inst->ndst + inst->nsrc;
    Operand *operands = RAW_ARRAY(arena, Operand, count);
    for (uint32_t o = 0; o < count; o++) {
        operands[o] = inst->operands[o];
        operands[o].tensor = new_id[operands[o].tensor];
    }
    result.operands = operands;
    return result;
}
