/* Changes real results of random programs in one way each, and compares the referee's verdict with
 * that of a plain byte-by-byte run: what changes behaviour must be rejected, what does not must be
 * accepted. Changes of the program itself must be rejected always. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/allocate.h"
#include "ir/geometry.h"
#include "ir/marks.h"
#include "ir/region.h"
#include "spill/everywhere.h"
#include "spill/homes.h"
#include "spill/names.h"
#include "test/bytes.h"
#include "test/chance.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"
#include "text/parse.h"
#include "text/print.h"
#include "verify/verify.h"

enum { FIRST = 1, MUTANTS = 3, MOST_WORK = 400 * 1000 };

/* A result under change; the arrays are its own. */
typedef struct {
    const Func *original;
    Func func;
    const Target *target;
    uint32_t *pair, *of;
    bool in_place; /* the original has no marks of spill code: what has one is inserted */
    Arena *arena;
    Chance *chance;
} Mutant;

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

static bool is_new(const Mutant *m, uint32_t tensor) {
    return named(m->original, m->func.tensors[tensor].name) == UINT32_MAX;
}

static bool is_inserted(const Mutant *m, const Inst *inst) {
    const char *mark = inst->kind == OP_SAVE ? "spill" : "reload";
    bool moves = inst->kind == OP_SAVE || inst->kind == OP_LOAD;
    bool added = m->in_place || (moves && is_new(m, inst->operands[0].tensor));
    return moves && added && meta_find(inst->meta, mark);
}

static bool stands_for(const Mutant *m, const Inst *is, const Inst *was) {
    if (!str_equal(is->op, was->op) || is->ndst != was->ndst || is->nsrc != was->nsrc) return false;
    for (uint32_t i = 0; i < is->ndst + is->nsrc; i++) {
        const Operand *a = &is->operands[i], *b = &was->operands[i];
        if (m->of[a->tensor] != b->tensor) return false;
        if (!is_new(m, a->tensor) && a->blocks && b->blocks &&
            !affine_equal(a->blocks->low, b->blocks->low))
            return false;
    }
    return is->meta.count == was->meta.count || is->kind == OP_COPY;
}

