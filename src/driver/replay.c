#include "driver/replay.h"

#include <string.h>

#include "ir/build.h"
#include "ir/dma.h"
#include "ir/marks.h"
#include "ir/region.h"
#include "spill/dead_loads.h"
#include "spill/dead_stores.h"
#include "support/checked.h"
#include "verify/verify.h"

#define NONE UINT32_MAX

/* Where an instruction goes that the earlier allocation does not have: before the one that follows,
 * behind its reloads, or after the one that it follows, before its stores. */
typedef enum { REPLAY_LATE, REPLAY_EARLY, REPLAY_WAYS } ReplayWay;

/* What becomes of an instruction of the function at hand, where it is no number of an earlier one.
 */
#define IS_NEW UINT32_MAX
#define IS_DROPPED (UINT32_MAX - 1)

typedef struct {
    const Facts *facts;
    const Func *func; /* facts->func */
    const Earlier *earlier;
    const Func *old; /* earlier->func */
    Arena *arena;
    Arena scratch;
    StrMap roots;       /* of func, by the input's name: the first tensor of that name */
    uint32_t *root;     /* [func->ntensors] */
    uint32_t *old_root; /* [old->ntensors] the root that it is, or stands for; NONE: it is gone */
    uint8_t *made;      /* [old->ntensors] Made */
    uint32_t *match;    /* [func->ninsts] the same instruction of old, IS_NEW or IS_DROPPED */
    uint32_t *back; /* [old->ninsts] the same instruction of func, NONE: it is inserted or gone */
    uint32_t *version; /* [func->ntensors] of a root: the tensor of old that was named last */
    uint32_t *id;      /* [old->ntensors] in the result; NONE: not named yet */
    Builder build;
    uint32_t *origin;      /* [old->ntensors] in the order of the result */
    uint8_t *role;         /* likewise */
    uint32_t *origin_inst; /* [old->ninsts + func->ninsts] */
    uint32_t next;         /* instruction of func to be emitted */
    uint32_t served;       /* the last one that was */
    bool failed;
} Replay;

/* ---- what is the same ---- */

static bool has_same_loops(const Func *a, const Func *b) {
    if (a->nloops != b->nloops) return false;
    for (uint32_t l = 0; l < a->nloops; l++) {
        const Loop *x = &a->loops[l], *y = &b->loops[l];
        if (!str_equal(x->name, y->name) || x->low != y->low || x->high != y->high ||
            x->parent != y->parent)
            return false;
    }
    return true;
}

/* Finds roots; false where a name of the function is now one that spilling made. */
static bool find_roots(Replay *pass) {
    strmap_init(&pass->roots, &pass->scratch);
    for (uint32_t t = 0; t < pass->func->ntensors; t++)
        pass->root[t] = strmap_add(&pass->roots, pass->facts->names[t], t);
    for (uint32_t u = 0; u < pass->old->ntensors; u++) {
        Str of = pass->old->tensors[u].name;
        pass->made[u] = (uint8_t)made_of(&pass->old->tensors[u], &of);
        pass->old_root[u] = strmap_get(&pass->roots, of);
        if (pass->made[u] != MADE_NOT &&
            strmap_get(&pass->roots, pass->old->tensors[u].name) != NONE)
            return false;
    }
    return true;
}

/* True if the copy has all blocks of the other, whole. */
static bool is_whole(const Tensor *copy, const Tensor *of) {
    return copy->blocks == of->blocks && copy->bytes == of->bytes &&
           copy->partitions == of->partitions;
}

static bool is_same_region(const Region *a, const Region *b) {
    if (!a || !b) return a == b;
    return region_equal(*a, *b);
}

/* True if they name the same blocks: as written; of a copy or a web by number too, as an index that
 * names all is dropped there. */
static bool is_same_blocks(const Replay *pass, const Operand *old, const Operand *own) {
    if (blocks_equal(old->blocks, own->blocks)) return true;
    if (pass->made[old->tensor] == MADE_NOT) return false;
    BlockSpan was = operand_blocks(pass->old, old), is = operand_blocks(pass->func, own);
    return was.exact && is.exact && was.first == is.first && was.last == is.last;
}

