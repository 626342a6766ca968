#include "text/check.h"

#include "support/checked.h"
#include "text/check_index.h"
#include "text/check_slips.h"
#include "text/word.h"

/* What the instructions do to each tensor, and the reads that look undefined. */
typedef struct {
    uint32_t read, operand; /* point, and position among the instruction's operands */
} Suspect;

typedef struct {
    const Func *func;
    const Target *target; /* NULL: unknown */
    const bool *vague;    /* [ntensors], or NULL */
    DiagQueue *diags;
    Arena scratch;
    uint32_t *first_write, *second_write; /* [ntensors] points, NO_POINT where there is none */
    bool *read;                           /* [ntensors] */
    Suspect *suspects;                    /* in program order */
    size_t nsuspects, suspect_capacity;
    IndexChecker index;
} Checker;

#define NO_POINT UINT32_MAX

static Str name_of(Checker *checker, uint32_t tensor) {
    return label_text(&checker->scratch, '%', checker->func->tensors[tensor].name);
}

static bool is_vague(const Checker *checker, uint32_t tensor) {
    return checker->vague && checker->vague[tensor];
}

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

/* ---- Sizes ---- */

static void check_size(Checker *checker, uint32_t id) {
    const Tensor *tensor = &checker->func->tensors[id];
    int64_t usable = target_usable(checker->target);
    if (tensor->space != SPACE_SB) return;
    if (tensor->bytes > usable) {
        diag_error(checker->diags, tensor->shape_span,
                   "%.*s needs %lld bytes/partition, but only %lld are usable",
                   STR_ARGS(name_of(checker, id)), (long long)tensor->bytes, (long long)usable);
        return;
    }
    for (int64_t i = 0; tensor->at && i < tensor->blocks; i++) {
        if (saturating_add(tensor->at[i].byte, tensor->bytes) <= usable) continue;
        diag_error(checker->diags, tensor->span,
                   "%.*s is placed at bytes %lld to %lld, but only bytes 0 to %lld are usable",
                   STR_ARGS(name_of(checker, id)), (long long)tensor->at[i].byte,
                   (long long)saturating_add(tensor->at[i].byte, tensor->bytes - 1),
                   (long long)usable - 1);
        return;
    }
}

/* ---- Operands ---- */

/* ` at i = 1, j = 7`, or nothing outside loops. */
static Str iteration_text(Checker *checker, const Stray *stray) {
    enum { SHOWN = 16 };
    Str text = STR("");
    for (uint32_t i = 0; i < stray->nloops && i < SHOWN; i++)
        text =
            str_format(&checker->scratch, "%.*s%s%.*s = %lld", STR_ARGS(text),
                       i == 0 ? " at " : ", ", STR_ARGS(checker->func->loops[stray->loops[i]].name),
                       (long long)stray->indices[stray->loops[i]]);
    return text;
}

static void check_blocks(Checker *checker, const Inst *inst, const Operand *operand) {
    const Blocks *blocks = operand->blocks;
    int64_t count = checker->func->tensors[operand->tensor].blocks;
    Span span = blocks->span.end > blocks->span.begin ? blocks->span : operand->span;
    Stray stray = find_stray(&checker->index, inst, blocks, count);
    if (!stray.found) return;
    Str where = iteration_text(checker, &stray);
    diag_error(checker->diags, span, "index outside %.*s: block %lld of %lld%.*s",
               STR_ARGS(name_of(checker, operand->tensor)), (long long)stray.block,
               (long long)count, STR_ARGS(where));
}

static void check_region(Checker *checker, const Operand *operand) {
    const Tensor *tensor = &checker->func->tensors[operand->tensor];
    const Region *region = operand->region;
    if (region->p1 > tensor->partitions)
        diag_error(checker->diags, operand->span,
                   "partitions %lld..%lld are outside %.*s, which has %lld", (long long)region->p0,
                   (long long)region->p1, STR_ARGS(name_of(checker, operand->tensor)),
                   (long long)tensor->partitions);
    if (region->b1 > tensor->bytes)
        diag_error(checker->diags, operand->span,
                   "bytes %lld..%lld are outside %.*s, which has %lld", (long long)region->b0,
                   (long long)region->b1, STR_ARGS(name_of(checker, operand->tensor)),
                   (long long)tensor->bytes);
}

