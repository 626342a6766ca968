#include "test/mutate.h"

#include <assert.h>
#include <stdio.h>

#include "ir/region.h"
#include "support/diag.h"
#include "support/writer.h"
#include "test/bytes.h"
#include "test/run.h"
#include "text/print.h"
#include "verify/verify.h"

static uint32_t named(const Func *func, Str name) {
    for (uint32_t i = 0; i < func->ntensors; i++)
        if (str_equal(func->tensors[i].name, name)) return i;
    return UINT32_MAX;
}

static void find_of(Mutant *m) {
    m->of = NEW_ARRAY(m->arena, uint32_t, m->func.ntensors);
    for (uint32_t i = 0; i < m->func.ntensors; i++) {
        m->of[i] = named(m->original, m->func.tensors[i].name);
        if (m->of[i] == UINT32_MAX)
            m->of[i] = named(m->original, meta_find(m->func.tensors[i].meta, "of")->text);
    }
}

bool mutant_is_new(const Mutant *m, uint32_t tensor) {
    return named(m->original, m->func.tensors[tensor].name) == UINT32_MAX;
}

static bool is_inserted(const Mutant *m, const Inst *inst) {
    const char *mark = inst->kind == OP_SAVE ? "spill" : "reload";
    bool moves = inst->kind == OP_SAVE || inst->kind == OP_LOAD;
    bool added = m->in_place || (moves && mutant_is_new(m, inst->operands[0].tensor));
    return moves && added && meta_find(inst->meta, mark);
}

/* True if the operand may be what became of another: of the same blocks and region, where the
 * tensor is still the original's. */
static bool names_same(const Mutant *m, const Operand *is, const Operand *was) {
    if (m->of[is->tensor] != was->tensor) return false;
    if (mutant_is_new(m, is->tensor)) return true;
    Region a = operand_region(&m->func, is), b = operand_region(m->original, was);
    if (a.p0 != b.p0 || a.p1 != b.p1 || a.b0 != b.b0 || a.b1 != b.b1) return false;
    return !is->blocks || !was->blocks || affine_equal(is->blocks->low, was->blocks->low);
}

static bool stands_for(const Mutant *m, const Inst *is, const Inst *was) {
    if (!str_equal(is->op, was->op) || is->ndst != was->ndst || is->nsrc != was->nsrc) return false;
    if (is->loop != was->loop) return false;
    for (uint32_t i = 0; i < is->ndst + is->nsrc; i++)
        if (!names_same(m, &is->operands[i], &was->operands[i])) return false;
    return is->meta.count == was->meta.count || is->kind == OP_COPY;
}

/* The instruction of the original, from `next` on; the first that is like it, as only loads may be
 * gone. */
static uint32_t find_pair(const Mutant *m, const Inst *inst, uint32_t next) {
    for (; next < m->original->ninsts; next++)
        if (stands_for(m, inst, &m->original->insts[next])) return next;
    assert(false);
    return UINT32_MAX;
}

static void find_pairs(Mutant *m) {
    m->pair = NEW_ARRAY(m->arena, uint32_t, m->func.ninsts);
    uint32_t next = 0;
    for (uint32_t p = 0; p < m->func.ninsts; p++) {
        m->pair[p] = UINT32_MAX;
        if (is_inserted(m, &m->func.insts[p])) continue;
        m->pair[p] = find_pair(m, &m->func.insts[p], next);
        next = m->pair[p] + 1;
    }
}

static Mutant copy_of(const Mutant *base, Arena *arena) {
    Mutant m = *base;
    m.arena = arena;
    m.func.tensors = RAW_ARRAY(arena, Tensor, m.func.ntensors);
    m.func.insts = RAW_ARRAY(arena, Inst, m.func.ninsts);
    m.func.loops = RAW_ARRAY(arena, Loop, m.func.nloops);
    m.pair = RAW_ARRAY(arena, uint32_t, m.func.ninsts);
    for (uint32_t i = 0; i < m.func.ntensors; i++)
        m.func.tensors[i] = base->func.tensors[i];
    for (uint32_t i = 0; i < m.func.nloops; i++)
        m.func.loops[i] = base->func.loops[i];
    for (uint32_t i = 0; i < m.func.ninsts; i++) {
        m.func.insts[i] = base->func.insts[i];
        m.pair[i] = base->pair[i];
    }
    return m;
}