static void find_pairs(Mutant *m) {
    m->pair = NEW_ARRAY(m->arena, uint32_t, m->func.ninsts);
    uint32_t next = 0;
    for (uint32_t p = 0; p < m->func.ninsts; p++) {
        m->pair[p] = UINT32_MAX;
        if (is_inserted(m, &m->func.insts[p])) continue;
        while (next < m->original->ninsts &&
               !stands_for(m, &m->func.insts[p], &m->original->insts[next]))
            next++;
        assert_true(next < m->original->ninsts);
        m->pair[p] = next++;
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

/* --- Changes --- */

static uint32_t pick(Mutant *m, uint32_t count) {
    return (uint32_t)chance_below(m->chance, count);
}

/* An instruction that is inserted, or that is not; of the kind if it is not OP_OTHER. */
static Inst *pick_inst(Mutant *m, bool inserted, OpKind kind, uint32_t *point) {
    if (m->func.ninsts == 0) return NULL;
    uint32_t start = pick(m, m->func.ninsts);
    for (uint32_t i = 0; i < m->func.ninsts; i++) {
        *point = (start + i) % m->func.ninsts;
        Inst *inst = &m->func.insts[*point];
        if ((m->pair[*point] == UINT32_MAX) == inserted && (kind == OP_OTHER || inst->kind == kind))
            return inst;
    }
    return NULL;
}

static Operand *own_operands(Mutant *m, Inst *inst) {
    uint32_t count = inst->ndst + inst->nsrc;
    Operand *operands = RAW_ARRAY(m->arena, Operand, count);
    for (uint32_t i = 0; i < count; i++)
        operands[i] = inst->operands[i];
    inst->operands = operands;
    return operands;
}

static void drop(Mutant *m, uint32_t point) {
    m->func.ninsts--;
    for (uint32_t i = point; i < m->func.ninsts; i++) {
        m->func.insts[i] = m->func.insts[i + 1];
        m->pair[i] = m->pair[i + 1];
    }
    for (uint32_t i = 0; i < m->func.nloops; i++) {
        m->func.loops[i].first -= m->func.loops[i].first > point;
        m->func.loops[i].end -= m->func.loops[i].end > point;
    }
}

static bool move_place(Mutant *m) {
    uint32_t number = pick(m, m->func.ntensors);
    Tensor *t = &m->func.tensors[number];
    if (t->space != SPACE_SB || !t->at || m->original->tensors[m->of[number]].fixed) return false;
    int64_t room = (target_usable(m->target) - t->bytes) / t->align;
    Bands bands = class_bands(shape_class(t->partitions, t->base));
    Place *at = RAW_ARRAY(m->arena, Place, t->blocks);
    for (int64_t b = 0; b < t->blocks; b++)
        at[b] = t->at[b];
    at[pick(m, (uint32_t)t->blocks)] =
        (Place){band_start(bands.masks[pick(m, bands.count)]),
                (int64_t)chance_below(m->chance, (uint64_t)room + 1) * t->align};
    t->at = at;
    return true;
}

static bool is_home(const Mutant *m, uint32_t tensor) {
    return is_new(m, tensor) && m->func.tensors[tensor].space == SPACE_DRAM &&
           m->func.tensors[tensor].offset >= 0;
}

/* Two homes begin at one place. */
static bool move_home(Mutant *m) {
    uint32_t count = 0;
    uint32_t *homes = NEW_ARRAY(m->arena, uint32_t, m->func.ntensors);
    for (uint32_t i = 0; i < m->func.ntensors; i++)
        if (is_home(m, i)) homes[count++] = i;
    if (count < 2) return false;
    uint32_t a = pick(m, count), b = (a + 1 + pick(m, count - 1)) % count;
    m->func.tensors[homes[a]].offset = m->func.tensors[homes[b]].offset;
    return true;
}

static bool drop_store(Mutant *m) {
    uint32_t point;
    if (!pick_inst(m, true, OP_SAVE, &point)) return false;
    drop(m, point);
    return true;
}

static bool drop_reload(Mutant *m) {
    uint32_t point;
    if (!pick_inst(m, true, OP_LOAD, &point)) return false;
    drop(m, point);
    return true;
}

/* An inserted instruction changes places with the next one in its loop. */
static bool swap_next(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, true, OP_OTHER, &point);
    if (!inst || point + 1 == m->func.ninsts || inst[1].loop != inst->loop) return false;
    for (uint32_t i = 0; i < m->func.nloops; i++)
        if (m->func.loops[i].first == point + 1 || m->func.loops[i].end == point + 1) return false;
    Inst moved = inst[0];
    inst[0] = inst[1];
    inst[1] = moved;
    m->pair[point] = m->pair[point + 1];
    m->pair[point + 1] = UINT32_MAX;
    return true;
}

static bool lose_condition(Mutant *m) {
    uint32_t start = pick(m, m->func.ninsts + 1);
    for (uint32_t i = 0; i < m->func.ninsts; i++) {
        uint32_t point = (start + i) % m->func.ninsts;
        if (m->pair[point] != UINT32_MAX || !m->func.insts[point].condition) continue;
        m->func.insts[point].condition = NULL;
        return true;
    }
    return false;
}

/* An inserted instruction takes a condition from elsewhere, on loops around it. */
static bool gain_condition(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, true, OP_OTHER, &point);
    uint32_t start = pick(m, m->func.ninsts + 1);
    for (uint32_t i = 0; inst && i < m->func.ninsts; i++) {
        const Inst *from = &m->func.insts[(start + i) % m->func.ninsts];
        if (!from->condition || condition_equal(from->condition, inst->condition) ||
            !loop_encloses(&m->func, from->loop, inst->loop))
            continue;
        inst->condition = from->condition;
        return true;
    }
    return false;
}

/* An inserted instruction, or the operand of a copy, names another block. */
static bool other_block(Mutant *m) {
    uint32_t start = pick(m, m->func.ninsts + 1);
    for (uint32_t k = 0; k < m->func.ninsts; k++) {
        uint32_t point = (start + k) % m->func.ninsts;
        Inst *inst = &m->func.insts[point];
        if (inst->ndst + inst->nsrc == 0) continue;
        uint32_t i = pick(m, inst->ndst + inst->nsrc);
        const Operand *was = &inst->operands[i];
        int64_t blocks = m->func.tensors[was->tensor].blocks;
        bool one = was->blocks && was->blocks->kind == BLOCKS_ONE && blocks > 1;
        if (!one || (m->pair[point] != UINT32_MAX && !is_new(m, was->tensor))) continue;
        Blocks *other = NEW(m->arena, Blocks);
        *other = (Blocks){.kind = BLOCKS_ONE,
                          .low = affine_constant(m->arena, pick(m, (uint32_t)blocks))};
        own_operands(m, inst)[i].blocks = other;
        return true;
    }
    return false;
}