/* True if the earlier operand is the other one, or stands for it: a copy or a web of some blocks,
 * or of a part, has indices of its own. */
static bool is_same_operand(const Replay *pass, const Operand *old, const Operand *own) {
    uint32_t root = pass->root[own->tensor];
    if (pass->old_root[old->tensor] != root) return false;
    bool shifted = pass->made[old->tensor] != MADE_NOT &&
                   !is_whole(&pass->old->tensors[old->tensor], &pass->func->tensors[root]);
    return shifted || (is_same_blocks(pass, old, own) && is_same_region(old->region, own->region));
}

/* A load may have got comparisons. */
static bool is_same_inst(const Replay *pass, uint32_t e, uint32_t i) {
    const Inst *old = &pass->old->insts[e], *own = &pass->func->insts[i];
    if (old->kind != own->kind || old->ndst != own->ndst || old->nsrc != own->nsrc ||
        old->loop != own->loop || old->accumulate != own->accumulate ||
        !str_equal(old->op, own->op))
        return false;
    if (old->kind != OP_LOAD && !condition_equal(old->condition, own->condition)) return false;
    for (uint32_t o = 0; o < own->ndst + own->nsrc; o++)
        if (!is_same_operand(pass, &old->operands[o], &own->operands[o])) return false;
    return true;
}

/* ---- the same instructions, in order ---- */

typedef struct {
    uint32_t *items;
    uint32_t count;
} InstList;

static InstList list_old(const Replay *pass, Arena *arena) {
    InstList list = {RAW_ARRAY(arena, uint32_t, pass->old->ninsts), 0};
    for (uint32_t e = 0; e < pass->old->ninsts; e++)
        if (!dma_is_inserted(&pass->old->insts[e])) list.items[list.count++] = e;
    return list;
}

/* Those that may be found again: loads that the earlier allocation has nowhere were dropped. */
static InstList list_own(Replay *pass, const InstList *old, Arena *arena) {
    InstList list = {RAW_ARRAY(arena, uint32_t, pass->func->ninsts), 0};
    uint32_t *last = RAW_ARRAY(arena, uint32_t, pass->func->ntensors);
    uint32_t *before = RAW_ARRAY(arena, uint32_t, pass->old->ninsts);
    memset(last, 0xFF, pass->func->ntensors * sizeof *last);
    for (uint32_t n = 0; n < old->count; n++) {
        const Inst *inst = &pass->old->insts[old->items[n]];
        uint32_t root = inst->kind == OP_LOAD ? pass->old_root[inst_dst(inst)->tensor] : NONE;
        if (root == NONE) continue;
        before[old->items[n]] = last[root];
        last[root] = old->items[n];
    }
    for (uint32_t i = 0; i < pass->func->ninsts; i++) {
        const Inst *inst = &pass->func->insts[i];
        uint32_t e = inst->kind == OP_LOAD ? last[pass->root[inst_dst(inst)->tensor]] : 0;
        while (inst->kind == OP_LOAD && e != NONE && !is_same_inst(pass, e, i))
            e = before[e];
        pass->match[i] = e == NONE ? IS_DROPPED : IS_NEW;
        if (e != NONE) list.items[list.count++] = i;
    }
    return list;
}

static void match_insts(Replay *pass, uint32_t e, uint32_t i) {
    pass->match[i] = e;
    pass->back[e] = i;
}

/* The longest common subsequence of what is left in the middle (Wagner and Fischer, 1974). */
static bool match_middle(Replay *pass, InstList old, InstList own) {
    enum { MOST = 1 << 22 };
    size_t width = (size_t)own.count + 1;
    if (old.count == 0 || own.count == 0) return true;
    if (width * (old.count + 1) > MOST) return false;
    uint32_t *best = NEW_ARRAY(&pass->scratch, uint32_t, width * (old.count + 1));
    for (uint32_t a = old.count; a-- > 0;)
        for (uint32_t b = own.count; b-- > 0;) {
            uint32_t *here = &best[a * width + b], down = here[width], right = here[1];
            *here = down > right ? down : right;
            if (is_same_inst(pass, old.items[a], own.items[b]) && here[width + 1] + 1 > *here)
                *here = here[width + 1] + 1;
        }
    for (uint32_t a = 0, b = 0; a < old.count && b < own.count;) {
        const uint32_t *here = &best[a * width + b];
        if (here[1] == *here)
            b++; /* of two alike the later one is the same */
        else if (here[width] == *here)
            a++;
        else
            match_insts(pass, old.items[a++], own.items[b++]);
    }
    return true;
}

