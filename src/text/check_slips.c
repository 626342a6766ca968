#include "text/check_slips.h"

#include <string.h>

#include "ir/region.h"
#include "text/word.h"

/* PSUM: so many banks of so many bytes a partition. */
enum { BANKS = 8, BANK_BYTES = 2048 };

enum { KINDS = OP_COPY + 1 };
static const Str OPCODES[KINDS] = {
    [OP_LOAD] = {"load", 4}, [OP_SAVE] = {"save", 4}, [OP_COPY] = {"copy", 4}};
static const Space TARGETS[] = {[OP_LOAD] = SPACE_SB, [OP_SAVE] = SPACE_DRAM, [OP_COPY] = SPACE_SB};
static const Space SOURCES[] = {[OP_LOAD] = SPACE_DRAM, [OP_SAVE] = SPACE_SB, [OP_COPY] = SPACE_SB};

typedef struct {
    const Func *func;
    const bool *vague;
    DiagQueue *diags;
    Arena scratch;
    Str told[KINDS]; /* the last opcode told to be almost this one */
    uint32_t uneven; /* loads and saves whose sides differ */
} SlipFinder;

static const Tensor *tensor_of(const SlipFinder *finder, const Operand *operand) {
    return &finder->func->tensors[operand->tensor];
}

static Str shown(SlipFinder *finder, const Tensor *tensor) {
    return label_text(&finder->scratch, '%', tensor->name);
}

static bool is_clear(const SlipFinder *finder, const Operand *operand) {
    return !finder->vague || !finder->vague[operand->tensor];
}

static bool has_spaces_of(const SlipFinder *finder, const Inst *inst, OpKind kind) {
    const Operand *to = inst_dst(inst), *from = inst_src(inst);
    return inst->ndst == 1 && inst->nsrc == 1 && is_clear(finder, to) && is_clear(finder, from) &&
           tensor_of(finder, to)->space == TARGETS[kind] &&
           tensor_of(finder, from)->space == SOURCES[kind];
}

/* ---- opcodes ---- */

/* The opcode in small letters; nothing where a digit or a sign shows that it is a name of its own.
 */
static Str small_letters(SlipFinder *finder, Str op) {
    enum { LONGEST = 6 };
    if (op.length > LONGEST) return STR("");
    char *text = arena_raw(&finder->scratch, op.length + 1, 1);
    for (uint32_t i = 0; i < op.length; i++) {
        text[i] = (char)(op.text[i] | 0x20);
        if (text[i] < 'a' || text[i] > 'z') return STR("");
    }
    return (Str){text, op.length};
}

/* Each such opcode is told once for as long as no other comes between. */
static void check_opcode(SlipFinder *finder, const Inst *inst) {
    if (inst->kind != OP_OTHER || inst->ndst != 1 || inst->nsrc != 1) return;
    Str near = str_nearest(small_letters(finder, inst->op), &OPCODES[OP_LOAD], KINDS - OP_LOAD);
    OpKind kind = op_kind(near);
    if (kind == OP_OTHER || str_equal(inst->op, finder->told[kind]) ||
        !has_spaces_of(finder, inst, kind))
        return;
    finder->told[kind] = inst->op;
    diag_warning(finder->diags, inst->span,
                 "opcode '%.*s' has no meaning of its own; did you mean '%.*s'?",
                 STR_ARGS(inst->op), STR_ARGS(near));
}

/* ---- sizes ---- */

/* How many blocks an operand names, 0 where that depends on the iteration. */
static int64_t blocks_named(SlipFinder *finder, const Operand *operand) {
    const Blocks *blocks = operand->blocks;
    if (!blocks || blocks->kind == BLOCKS_ALL) return tensor_of(finder, operand)->blocks;
    if (blocks->kind == BLOCKS_ONE) return 1;
    Affine length = affine_difference(&finder->scratch, blocks->high, blocks->low);
    bool known = length.count == 1 && length.terms->loop == NO_LOOP;
    return known && length.terms->coefficient > 0 ? length.terms->coefficient : 0;
}

/* Bytes that an operand names, 0 where that is not known. Of a whole tensor they fit 64 bits, and
 * a region or range that is larger than its tensor is an error of its own. */
