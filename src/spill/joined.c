#include "spill/joined.h"

#include <assert.h>
#include <string.h>

#include "analysis/partners.h"
#include "ir/build.h"
#include "place/coalesce.h"

#define NOBODY UINT32_MAX

/* ---- joining ---- */

/* True if nothing runs but once, always. */
static bool is_plain(const Func *func) {
    bool plain = func->nloops == 0;
    for (uint32_t p = 0; plain && p < func->ninsts; p++)
        plain = !func->insts[p].condition;
    return plain;
}

static bool may_leave(const Tensor *tensor) {
    return tensor->blocks == 1 && !tensor->fixed && !tensor->pin && !tensor->input &&
           !tensor->output;
}

/* True if a copy of one could be a copy of the other. */
static bool are_alike(const Tensor *a, const Tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank && a->align == b->align &&
           a->base == b->base && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

/* [partners] those that stay two. */
static bool *keep_apart(const Func *func, const Partners *partners, const Nodes *nodes,
                        const bool *apart, Arena *scratch) {
    bool *frozen = RAW_ARRAY(scratch, bool, partners->count);
    for (uint32_t i = 0; i < partners->count; i++) {
        uint32_t dst = nodes->items[partners->items[i].dst].tensor;
        uint32_t src = nodes->items[partners->items[i].src].tensor;
        const Tensor *to = &func->tensors[dst], *from = &func->tensors[src];
        frozen[i] =
            apart[dst] || apart[src] || !may_leave(to) || !may_leave(from) || !are_alike(to, from);
    }
    return frozen;
}

/* The first tensor of each group leads it. */
static void name_leaders(JoinedCopies *joined, const Func *func, const Merged *merged,
                         Arena *arena) {
    uint32_t *leader = RAW_ARRAY(arena, uint32_t, func->ntensors);
    bool *grouped = NEW_ARRAY(arena, bool, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        uint32_t n = merged->nodes.of[t];
        leader[t] = n == NO_NODE ? t : merged->nodes.items[n].tensor;
        if (leader[t] != t) grouped[t] = grouped[leader[t]] = true;
    }
    joined->leader = leader;
    joined->grouped = grouped;
}

/* A copy within a group reads its source, and that is all. */
static Inst join_inst(const JoinedCopies *joined, const Inst *was, Arena *arena) {
    Inst inst = renumbered_inst(was, joined->leader, arena);
    if (inst.kind != OP_COPY || inst_dst(&inst)->tensor != inst_src(&inst)->tensor) return inst;
    inst.operands += inst.ndst;
    inst.ndst = 0;
    inst.kind = OP_OTHER;
    return inst;
}

static const Func *join_insts(const JoinedCopies *joined, const Func *from, Arena *arena) {
    Func *func = NEW(arena, Func);
    *func = *from;
    func->insts = RAW_ARRAY(arena, Inst, from->ninsts);
    for (uint32_t p = 0; p < from->ninsts; p++) {
        const Inst *was = &from->insts[p];
        bool changes = false;
        for (uint32_t o = 0; o < was->ndst + was->nsrc; o++)
            changes |= joined->grouped[was->operands[o].tensor];
        func->insts[p] = changes ? join_inst(joined, was, arena) : *was;
    }
    return func;
}

JoinedCopies join_copies(const Facts *facts, const bool *apart, Arena *arena) {
    JoinedCopies joined = {0};
    const Func *func = facts->func;
    const Nodes *nodes = &facts->uncut->nodes;
    if (!is_plain(func)) return joined;
    Handing handing = find_handing(func, nodes, arena);
    Partners partners = find_partners(&handing, arena);
    if (partners.count == 0) return joined;
    CoalesceOptions options = {.size = facts->size,
                               .frozen = keep_apart(func, &partners, nodes, apart, arena)};
    Merged merged = coalesce(&handing, &partners, options, arena);
    joined.merges = merged.merges;
    if (merged.merges == 0) return joined;
    name_leaders(&joined, func, &merged, arena);
    joined.func = join_insts(&joined, func, arena);
    return joined;
}

Facts joined_facts(const Facts *facts, const JoinedCopies *joined, Arena *arena) {
    Live live = live_range(joined->func, arena);
    Facts own = facts_make(joined->func, &live, facts->target, arena, arena);
    Facts all = *facts;
    all.func = own.func;
    all.live = own.live;
    all.plan = own.plan;
    all.sources = own.sources;
    all.uncut = own.uncut;
    return all;
}

/* ---- parting ---- */

/* What a tensor of the joined code is for one of those that it stands for. */
typedef struct {
    uint32_t tensor; /* of the facts' function */
    uint32_t id;     /* of the parted code; NOBODY: not made yet */
    uint32_t next;   /* of the same tensor of the joined code, or NOBODY */
    bool defined;    /* by a write, a copy or a reload, so far */
    uint32_t used;   /* the instruction that names it last, so far */
} Twin;

/* A copy that is reloaded once more, for another tensor, before an instruction. */
typedef struct {
    uint32_t point; /* of the joined code */
    uint32_t copy;
    uint32_t tensor;
} Again;

typedef struct {
    const Facts *facts;
    const JoinedCopies *joined;
    const Rewritten *code; /* of the joined function */
    const double *cost;    /* of its tensors */
    bool good;
    bool *failed; /* [tensors of the facts' function] of leaders: the group cannot be parted */
    Arena *arena; /* of the result */
    Arena scratch;
    Twin *twins;
    size_t ntwins, twin_capacity;
    /* [tensors of the joined code] */
    uint32_t *twin;    /* the first twin of each, or NOBODY */
    uint32_t *wants;   /* of copies: for which tensor it is reloaded first */
    uint32_t *last;    /* of copies: the tensor that was written last; of homes: that was stored */
    uint32_t *reload;  /* of copies: the first of its reloads, NOBODY: none so far */
    uint32_t *reloads; /* of copies: how many there are, side by side */
    uint32_t *written; /* of all: the instruction that has written it last, or NOBODY */
    Again *again;      /* in order */
    size_t nagain, again_capacity;
    /* The result. */
    Plan plan;
    uint32_t *next_access; /* [tensors of the facts' function] */
    uint32_t *held;        /* [tensors of the facts' function] the copy of its access before */
    Rewritten out;
    double *out_cost; /* [tensors of the result] */
    Builder build;
} Parting;

static bool is_of_group(const Parting *pass, uint32_t u) {
    return pass->joined->grouped[pass->code->origin[u]];
}

static Twin *twin_of(Parting *pass, uint32_t u, uint32_t tensor) {
    uint32_t i = pass->twin[u];
    while (i != NOBODY && pass->twins[i].tensor != tensor)
        i = pass->twins[i].next;
    if (i != NOBODY) return &pass->twins[i];
    Twin twin = {tensor, NOBODY, pass->twin[u], false, NOBODY};
    pass->twin[u] = (uint32_t)pass->ntwins;
    PUSH(&pass->scratch, pass->twins, pass->ntwins, pass->twin_capacity, twin);
    return &pass->twins[pass->twin[u]];
}

/* The group of a tensor cannot be parted. */
static void fail(Parting *pass, uint32_t tensor) {
    pass->good = false;
    pass->failed[pass->joined->leader[tensor]] = true;
}

/* The instruction of the facts' function that one of the code is, or NULL. */
static const Inst *original_of(const Parting *pass, uint32_t point) {
    uint32_t origin = pass->code->origin_inst[point];
    return origin == INSERTED ? NULL : &pass->facts->func->insts[origin];
}

/* ---- for whom copies are reloaded ---- */

/* True if what the copy was reloaded from still holds its value, and so does the copy. */
static bool may_reload_again(const Parting *pass, uint32_t u) {
    uint32_t reload = pass->reload[u];
    uint32_t from = inst_src(&pass->code->func->insts[reload])->tensor;
    bool ours = pass->code->role[from] == ROLE_HOME;
    uint32_t copied = pass->written[u], stored = pass->written[from];
    return (copied == NOBODY || copied < reload) && (stored == NOBODY || stored < reload) &&
           (ours || pass->code->func->tensors[from].offset < 0);
}

/* From here on the copy is that of another tensor: those that it was have to be reloaded to be so
 * again. */
static void change_twin(Parting *pass, uint32_t u, uint32_t tensor, uint32_t point) {
    bool good = may_reload_again(pass, u);
    for (uint32_t i = pass->twin[u]; i != NOBODY; i = pass->twins[i].next) {
        Twin *twin = &pass->twins[i];
        if (twin->tensor == tensor) continue;
        good &= !twin->defined || twin->used != point;
        twin->defined = false;
    }
    if (!good) fail(pass, tensor);
    Again again = {point, u, tensor};
    PUSH(&pass->scratch, pass->again, pass->nagain, pass->again_capacity, again);
}

/* The copy must hold the tensor's value here. */
static void need(Parting *pass, uint32_t u, uint32_t tensor, uint32_t point) {
    Twin *twin = twin_of(pass, u, tensor);
    if (!twin->defined && pass->reload[u] != NOBODY) {
        if (pass->wants[u] == NOBODY)
            pass->wants[u] = tensor;
        else
            change_twin(pass, u, tensor, point);
        twin->defined = true;
    }
    twin->used = point;
}

static void look_at_operand(Parting *pass, const Inst *was, uint32_t o, uint32_t u,
                            uint32_t point) {
    const Operand *operand = &was->operands[o];
    if (!is_of_group(pass, u)) return;
    bool part = !operand_is_whole(pass->facts->func, operand);
    if (o >= was->ndst || was->accumulate || part) need(pass, u, operand->tensor, point);
    if (o >= was->ndst) return;
    Twin *twin = twin_of(pass, u, operand->tensor);
    twin->defined = true;
    twin->used = point;
}

/* Which copies the operands of an instruction lie in; the destination of a joined copy lies in that
 * of its source. */
static uint32_t copy_of(const Inst *was, const Inst *is, uint32_t o) {
    bool joined = is->ndst < was->ndst;
    return is->operands[joined ? 0 : o].tensor;
}

static void note_reload(Parting *pass, uint32_t point) {
    uint32_t u = inst_dst(&pass->code->func->insts[point])->tensor;
    if (pass->reload[u] == NOBODY) pass->reload[u] = point;
    assert(pass->reload[u] + pass->reloads[u] == point);
    pass->reloads[u]++;
}

static void note_writes(Parting *pass, uint32_t point) {
    const Inst *inst = &pass->code->func->insts[point];
    for (uint32_t o = 0; o < inst->ndst; o++)
        pass->written[inst->operands[o].tensor] = point;
}

static void find_wants(Parting *pass) {
    const Func *func = pass->code->func;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *is = &func->insts[p], *was = original_of(pass, p);
        bool reload = !was && is->kind == OP_LOAD;
        if (reload) note_reload(pass, p);
        for (uint32_t o = was ? was->ndst + was->nsrc : 0; o-- > 0;) /* sources first */
            look_at_operand(pass, was, o, copy_of(was, is, o), p);
        if (!reload) note_writes(pass, p);
    }
}