static bool find_same(Replay *pass) {
    InstList old = list_old(pass, &pass->scratch), own = list_own(pass, &old, &pass->scratch);
    uint32_t first = 0;
    while (old.count > 0 && own.count > 0 &&
           is_same_inst(pass, old.items[old.count - 1], own.items[own.count - 1]))
        match_insts(pass, old.items[--old.count], own.items[--own.count]);
    for (; first < old.count && first < own.count; first++) {
        if (!is_same_inst(pass, old.items[first], own.items[first])) break;
        match_insts(pass, old.items[first], own.items[first]);
    }
    return match_middle(pass, (InstList){old.items + first, old.count - first},
                        (InstList){own.items + first, own.count - first});
}

/* ---- tensors ---- */

/* The tensor as it is now, at its earlier place. */
static bool restore_tensor(const Replay *pass, uint32_t u, Tensor *tensor) {
    const Tensor *old = &pass->old->tensors[u];
    *tensor = pass->func->tensors[pass->old_root[u]];
    if (pass->made[u] != MADE_NOT) {
        Span span = tensor->span, shape_span = tensor->shape_span;
        *tensor = *old;
        tensor->span = span;
        tensor->shape_span = shape_span;
        tensor->fixed = false; /* as all that comes with a place is */
        return true;
    }
    tensor->name = old->name; /* of the input, where it was split */
    if (!tensor->fixed) tensor->at = old->at;
    return tensor->space == old->space && is_whole(old, tensor);
}

/* The number in the result of a tensor of old; `origin`: the tensor of the function that it stands
 * for. */
static uint32_t number_of(Replay *pass, uint32_t u, uint32_t origin) {
    static const Role ROLES[] = {[MADE_COPY] = ROLE_COPY,
                                 [MADE_PART] = ROLE_PART,
                                 [MADE_HOME] = ROLE_HOME,
                                 [MADE_NOT] = ROLE_KEPT};
    Tensor tensor;
    if (pass->id[u] != NONE) return pass->id[u];
    if (pass->old_root[u] == NONE || !restore_tensor(pass, u, &tensor)) {
        pass->failed = true;
        return 0;
    }
    pass->id[u] = build_tensor(&pass->build, tensor);
    pass->origin[pass->id[u]] = origin;
    pass->role[pass->id[u]] = (uint8_t)ROLES[pass->made[u]];
    return pass->id[u];
}

/* Declared, and named by nobody, or by dropped loads alone, or by what names its webs: as it is. */
static void add_unnamed(Replay *pass) {
    enum { BY_DROPPED = 1, BY_OTHERS = 2 };
    const bool *was_named = find_named(pass->old, &pass->scratch);
    uint8_t *named = NEW_ARRAY(&pass->scratch, uint8_t, pass->func->ntensors);
    for (uint32_t i = 0; i < pass->func->ninsts; i++) {
        const Inst *inst = &pass->func->insts[i];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
            named[pass->root[inst->operands[o].tensor]] |=
                pass->match[i] == IS_DROPPED ? BY_DROPPED : BY_OTHERS;
    }
    for (uint32_t t = 0; t < pass->func->ntensors; t++) {
        uint32_t u = strmap_get(&pass->earlier->tensors, pass->facts->names[t]);
        if (pass->root[t] != t) continue;
        bool is_there = u != NONE && pass->made[u] == MADE_NOT;
        if (is_there && (!(named[t] & BY_OTHERS) || !was_named[u])) {
            number_of(pass, u, t); /* what spilling inserted may have named it */
        } else if (!named[t]) {
            uint32_t id = build_tensor(&pass->build, pass->func->tensors[t]);
            pass->origin[id] = t;
            pass->role[id] = ROLE_KEPT;
        }
    }
}