static bool has_marks(const Func *func) {
    for (uint32_t p = 0; p < func->ninsts; p++)
        if (meta_find(func->insts[p].meta, "spill") || meta_find(func->insts[p].meta, "reload"))
            return true;
    return false;
}

Mutant mutant_base(const Func *original, const Func *result, const Target *target, Chance *chance,
                   Arena *arena) {
    Mutant m = {.original = original,
                .func = *result,
                .target = target,
                .in_place = !has_marks(original),
                .arena = arena,
                .chance = chance};
    find_of(&m);
    find_pairs(&m);
    return m;
}

bool referee_accepts(const Mutant *m) {
    DiagQueue diags;
    diag_init(&diags, m->arena);
    return verify(m->original, &m->func, m->target, (VerifyOptions){.placed = true}, &diags);
}

bool bytes_accept(const Mutant *m) {
    PairedResult result = {&m->func, m->pair, m->of};
    return bytes_agree(m->original, result, m->target, m->arena);
}

/* --- What a change does --- */

static uint64_t mix_in(uint64_t sum, uint64_t value) {
    return (sum ^ value) * 0x9e3779b97f4a7c15U ^ sum >> 29;
}

static uint64_t mix_block(uint64_t sum, const Tensor *tensor, int64_t block) {
    sum = mix_in(sum, (uint64_t)block);
    if (!tensor->at || block >= tensor->blocks) return mix_in(sum, (uint64_t)tensor->offset);
    return mix_in(mix_in(sum, (uint64_t)tensor->at[block].partition),
                  (uint64_t)tensor->at[block].byte);
}

static uint64_t mix_operand(uint64_t sum, const Stepper *run, const Operand *operand) {
    const Tensor *tensor = &run->func->tensors[operand->tensor];
    Region region = operand_region(run->func, operand);
    int64_t first, last;
    run_blocks(run, operand, &first, &last);
    sum = mix_in(sum, operand->tensor);
    for (int64_t b = first; b <= last; b++)
        sum = mix_block(sum, tensor, b);
    sum = mix_in(mix_in(sum, (uint64_t)region.p0), (uint64_t)region.p1);
    return mix_in(mix_in(sum, (uint64_t)region.b0), (uint64_t)region.b1);
}

/* A hash of all that happens: which operations, on which blocks, where these lie. */
static uint64_t steps_of(const Func *func, Arena *arena) {
    uint64_t sum = 0;
    for (Stepper run = run_begin(func, arena); run_next(&run);) {
        const Inst *inst = &func->insts[run.point];
        if (!run_happens(&run)) continue;
        sum = mix_in(sum, inst->kind + 4 * (meta_find(inst->meta, "elided") != NULL));
        for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++)
            sum = mix_operand(sum, &run, &inst->operands[i]);
    }
    return sum;
}

void mutant_print(const Mutant *m, const char *name, const char *where, const char *does) {
    Writer writer;
    writer_to_memory(&writer);
    print_func(m->original, &writer);
    print_func(&m->func, &writer);
    fwrite(writer.buffer, 1, writer.length, stderr);
    fprintf(stderr, "%s, %s: the referee %s\n", where, name, does);
    writer_free(&writer);
}

static MutantVerdict judge(const Mutation *mutation, const Mutant *m, const Mutant *base,
                           const char *where) {
    bool right = mutation->rule != RULE_WRONG && bytes_accept(m), accepted = referee_accepts(m);
    if (!accepted && right && mutation->rule == RULE_FORM) return MUTANT_FORM;
    if (accepted != right) {
        mutant_print(m, mutation->name, where, accepted ? "accepts it" : "rejects it");
        return accepted ? MUTANT_WRONG : MUTANT_STRICT;
    }
    if (!right) return MUTANT_REFUSED;
    bool idle = steps_of(&m->func, m->arena) == steps_of(&base->func, m->arena);
    return idle ? MUTANT_IDLE : MUTANT_UNREAD;
}

MutantVerdict mutant_try(const Mutation *mutation, const Mutant *base, const char *where) {
    Arena arena;
    arena_init(&arena);
    Mutant m = copy_of(base, &arena);
    MutantVerdict verdict = MUTANT_NONE;
    if (mutation->change(&m)) verdict = judge(mutation, &m, base, where);
    arena_free(&arena);
    return verdict;
}