/* ---- tensors ---- */

static uint32_t add_tensor(Parting *pass, Tensor tensor, uint32_t origin, uint32_t u) {
    Rewritten *out = &pass->out;
    uint32_t id = build_tensor(&pass->build, tensor);
    out->origin[id] = origin;
    out->role[id] = pass->code->role[u];
    out->first_access[id] = out->end_access[id] = 0;
    out->block_range[id] = pass->code->block_range ? pass->code->block_range[u] : NULL;
    pass->out_cost[id] = pass->cost[u];
    return id;
}

/* The tensor of the result that stands for a tensor in what was one for its whole group. */
static uint32_t part_of(Parting *pass, uint32_t u, uint32_t tensor) {
    Twin *twin = twin_of(pass, u, tensor);
    if (twin->id == NOBODY) twin->id = add_tensor(pass, pass->code->func->tensors[u], tensor, u);
    return twin->id;
}

/* Most tensors that there will be: each that is stored was in a copy. */
static size_t most_tensors(const Parting *pass) {
    return pass->code->func->ntensors + 2 * pass->ntwins;
}

/* A copy of what was not joined serves the same accesses, which the plans number apart. */
static void keep_accesses(Parting *pass, const Plan *joined, uint32_t u, uint32_t id) {
    uint32_t origin = pass->code->origin[u];
    if (pass->code->role[u] != ROLE_COPY) return;
    uint32_t shift = pass->plan.first[origin] - joined->first[origin];
    pass->out.first_access[id] = pass->code->first_access[u] + shift;
    pass->out.end_access[id] = pass->code->end_access[u] + shift;
}