/* Takes some rows or bytes off one end of a region; false where there is but one. */
static bool cut_region(Mutant *m, Region *region) {
    bool rows = chance_percent(m->chance, 50);
    int64_t *low = rows ? &region->p0 : &region->b0, *high = rows ? &region->p1 : &region->b1;
    if (*high - *low < 2) return false;
    int64_t less = 1 + pick(m, (uint32_t)(*high - *low - 1));
    if (chance_percent(m->chance, 50))
        *low += less;
    else
        *high -= less;
    return true;
}

/* An inserted instruction moves less of each block, the same on both sides. */
static bool smaller_part(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, true, OP_OTHER, &point);
    if (!inst) return false;
    Region was[] = {operand_region(&m->func, &inst->operands[0]),
                    operand_region(&m->func, &inst->operands[1])};
    int64_t rows = was[1].p0 - was[0].p0, bytes = was[1].b0 - was[0].b0;
    if (was[1].p1 - was[0].p1 != rows || was[1].b1 - was[0].b1 != bytes) return false;
    Region *is = RAW_ARRAY(m->arena, Region, 2);
    is[0] = was[0];
    if (!cut_region(m, &is[0])) return false;
    is[1] = (Region){is[0].p0 + rows, is[0].p1 + rows, is[0].b0 + bytes, is[0].b1 + bytes};
    Operand *operands = own_operands(m, inst);
    operands[0].region = &is[0];
    operands[1].region = &is[1];
    return true;
}

/* An inserted instruction names a region on one side that begins elsewhere. */
static bool shifted_part(Mutant *m) {
    uint32_t start = pick(m, m->func.ninsts + 1);
    for (uint32_t k = 0; k < m->func.ninsts; k++) {
        uint32_t point = (start + k) % m->func.ninsts, side = pick(m, 2);
        Inst *inst = &m->func.insts[point];
        if (m->pair[point] != UINT32_MAX || !inst->operands[side].region) continue;
        const Tensor *t = &m->func.tensors[inst->operands[side].tensor];
        Region *is = NEW(m->arena, Region);
        *is = *inst->operands[side].region;
        int64_t rows = is->p1 - is->p0, bytes = is->b1 - is->b0;
        is->p0 = pick(m, (uint32_t)(t->partitions - rows + 1));
        is->b0 = pick(m, (uint32_t)(t->bytes - bytes + 1));
        is->p1 = is->p0 + rows;
        is->b1 = is->b0 + bytes;
        own_operands(m, inst)[side].region = is;
        return true;
    }
    return false;
}

/* --- Changes of results in place --- */

/* A comparison of an inserted instruction or of a load, a copy that may be changed. */
static Compare *pick_compare(Mutant *m) {
    uint32_t start = pick(m, m->func.ninsts + 1);
    for (uint32_t k = 0; k < m->func.ninsts; k++) {
        uint32_t point = (start + k) % m->func.ninsts;
        Inst *inst = &m->func.insts[point];
        const Condition *was = inst->condition;
        if (!was || (m->pair[point] != UINT32_MAX && inst->kind != OP_LOAD)) continue;
        uint32_t had = 0;
        if (m->pair[point] != UINT32_MAX && m->original->insts[m->pair[point]].condition)
            had = m->original->insts[m->pair[point]].condition->count;
        if (was->count == had) continue;
        Condition *is = NEW(m->arena, Condition);
        Compare *compares = RAW_ARRAY(m->arena, Compare, was->count);
        for (uint32_t i = 0; i < was->count; i++)
            compares[i] = was->compares[i];
        *is = (Condition){compares, was->count};
        inst->condition = is;
        return &compares[had + pick(m, was->count - had)];
    }
    return NULL;
}

/* The constant on the right becomes one less or more. */
static bool other_threshold(Mutant *m) {
    Compare *compare = pick_compare(m);
    int64_t value;
    if (!compare || !affine_is_constant(compare->right, &m->func, &value)) return false;
    int64_t other = chance_percent(m->chance, 50) || value == 0 ? value + 1 : value - 1;
    compare->right = affine_constant(m->arena, other);
    return true;
}

