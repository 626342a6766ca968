#include "analysis/split.h"

#include <string.h>

#include "analysis/access.h"
#include "ir/names.h"
#include "support/checked.h"
#include "support/sort.h"
#include "support/union_find.h"

/* How webs are found.
 *
 * Control flow is one straight line with back edges, and each loop runs at least once. So what an
 * access finds is what the one before it in program order left, or, for the first access in a loop,
 * also what the last one in that loop left. A write that replaces all blocks ends a stretch of
 * accesses and begins the next. Stretches that a back edge joins are one web. */

/* All operands of one tensor in one instruction. */
typedef struct {
    uint32_t inst, loop;
    uint32_t first, end; /* accesses [first, end) */
    bool keeps;          /* reads, or leaves a part of the old value: cannot begin a stretch */
    bool begins;         /* does */
    BlockSpan blocks;    /* that it surely replaces, where it does not keep; else empty */
    uint32_t stretch;
} Unit;

typedef struct {
    const Func *func;
    const bool *dead; /* [ninsts] or NULL */
    Accesses accesses;
    Arena scratch; /* of one tensor */
    Unit *units;
    size_t count, capacity;
    uint32_t *first_unit; /* [nloops] valid where seen[loop] is the tensor + 1 */
    uint32_t *last_unit;
    uint32_t *seen;
    uint32_t *leader; /* [stretches] sets of those of one web */
    uint32_t nstretches;
    uint32_t *name; /* [stretches] tensor of the new function, by leader */
    uint32_t *web;  /* [accesses] tensor of the new function */
    Arena *arena;
    Tensor *added;
    uint32_t *added_parent;
    size_t nadded, added_capacity, parent_capacity;
    StrMap taken;
    uint32_t serial; /* of the last web of the tensor at hand that got a name */
} Splitter;

static const Operand *operand_of(const Splitter *s, const Unit *unit) {
    Access access = s->accesses.items[unit->first];
    return &s->func->insts[access.inst].operands[access.operand];
}

/* ---- units ---- */

static void add_access(Splitter *s, uint32_t a) {
    const Func *func = s->func;
    Access access = s->accesses.items[a];
    const Inst *inst = &func->insts[access.inst];
    if (s->count == 0 || s->units[s->count - 1].inst != access.inst) {
        Unit unit = {.inst = access.inst, .loop = inst->loop, .first = a, .blocks = {0, -1, true}};
        PUSH(&s->scratch, s->units, s->count, s->capacity, unit);
    }
    Unit *unit = &s->units[s->count - 1];
    const Operand *operand = &inst->operands[access.operand];
    bool replaces =
        !access_reads(func, access) && !inst->condition && operand_is_whole(func, operand);
    unit->keeps |= !replaces || a > unit->first;
    unit->end = a + 1;
    if (!unit->keeps) unit->blocks = operand_blocks(func, operand);
}

static void gather_units(Splitter *s, uint32_t tensor) {
    s->units = NULL;
    s->count = s->capacity = 0;
    for (uint32_t a = s->accesses.first[tensor]; a < s->accesses.first[tensor + 1]; a++)
        if (!s->dead || !s->dead[s->accesses.items[a].inst]) add_access(s, a);
    for (uint32_t u = 0; u < s->count; u++)
        for (uint32_t loop = s->units[u].loop; loop != NO_LOOP;
             loop = s->func->loops[loop].parent) {
            if (s->seen[loop] != tensor + 1) s->first_unit[loop] = u;
            s->seen[loop] = tensor + 1;
            s->last_unit[loop] = u;
        }
}

/* ---- where all blocks are replaced ---- */

/* The outermost loop of those whose indices, as the index counts through them, name each block
 * once; NO_LOOP if it does not. */
static uint32_t counting_loop(const Func *func, Affine index, int64_t blocks) {
    uint32_t outermost = NO_LOOP;
    int64_t counted = 1;
    for (uint32_t done = 0; counted < blocks; done++) {
        uint32_t found = NO_LOOP;
        int64_t step = 0;
        for (uint32_t i = 0; i < index.count && found == NO_LOOP; i++) {
            if (index.terms[i].loop == NO_LOOP) continue;
            step = affine_coefficient(index, index.terms[i].loop);
            const Loop *loop = &func->loops[index.terms[i].loop];
            bool turns = loop->high - loop->low > 1;
            if (turns && (step == counted || step == -counted)) found = index.terms[i].loop;
        }
        if (found == NO_LOOP || done == index.count) return NO_LOOP;
        const Loop *loop = &func->loops[found];
        counted = saturating_mul(counted, loop->high - loop->low);
        if (outermost == NO_LOOP || found < outermost) outermost = found;
    }
    if (counted != blocks || (index.modulus && index.modulus != blocks)) return NO_LOOP;
    Range range = affine_range(affine_sum(index), func, NULL);
    bool begins = index.modulus || range.low == 0;
    return begins && saturating_sub(range.high, range.low) == blocks - 1 ? outermost : NO_LOOP;
}

