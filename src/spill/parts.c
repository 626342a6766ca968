#include "spill/parts.h"

#include <assert.h>

#include "ir/region.h"

Region access_part(const Plan *plan, uint32_t tensor, uint32_t access) {
    const Func *func = plan->func;
    const Tensor *info = &func->tensors[tensor];
    if (plan->accesses[access].inst == ENTRY) return whole_region(info);
    const Inst *inst = &func->insts[plan->accesses[access].inst];
    Region part = {0};
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
        if (inst->operands[o].tensor == tensor)
            part = region_hull(part, operand_region(func, &inst->operands[o]));
    return region_widened(info, part);
}

int64_t part_dma(const Target *target, Region part) {
    return latency_dram(target, part.p1 - part.p0, part.b1 - part.b0);
}

typedef struct {
    Rewritten *code;
    Func *func;
    const Func *from;
    Arena *arena;   /* of the result */
    Region *part;   /* [ntensors] of copies: what one holds; of homes: what reloads move */
    bool *reloaded; /* [ntensors] copies that some reload fills */
    bool *whole;    /* [ntensors] copies that must hold whole blocks */
} Shrinker;

static const Tensor *original_of(const Shrinker *pass, uint32_t tensor) {
    return &pass->from->tensors[pass->code->origin[tensor]];
}

static bool is_copy(const Shrinker *pass, uint32_t tensor) {
    return pass->code->role[tensor] == ROLE_COPY;
}

static bool is_home(const Shrinker *pass, uint32_t tensor) {
    return pass->code->role[tensor] == ROLE_HOME;
}

static bool is_inserted(const Shrinker *pass, uint32_t point, OpKind kind) {
    return pass->code->origin_inst[point] == INSERTED && pass->func->insts[point].kind == kind;
}

static void add_part(Shrinker *pass, uint32_t tensor, Region part) {
    Region both = region_hull(pass->part[tensor], part);
    pass->part[tensor] = region_widened(original_of(pass, tensor), both);
}

/* ---- what is needed ---- */

/* True if an end of a copy instruction would not look like the other one if it held a part: that
 * has as many bytes, but more dimensions. */
static bool needs_shape(const Func *func, const Inst *inst, uint32_t o) {
    if (inst->kind != OP_COPY) return false;
    const Operand *other = &inst->operands[1 - o];
    return operand_is_whole(func, other) && func->tensors[other->tensor].rank != 2;
}

static void note_accesses(Shrinker *pass, const Inst *inst) {
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        uint32_t t = inst->operands[o].tensor;
        if (!is_copy(pass, t)) continue;
        add_part(pass, t, operand_region(pass->func, &inst->operands[o]));
        pass->whole[t] |= needs_shape(pass->func, inst, o);
    }
}

/* True if a reload finds block for block what its copy holds: a load of another form is repeated
 * as it stands. */
static bool finds_blocks(const Shrinker *pass, const Inst *reload) {
    const Operand *src = inst_src(reload);
    const Tensor *source = &pass->func->tensors[src->tensor];
    const Tensor *original = original_of(pass, inst_dst(reload)->tensor);
    return is_home(pass, src->tensor) ||
           (operand_is_whole(pass->func, src) && source->partitions == original->partitions &&
            source->bytes == original->bytes && source->dtype == original->dtype &&
            operand_most_blocks(pass->func, src) ==
                operand_most_blocks(pass->func, inst_dst(reload)));
}

static void note_reload(Shrinker *pass, const Inst *reload) {
    uint32_t copy = inst_dst(reload)->tensor;
    assert(is_copy(pass, copy));
    pass->reloaded[copy] = true;
    pass->whole[copy] |= !finds_blocks(pass, reload);
}

static void find_needs(Shrinker *pass) {
    const Inst *insts = pass->func->insts;
    for (uint32_t i = 0; i < pass->func->ninsts; i++) {
        if (pass->code->origin_inst[i] != INSERTED)
            note_accesses(pass, &insts[i]);
        else if (insts[i].kind == OP_LOAD)
            note_reload(pass, &insts[i]);
    }
    for (uint32_t t = 0; t < pass->func->ntensors; t++) {
        bool unread = pass->part[t].p1 == 0; /* a load that nothing needed was all that named it */
        if (is_copy(pass, t) && (pass->whole[t] || !pass->reloaded[t] || unread))
            pass->part[t] = whole_region(original_of(pass, t));
    }
}

