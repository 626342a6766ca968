/* The ways in which a result is changed. */
#include "ir/geometry.h"
#include "ir/marks.h"
#include "ir/region.h"
#include "support/checked.h"
#include "test/mutate.h"

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

static Place *own_places(Mutant *m, Tensor *t) {
    Place *at = RAW_ARRAY(m->arena, Place, t->blocks);
    for (int64_t b = 0; b < t->blocks; b++)
        at[b] = t->at[b];
    t->at = at;
    return at;
}

static bool may_move(const Mutant *m, uint32_t tensor) {
    const Tensor *t = &m->func.tensors[tensor];
    return t->space == SPACE_SB && t->at && !m->original->tensors[m->of[tensor]].fixed;
}

static bool move_place(Mutant *m) {
    uint32_t number = pick(m, m->func.ntensors);
    Tensor *t = &m->func.tensors[number];
    if (!may_move(m, number)) return false;
    int64_t room = (target_usable(m->target) - t->bytes) / t->align;
    Bands bands = class_bands(shape_class(t->partitions, t->base));
    Place *at = own_places(m, t);
    at[pick(m, (uint32_t)t->blocks)] =
        (Place){band_start(bands.masks[pick(m, bands.count)]),
                (int64_t)chance_below(m->chance, (uint64_t)room + 1) * t->align};
    return true;
}