/* True if all operands of the unit name the block at `index` only. */
static bool names_only(const Splitter *s, const Unit *unit, Affine index) {
    for (uint32_t a = unit->first; a < unit->end; a++) {
        Access access = s->accesses.items[a];
        const Blocks *blocks = s->func->insts[access.inst].operands[access.operand].blocks;
        if (!blocks || blocks->kind != BLOCKS_ONE || !affine_equal(blocks->low, index))
            return false;
    }
    return true;
}

/* The unit is the first in a loop over the blocks that writes each, and nothing in it touches
 * another block than that of the iteration. */
static bool begins_fill(const Splitter *s, uint32_t u, int64_t blocks) {
    const Unit *unit = &s->units[u];
    const Inst *inst = &s->func->insts[unit->inst];
    const Operand *operand = operand_of(s, unit);
    if (unit->keeps || inst->condition || !operand->blocks || operand->blocks->kind != BLOCKS_ONE)
        return false;
    uint32_t loop = counting_loop(s->func, operand->blocks->low, blocks);
    if (loop == NO_LOOP || s->first_unit[loop] != u) return false;
    for (uint32_t v = u; v <= s->last_unit[loop]; v++)
        if (!names_only(s, &s->units[v], operand->blocks->low)) return false;
    return true;
}

/* True if units [from, to) together replace all blocks. */
static bool replace_all(Splitter *s, uint32_t from, uint32_t to, int64_t blocks) {
    SortKey *order = RAW_ARRAY(&s->scratch, SortKey, to - from);
    for (uint32_t u = from; u < to; u++)
        order[u - from] = (SortKey){(uint64_t)s->units[u].blocks.first, u};
    sort_keys(order, to - from, &s->scratch);
    int64_t covered = 0;
    for (uint32_t i = 0; i < to - from; i++) {
        BlockSpan span = s->units[order[i].id].blocks;
        if (span.first > covered) return false;
        if (span.last >= covered) covered = span.last + 1;
    }
    return covered == blocks;
}

static bool replaces_some(const Unit *unit) {
    return !unit->keeps && unit->blocks.exact && unit->blocks.first <= unit->blocks.last;
}

static void find_beginnings(Splitter *s, uint32_t tensor) {
    int64_t blocks = s->func->tensors[tensor].blocks;
    for (uint32_t u = 0, next; u < s->count; u = next) {
        next = u + 1;
        Unit *unit = &s->units[u];
        if (!replaces_some(unit)) {
            unit->begins = blocks > 1 && begins_fill(s, u, blocks);
        } else if (unit->blocks.first == 0 && unit->blocks.last == blocks - 1) {
            unit->begins = true;
        } else {
            while (next < s->count && s->units[next].loop == unit->loop &&
                   replaces_some(&s->units[next]))
                next++;
            unit->begins = replace_all(s, u, next, blocks);
        }
    }
}

/* ---- webs ---- */

static void join_stretches(Splitter *s) {
    s->nstretches = 0;
    for (uint32_t u = 0; u < s->count; u++) {
        if (u > 0 && s->units[u].begins) s->nstretches++;
        s->units[u].stretch = s->nstretches;
    }
    s->nstretches++;
    s->leader = sets_make(s->nstretches, &s->scratch);
    for (uint32_t u = 0; u < s->count; u++)
        for (uint32_t loop = s->units[u].loop; loop != NO_LOOP; loop = s->func->loops[loop].parent)
            if (s->first_unit[loop] == u && !s->units[u].begins)
                sets_join(s->leader, s->units[u].stretch, s->units[s->last_unit[loop]].stretch);
}

/* Names are noted when the first new one is asked for: most functions need none. */
static void note_names(Splitter *s) {
    for (uint32_t t = 0; t < s->func->ntensors; t++)
        strmap_add(&s->taken, s->func->tensors[t].name, t);
}