static int64_t bytes_named(SlipFinder *finder, const Operand *operand) {
    int64_t blocks = blocks_named(finder, operand), bytes;
    Region rect = operand_region(finder->func, operand);
    if (__builtin_mul_overflow(rect.p1 - rect.p0, rect.b1 - rect.b0, &bytes) ||
        __builtin_mul_overflow(bytes, blocks, &bytes))
        return 0;
    return bytes;
}

/* Whether an instruction of the program moves unlike numbers of bytes. What spilling inserted
 * repeats a load of the program as that stands. */
static bool is_uneven(SlipFinder *finder, const Inst *inst) {
    bool dma = inst->kind == OP_LOAD || inst->kind == OP_SAVE;
    if (!dma || !has_spaces_of(finder, inst, inst->kind)) return false;
    int64_t had = bytes_named(finder, inst_src(inst)), gets = bytes_named(finder, inst_dst(inst));
    return had != 0 && gets != 0 && had != gets && !meta_find(inst->meta, "reload");
}

/* How many there are from `inst` on. */
static uint32_t count_uneven(SlipFinder *finder, const Inst *inst) {
    const Inst *end = finder->func->insts + finder->func->ninsts;
    uint32_t count = 0;
    for (; inst < end; inst++)
        count += is_uneven(finder, inst);
    return count;
}

/* Kernels with ragged tiles have hundreds: the first few are told. */
static void check_sides(SlipFinder *finder, const Inst *inst) {
    enum { SHOWN = 3 };
    if (!is_uneven(finder, inst) || ++finder->uneven > SHOWN) return;
    const Operand *to = inst_dst(inst), *from = inst_src(inst);
    diag_warning(finder->diags, from->span, "'%.*s' moves %lld bytes of %.*s into %lld of %.*s",
                 STR_ARGS(inst->op), (long long)bytes_named(finder, from),
                 STR_ARGS(shown(finder, tensor_of(finder, from))),
                 (long long)bytes_named(finder, to),
                 STR_ARGS(shown(finder, tensor_of(finder, to))));
    if (finder->uneven < SHOWN) return;
    uint32_t more = count_uneven(finder, inst + 1);
    if (more > 0)
        diag_note(finder->diags, from->span, false, "%u more of @%.*s do", more,
                  STR_ARGS(finder->func->name));
}

static int64_t banks_of(const Tensor *tensor) {
    return (tensor->bytes - 1) / BANK_BYTES + 1;
}

/* Blocks of a psum tensor that no instruction can have at once. */
static void check_banks(SlipFinder *finder, const Operand *operand) {
    const Tensor *tensor = tensor_of(finder, operand);
    if (tensor->space != SPACE_PSUM || tensor->blocks == 1 || !is_clear(finder, operand)) return;
    int64_t blocks = blocks_named(finder, operand), each = banks_of(tensor);
    if (each > BANKS || blocks <= BANKS / each) return;
    diag_warning(finder->diags, operand->span,
                 "%lld blocks of %.*s take more than the %d banks of %d bytes/partition that PSUM "
                 "has",
                 (long long)blocks, STR_ARGS(shown(finder, tensor)), BANKS, BANK_BYTES);
}

static void check_psum(SlipFinder *finder, uint32_t id) {
    const Tensor *tensor = &finder->func->tensors[id];
    if (tensor->space != SPACE_PSUM || tensor->bytes <= BANKS * BANK_BYTES) return;
    if (finder->vague && finder->vague[id]) return;
    diag_warning(finder->diags, tensor->shape_span,
                 "%.*s needs %lld bytes/partition, but PSUM has only %d",
                 STR_ARGS(shown(finder, tensor)), (long long)tensor->bytes, BANKS * BANK_BYTES);
}

void check_slips(const Func *func, const bool *vague, DiagQueue *diags) {
    SlipFinder finder = {.func = func, .vague = vague, .diags = diags};
    arena_init(&finder.scratch);
    for (uint32_t id = 0; id < func->ntensors; id++)
        check_psum(&finder, id);
    for (uint32_t point = 0; point < func->ninsts; point++) {
        const Inst *inst = &func->insts[point];
        check_opcode(&finder, inst);
        check_sides(&finder, inst);
        for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++)
            check_banks(&finder, &inst->operands[i]);
    }
    arena_free(&finder.scratch);
}