static size_t most_insts(const Parting *pass) {
    size_t most = pass->code->func->ninsts;
    for (size_t i = 0; i < pass->nagain; i++)
        most += pass->reloads[pass->again[i].copy];
    return most;
}

/* What no copy has joined stays; what was joined and is not spilled lies where its leader does. */
static void keep_tensors(Parting *pass, const Plan *joined, uint32_t *new_id) {
    const Rewritten *code = pass->code;
    uint32_t *own = RAW_ARRAY(&pass->scratch, uint32_t, pass->facts->func->ntensors);
    for (uint32_t u = 0; u < code->func->ntensors; u++)
        if (code->role[u] == ROLE_KEPT) own[code->origin[u]] = u;
    for (uint32_t u = 0; u < code->func->ntensors; u++) {
        uint32_t origin = code->origin[u], leader = pass->joined->leader[origin];
        new_id[u] = NOBODY;
        if (!is_of_group(pass, u)) {
            new_id[u] = add_tensor(pass, code->func->tensors[u], origin, u);
            keep_accesses(pass, joined, u, new_id[u]);
        } else if (code->role[u] == ROLE_KEPT && !pass->plan.spilled[leader]) {
            Tensor tensor = code->func->tensors[u];
            tensor.at = code->func->tensors[own[leader]].at;
            uint32_t id = add_tensor(pass, tensor, origin, own[leader]);
            twin_of(pass, own[leader], origin)->id = id;
        }
    }
}