static void check_operand(Checker *checker, const Inst *inst, const Operand *operand) {
    if (!operand->blocks && !operand->region) return;
    if (is_vague(checker, operand->tensor)) return;
    if (operand->blocks && operand->blocks->kind != BLOCKS_ALL)
        check_blocks(checker, inst, operand);
    if (operand->region) check_region(checker, operand);
}

/* ---- load, save and copy ---- */

static bool check_kind(Checker *checker, const Inst *inst, const Operand *operand, Space wanted) {
    Space space = checker->func->tensors[operand->tensor].space;
    if (is_vague(checker, operand->tensor)) return false;
    if (space == wanted) return true;
    bool source = operand != inst_dst(inst);
    diag_error(checker->diags, operand->span, "'%.*s' %s %s tensor, and %.*s is in %.*s",
               STR_ARGS(inst->op), source ? "reads" : "writes",
               wanted == SPACE_SB ? "an sb" : "a dram", STR_ARGS(name_of(checker, operand->tensor)),
               STR_ARGS(space_name(space)));
    return false;
}

/* "2 blocks of 128x64xbf16", what an operand of `copy` names; 0 blocks where that is not known. */
typedef struct {
    const Tensor *tensor;
    const Region *region; /* NULL: whole blocks */
    int64_t blocks;
} CopyExtent;

static CopyExtent extent_of(Checker *checker, const Operand *operand) {
    const Tensor *tensor = &checker->func->tensors[operand->tensor];
    CopyExtent extent = {tensor, operand_is_whole(checker->func, operand) ? NULL : operand->region,
                         tensor->blocks};
    if (!operand->blocks) return extent;
    if (operand->blocks->kind == BLOCKS_ONE) extent.blocks = 1;
    if (operand->blocks->kind != BLOCKS_RANGE) return extent;
    Affine length =
        affine_difference(&checker->scratch, operand->blocks->high, operand->blocks->low);
    bool known = length.count == 1 && length.terms->loop == NO_LOOP;
    extent.blocks = known ? length.terms->coefficient : 0;
    return extent;
}

static bool same_shape(CopyExtent a, CopyExtent b) {
    if (dtype_bytes(a.tensor->dtype) != dtype_bytes(b.tensor->dtype)) return false;
    if (a.region || b.region) {
        Region whole_a = {0, a.tensor->partitions, 0, a.tensor->bytes};
        Region whole_b = {0, b.tensor->partitions, 0, b.tensor->bytes};
        const Region *left = a.region ? a.region : &whole_a;
        const Region *right = b.region ? b.region : &whole_b;
        return left->p1 - left->p0 == right->p1 - right->p0 &&
               left->b1 - left->b0 == right->b1 - right->b0;
    }
    if (a.tensor->rank != b.tensor->rank) return false;
    for (uint32_t i = 0; i < a.tensor->rank; i++)
        if (a.tensor->shape[i] != b.tensor->shape[i]) return false;
    return true;
}

static Str extent_text(Checker *checker, CopyExtent extent) {
    Str dtype = dtype_name(extent.tensor->dtype), text = STR("");
    if (extent.region)
        return str_format(&checker->scratch, "%lld partitions of %lld bytes of %.*s",
                          (long long)(extent.region->p1 - extent.region->p0),
                          (long long)(extent.region->b1 - extent.region->b0), STR_ARGS(dtype));
    enum { SHOWN = 6 };
    for (uint32_t i = 0; i < extent.tensor->rank && i < SHOWN; i++)
        text = str_format(&checker->scratch, "%.*s%lldx", STR_ARGS(text),
                          (long long)extent.tensor->shape[i]);
    return str_format(&checker->scratch, "%.*s%s%.*s", STR_ARGS(text),
                      extent.tensor->rank > SHOWN ? "...x" : "", STR_ARGS(dtype));
}