static bool is_home(const Mutant *m, uint32_t tensor) {
    return mutant_is_new(m, tensor) && m->func.tensors[tensor].space == SPACE_DRAM &&
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
        if (!one || (m->pair[point] != UINT32_MAX && !mutant_is_new(m, was->tensor))) continue;
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
    if (!may_move(m, number) || t->blocks < 2) return false;
    Place *at = own_places(m, t);
    uint32_t a = pick(m, (uint32_t)t->blocks), b = pick(m, (uint32_t)t->blocks);
    Place was = at[a];
    at[a] = at[b];
    if (chance_percent(m->chance, 30)) at[b] = was;
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
    if (!mutant_is_new(m, was) || t->space != SPACE_SB) return false;
    uint32_t start = pick(m, m->func.ntensors);
    for (uint32_t k = 0; k < m->func.ntensors; k++) {
        uint32_t is = (start + k) % m->func.ntensors;
        const Tensor *u = &m->func.tensors[is];
        bool alike = u->space == t->space && u->blocks == t->blocks &&
                     u->partitions == t->partitions && u->bytes == t->bytes && u->base == t->base;
        if (is == was || !mutant_is_new(m, is) || m->of[is] != m->of[was] || !alike || !u->at)
            continue;
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
    if (!may_move(m, number)) return false;
    Place *at = own_places(m, t);
    at[0].byte += at[0].byte > 0 ? -1 : 1;
    return true;
}

static bool lose_place(Mutant *m) {
    uint32_t point;
    Inst *inst = pick_inst(m, true, OP_OTHER, &point);
    if (!inst) return false;
    Tensor *t = &m->func.tensors[inst->operands[pick(m, 2)].tensor];
    if (t->space == SPACE_PSUM ||
        (t->space == SPACE_DRAM && !mutant_is_new(m, inst->operands[0].tensor)))
        return false;
    if (t->space == SPACE_DRAM && t->offset < 0) return false;
    if (t->space == SPACE_DRAM && !meta_find(t->meta, "of")) return false;
    t->at = NULL;
    t->offset = -1;
    return true;
}

/* --- More changes of places --- */

static bool fits_at(const Mutant *m, const Tensor *t, Place place) {
    return place.byte >= 0 && place.byte + t->bytes <= target_usable(m->target) &&
           place.byte % t->align == 0;
}

/* A block lies over one of another tensor of its height class. */
static bool take_place(Mutant *m) {
    uint32_t a = pick(m, m->func.ntensors), b = pick(m, m->func.ntensors);
    Tensor *t = &m->func.tensors[a];
    const Tensor *u = &m->func.tensors[b];
    if (a == b || !may_move(m, a) || u->space != SPACE_SB || !u->at) return false;
    Place place = u->at[pick(m, (uint32_t)u->blocks)];
    if (shape_class(t->partitions, t->base) != shape_class(u->partitions, u->base)) return false;
    if (!fits_at(m, t, place)) return false;
    own_places(m, t)[pick(m, (uint32_t)t->blocks)] = place;
    return true;
}

/* A block lies one step of its alignment higher or lower. */
static bool step_place(Mutant *m) {
    uint32_t number = pick(m, m->func.ntensors);
    Tensor *t = &m->func.tensors[number];
    if (!may_move(m, number)) return false;
    uint32_t block = pick(m, (uint32_t)t->blocks);
    Place place = t->at[block];
    place.byte += chance_percent(m->chance, 50) ? t->align : -t->align;
    if (!fits_at(m, t, place)) return false;
    own_places(m, t)[block] = place;
    return true;
}

/* A copy that is elided, or one that is not. */
static Inst *pick_copy(Mutant *m, bool elided) {
    uint32_t start = pick(m, m->func.ninsts + 1);
    for (uint32_t i = 0; i < m->func.ninsts; i++) {
        Inst *inst = &m->func.insts[(start + i) % m->func.ninsts];
        bool copies = inst->kind == OP_COPY && inst->ndst == 1 && inst->nsrc == 1;
        if (copies && (meta_find(inst->meta, "elided") != NULL) == elided) return inst;
    }
    return NULL;
}

/* One end of an elided copy lies elsewhere. */
static bool move_end(Mutant *m) {
    Inst *inst = pick_copy(m, true);
    if (!inst) return false;
    uint32_t number = inst->operands[pick(m, 2)].tensor;
    Tensor *t = &m->func.tensors[number];
    int64_t steps = (target_usable(m->target) - t->bytes) / t->align;
    if (!may_move(m, number) || steps <= 0) return false;
    Place *place = &own_places(m, t)[pick(m, (uint32_t)t->blocks)];
    int64_t was = place->byte;
    place->byte = (int64_t)chance_below(m->chance, (uint64_t)steps + 1) * t->align;
    return place->byte != was;
}

static bool lose_elided(Mutant *m) {
    Inst *inst = pick_copy(m, true);
    if (!inst) return false;
    inst->meta = meta_without(m->arena, inst->meta, "elided");
    return true;
}

static bool gain_elided(Mutant *m) {
    Inst *inst = pick_copy(m, false);
    if (!inst) return false;
    Meta item = {.key = STR("elided"), .kind = META_FLAG};
    inst->meta = meta_with(m->arena, inst->meta, item);
    return true;
}

/* --- More changes of spill code --- */

enum { HOME_ALIGN = 64 };

/* A home lies further on or back by less than its size. */
static bool shift_home(Mutant *m) {
    uint32_t number = pick(m, m->func.ntensors);
    if (!is_home(m, number)) return false;
    Tensor *t = &m->func.tensors[number];
    int64_t steps = ceil_div(t->blocks * t->partitions * t->bytes, HOME_ALIGN);
    int64_t by = HOME_ALIGN * (1 + (int64_t)chance_below(m->chance, (uint64_t)steps));
    t->offset += chance_percent(m->chance, 50) || t->offset < by ? by : -by;
    return true;
}

static bool misalign_home(Mutant *m) {
    uint32_t number = pick(m, m->func.ntensors);
    if (!is_home(m, number)) return false;
    m->func.tensors[number].offset += 1 + pick(m, HOME_ALIGN - 1);
    return true;
}

static bool are_alike(const Tensor *t, const Tensor *u) {
    return u->space == t->space && u->blocks == t->blocks && u->partitions == t->partitions &&
           u->bytes == t->bytes && u->dtype == t->dtype;
}

/* An inserted instruction names another tensor of that form on one side. */
static bool other_tensor(Mutant *m, bool of_dram) {
    uint32_t point;
    Inst *inst = pick_inst(m, true, OP_OTHER, &point);
    if (!inst) return false;
    uint32_t side = (inst->kind == OP_LOAD) == of_dram, was = inst->operands[side].tensor;
    uint32_t start = pick(m, m->func.ntensors);
    for (uint32_t k = 0; k < m->func.ntensors; k++) {
        uint32_t is = (start + k) % m->func.ntensors;
        if (is == was || !are_alike(&m->func.tensors[was], &m->func.tensors[is])) continue;
        own_operands(m, inst)[side].tensor = is;
        return true;
    }
    return false;
}

static bool other_home(Mutant *m) {
    return other_tensor(m, true);
}

static bool other_value(Mutant *m) {
    return other_tensor(m, false);
}

/* Puts the instruction before that point, in the loop of what stands there. */
static void insert(Mutant *m, Inst inst, uint32_t point) {
    Inst *insts = RAW_ARRAY(m->arena, Inst, m->func.ninsts + 1);
    uint32_t *pair = RAW_ARRAY(m->arena, uint32_t, m->func.ninsts + 1);
    for (uint32_t i = 0; i < m->func.ninsts; i++) {
        insts[i + (i >= point)] = m->func.insts[i];
        pair[i + (i >= point)] = m->pair[i];
    }
    insts[point] = inst;
    pair[point] = UINT32_MAX;
    m->func.insts = insts;
    m->pair = pair;
    m->func.ninsts++;
    for (uint32_t i = 0; i < m->func.nloops; i++) {
        m->func.loops[i].first += m->func.loops[i].first > point;
        m->func.loops[i].end += m->func.loops[i].end > point;
    }
}

/* An inserted instruction stands before another of its loop too, or there only. */
static bool insert_elsewhere(Mutant *m, bool stays) {
    uint32_t from;
    const Inst *picked = pick_inst(m, true, OP_OTHER, &from);
    if (!picked) return false;
    Inst inst = *picked;
    if (!stays) drop(m, from);
    uint32_t start = pick(m, m->func.ninsts + 1);
    for (uint32_t i = 0; i < m->func.ninsts; i++) {
        uint32_t to = (start + i) % m->func.ninsts;
        if (m->func.insts[to].loop != inst.loop || to == from) continue;
        insert(m, inst, to);
        return true;
    }
    return false;
}

static bool move_inserted(Mutant *m) {
    return insert_elsewhere(m, false);
}

static bool double_inserted(Mutant *m) {
    return insert_elsewhere(m, true);
}

static bool drop_load(Mutant *m) {
    uint32_t point;
    if (!pick_inst(m, false, OP_LOAD, &point)) return false;
    drop(m, point);
    return true;
}

const Mutation MUTATION_TABLE[MUTATIONS] = {
    {"moved place", move_place, RULE_RUN},
    {"stepped place", step_place, RULE_RUN},
    {"shared place", share_place, RULE_RUN},
    {"place of another", take_place, RULE_RUN},
    {"misaligned", misalign, RULE_WRONG},
    {"lost place", lose_place, RULE_RUN},
    {"moved end of a copy", move_end, RULE_RUN},
    {"lost !elided", lose_elided, RULE_RUN},
    {"gained !elided", gain_elided, RULE_RUN},
    {"moved home", move_home, RULE_RUN},
    {"shifted home", shift_home, RULE_FORM},
    {"misaligned home", misalign_home, RULE_WRONG},
    {"smaller home", shrink_home, RULE_RUN},
    {"dropped store", drop_store, RULE_RUN},
    {"dropped reload", drop_reload, RULE_RUN},
    {"dropped load", drop_load, RULE_RUN},
    {"swapped with the next", swap_next, RULE_RUN},
    {"moved store or reload", move_inserted, RULE_RUN},
    {"doubled store or reload", double_inserted, RULE_RUN},
    {"other home or source", other_home, RULE_FORM},
    {"other value", other_value, RULE_FORM},
    {"other copy", other_copy, RULE_RUN},
    {"other block", other_block, RULE_RUN},
    {"shifted index", shift_index, RULE_RUN},
    {"smaller part", smaller_part, RULE_RUN},
    {"shifted part", shifted_part, RULE_RUN},
    {"threshold", other_threshold, RULE_RUN},
    {"comparison", other_comparison, RULE_RUN},
    {"lost condition", lose_condition, RULE_RUN},
    {"gained condition", gain_condition, RULE_RUN},
    {"narrowed load", narrow_load, RULE_RUN},
    {"dropped instruction", drop_original, RULE_WRONG},
    {"other opcode", other_opcode, RULE_WRONG},
    {"other metadata", other_metadata, RULE_WRONG},
    {"other operator", other_operator, RULE_WRONG},
    {"other condition", unknown_condition, RULE_WRONG},
    {"other region", other_region, RULE_WRONG},
};