/* Another of the four comparisons that a load may be given. */
static bool other_comparison(Mutant *m) {
    static const Comparison kinds[] = {CMP_GE, CMP_LT, CMP_EQ, CMP_NE};
    Compare *compare = pick_compare(m);
    if (!compare) return false;
    Comparison was = compare->comparison;
    compare->comparison = kinds[pick(m, 4)];
    return compare->comparison != was;
}

/* A load of the input runs in one iteration less of the loop around it. */
static bool narrow_load(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, false, OP_LOAD, &point);
    if (!inst || inst->loop == NO_LOOP) return false;
    const Loop *loop = &m->func.loops[inst->loop];
    uint32_t had = inst->condition ? inst->condition->count : 0;
    Compare *compares = RAW_ARRAY(m->arena, Compare, had + 1);
    for (uint32_t i = 0; i < had; i++)
        compares[i] = inst->condition->compares[i];
    Term *term = NEW(m->arena, Term);
    *term = (Term){1, inst->loop};
    int64_t value = loop->low + pick(m, (uint32_t)(loop->high - loop->low));
    compares[had] = (Compare){(Affine){term, 1, 0}, affine_constant(m->arena, value), CMP_NE};
    Condition *condition = NEW(m->arena, Condition);
    *condition = (Condition){compares, had + 1};
    inst->condition = condition;
    return true;
}

/* An index of an inserted instruction is one more or less. */
static bool shift_index(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, true, OP_OTHER, &point);
    if (!inst) return false;
    uint32_t i = pick(m, 2);
    const Blocks *was = inst->operands[i].blocks;
    if (!was || was->kind != BLOCKS_ONE) return false;
    Term *terms = RAW_ARRAY(m->arena, Term, was->low.count + 1);
    for (uint32_t t = 0; t < was->low.count; t++)
        terms[t] = was->low.terms[t];
    terms[was->low.count] = (Term){chance_percent(m->chance, 50) ? 1 : -1, NO_LOOP};
    Blocks *is = NEW(m->arena, Blocks);
    *is = (Blocks){.kind = BLOCKS_ONE, .low = {terms, was->low.count + 1, was->low.modulus}};
    own_operands(m, inst)[i].blocks = is;
    return true;
}

/* A block takes the place of another block of its tensor, or two change places. */
static bool share_place(Mutant *m) {
    uint32_t number = pick(m, m->func.ntensors);
    Tensor *t = &m->func.tensors[number];
    if (t->space != SPACE_SB || !t->at || t->blocks < 2) return false;
    Place *at = RAW_ARRAY(m->arena, Place, t->blocks);
    for (int64_t b = 0; b < t->blocks; b++)
        at[b] = t->at[b];
    uint32_t a = pick(m, (uint32_t)t->blocks), b = pick(m, (uint32_t)t->blocks);
    at[a] = t->at[b];
    if (chance_percent(m->chance, 30)) at[b] = t->at[a];
    t->at = at;
    return true;
}

/* A home loses its last block. */
static bool shrink_home(Mutant *m) {
    uint32_t number = pick(m, m->func.ntensors);
    if (!is_home(m, number) || m->func.tensors[number].blocks < 2) return false;
    m->func.tensors[number].blocks--;
    return true;
}

/* An operand that is a working copy becomes another copy of the same tensor. */
static bool other_copy(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, chance_percent(m->chance, 50), OP_OTHER, &point);
    if (!inst || inst->ndst + inst->nsrc == 0) return false;
    uint32_t i = pick(m, inst->ndst + inst->nsrc), was = inst->operands[i].tensor;
    const Tensor *t = &m->func.tensors[was];
    if (!is_new(m, was) || t->space != SPACE_SB) return false;
    uint32_t start = pick(m, m->func.ntensors);
    for (uint32_t k = 0; k < m->func.ntensors; k++) {
        uint32_t is = (start + k) % m->func.ntensors;
        const Tensor *u = &m->func.tensors[is];
        bool alike = u->space == t->space && u->blocks == t->blocks &&
                     u->partitions == t->partitions && u->bytes == t->bytes && u->base == t->base;
        if (is == was || !is_new(m, is) || m->of[is] != m->of[was] || !alike || !u->at) continue;
        own_operands(m, inst)[i].tensor = is;
        return true;
    }
    return false;
}

/* --- Changes of the program --- */

static bool drop_original(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, false, OP_OTHER, &point);
    if (!inst || inst->kind == OP_LOAD) return false;
    /* Of two equal neighbours it makes no difference which is gone: but one of them is. */
    drop(m, point);
    return true;
}