static void check_copy(Checker *checker, const Operand *to, const Operand *from) {
    CopyExtent target = extent_of(checker, to), source = extent_of(checker, from);
    if (!same_shape(target, source))
        diag_error(checker->diags, from->span, "'copy' from %.*s to %.*s: the shapes differ",
                   STR_ARGS(extent_text(checker, source)), STR_ARGS(extent_text(checker, target)));
    else if (target.blocks > 0 && source.blocks > 0 && target.blocks != source.blocks)
        diag_error(checker->diags, from->span, "'copy' from %lld block%s to %lld block%s",
                   (long long)source.blocks, plural(source.blocks), (long long)target.blocks,
                   plural(target.blocks));
}

static void check_transfer(Checker *checker, const Inst *inst) {
    static const Space DESTINATION[] = {
        [OP_LOAD] = SPACE_SB, [OP_SAVE] = SPACE_DRAM, [OP_COPY] = SPACE_SB};
    static const Space SOURCE[] = {
        [OP_LOAD] = SPACE_DRAM, [OP_SAVE] = SPACE_SB, [OP_COPY] = SPACE_SB};
    if (inst->ndst != 1 || inst->nsrc != 1) {
        diag_error(checker->diags, inst->span,
                   "'%.*s' takes one destination and one source, not %u and %u", STR_ARGS(inst->op),
                   inst->ndst, inst->nsrc);
        return;
    }
    bool good = check_kind(checker, inst, inst_dst(inst), DESTINATION[inst->kind]);
    good &= check_kind(checker, inst, inst_src(inst), SOURCE[inst->kind]);
    if (good && inst->kind == OP_COPY) check_copy(checker, inst_dst(inst), inst_src(inst));
}

/* ---- Reads and writes ---- */

/* True if the tensor has a value that no instruction need write. */
static bool has_value(const Checker *checker, uint32_t id) {
    const Tensor *tensor = &checker->func->tensors[id];
    return tensor->input || tensor->space == SPACE_PSUM || is_vague(checker, id) ||
           (tensor->space == SPACE_DRAM && meta_find(tensor->meta, "of"));
}

static void note_read(Checker *checker, uint32_t point, uint32_t operand) {
    uint32_t id = checker->func->insts[point].operands[operand].tensor;
    checker->read[id] = true;
    if (checker->first_write[id] != NO_POINT || has_value(checker, id)) return;
    Suspect suspect = {point, operand};
    PUSH(&checker->scratch, checker->suspects, checker->nsuspects, checker->suspect_capacity,
         suspect);
}

static void note_write(Checker *checker, uint32_t point, uint32_t id) {
    if (checker->first_write[id] == NO_POINT)
        checker->first_write[id] = point;
    else if (checker->first_write[id] != point && checker->second_write[id] == NO_POINT)
        checker->second_write[id] = point;
}

static void check_inst(Checker *checker, uint32_t point) {
    const Inst *inst = &checker->func->insts[point];
    uint32_t count = inst->ndst + inst->nsrc;
    for (uint32_t i = inst->accumulate ? 0 : inst->ndst; i < count; i++)
        note_read(checker, point, i);
    for (uint32_t i = 0; i < count; i++) {
        check_operand(checker, inst, &inst->operands[i]);
        if (i < inst->ndst) note_write(checker, point, inst->operands[i].tensor);
    }
    if (inst->kind != OP_OTHER) check_transfer(checker, inst);
}

/* The outermost loop around each loop. */
static uint32_t *outermost_loops(Checker *checker) {
    const Func *func = checker->func;
    uint32_t *outermost = RAW_ARRAY(&checker->scratch, uint32_t, func->nloops);
    for (uint32_t loop = 0; loop < func->nloops; loop++) {
        uint32_t parent = func->loops[loop].parent;
        outermost[loop] = parent == NO_LOOP ? loop : outermost[parent];
    }
    return outermost;
}

/* Whether a later iteration of a loop around both may read, under a condition, what another
 * instruction has written by then. No write stands before the read. */
