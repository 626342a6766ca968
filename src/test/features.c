#include <assert.h>

#include "test/random.h"
#include "test/run.h"

static const char *const NAMES[FEATURE_COUNT] = {
    [FEATURE_NEST] = "loop nests",
    [FEATURE_BLOCKS] = "several blocks",
    [FEATURE_INDEX_ONE] = "index of one loop",
    [FEATURE_INDEX_SEVERAL] = "index of several loops",
    [FEATURE_INDEX_OFFSET] = "index with an offset",
    [FEATURE_INDEX_NEGATIVE] = "negative coefficient",
    [FEATURE_INDEX_GUARDED] = "index guarded by a condition",
    [FEATURE_INDEX_REMAINDER] = "index that is a remainder",
    [FEATURE_BLOCK_LOOP] = "block loops",
    [FEATURE_RANGE_CONSTANT] = "constant block range",
    [FEATURE_RANGE_DYNAMIC] = "dynamic block range",
    [FEATURE_CONDITION_ONE] = "condition on one index",
    [FEATURE_CONDITION_TWO] = "condition on two indices",
    [FEATURE_CONDITION_AND] = "conjunction",
    [FEATURE_CONDITION_REMAINDER] = "condition on a remainder",
    [FEATURE_REGION_BYTES] = "region partial in bytes",
    [FEATURE_REGION_PARTITIONS] = "region partial in partitions",
    [FEATURE_ACCUMULATE] = "accumulation",
    [FEATURE_DEFINITIONS] = "several definitions",
    [FEATURE_FIXED] = "fixed",
    [FEATURE_FIXED_UNALIGNED] = "fixed and unaligned",
    [FEATURE_PIN] = "pin",
    [FEATURE_BASE] = "base",
    [FEATURE_ALIGN] = "align",
    [FEATURE_SB_INPUT] = "sb input",
    [FEATURE_SB_OUTPUT] = "sb output",
    [FEATURE_SAVED_OVER] = "dram written after it was loaded",
    [FEATURE_COPY] = "copy",
    [FEATURE_COPY_CHAIN] = "chain of copies",
    [FEATURE_PSUM] = "psum operand",
    [FEATURE_NAMED_TWICE] = "tensor named twice by an instruction",
    [FEATURE_NEVER_READ] = "value never read",
    [FEATURE_META] = "metadata",
    [FEATURE_DEFINED_LATER] = "conditional read defined later",
    [FEATURE_DEAD_LOAD] = "dead load",
    [FEATURE_DESTINATIONS] = "several destinations",
    [FEATURE_EMPTY_LOOP] = "empty loop",
    [FEATURE_QUADRANT] = "quadrant tensors",
    [FEATURE_HALF] = "half tensors",
    [FEATURE_FULL] = "full tensors",
    [FEATURE_ODD_BYTES] = "bytes no multiple of 8",
    [FEATURE_QUOTED] = "quoted name",
};

const char *feature_name(Feature feature) {
    return NAMES[feature];
}

#define BIT(feature) (UINT64_C(1) << FEATURE_##feature)

static uint64_t when(bool holds, uint64_t bits) {
    return holds ? bits : 0;
}

static bool is_bare(Str name) {
    for (uint32_t i = 0; i < name.length; i++) {
        char c = name.text[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && c != '_' && c != '.' && c != '$' && c != '-') return false;
    }
    return true;
}

static uint64_t tensor_features(const Tensor *tensor) {
    uint64_t bits = when(!is_bare(tensor->name), BIT(QUOTED)) | when(tensor->meta.count, BIT(META));
    if (tensor->space != SPACE_SB) return bits;
    bits |= when(tensor->blocks > 1, BIT(BLOCKS)) | when(tensor->fixed, BIT(FIXED)) |
            when(tensor->pin, BIT(PIN)) | when(tensor->base >= 0, BIT(BASE)) |
            when(tensor->align > GRANULE, BIT(ALIGN)) | when(tensor->input, BIT(SB_INPUT)) |
            when(tensor->output, BIT(SB_OUTPUT)) |
            when(tensor->bytes % GRANULE != 0, BIT(ODD_BYTES));
    for (int64_t block = 0; tensor->at && block < tensor->blocks; block++)
        bits |= when(tensor->at[block].byte % GRANULE != 0, BIT(FIXED_UNALIGNED));
    if (tensor->partitions <= 32) return bits | BIT(QUADRANT);
    return bits | (tensor->partitions <= 64 ? BIT(HALF) : BIT(FULL));
}