static bool other_opcode(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, false, OP_OTHER, &point);
    if (!inst || inst->kind != OP_OTHER) return false;
    inst->op = STR("unheard_of");
    return true;
}

static bool other_metadata(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, false, OP_OTHER, &point);
    if (!inst || inst->kind == OP_LOAD) return false;
    Meta item = {.key = STR("unheard_of"), .kind = META_FLAG};
    inst->meta = meta_with(m->arena, inst->meta, item);
    return true;
}

static bool other_operator(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, false, OP_OTHER, &point);
    if (!inst || inst->kind == OP_LOAD || inst->ndst != 1) return false;
    inst->accumulate = !inst->accumulate;
    return true;
}

static bool unknown_condition(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, false, OP_OTHER, &point);
    if (!inst || inst->kind == OP_LOAD) return false;
    Condition *condition = NEW(m->arena, Condition);
    Compare *compare = NEW(m->arena, Compare);
    *compare = (Compare){affine_constant(m->arena, 77), affine_constant(m->arena, 77), CMP_EQ};
    *condition = (Condition){compare, 1};
    inst->condition = condition;
    return true;
}

static bool other_region(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, false, OP_OTHER, &point);
    if (!inst || inst->kind == OP_LOAD || inst->ndst + inst->nsrc == 0) return false;
    uint32_t i = pick(m, inst->ndst + inst->nsrc);
    const Operand *was = &inst->operands[i];
    const Tensor *t = &m->func.tensors[was->tensor];
    if (was->region || t->bytes == 1) return false;
    Region *region = NEW(m->arena, Region);
    *region = (Region){0, t->partitions, 0, t->bytes - 1};
    own_operands(m, inst)[i].region = region;
    return true;
}

static bool misalign(Mutant *m) {
    uint32_t number = pick(m, m->func.ntensors);
    Tensor *t = &m->func.tensors[number];
    if (t->space != SPACE_SB || !t->at || m->original->tensors[m->of[number]].fixed) return false;
    Place *at = RAW_ARRAY(m->arena, Place, t->blocks);
    for (int64_t b = 0; b < t->blocks; b++)
        at[b] = t->at[b];
    at[0].byte += at[0].byte > 0 ? -1 : 1;
    t->at = at;
    return true;
}

static bool lose_place(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, true, OP_OTHER, &point);
    if (!inst) return false;
    Tensor *t = &m->func.tensors[inst->operands[pick(m, 2)].tensor];
    if (t->space == SPACE_PSUM || (t->space == SPACE_DRAM && !is_new(m, inst->operands[0].tensor)))
        return false;
    if (t->space == SPACE_DRAM && t->offset < 0) return false;
    if (t->space == SPACE_DRAM && !meta_find(t->meta, "of")) return false;
    t->at = NULL;
    t->offset = -1;
    return true;
}

/* --- The trial --- */

typedef struct {
    const char *name;
    bool (*change)(Mutant *m); /* false: nothing there to change */
    bool always;               /* wrong whatever it does to behaviour */
    uint32_t made, wrong;
} Class;

static bool referee_accepts(const Mutant *m) {
    DiagQueue diags;
    diag_init(&diags, m->arena);
    return verify(m->original, &m->func, m->target, (VerifyOptions){.placed = true}, &diags);
}

static bool bytes_accept(const Mutant *m) {
    PairedResult result = {&m->func, m->pair, m->of};
    return bytes_agree(m->original, result, m->target, m->arena);
}

static _Noreturn void complain(const Mutant *m, const char *name, uint64_t seed, const char *what) {
    Writer writer;
    writer_to_memory(&writer);
    print_func(m->original, &writer);
    print_func(&m->func, &writer);
    fwrite(writer.buffer, 1, writer.length, stderr);
    print_error("%s in program %llu: the referee %s\n", name, (unsigned long long)seed, what);
    writer_free(&writer);
    fail();
    abort();
}

static void try_class(Class *class, const Mutant *base, uint64_t seed) {
    for (uint32_t i = 0; i < MUTANTS; i++) {
        Arena arena;
        arena_init(&arena);
        Mutant m = copy_of(base, &arena);
        if (class->change(&m)) {
            bool right = !class->always && bytes_accept(&m);
            class->made++;
            class->wrong += !right;
            if (referee_accepts(&m) != right)
                complain(&m, class->name, seed, right ? "rejects it" : "accepts it");
        }
        arena_free(&arena);
    }
}