/* ---- the plan ---- */

/* The plan's accesses of a tensor go on to an instruction, where copy u holds it. */
static void note_access(Parting *pass, uint32_t tensor, uint32_t origin_inst, uint32_t u) {
    Plan *plan = &pass->plan;
    uint32_t a = pass->next_access[tensor], end = plan->first[tensor + 1], first = a;
    while (a < end && plan->accesses[a].inst < origin_inst)
        a++;
    if (a == end || plan->accesses[a].inst != origin_inst) return; /* another of its operands */
    uint32_t id = part_of(pass, u, tensor);
    pass->next_access[tensor] = a + 1;
    bool other = pass->held[tensor] != id;
    for (uint32_t between = first; between <= a; between++)
        plan->accesses[between].cut = between > plan->first[tensor] && other && between == a;
    pass->held[tensor] = id;
    if (pass->code->role[u] != ROLE_COPY) return;
    if (pass->out.end_access[id] == 0) pass->out.first_access[id] = a;
    pass->out.end_access[id] = a + 1;
}

/* The cuts of tensors that were not joined are those of the joined function's plan. */
static void copy_cuts(Parting *pass, const Plan *joined) {
    Plan *plan = &pass->plan;
    for (uint32_t t = 0; t < plan->func->ntensors; t++) {
        plan->spilled[t] = joined->spilled[pass->joined->leader[t]];
        if (pass->joined->grouped[t]) continue;
        for (uint32_t i = 0; i < plan->first[t + 1] - plan->first[t]; i++)
            plan->accesses[plan->first[t] + i].cut = joined->accesses[joined->first[t] + i].cut;
    }
}

/* ---- instructions ---- */