/* Loops that an expression really depends on: those with another coefficient than 0. */
static uint32_t loops_named(Affine affine) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < affine.count; i++) {
        uint32_t loop = affine.terms[i].loop;
        bool first = loop != NO_LOOP && affine_coefficient(affine, loop) != 0;
        for (uint32_t j = 0; j < i; j++)
            first &= affine.terms[j].loop != loop;
        count += first;
    }
    return count;
}

static bool has_negative(Affine affine) {
    for (uint32_t i = 0; i < affine.count; i++)
        if (affine.terms[i].loop != NO_LOOP && affine_coefficient(affine, affine.terms[i].loop) < 0)
            return true;
    return false;
}

static uint64_t condition_features(const Condition *condition) {
    uint64_t bits = when(condition->count > 1, BIT(CONDITION_AND));
    for (uint32_t i = 0; i < condition->count; i++) {
        const Compare *compare = &condition->compares[i];
        uint32_t left = loops_named(compare->left), right = loops_named(compare->right);
        bits |= when(left + right == 1, BIT(CONDITION_ONE)) |
                when(compare->left.modulus || compare->right.modulus, BIT(CONDITION_REMAINDER));
        bits |= when(left + right > 1 && !affine_equal(compare->left, compare->right),
                     BIT(CONDITION_TWO));
    }
    return bits;
}

/* True if a comparison of the condition bounds just this index. */
static bool guards(const Condition *condition, Affine index) {
    for (uint32_t i = 0; condition && i < condition->count; i++)
        if (affine_equal(condition->compares[i].left, index)) return true;
    return false;
}

static uint64_t blocks_features(const Inst *inst, const Blocks *blocks) {
    uint32_t loops = loops_named(blocks->low);
    if (loops == 0) return when(blocks->kind == BLOCKS_RANGE, BIT(RANGE_CONSTANT));
    return when(loops == 1, BIT(INDEX_ONE)) | when(loops > 1, BIT(INDEX_SEVERAL)) |
           when(affine_offset(blocks->low) != 0, BIT(INDEX_OFFSET)) |
           when(has_negative(blocks->low), BIT(INDEX_NEGATIVE)) |
           when(guards(inst->condition, blocks->low), BIT(INDEX_GUARDED)) |
           when(blocks->low.modulus, BIT(INDEX_REMAINDER)) |
           when(blocks->kind == BLOCKS_RANGE, BIT(RANGE_DYNAMIC));
}

static uint64_t region_features(const Tensor *tensor, const Region *region) {
    return when(region->b1 - region->b0 < tensor->bytes, BIT(REGION_BYTES)) |
           when(region->p1 - region->p0 < tensor->partitions, BIT(REGION_PARTITIONS));
}

/* True if the operand is a whole write of block b + constant in iteration b of the innermost loop,
 * of all blocks in the end. */
static bool fills_by_loop(const Func *func, const Inst *inst, const Operand *dst) {
    if (inst->condition || inst->loop == NO_LOOP || !dst->blocks) return false;
    if (dst->blocks->kind != BLOCKS_ONE || !operand_is_whole(func, dst)) return false;
    int64_t blocks = func->tensors[dst->tensor].blocks;
    Range range = affine_range(dst->blocks->low, func, NULL);
    return blocks > 1 && loops_named(dst->blocks->low) == 1 &&
           affine_coefficient(dst->blocks->low, inst->loop) == 1 && range.low <= 0 &&
           range.high >= blocks - 1;
}

static uint64_t inst_features(const Func *func, const Inst *inst) {
    uint64_t bits = when(inst->accumulate, BIT(ACCUMULATE)) | when(inst->meta.count, BIT(META)) |
                    when(inst->ndst > 1, BIT(DESTINATIONS)) |
                    when(inst->kind == OP_COPY, BIT(COPY));
    if (inst->condition) bits |= condition_features(inst->condition);
    for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++) {
        const Operand *operand = &inst->operands[i];
        const Tensor *tensor = &func->tensors[operand->tensor];
        bits |= when(tensor->space == SPACE_PSUM, BIT(PSUM));
        if (operand->blocks) bits |= blocks_features(inst, operand->blocks);
        if (operand->region) bits |= region_features(tensor, operand->region);
        if (i < inst->ndst) bits |= when(fills_by_loop(func, inst, operand), BIT(BLOCK_LOOP));
        for (uint32_t j = 0; j < i; j++)
            bits |= when(inst->operands[j].tensor == operand->tensor, BIT(NAMED_TWICE));
    }
    return bits;
}

