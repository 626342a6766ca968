#include "driver/fit_change.h"

#include <inttypes.h>

#include "ir/build.h"
#include "verify/verify.h"

Dtype half_dtype(Dtype dtype) {
    switch (dtype) {
    case DT_F64:
        return DT_F32;
    case DT_F32:
        return DT_BF16;
    case DT_F16:
    case DT_BF16:
        return DT_FP8E4;
    case DT_U64:
        return DT_U32;
    case DT_U32:
        return DT_U16;
    case DT_U16:
        return DT_U8;
    case DT_I64:
        return DT_I32;
    case DT_I32:
        return DT_I16;
    case DT_I16:
        return DT_I8;
    default:
        return dtype;
    }
}

/* ---- smaller tensors ---- */

/* True if the tensor is an end of a copy, whose ends have one shape. */
static bool is_copied(const Func *func, uint32_t tensor) {
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        if (inst->kind == OP_COPY &&
            (inst_dst(inst)->tensor == tensor || inst_src(inst)->tensor == tensor))
            return true;
    }
    return false;
}

/* True if all regions of the tensor lie in blocks of that size. */
static bool holds_regions(const Func *func, uint32_t tensor, int64_t partitions, int64_t bytes) {
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            const Region *region = inst->operands[o].region;
            if (inst->operands[o].tensor != tensor || !region) continue;
            if (region->p1 > partitions || region->b1 > bytes) return false;
        }
    }
    return true;
}

/* The same function with a tensor of its own in the place of one. */
static Func *with_tensor(const Func *func, uint32_t id, Tensor tensor, Arena *arena) {
    Func *changed = NEW(arena, Func);
    *changed = *func;
    changed->tensors = RAW_ARRAY(arena, Tensor, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        changed->tensors[t] = t == id ? tensor : func->tensors[t];
    return changed;
}

static const Func *resize(const Func *func, FitChange change, Arena *arena) {
    Tensor tensor = func->tensors[change.tensor];
    if (tensor.fixed || is_copied(func, change.tensor)) return NULL;
    int64_t *shape = RAW_ARRAY(arena, int64_t, tensor.rank);
    for (uint32_t i = 0; i < tensor.rank; i++)
        shape[i] = tensor.shape[i];
    if (change.kind == CHANGE_PARTITIONS) {
        shape[0] = tensor.partitions = change.then;
    } else if (change.kind == CHANGE_TYPE) {
        tensor.dtype = half_dtype(tensor.dtype);
        tensor.bytes /= 2;
    } else {
        shape = RAW_ARRAY(arena, int64_t, 2);
        shape[0] = tensor.partitions;
        shape[1] = tensor.bytes = change.then;
        tensor.rank = 2;
        tensor.dtype = DT_U8;
    }
    tensor.shape = shape;
    if (!holds_regions(func, change.tensor, tensor.partitions, tensor.bytes)) return NULL;
    return with_tensor(func, change.tensor, tensor, arena);
}

/* ---- the same values ---- */

static bool reads_the_same(const Func *was, const Func *is, const Target *target) {
    enum { STEPS = 1000000 };
    Arena scratch;
    arena_init(&scratch);
    DiagQueue unheard;
    diag_init(&unheard, &scratch);
    bool same = verify(was, is, target, (VerifyOptions){.step_limit = STEPS}, &unheard);
    arena_free(&scratch);
    return same;
}

static Meta flag(const char *key) {
    return (Meta){.key = str_from(key), .kind = META_FLAG};
}

/* ---- fewer buffers, or more ---- */

/* True if the operand's index is taken modulo the number of blocks. */
static bool is_buffered(const Operand *operand, int64_t blocks) {
    return operand->blocks && operand->blocks->kind == BLOCKS_ONE &&
           operand->blocks->low.modulus == blocks;
}

bool is_all_buffered(const Func *func, uint32_t tensor) {
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
            if (inst->operands[o].tensor == tensor &&
                !is_buffered(&inst->operands[o], func->tensors[tensor].blocks))
                return false;
    }
    return true;
}