/* ---- instructions ---- */

static void emit(Replay *pass, Inst inst, uint32_t origin) {
    uint32_t point = build_inst(&pass->build, inst);
    pass->origin_inst[point] = origin;
}

/* A store or a reload of old. It serves the instruction behind it, or that before it. */
static void emit_inserted(Replay *pass, uint32_t e) {
    Inst inst = pass->old->insts[e];
    bool store = dma_is_store(&inst);
    uint32_t near = store ? inst_src(&inst)->tensor : inst_dst(&inst)->tensor;
    Operand *operands = RAW_ARRAY(pass->arena, Operand, (size_t)inst.ndst + inst.nsrc);
    uint32_t root = pass->old_root[near];
    if (root == NONE) return; /* of what is gone */
    uint32_t serves = store || pass->next == pass->func->ninsts ? pass->served : pass->next;
    inst.span = serves == NONE ? pass->func->span : pass->func->insts[serves].span;
    uint32_t origin = pass->id[near] == NONE ? root : pass->origin[pass->id[near]];
    for (uint32_t o = 0; o < inst.ndst + inst.nsrc; o++) {
        uint32_t u = inst.operands[o].tensor;
        bool stands_for_it = u == near || pass->made[u] != MADE_NOT;
        operands[o] = inst.operands[o];
        operands[o].span = inst.span;
        operands[o].tensor = number_of(pass, u, stands_for_it ? origin : pass->old_root[u]);
    }
    inst.operands = operands;
    pass->version[root] = near;
    emit(pass, inst, INSERTED);
}

static Operand same_operand(Replay *pass, const Operand *old, const Operand *own) {
    Operand operand = *own;
    if (!blocks_equal(old->blocks, own->blocks)) operand.blocks = old->blocks;
    operand.region = old->region;
    operand.tensor = number_of(pass, old->tensor, own->tensor);
    pass->version[pass->root[own->tensor]] = old->tensor;
    return operand;
}

static void emit_same(Replay *pass, uint32_t e, uint32_t i) {
    const Inst *old = &pass->old->insts[e];
    Inst inst = pass->func->insts[i];
    Operand *operands = RAW_ARRAY(pass->arena, Operand, (size_t)inst.ndst + inst.nsrc);
    for (uint32_t o = 0; o < inst.ndst + inst.nsrc; o++)
        operands[o] = same_operand(pass, &old->operands[o], &inst.operands[o]);
    inst.operands = operands;
    if (inst.kind == OP_LOAD) inst.condition = old->condition;
    pass->served = i;
    pass->next = i + 1;
    emit(pass, inst, i);
}

/* The operand of the earlier instruction that names the same. */
static const Operand *find_operand(const Replay *pass, uint32_t e, const Operand *own) {
    const Inst *old = e == NONE ? NULL : &pass->old->insts[e];
    for (uint32_t o = 0; old && o < old->ndst + old->nsrc; o++) {
        uint32_t i = pass->back[e];
        const Operand *same = &pass->func->insts[i].operands[o];
        if (pass->root[same->tensor] == pass->root[own->tensor] &&
            blocks_equal(same->blocks, own->blocks) && is_same_region(same->region, own->region))
            return &old->operands[o];
    }
    return NULL;
}

/* A new instruction names what a neighbour names, the old instructions `before` and `behind` it;
 * else the whole tensor that was named last. */
static Operand new_operand(Replay *pass, const Operand *own, uint32_t before, uint32_t behind) {
    const Operand *old = find_operand(pass, behind, own);
    if (!old) old = find_operand(pass, before, own);
    if (old) return same_operand(pass, old, own);
    uint32_t root = pass->root[own->tensor], u = pass->version[root];
    if (u == NONE) u = strmap_get(&pass->earlier->tensors, pass->facts->names[root]);
    if (u == NONE || !is_whole(&pass->old->tensors[u], &pass->func->tensors[root])) {
        pass->failed = true;
        return *own;
    }
    Operand stand_in = *own;
    stand_in.tensor = u;
    return same_operand(pass, &stand_in, own);
}