static uint32_t add_tensor(Splitter *s, uint32_t parent) {
    if (s->nadded == 0) note_names(s);
    Tensor tensor = s->func->tensors[parent];
    tensor.name =
        derived_name(&s->taken, s->func->tensors[parent].name, PART_MARK, &s->serial, s->arena);
    Meta *of = NEW(s->arena, Meta);
    *of = (Meta){.key = STR("of"), .kind = META_TEXT, .text = s->func->tensors[parent].name};
    tensor.meta = (MetaList){of, 1};
    tensor.input = false;
    PUSH(s->arena, s->added, s->nadded, s->added_capacity, tensor);
    size_t count = s->nadded - 1;
    PUSH(s->arena, s->added_parent, count, s->parent_capacity, parent);
    return s->func->ntensors + (uint32_t)s->nadded - 1;
}

static void name_webs(Splitter *s, uint32_t tensor) {
    s->name = RAW_ARRAY(&s->scratch, uint32_t, s->nstretches);
    s->serial = 0;
    for (uint32_t i = 0; i < s->nstretches; i++)
        if (set_of(s->leader, i) == i) s->name[i] = i == 0 ? tensor : add_tensor(s, tensor);
    for (uint32_t u = 0; u < s->count; u++)
        for (uint32_t a = s->units[u].first; a < s->units[u].end; a++)
            s->web[a] = s->name[set_of(s->leader, s->units[u].stretch)];
}

static bool may_split(const Tensor *tensor) {
    return tensor->space == SPACE_SB && !tensor_stays(tensor);
}

static void split_tensor(Splitter *s, uint32_t tensor) {
    gather_units(s, tensor);
    find_beginnings(s, tensor);
    join_stretches(s);
    if (s->nstretches > 1) name_webs(s, tensor);
    arena_reset(&s->scratch);
}

/* ---- the new function ---- */

static void rename_operands(const Splitter *s, Func *func) {
    for (uint32_t t = 0; t < s->func->ntensors; t++)
        for (uint32_t a = s->accesses.first[t]; a < s->accesses.first[t + 1]; a++) {
            if (s->web[a] == t) continue;
            Access access = s->accesses.items[a];
            Inst *inst = &func->insts[access.inst];
            uint32_t count = inst->ndst + inst->nsrc;
            Operand *operands = RAW_ARRAY(s->arena, Operand, count);
            memcpy(operands, inst->operands, count * sizeof *operands);
            operands[access.operand].tensor = s->web[a];
            inst->operands = operands;
        }
}

static Func *split_function(const Splitter *s) {
    const Func *old = s->func;
    Func *func = NEW(s->arena, Func);
    *func = *old;
    func->ntensors = old->ntensors + (uint32_t)s->nadded;
    func->tensors = RAW_ARRAY(s->arena, Tensor, func->ntensors);
    memcpy(func->tensors, old->tensors, old->ntensors * sizeof(Tensor));
    memcpy(func->tensors + old->ntensors, s->added, s->nadded * sizeof(Tensor));
    func->insts = RAW_ARRAY(s->arena, Inst, func->ninsts);
    memcpy(func->insts, old->insts, func->ninsts * sizeof(Inst));
    rename_operands(s, func);
    return func;
}

Split split_webs(const Func *func, const bool *dead, Arena *arena) {
    Arena work;
    arena_init(&work);
    Splitter s = {
        .func = func, .dead = dead, .arena = arena, .accesses = find_accesses(func, &work)};
    s.first_unit = RAW_ARRAY(&work, uint32_t, func->nloops);
    s.last_unit = RAW_ARRAY(&work, uint32_t, func->nloops);
    s.seen = NEW_ARRAY(&work, uint32_t, func->nloops);
    s.web = RAW_ARRAY(&work, uint32_t, s.accesses.first[func->ntensors]);
    strmap_init(&s.taken, &work);
    for (uint32_t t = 0; t < func->ntensors; t++)
        for (uint32_t a = s.accesses.first[t]; a < s.accesses.first[t + 1]; a++)
            s.web[a] = t;
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (may_split(&func->tensors[t])) split_tensor(&s, t);
    uint32_t *parent = RAW_ARRAY(arena, uint32_t, func->ntensors + s.nadded);
    for (uint32_t t = 0; t < func->ntensors; t++)
        parent[t] = t;
    for (uint32_t i = 0; i < s.nadded; i++)
        parent[func->ntensors + i] = s.added_parent[i];
    Split split = {s.nadded ? split_function(&s) : func, parent, (uint32_t)s.nadded};
    arena_free(&s.scratch);
    arena_free(&work);
    return split;
}