static const Operand *with_modulus(const Inst *inst, uint32_t tensor, int64_t modulus,
                                   Arena *arena) {
    uint32_t count = inst->ndst + inst->nsrc;
    Operand *operands = RAW_ARRAY(arena, Operand, count);
    for (uint32_t o = 0; o < count; o++) {
        operands[o] = inst->operands[o];
        if (operands[o].tensor != tensor) continue;
        Blocks *blocks = NEW(arena, Blocks);
        *blocks = *operands[o].blocks;
        blocks->low.modulus = modulus;
        operands[o].blocks = blocks;
    }
    return operands;
}

static const Func *with_blocks(const Func *func, FitChange change, Arena *arena) {
    Tensor tensor = func->tensors[change.tensor];
    tensor.blocks = change.then;
    Func *changed = with_tensor(func, change.tensor, tensor, arena);
    changed->insts = RAW_ARRAY(arena, Inst, func->ninsts);
    for (uint32_t p = 0; p < func->ninsts; p++) {
        changed->insts[p] = func->insts[p];
        changed->insts[p].operands =
            with_modulus(&func->insts[p], change.tensor, change.then, arena);
    }
    return changed;
}

static const Func *without_pin(const Func *func, uint32_t id, Arena *arena) {
    Tensor tensor = func->tensors[id];
    tensor.pin = false;
    return with_tensor(func, id, tensor, arena);
}

/* The tensor stands for one of the original as a copy does, for verify(). */
static const Func *as_copy(const Func *func, uint32_t id, Arena *arena) {
    Tensor tensor = func->tensors[id];
    Meta of = {.key = STR("of"), .kind = META_TEXT, .text = tensor.name};
    tensor.pin = false;
    tensor.name = str_format(arena, "%.*s.buffers", (int)tensor.name.length, tensor.name.text);
    tensor.meta = meta_with(arena, meta_without(arena, tensor.meta, "of"), of);
    return with_tensor(func, id, tensor, arena);
}

/* A copy has no more blocks than the original: so that with fewer is verified against the other. */
static const Func *set_buffers(const Func *func, FitChange change, const Target *target,
                               Arena *arena) {
    const Tensor *tensor = &func->tensors[change.tensor];
    if (tensor->fixed || tensor->input || tensor->output || !is_all_buffered(func, change.tensor))
        return NULL;
    const Func *changed = with_blocks(func, change, arena);
    bool fewer = change.then < tensor->blocks;
    const Func *copied = as_copy(fewer ? changed : func, change.tensor, arena);
    const Func *original = without_pin(fewer ? func : changed, change.tensor, arena);
    return reads_the_same(original, copied, target) ? changed : NULL;
}

/* ---- a load at its use ---- */

static const Func *with_load_moved(const Func *func, FitChange change, Inst load, Arena *arena) {
    Builder build;
    build_begin(&build, arena, func->name, func->meta, func->span);
    for (uint32_t t = 0; t < func->ntensors; t++)
        build_tensor(&build, func->tensors[t]);
    for (Walk walk = walk_begin(func); walk_next(&walk);) {
        build_walked(&build, func, &walk);
        if (walk.event != WALK_INST || walk.inst == change.from) continue;
        if (walk.inst == change.to) build_inst(&build, load);
        build_inst(&build, func->insts[walk.inst]);
    }
    return build_finish(&build);
}

static const Func *move_load(const Func *func, FitChange change, const Target *target,
                             Arena *arena) {
    const Tensor *tensor = &func->tensors[change.tensor];
    Inst load = func->insts[change.from], added = load;
    if (tensor_stays(tensor) || load.condition || load.loop != func->insts[change.to].loop)
        return NULL;
    /* For verify(): one load is dropped, and another one added. */
    added.meta = meta_with(arena, meta_without(arena, load.meta, "reload"), flag("reload"));
    const Func *marked = with_load_moved(func, change, added, arena);
    if (!reads_the_same(func, marked, target)) return NULL;
    return with_load_moved(func, change, load, arena);
}