static void emit_new(Replay *pass, uint32_t i, uint32_t before, uint32_t behind) {
    Inst inst = pass->func->insts[i];
    Operand *operands = RAW_ARRAY(pass->arena, Operand, (size_t)inst.ndst + inst.nsrc);
    for (uint32_t o = 0; o < inst.ndst + inst.nsrc; o++)
        operands[o] = new_operand(pass, &inst.operands[o], before, behind);
    inst.operands = operands;
    pass->failed |= inst.loop != pass->build.loop;
    emit(pass, inst, i);
}

/* Emits what is new from the next instruction on, between two of old; `all`: up to `end`, else
 * while it lies in the open loop. */
static void emit_news(Replay *pass, uint32_t before, uint32_t behind, uint32_t end, bool all) {
    for (; pass->next < end && !pass->failed; pass->next++) {
        uint32_t i = pass->next;
        if (pass->match[i] < IS_DROPPED) return;
        if (!all && pass->func->insts[i].loop != pass->build.loop) return;
        if (pass->match[i] == IS_NEW) emit_new(pass, i, before, behind);
    }
}

static void emit_all(Replay *pass, ReplayWay way) {
    uint32_t before = NONE;
    for (Walk walk = walk_begin(pass->old); walk_next(&walk) && !pass->failed;) {
        build_walked(&pass->build, pass->func, &walk);
        uint32_t e = walk.inst;
        if (walk.event != WALK_INST) continue;
        if (dma_is_inserted(&pass->old->insts[e])) {
            emit_inserted(pass, e);
        } else if (pass->back[e] != NONE) {
            emit_news(pass, before, e, pass->back[e], true);
            emit_same(pass, e, pass->back[e]);
            before = e;
            if (way == REPLAY_EARLY) emit_news(pass, e, NONE, pass->func->ninsts, false);
        }
    }
    emit_news(pass, before, NONE, pass->func->ninsts, true);
    add_unnamed(pass);
}

/* ---- the plan ---- */

/* Between two accesses through different tensors the value was in DRAM. */
static void mark_cuts(const Rewritten *code, Plan *plan, Arena *scratch) {
    const Func *func = code->func;
    uint32_t *latest = RAW_ARRAY(scratch, uint32_t, plan->func->ntensors);
    uint32_t *at = RAW_ARRAY(scratch, uint32_t, plan->func->ntensors);
    for (uint32_t t = 0; t < plan->func->ntensors; t++) {
        latest[t] = NONE;
        at[t] = plan->first[t];
    }
    for (uint32_t p = 0; p < func->ninsts; p++) {
        uint32_t i = code->origin_inst[p];
        for (uint32_t o = 0; i != INSERTED && o < func->insts[p].ndst + func->insts[p].nsrc; o++) {
            uint32_t t = plan->func->insts[i].operands[o].tensor;
            uint32_t u = func->insts[p].operands[o].tensor;
            while (at[t] < plan->first[t + 1] && plan->accesses[at[t]].inst != i)
                at[t]++;
            bool other = latest[t] != NONE && latest[t] != u && at[t] > plan->first[t];
            if (other && at[t] < plan->first[t + 1] && plan->spillable[t])
                plan_cut_gap(plan, t, at[t], false);
            latest[t] = u;
        }
    }
}

/* ---- what it comes to ---- */

static int64_t cycles_added(const ReplayOf *of, const Func *result) {
    const Target *target = of->facts->target;
    return saturating_sub(sum_dmas(result, target).cycles, sum_dmas(of->input, target).cycles);
}

/* What another search finds is by chance some percent cheaper or dearer. */
static bool is_near_enough(const ReplayOf *of, const Func *replayed) {
    enum { PARTS = 8 };
    int64_t found = cycles_added(of, of->found), earlier = cycles_added(of, replayed);
    return earlier <= found || (found > 0 && earlier - found <= found / PARTS);
}