static bool defined_later(const Checker *checker, Suspect suspect, const uint32_t *outermost) {
    const Inst *inst = &checker->func->insts[suspect.read];
    uint32_t id = inst->operands[suspect.operand].tensor;
    if (!inst->condition || inst->loop == NO_LOOP) return false;
    uint32_t write = checker->first_write[id];
    if (write == suspect.read) write = checker->second_write[id];
    return write < checker->func->loops[outermost[inst->loop]].end;
}

static void tell_undefined(Checker *checker, Suspect suspect) {
    const Func *func = checker->func;
    const Operand *operand = &func->insts[suspect.read].operands[suspect.operand];
    uint32_t write = checker->first_write[operand->tensor];
    Str name = name_of(checker, operand->tensor);
    if (write == NO_POINT) {
        diag_error(checker->diags, operand->span, "%.*s is read, but nothing writes it",
                   STR_ARGS(name));
        return;
    }
    diag_error(checker->diags, operand->span, "%.*s is read before anything has written it",
               STR_ARGS(name));
    if (write != suspect.read)
        diag_note(checker->diags, func->insts[write].span, true, "it is first written here");
}

/* Tells of the first undefined read of each tensor. */
static void check_defined(Checker *checker) {
    if (checker->nsuspects == 0) return;
    uint32_t *outermost = outermost_loops(checker);
    bool *told = NEW_ARRAY(&checker->scratch, bool, checker->func->ntensors);
    for (size_t i = 0; i < checker->nsuspects; i++) {
        Suspect suspect = checker->suspects[i];
        uint32_t id = checker->func->insts[suspect.read].operands[suspect.operand].tensor;
        if (told[id] || defined_later(checker, suspect, outermost)) continue;
        told[id] = true;
        tell_undefined(checker, suspect);
    }
}

/* An output that has no value, and what is of no use. Copies that spilling made are its own. */
static void check_use(Checker *checker, uint32_t id) {
    const Tensor *tensor = &checker->func->tensors[id];
    bool written = checker->first_write[id] != NO_POINT;
    if (tensor->output && !tensor->input && !written)
        diag_error(checker->diags, tensor->span, "output %.*s is never written",
                   STR_ARGS(name_of(checker, id)));
    if (tensor->output || checker->read[id] || meta_find(tensor->meta, "of")) return;
    const char *fault = written         ? "is written but never read"
                        : tensor->input ? "is an input that is never read"
                                        : "is declared but never used";
    diag_warning(checker->diags, tensor->span, "%.*s %s", STR_ARGS(name_of(checker, id)), fault);
}

void check_func(const Func *func, const Target *target, const bool *vague, DiagQueue *diags) {
    Checker checker = {.func = func, .target = target, .vague = vague, .diags = diags};
    arena_init(&checker.scratch);
    checker.first_write = RAW_ARRAY(&checker.scratch, uint32_t, func->ntensors);
    checker.second_write = RAW_ARRAY(&checker.scratch, uint32_t, func->ntensors);
    index_checker_init(&checker.index, func, &checker.scratch);
    checker.read = NEW_ARRAY(&checker.scratch, bool, func->ntensors);
    for (uint32_t id = 0; id < func->ntensors; id++) {
        checker.first_write[id] = checker.second_write[id] = NO_POINT;
        if (target && !is_vague(&checker, id)) check_size(&checker, id);
    }
    for (uint32_t point = 0; point < func->ninsts; point++)
        check_inst(&checker, point);
    check_defined(&checker);
    for (uint32_t id = 0; id < func->ntensors; id++)
        if (!is_vague(&checker, id)) check_use(&checker, id);
    check_slips(func, vague, diags);
    arena_free(&checker.scratch);
}

bool check_module(const Module *module, DiagQueue *diags) {
    uint32_t errors = diags->errors;
    for (uint32_t i = 0; i < module->nfuncs; i++)
        check_func(&module->funcs[i], &module->target, NULL, diags);
    return diags->errors == errors;
}