/* NULL where there is no allocation. */
static const Func *allocated(const Module *module, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    options.verify = false;
    options.effort = 0;
    Allocation result = allocate(&module->funcs[0], &module->target, &options, arena, &diags);
    return result.status == ALLOCATED ? result.func : NULL;
}

static const Func *spilled_everywhere(const Module *module, Arena *arena) {
    const Func *func = &module->funcs[0];
    Plan plan = plan_make(func, arena);
    Sources sources = sources_make(&plan, arena);
    Rewritten result;
    if (!everywhere(&plan, &sources, &module->target, arena, &result).placed) return NULL;
    Str *names = NEW_ARRAY(arena, Str, func->ntensors);
    for (uint32_t i = 0; i < func->ntensors; i++)
        names[i] = func->tensors[i].name;
    name_added(&result, names, func->ntensors, NULL, arena);
    place_homes(&result, arena);
    mark_copies(result.func, arena);
    return result.func;
}

static void try_program(Class *classes, size_t nclasses, uint64_t seed, uint32_t *tried) {
    Arena arena;
    arena_init(&arena);
    RandomShape shape = {.room = ROOM_SPILLING, .size = SIZE_SMALL};
    Module *module = random_module(&arena, seed, shape);
    const Func *result = seed % 2 ? allocated(module, &arena) : spilled_everywhere(module, &arena);
    Chance chance = {seed};
    if (result && bytes_work(result) < MOST_WORK) {
        Mutant base = {.original = &module->funcs[0],
                       .func = *result,
                       .target = &module->target,
                       .arena = &arena,
                       .chance = &chance};
        find_of(&base);
        find_pairs(&base);
        ++*tried;
        if (referee_accepts(&base) != bytes_accept(&base))
            complain(&base, "unchanged", seed, "and the other judge differ");
        for (size_t i = 0; i < nclasses && referee_accepts(&base); i++)
            try_class(&classes[i], &base, seed);
    }
    arena_free(&arena);
}

static void mutants(void **state) {
    (void)state;
    Class classes[] = {
        {"moved place", move_place, false, 0, 0},
        {"moved home", move_home, false, 0, 0},
        {"dropped store", drop_store, false, 0, 0},
        {"dropped reload", drop_reload, false, 0, 0},
        {"swapped with the next", swap_next, false, 0, 0},
        {"lost condition", lose_condition, false, 0, 0},
        {"gained condition", gain_condition, false, 0, 0},
        {"other block", other_block, false, 0, 0},
        {"other copy", other_copy, false, 0, 0},
        {"smaller part", smaller_part, false, 0, 0},
        {"shifted part", shifted_part, false, 0, 0},
        {"dropped instruction", drop_original, true, 0, 0},
        {"other opcode", other_opcode, true, 0, 0},
        {"other metadata", other_metadata, true, 0, 0},
        {"other operator", other_operator, true, 0, 0},
        {"other condition", unknown_condition, true, 0, 0},
        {"other region", other_region, true, 0, 0},
        {"misaligned", misalign, true, 0, 0},
        {"lost place", lose_place, false, 0, 0},
    };
    size_t nclasses = sizeof classes / sizeof *classes;
    uint32_t tried = 0;
    for (uint64_t seed = FIRST; seed < FIRST + 40 + 2 * test_count(); seed++)
        try_program(classes, nclasses, seed, &tried);
    print_message("%u programs\n", tried);
    for (size_t i = 0; i < nclasses; i++) {
        print_message("%-24s %5u mutants, %5u wrong, all caught\n", classes[i].name,
                      classes[i].made, classes[i].wrong);
        assert_in_range(classes[i].wrong, 1, UINT32_MAX);
    }
}

/* --- Results made by hand --- */

static Module *read_module(Arena *arena, const char *path) {
    Source source;
    DiagQueue diags;
    diag_init(&diags, arena);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    enum { MOST = 1 << 16 };
    char *text = RAW_ARRAY(arena, char, MOST);
    size_t length = fread(text, 1, MOST, file);
    fclose(file);
    assert_in_range(length, 1, MOST - 1);
    source_from_text(&source, arena, path, text, (uint32_t)length);
    Module *module = NEW(arena, Module);
    assert_true(parse_lf(&source, arena, &diags, module));
    return module;
}