/* What has happened to each tensor before, in program order. */
typedef struct {
    bool written, loaded, copied;
    uint32_t definitions;
} Past;

static uint64_t order_features(const Func *func, Arena *scratch) {
    Past *past = NEW_ARRAY(scratch, Past, func->ntensors);
    uint64_t bits = 0;
    for (uint32_t t = 0; t < func->ntensors; t++)
        past[t].written = func->tensors[t].input || func->tensors[t].space == SPACE_PSUM;
    for (uint32_t point = 0; point < func->ninsts; point++) {
        const Inst *inst = &func->insts[point];
        for (uint32_t i = 0; i < inst->nsrc; i++) {
            Past *source = &past[inst_src(inst)[i].tensor];
            bits |= when(!source->written, BIT(DEFINED_LATER));
            if (inst->kind == OP_LOAD) source->loaded = true;
            bits |= when(inst->kind == OP_COPY && source->copied, BIT(COPY_CHAIN));
        }
        for (uint32_t i = 0; i < inst->ndst; i++) {
            uint32_t tensor = inst_dst(inst)[i].tensor;
            bits |= when(past[tensor].loaded, BIT(SAVED_OVER));
            past[tensor].written = true;
            past[tensor].copied = inst->kind == OP_COPY;
            if (!inst->accumulate) past[tensor].definitions++;
            bool sb = func->tensors[tensor].space == SPACE_SB;
            bits |= when(sb && past[tensor].definitions > 1, BIT(DEFINITIONS));
        }
    }
    return bits;
}

/* Bit p of the result: some read receives a value that instruction p has written, in sb. */
static uint64_t received(const Func *func, Arena *scratch) {
    /* [ntensors][blocks] who wrote what is there */
    uint64_t **writers = NEW_ARRAY(scratch, uint64_t *, func->ntensors);
    uint64_t result = 0;
    for (uint32_t t = 0; t < func->ntensors; t++)
        writers[t] = NEW_ARRAY(scratch, uint64_t, (size_t)func->tensors[t].blocks);
    for (Stepper run = run_begin(func, scratch); run_next(&run);) {
        const Inst *inst = &func->insts[run.point];
        if (!run_happens(&run)) continue;
        for (uint32_t i = inst->accumulate ? 0 : inst->ndst; i < inst->ndst + inst->nsrc; i++) {
            int64_t first, last;
            run_blocks(&run, &inst->operands[i], &first, &last);
            for (; first <= last; first++)
                result |= writers[inst->operands[i].tensor][first];
        }
        for (uint32_t i = 0; i < inst->ndst; i++) {
            bool whole = operand_is_whole(func, &inst->operands[i]);
            int64_t first, last;
            run_blocks(&run, &inst->operands[i], &first, &last);
            for (; first <= last; first++) {
                uint64_t *block = &writers[inst->operands[i].tensor][first];
                *block = (whole ? 0 : *block) | UINT64_C(1) << run.point;
            }
        }
    }
    for (uint32_t t = 0; t < func->ntensors; t++)
        for (int64_t block = 0; func->tensors[t].output && block < func->tensors[t].blocks; block++)
            result |= writers[t][block];
    return result;
}

static uint64_t use_features(const Func *func, Arena *scratch) {
    uint64_t used = received(func, scratch), bits = 0;
    for (uint32_t point = 0; point < func->ninsts; point++) {
        const Inst *inst = &func->insts[point];
        if (inst->ndst == 0 || used >> point & 1) continue;
        if (func->tensors[inst_dst(inst)->tensor].space != SPACE_SB) continue;
        bits |= BIT(NEVER_READ) | when(inst->kind == OP_LOAD, BIT(DEAD_LOAD));
    }
    return bits;
}

uint64_t random_features(const Func *func, Arena *scratch) {
    assert(func->ninsts <= RANDOM_POINTS);
    uint64_t bits = order_features(func, scratch) | use_features(func, scratch);
    for (uint32_t t = 0; t < func->ntensors; t++)
        bits |= tensor_features(&func->tensors[t]);
    for (uint32_t point = 0; point < func->ninsts; point++)
        bits |= inst_features(func, &func->insts[point]);
    for (uint32_t loop = 0; loop < func->nloops; loop++) {
        const Loop *inner = &func->loops[loop];
        bits |= when(inner->depth > 0 && inner->first < inner->end, BIT(NEST)) |
                when(inner->first == inner->end, BIT(EMPTY_LOOP));
    }
    return bits;
}