/* ---- any ---- */

static const Func *make_one(const Func *func, FitChange change, const Target *target,
                            Arena *arena) {
    switch (change.kind) {
    case CHANGE_BYTES:
    case CHANGE_TYPE:
    case CHANGE_PARTITIONS:
        return resize(func, change, arena);
    case CHANGE_BUFFERS:
        return set_buffers(func, change, target, arena);
    case CHANGE_LOAD:
        return move_load(func, change, target, arena);
    case CHANGE_TARGET:
    case CHANGE_ROOM:
        break;
    }
    return func;
}

/* Where the instruction at a point is once another load has been moved. */
static uint32_t point_after(FitChange moved, uint32_t point) {
    bool between = moved.kind == CHANGE_LOAD && moved.from < point && point < moved.to;
    return point - between;
}

const Func *make_change(const Func *func, FitChange change, const Target *target, Arena *arena) {
    if (change.also) {
        func = make_one(func, *change.also, target, arena);
        if (!func) return NULL;
        change.from = point_after(*change.also, change.from);
        change.to = point_after(*change.also, change.to);
    }
    return make_one(func, change, target, arena);
}

Span change_span(const Func *func, FitChange change) {
    if (change.kind == CHANGE_LOAD) return func->insts[change.from].span;
    if (change.kind == CHANGE_TARGET || change.kind == CHANGE_ROOM) return (Span){0, 0};
    return func->tensors[change.tensor].span;
}

static void write_resized(const Tensor *tensor, FitChange change, Writer *out) {
    Dtype half = half_dtype(tensor->dtype);
    switch (change.kind) {
    case CHANGE_BYTES:
        write_format(out, " with %" PRId64 " byte%s/partition fewer%s, %" PRId64 " of %" PRId64,
                     tensor->bytes - change.then, tensor->bytes - change.then == 1 ? "" : "s",
                     tensor->blocks > 1 ? " a block" : "", change.then, tensor->bytes);
        break;
    case CHANGE_TYPE:
        write_format(out, " as %.*s in the place of %.*s", (int)dtype_name(half).length,
                     dtype_name(half).text, (int)dtype_name(tensor->dtype).length,
                     dtype_name(tensor->dtype).text);
        break;
    case CHANGE_PARTITIONS:
        write_format(out, " with %" PRId64 " partitions of %" PRId64, change.then,
                     tensor->partitions);
        break;
    default:
        write_format(out, " with %" PRId64 " block%s of %" PRId64, change.then,
                     change.then == 1 ? "" : "s", tensor->blocks);
        break;
    }
}

static void write_one(const Func *func, FitChange change, const Source *source, Writer *out) {
    if (change.kind == CHANGE_TARGET) {
        write_format(out, "--target=%.*s, %" PRId64 " usable bytes/partition",
                     (int)change.target->name.length, change.target->name.text, change.then);
        return;
    }
    if (change.kind == CHANGE_ROOM) {
        write_format(out, "--sb-bytes=%" PRId64 "%s", change.then,
                     change.or_fewer ? ", or fewer" : "");
        return;
    }
    const Tensor *tensor = &func->tensors[change.tensor];
    if (change.kind == CHANGE_LOAD) write_text(out, "the load of ");
    write_char(out, '%');
    write_str(out, tensor->name);
    if (change.kind != CHANGE_LOAD) {
        write_resized(tensor, change, out);
        return;
    }
    if (source)
        write_format(out, " moved right before line %u",
                     source_line(source, func->insts[change.to].span.begin));
    else
        write_format(out, " moved right before point %u", change.to);
}

void write_change(const Func *func, FitChange change, const Source *source, Writer *out) {
    write_one(func, change, source, out);
    if (!change.also) return;
    write_text(out, ", and ");
    write_one(func, *change.also, source, out);
}