static void emit(Parting *pass, Inst inst, const Operand *operands, uint32_t origin) {
    inst.operands = operands;
    uint32_t id = build_inst(&pass->build, inst);
    pass->out.origin_inst[id] = origin;
}

/* One operand of the joined code, for a tensor. */
static Operand part_operand(Parting *pass, Operand operand, const uint32_t *new_id,
                            uint32_t tensor) {
    operand.tensor = is_of_group(pass, operand.tensor) ? part_of(pass, operand.tensor, tensor)
                                                       : new_id[operand.tensor];
    return operand;
}

/* The destination of a joined copy, where its source lies. What is not spilled names its block as
 * it did: `[0]` or not at all. */
static Operand part_copied(Parting *pass, const Operand *was, Operand source,
                           const uint32_t *new_id) {
    bool kept = pass->code->role[source.tensor] == ROLE_KEPT;
    Operand operand = part_operand(pass, source, new_id, was->tensor);
    if (kept) operand.blocks = was->blocks;
    return operand;
}

/* A store or a reload, whose ends are for two tensors. */
static void part_dma(Parting *pass, const Inst *is, uint32_t dst, uint32_t src,
                     const uint32_t *new_id) {
    Operand *operands = RAW_ARRAY(pass->arena, Operand, 2);
    operands[0] = part_operand(pass, is->operands[0], new_id, dst);
    operands[1] = part_operand(pass, is->operands[1], new_id, src);
    emit(pass, *is, operands, INSERTED);
}

static void part_original(Parting *pass, const Inst *was, const Inst *is, uint32_t origin,
                          const uint32_t *new_id) {
    uint32_t count = was->ndst + was->nsrc;
    bool joined = is->ndst < was->ndst;
    Operand *operands = RAW_ARRAY(pass->arena, Operand, count);
    for (uint32_t o = 0; o < count; o++) {
        uint32_t u = copy_of(was, is, o), tensor = was->operands[o].tensor;
        operands[o] = joined && o == 0
                          ? part_copied(pass, &was->operands[0], is->operands[0], new_id)
                          : part_operand(pass, is->operands[joined ? 0 : o], new_id, tensor);
        if (!is_of_group(pass, u)) continue;
        note_access(pass, tensor, origin, u);
        if (o < was->ndst && !joined) pass->last[u] = tensor;
    }
    Inst inst = *is;
    inst.ndst = was->ndst;
    inst.kind = was->kind;
    emit(pass, inst, operands, origin);
}

/* A store of what was written last. What is stored of another tensor in the same home before must
 * not be needed with it. */
static void part_store(Parting *pass, const Inst *is, const uint32_t *new_id) {
    uint32_t home = inst_dst(is)->tensor, u = inst_src(is)->tensor, tensor = pass->last[u];
    if (tensor == NOBODY) tensor = pass->joined->leader[pass->code->origin[u]];
    bool whole = operand_is_whole(pass->code->func, inst_dst(is));
    if (pass->last[home] != NOBODY && pass->last[home] != tensor && !whole) fail(pass, tensor);
    pass->last[home] = tensor;
    part_dma(pass, is, tensor, tensor, new_id);
}

/* A reload for a tensor, from where the value was stored for whichever. */
static void part_reload(Parting *pass, const Inst *is, uint32_t tensor, const uint32_t *new_id) {
    if (tensor != NOBODY) part_dma(pass, is, tensor, pass->last[inst_src(is)->tensor], new_id);
}

/* Reloads once more before an instruction; `next` of those are done. */
static size_t part_again(Parting *pass, size_t next, uint32_t point, const uint32_t *new_id) {
    for (; next < pass->nagain && pass->again[next].point == point; next++) {
        Again again = pass->again[next];
        uint32_t first = pass->reload[again.copy];
        for (uint32_t p = first; p < first + pass->reloads[again.copy]; p++)
            part_reload(pass, &pass->code->func->insts[p], again.tensor, new_id);
    }
    return next;
}