/* As the original is before allocation: its tensors are not fixed. */
static void try_result(Class *classes, size_t nclasses, const char *name, uint64_t seed) {
    Arena arena;
    char path[256];
    arena_init(&arena);
    snprintf(path, sizeof path, "testdata/results/right/%s.lf", name);
    Module *original = read_module(&arena, path);
    snprintf(path, sizeof path, "testdata/results/right/%s.placed.lf", name);
    Module *placed = read_module(&arena, path);
    Chance chance = {seed};
    Mutant base = {.original = &original->funcs[0],
                   .func = placed->funcs[0],
                   .target = &placed->target,
                   .in_place = true,
                   .arena = &arena,
                   .chance = &chance};
    find_of(&base);
    find_pairs(&base);
    assert_true(bytes_accept(&base));
    assert_true(referee_accepts(&base));
    for (size_t i = 0; i < nclasses; i++)
        try_class(&classes[i], &base, seed);
    arena_free(&arena);
}

static void mutants_in_place(void **state) {
    (void)state;
    static const char *const names[] = {
        "accumulated_in_place", "remainder_in_the_home",   "two_sets_of_blocks",
        "narrowed_prefetch",    "condition_on_a_prefetch",
    };
    Class classes[] = {
        {"threshold", other_threshold, false, 0, 0},
        {"comparison", other_comparison, false, 0, 0},
        {"narrowed load", narrow_load, false, 0, 0},
        {"shifted index", shift_index, false, 0, 0},
        {"shared place", share_place, false, 0, 0},
        {"moved place", move_place, false, 0, 0},
        {"smaller home", shrink_home, false, 0, 0},
        {"dropped store", drop_store, false, 0, 0},
        {"dropped reload", drop_reload, false, 0, 0},
        {"swapped with the next", swap_next, false, 0, 0},
        {"lost condition", lose_condition, false, 0, 0},
    };
    size_t nclasses = sizeof classes / sizeof *classes;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (uint64_t seed = FIRST; seed < FIRST + 4 + test_count() / 10; seed++)
            try_result(classes, nclasses, names[n], seed);
    for (size_t i = 0; i < nclasses; i++) {
        print_message("%-24s %5u mutants, %5u wrong, all caught\n", classes[i].name,
                      classes[i].made, classes[i].wrong);
        assert_in_range(classes[i].wrong, 1, UINT32_MAX);
    }
}

/* --- Results of spilling in time --- */

/* Kernels of loops over blocks, and bytes of a partition in which they do not fit. */
static const struct {
    int64_t usable;
    const char *body;
} LOOPS[] = {
    {40, /* two passes over what was made, and what is made from it */
     "tensor %Y : dram<6*128x1xu8> output\ntensor %a : sb<6*128x1xu8>\ntensor %b : sb<128x1xu8>\n"
     "loop i = 0..6 { %a[i] = make }\n"
     "loop i = 0..6 { %b = f %a[i]\n%Y[i] = save %b }\n"
     "loop i = 0..6 { %b = g %a[5 - i]\n%Y[i] += save %b }"},
    {40, /* a stencil: three blocks at a time, of what was changed in place */
     "tensor %X : dram<8*128x1xu8> input\ntensor %Y : dram<6*128x1xu8> output\n"
     "tensor %t : sb<8*128x1xu8>\ntensor %u : sb<128x1xu8>\n"
     "loop i = 0..8 { %t[i] = load %X[i]\n%t[i] += act }\n"
     "loop i = 0..6 { %u = st %t[i], %t[i + 1], %t[i + 2]\n%Y[i] = save %u }"},
    {48, /* weights outside, accumulators inside */
     "tensor %X : dram<16*128x1xu8> input\ntensor %Y : dram<4*128x1xu8> output\n"
     "tensor %W : dram<4*128x1xu8> input\ntensor %a : sb<4*128x1xu8>\n"
     "tensor %w : sb<4*128x1xu8>\ntensor %t : sb<128x1xu8>\n"
     "loop k = 0..4 { %a[k] = memset }\nloop i = 0..4 { %w[i] = load %W[i] }\n"
     "loop i = 0..4 { loop k = 0..4 { %t = load %X[4*i+k]\n%a[k] += matmul %t, %w[i] } }\n"
     "loop k = 0..4 { %Y[k] = save %a[k] }"},
    {48, /* remainders and conditions */
     "tensor %Y : dram<8*128x1xu8> output\ntensor %a : sb<8*128x1xu8>\ntensor %b : sb<128x1xu8>\n"
     "loop i = 0..8 { %a[i] = make }\n"
     "loop r = 0..3 { loop i = 0..8 {\n%b = f %a[i + 2*r mod 8] if i >= r\n"
     "%a[i] += g if i < 6\n%Y[i] = save %b if i >= r } }\n"
     "loop i = 0..8 { use %a[i] if i + 1 mod 3 == 0 }"},
    {48, /* two that are stored */
     "tensor %Y : dram<4*128x1xu8> output\ntensor %a : sb<4*128x1xu8>\n"
     "tensor %b : sb<4*128x1xu8>\ntensor %c : sb<128x1xu8>\n"
     "loop i = 0..4 { %a[i] = make\n%b[i] = make }\n"
     "loop r = 0..2 { loop i = 0..4 { %c = f %a[i], %b[3 - i]\n%Y[i] += save %c } }"},
};
enum { LOOPS_COUNT = sizeof LOOPS / sizeof *LOOPS };