/* What leaves a home together; then a copy that is stored into it holds that too. Such a copy that
 * is reloaded from the same home adds nothing to what leaves it. */
static void join_with_homes(Shrinker *pass) {
    const Inst *insts = pass->func->insts;
    for (uint32_t i = 0; i < pass->func->ninsts; i++) {
        if (!is_inserted(pass, i, OP_LOAD)) continue;
        uint32_t home = inst_src(&insts[i])->tensor;
        if (is_home(pass, home)) add_part(pass, home, pass->part[inst_dst(&insts[i])->tensor]);
    }
    for (uint32_t i = 0; i < pass->func->ninsts; i++) {
        if (!is_inserted(pass, i, OP_SAVE)) continue;
        uint32_t copy = inst_src(&insts[i])->tensor, home = inst_dst(&insts[i])->tensor;
        if (pass->part[home].p1 == 0) /* no reload: an input's value leaves the chip all the same */
            pass->part[home] = whole_region(original_of(pass, home));
        if (is_copy(pass, copy)) add_part(pass, copy, pass->part[home]);
    }
}

/* ---- carrying out ---- */

/* Names of each block the part, as seen from the part of it that the tensor holds. */
static void name_part(Shrinker *pass, const Operand *operand, Region part) {
    /* The operands were made by this rewrite and belong to it. */
    Operand *own = (Operand *)(uintptr_t)operand;
    const Tensor *tensor = &pass->func->tensors[own->tensor];
    Region held = is_copy(pass, own->tensor) ? pass->part[own->tensor] : whole_region(tensor);
    Region *named = NEW(pass->arena, Region);
    *named = (Region){part.p0 - held.p0, part.p1 - held.p0, part.b0 - held.b0, part.b1 - held.b0};
    own->region = region_equal(part, held) ? NULL : named;
}

static bool is_whole_part(const Shrinker *pass, uint32_t tensor) {
    return region_equal(pass->part[tensor], whole_region(original_of(pass, tensor)));
}

static void name_accesses(Shrinker *pass, const Inst *inst) {
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        const Operand *operand = &inst->operands[o];
        if (!is_copy(pass, operand->tensor) || is_whole_part(pass, operand->tensor)) continue;
        name_part(pass, operand, operand_region(pass->func, operand));
    }
}

static void name_dma(Shrinker *pass, const Inst *inst) {
    bool reload = inst->kind == OP_LOAD;
    Region part = pass->part[inst_dst(inst)->tensor]; /* of the copy, or of the home */
    if (reload && region_equal(part, whole_region(original_of(pass, inst_dst(inst)->tensor))))
        return;
    name_part(pass, inst_dst(inst), part);
    name_part(pass, inst_src(inst), part);
}

static void shrink_copies(Shrinker *pass) {
    for (uint32_t t = 0; t < pass->func->ntensors; t++) {
        if (!is_copy(pass, t)) continue;
        Tensor *tensor = &pass->func->tensors[t];
        *tensor = tensor_of_region(tensor, pass->part[t], pass->arena);
        /* Made by this rewrite, as the operands. */
        ((BlockRange *)(uintptr_t)pass->code->block_range[t])->part = pass->part[t];
    }
}

void shrink_parts(Rewritten *rewritten, const Func *from, Arena *arena) {
    Shrinker pass = {.code = rewritten, .func = rewritten->func, .from = from, .arena = arena};
    Arena scratch;
    arena_init(&scratch);
    pass.part = NEW_ARRAY(&scratch, Region, pass.func->ntensors);
    pass.reloaded = NEW_ARRAY(&scratch, bool, pass.func->ntensors);
    pass.whole = NEW_ARRAY(&scratch, bool, pass.func->ntensors);
    find_needs(&pass);
    join_with_homes(&pass);
    for (uint32_t i = 0; i < pass.func->ninsts; i++) {
        if (rewritten->origin_inst[i] == INSERTED)
            name_dma(&pass, &pass.func->insts[i]);
        else
            name_accesses(&pass, &pass.func->insts[i]);
    }
    shrink_copies(&pass);
    arena_free(&scratch);
}