static bool is_right(const ReplayOf *of, const Func *replayed, Arena *arena) {
    DiagQueue unheard;
    diag_init(&unheard, arena);
    VerifyOptions options = {.placed = true};
    return verify(of->input, replayed, of->facts->target, options, &unheard);
}

static void sum_up(Replayed *result) {
    const Func *func = result->code.func;
    result->places = 0;
    result->home_bytes = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        int64_t bytes = saturating_mul(tensor->blocks, tensor->partitions * tensor->bytes);
        result->places += tensor->space == SPACE_SB && tensor->at;
        if (result->code.role[t] == ROLE_HOME && tensor->offset + bytes > result->home_bytes)
            result->home_bytes = tensor->offset + bytes;
    }
}

/* ---- the whole ---- */

static Replay replay_begin(const Facts *facts, const Earlier *earlier, Arena *arena) {
    const Func *func = facts->func, *old = earlier->func;
    Replay pass = {.facts = facts,
                   .func = func,
                   .earlier = earlier,
                   .old = old,
                   .arena = arena,
                   .served = NONE};
    size_t most = (size_t)old->ntensors + func->ntensors;
    arena_init(&pass.scratch);
    pass.root = RAW_ARRAY(&pass.scratch, uint32_t, func->ntensors);
    pass.old_root = RAW_ARRAY(&pass.scratch, uint32_t, old->ntensors);
    pass.made = RAW_ARRAY(&pass.scratch, uint8_t, old->ntensors);
    pass.match = RAW_ARRAY(&pass.scratch, uint32_t, func->ninsts);
    pass.back = RAW_ARRAY(&pass.scratch, uint32_t, old->ninsts);
    pass.version = RAW_ARRAY(&pass.scratch, uint32_t, func->ntensors);
    pass.id = RAW_ARRAY(&pass.scratch, uint32_t, old->ntensors);
    memset(pass.back, 0xFF, old->ninsts * sizeof *pass.back);
    memset(pass.version, 0xFF, func->ntensors * sizeof *pass.version);
    memset(pass.id, 0xFF, old->ntensors * sizeof *pass.id);
    pass.origin = RAW_ARRAY(arena, uint32_t, most);
    pass.role = RAW_ARRAY(arena, uint8_t, most);
    pass.origin_inst = RAW_ARRAY(arena, uint32_t, (size_t)old->ninsts + func->ninsts);
    build_begin(&pass.build, arena, func->name, func->meta, func->span);
    return pass;
}

static Rewritten replayed(Replay *pass) {
    Rewritten code = {.origin = pass->origin, .role = pass->role, .origin_inst = pass->origin_inst};
    code.func = build_finish(&pass->build);
    code.first_access = NEW_ARRAY(pass->arena, uint32_t, code.func->ntensors);
    code.end_access = NEW_ARRAY(pass->arena, uint32_t, code.func->ntensors);
    return code;
}

static bool replay_so(const ReplayOf *of, ReplayWay way, Arena *arena, Replayed *result) {
    Replay pass = replay_begin(of->facts, of->earlier, arena);
    bool done = find_roots(&pass) && find_same(&pass);
    if (done) emit_all(&pass, way);
    done &= !pass.failed;
    if (done) {
        result->code = replayed(&pass);
        result->plan = plan_copy(&of->facts->plan, arena);
        mark_cuts(&result->code, &result->plan, &pass.scratch);
        drop_dead_loads(&result->code, arena);
        drop_dead_stores(&result->code, arena);
        keep_named(&result->code, arena);
        sum_up(result);
    }
    arena_free(&pass.scratch);
    return done;
}

bool replay(const ReplayOf *of, Arena *arena, Replayed *result) {
    if (!has_same_loops(of->facts->func, of->earlier->func)) return false;
    for (ReplayWay way = 0; way < REPLAY_WAYS; way++) {
        if (!replay_so(of, way, arena, result)) return false;
        if (!is_near_enough(of, result->code.func)) return false;
        if (!is_right(of, result->code.func, arena)) continue;
        mark_copies(result->code.func, arena);
        return true;
    }
    return false;
}