/* What spilling in time makes of the program; NULL where nothing was inserted, or not by that. */
static const Func *spilled_in_time(const Module *module, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    options.verify = false;
    options.effort = 1;
    Allocation result = allocate(&module->funcs[0], &module->target, &options, arena, &diags);
    bool inserted = result.report.saves + result.report.reloads > 0;
    bool in_time =
        result.status == ALLOCATED && inserted && strcmp(result.report.strategy, "time") == 0;
    return in_time ? result.func : NULL;
}

static void try_in_time(Class *classes, size_t nclasses, const Module *module, uint64_t seed,
                        Arena *arena, uint32_t *tried) {
    const Func *result = spilled_in_time(module, arena);
    if (!result || bytes_work(result) > MOST_WORK) return;
    Chance chance = {seed};
    Mutant base = {.original = &module->funcs[0],
                   .func = *result,
                   .target = &module->target,
                   .in_place = true,
                   .arena = arena,
                   .chance = &chance};
    find_of(&base);
    find_pairs(&base);
    if (!referee_accepts(&base) || !bytes_accept(&base))
        complain(&base, "unchanged", seed, "or the other judge rejects it");
    ++*tried;
    for (size_t i = 0; i < nclasses; i++)
        try_class(&classes[i], &base, seed);
}

static void mutants_in_time(void **state) {
    (void)state;
    Class classes[] = {
        {"threshold", other_threshold, false, 0, 0},
        {"comparison", other_comparison, false, 0, 0},
        {"narrowed load", narrow_load, false, 0, 0},
        {"shifted index", shift_index, false, 0, 0},
        {"shared place", share_place, false, 0, 0},
        {"moved place", move_place, false, 0, 0},
        {"smaller home", shrink_home, false, 0, 0},
        {"moved home", move_home, false, 0, 0},
        {"dropped store", drop_store, false, 0, 0},
        {"dropped reload", drop_reload, false, 0, 0},
        {"swapped with the next", swap_next, false, 0, 0},
        {"lost condition", lose_condition, false, 0, 0},
        {"gained condition", gain_condition, false, 0, 0},
        {"other copy", other_copy, false, 0, 0},
        {"smaller part", smaller_part, false, 0, 0},
    };
    size_t nclasses = sizeof classes / sizeof *classes;
    uint32_t tried = 0;
    for (uint64_t seed = FIRST; seed < FIRST + 20 + 2 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.room = ROOM_SPILLING,
                             .size = SIZE_SMALL,
                             .code = seed % 2 ? CODE_BLOCK_LOOPS : CODE_ANY};
        Module *module = seed < FIRST + 3 * LOOPS_COUNT
                             ? make_body(&arena, LOOPS[seed % LOOPS_COUNT].usable,
                                         LOOPS[seed % LOOPS_COUNT].body)
                             : random_module(&arena, seed, shape);
        try_in_time(classes, nclasses, module, seed, &arena, &tried);
        arena_free(&arena);
    }
    print_message("%u programs\n", tried);
    assert_in_range(tried, 3 * LOOPS_COUNT, UINT32_MAX);
    for (size_t i = 0; i < nclasses; i++) {
        print_message("%-24s %5u mutants, %5u wrong, all caught\n", classes[i].name,
                      classes[i].made, classes[i].wrong);
        assert_in_range(classes[i].wrong, 1, UINT32_MAX);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mutants),
                                       cmocka_unit_test(mutants_in_place),
                                       cmocka_unit_test(mutants_in_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