static void part_insts(Parting *pass, const uint32_t *new_id) {
    const Func *func = pass->code->func;
    size_t next = 0;
    for (uint32_t p = 0; p < func->ninsts && pass->good; p++) {
        const Inst *is = &func->insts[p], *was = original_of(pass, p);
        if (was) {
            next = part_again(pass, next, p, new_id);
            part_original(pass, was, is, pass->code->origin_inst[p], new_id);
            continue;
        }
        bool ours = is_of_group(pass, is->operands[0].tensor);
        if (!ours) {
            part_dma(pass, is, NOBODY, NOBODY, new_id);
        } else if (is->kind == OP_SAVE) {
            part_store(pass, is, new_id);
        } else {
            part_reload(pass, is, pass->wants[inst_dst(is)->tensor], new_id);
        }
    }
}

static uint32_t *nobody(Arena *arena, uint32_t count) {
    uint32_t *array = RAW_ARRAY(arena, uint32_t, count);
    memset(array, 0xFF, count * sizeof *array);
    return array;
}

static void start(Parting *pass) {
    const Func *from = pass->facts->func, *code = pass->code->func;
    arena_init(&pass->scratch);
    pass->twin = nobody(&pass->scratch, code->ntensors);
    pass->wants = nobody(&pass->scratch, code->ntensors);
    pass->last = nobody(&pass->scratch, code->ntensors);
    pass->held = nobody(&pass->scratch, from->ntensors);
    pass->failed = NEW_ARRAY(&pass->scratch, bool, from->ntensors);
    pass->reload = nobody(&pass->scratch, code->ntensors);
    pass->reloads = NEW_ARRAY(&pass->scratch, uint32_t, code->ntensors);
    pass->written = nobody(&pass->scratch, code->ntensors);
    pass->next_access = RAW_ARRAY(&pass->scratch, uint32_t, from->ntensors);
    for (uint32_t t = 0; t < from->ntensors; t++)
        pass->next_access[t] = pass->plan.first[t];
}

static void start_result(Parting *pass) {
    const Func *code = pass->code->func;
    size_t most = most_tensors(pass);
    pass->out = (Rewritten){.origin = RAW_ARRAY(pass->arena, uint32_t, most),
                            .role = RAW_ARRAY(pass->arena, uint8_t, most),
                            .first_access = RAW_ARRAY(pass->arena, uint32_t, most),
                            .end_access = RAW_ARRAY(pass->arena, uint32_t, most),
                            .block_range = NEW_ARRAY(pass->arena, const BlockRange *, most),
                            .origin_inst = RAW_ARRAY(pass->arena, uint32_t, most_insts(pass)),
                            .removed = pass->code->removed};
    pass->out_cost = RAW_ARRAY(pass->arena, double, most);
    build_begin(&pass->build, pass->arena, code->name, code->meta, code->span);
}

static void take_parted(Parting *pass, State *state) {
    pass->out.func = build_finish(&pass->build);
    state->code = pass->out;
    state->plan = pass->plan;
    state->cost = pass->out_cost;
    state->facts = pass->facts;
    state->now.coalesced += pass->joined->merges;
}

bool part_joined(const Facts *facts, const JoinedCopies *joined, State *state, bool *apart) {
    assert(state->facts->func == joined->func);
    Parting pass = {.facts = facts,
                    .joined = joined,
                    .code = &state->code,
                    .cost = state->cost,
                    .good = true,
                    .arena = &state->memory,
                    .plan = plan_copy(&facts->plan, &state->memory)};
    start(&pass);
    copy_cuts(&pass, &state->plan);
    find_wants(&pass);
    start_result(&pass);
    uint32_t *new_id = RAW_ARRAY(&pass.scratch, uint32_t, state->code.func->ntensors);
    keep_tensors(&pass, &state->plan, new_id);
    part_insts(&pass, new_id);
    if (pass.good) take_parted(&pass, state);
    for (uint32_t t = 0; t < facts->func->ntensors; t++)
        apart[t] |= pass.failed[joined->leader[t]];
    arena_free(&pass.scratch);
    return pass.good;
}
