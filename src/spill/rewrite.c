#include "spill/rewrite.h"

#include <assert.h>
#include <string.h>

#include "analysis/live.h"
#include "ir/build.h"
#include "spill/block_range.h"
#include "spill/inserted.h"
#include "spill/parts.h"

/* An instruction to insert, in a list of those that go to the same spot. */
typedef struct {
    Inst inst;
    uint32_t next; /* position in the list, or UINT32_MAX */
} Insertion;

typedef struct {
    uint32_t head, tail; /* UINT32_MAX where empty */
} Spot;

typedef struct {
    const Plan *plan;
    const Sources *sources;
    const Func *from;
    RewriteOptions options;
    Arena *arena;  /* of the result */
    Arena scratch; /* of this rewrite */
    Builder build;
    uint32_t *new_id;   /* [from->ntensors] UINT32_MAX: not declared */
    uint32_t *homes;    /* [from->ntensors] home of each, UINT32_MAX if it has none yet */
    Operand **operands; /* [from->ninsts] rewritten operands, NULL where they stay */
    Insertion *insertions;
    size_t ninsertions, insertion_capacity;
    Spot start; /* before everything */
    Spot *before_inst, *after_inst, *before_loop, *after_loop;
    Rewritten *out;
    size_t origin_capacity; /* of out's arrays per tensor */
    size_t inst_capacity;   /* of out->origin_inst */
} Rewriter;

/* One stretch of accesses that a working copy serves. */
typedef struct {
    uint32_t tensor;
    uint32_t first, end;    /* accesses of the plan */
    uint32_t level;         /* loop in whose body the copy lives */
    bool at_entry;          /* begins with the value of an `input`: the tensor itself is the copy */
    const uint32_t *groups; /* of a single access: group of each operand, NULL where all are one */
    uint32_t group;         /* the group that this copy serves */
    BlockRange range;
    uint32_t copy; /* the new tensor */
} Segment;

/* True if the segment's copy stands for operand o of an access. */
static bool serves_operand(const Segment *segment, const Inst *inst, uint32_t o) {
    return inst->operands[o].tensor == segment->tensor &&
           (!segment->groups || segment->groups[o] == segment->group);
}

/* ---- inserting ---- */

static void insert_at(Rewriter *rewriter, Spot *spot, Inst inst) {
    Insertion insertion = {inst, UINT32_MAX};
    uint32_t id = (uint32_t)rewriter->ninsertions;
    PUSH(&rewriter->scratch, rewriter->insertions, rewriter->ninsertions,
         rewriter->insertion_capacity, insertion);
    if (spot->tail == UINT32_MAX)
        spot->head = id;
    else
        rewriter->insertions[spot->tail].next = id;
    spot->tail = id;
}

/* The child of `level` in whose body `loop` lies, or NO_LOOP where `loop` is `level`. */
static uint32_t loop_below(const Func *func, uint32_t loop, uint32_t level) {
    uint32_t below = NO_LOOP;
    for (; loop != level; loop = func->loops[loop].parent)
        below = loop;
    return below;
}

static Spot *spot_before(Rewriter *rewriter, const Segment *segment, uint32_t inst) {
    uint32_t loop = loop_below(rewriter->from, rewriter->from->insts[inst].loop, segment->level);
    return loop == NO_LOOP ? &rewriter->before_inst[inst] : &rewriter->before_loop[loop];
}

static Spot *spot_after(Rewriter *rewriter, const Segment *segment, uint32_t inst) {
    uint32_t loop = loop_below(rewriter->from, rewriter->from->insts[inst].loop, segment->level);
    return loop == NO_LOOP ? &rewriter->after_inst[inst] : &rewriter->after_loop[loop];
}

static void insert_dma(Rewriter *rewriter, Spot *spot, SpillDma dma) {
    insert_at(rewriter, spot, inserted_dma(dma, rewriter->arena));
}

/* ---- new tensors ---- */

static uint32_t add_tensor(Rewriter *rewriter, Tensor tensor, uint32_t origin, Role role) {
    Rewritten *out = rewriter->out;
    uint32_t id = build_tensor(&rewriter->build, tensor);
    size_t capacity = rewriter->origin_capacity;
    if (id == capacity) {
        size_t larger = capacity ? capacity * 2 : 64;
        out->origin =
            arena_grow(&rewriter->scratch, out->origin, capacity, larger, sizeof(uint32_t));
        out->first_access =
            arena_grow(&rewriter->scratch, out->first_access, capacity, larger, sizeof(uint32_t));
        out->end_access =
            arena_grow(&rewriter->scratch, out->end_access, capacity, larger, sizeof(uint32_t));
        out->role = arena_grow(&rewriter->scratch, out->role, capacity, larger, 1);
        out->block_range = arena_grow(&rewriter->scratch, out->block_range, capacity, larger,
                                      sizeof *out->block_range);
        rewriter->origin_capacity = larger;
    }
    out->origin[id] = origin;
    out->role[id] = (uint8_t)role;
    out->first_access[id] = out->end_access[id] = 0;
    out->block_range[id] = NULL;
    return id;
}

static uint32_t home_of(Rewriter *rewriter, const Segment *segment) {
    uint32_t t = segment->tensor;
    if (rewriter->homes[t] == UINT32_MAX) {
        const Tensor *original = &rewriter->from->tensors[t];
        rewriter->homes[t] = add_tensor(
            rewriter, added_tensor(original, SPACE_DRAM, original->blocks), t, ROLE_HOME);
    }
    return rewriter->homes[t];
}

/* ---- what a segment needs from before, and what it leaves ---- */

/* What is known of a block of the copy while the segment's accesses are walked in order. */
typedef struct {
    bool full; /* holds the value that the original holds */
    const Condition
        *condition; /* else: holds it while this condition of instructions in `loop` does */
    uint32_t loop;
} BlockState;

typedef struct {
    int64_t low, high; /* offsets */
    bool exact;
    const Operand *operand; /* the write's own destination */
    const Inst *inst;
    uint32_t point;
    const Condition *condition; /* as far as it does not depend on loops inside */
    bool sunk;
    bool dropped;
} PendingStore;

typedef struct {
    Rewriter *rewriter;
    Segment *segment;
    BlockState *states; /* [range.count] */
    bool *needs;        /* [range.count] the old value is needed */
    bool any_need;
    const Inst *first_needing;
    bool unconditional; /* the reload may not take a condition */
    PendingStore *stores;
    size_t nstores, store_capacity;
} Flow;

static bool is_direct(const Flow *flow, const Inst *inst) {
    return inst->loop == flow->segment->level;
}

static void need_block(Flow *flow, int64_t position, const Inst *inst) {
    flow->needs[position] = true;
    flow->any_need = true;
    if (!flow->first_needing) flow->first_needing = inst;
    if (!is_direct(flow, inst) || !condition_equal(inst->condition, flow->first_needing->condition))
        flow->unconditional = true;
}

static void flow_read(Flow *flow, const Inst *inst, const Operand *operand) {
    const BlockRange *range = &flow->segment->range;
    BlockExtent extent = block_range_extent(flow->rewriter->from, range, operand);
    int64_t first = block_range_position(range, extent.low);
    for (int64_t p = first; p <= first + (extent.high - extent.low); p++) {
        BlockState *state = &flow->states[p];
        bool holds = state->full || (state->condition && state->loop == inst->loop &&
                                     condition_equal(state->condition, inst->condition));
        if (!holds) need_block(flow, p, inst);
    }
}

/* True if the write, in loops inside the copy's level, writes each block of its extent whole before
 * anything in these loops reads it: then all of them hold the value behind the loops. */
static bool fills_extent(Flow *flow, const Inst *inst, const Operand *operand, uint32_t access) {
    const Func *func = flow->rewriter->from;
    const Segment *segment = flow->segment;
    /* In a loose block range the extent is more than what the index names. */
    if (segment->range.loose || !operand->blocks || operand->blocks->kind != BLOCKS_ONE)
        return false;
    Affine index = operand->blocks->low;
    if (index.modulus) return false;
    int64_t product = 1;
    uint32_t outermost = NO_LOOP;
    for (uint32_t loop = inst->loop; loop != segment->level; loop = func->loops[loop].parent) {
        int64_t step = affine_coefficient(index, loop);
        int64_t trips = func->loops[loop].high - func->loops[loop].low;
        if (step != 0 && step != product && step != -product) return false;
        if (step != 0) product *= trips < 1 << 20 ? trips : 1 << 20;
        if (step != 0) outermost = loop;
        if (product > (int64_t)MOST_BLOCKS) return false;
    }
    if (outermost == NO_LOOP) return false;
    for (uint32_t a = segment->first; a < segment->end; a++) {
        const PlanAccess *other = &flow->rewriter->plan->accesses[a];
        if (a == access || other->inst < func->loops[outermost].first ||
            other->inst >= func->loops[outermost].end)
            continue;
        const Inst *user = &func->insts[other->inst];
        if (other->inst < flow->rewriter->plan->accesses[access].inst || user->loop != inst->loop)
            return false;
        for (uint32_t o = 0; o < user->ndst + user->nsrc; o++)
            if (user->operands[o].tensor == segment->tensor &&
                (!user->operands[o].blocks || user->operands[o].blocks->kind != BLOCKS_ONE ||
                 !affine_equal(user->operands[o].blocks->low, index)))
                return false;
    }
    return true;
}

static const Condition *outer_condition(Flow *flow, const Inst *inst) {
    const Condition *condition = inst->condition;
    const Func *func = flow->rewriter->from;
    for (uint32_t loop = inst->loop; loop != flow->segment->level; loop = func->loops[loop].parent)
        condition = condition_without_loop(flow->rewriter->arena, condition, loop);
    return condition;
}

static void flow_write(Flow *flow, const Inst *inst, const Operand *operand, uint32_t access) {
    const Func *func = flow->rewriter->from;
    const BlockRange *range = &flow->segment->range;
    BlockExtent extent = block_range_extent(func, range, operand);
    int64_t first = block_range_position(range, extent.low);
    bool whole = operand_is_whole(func, operand);
    bool sunk = !is_direct(flow, inst);
    bool sure = !inst->condition && whole &&
                (extent.exact || (sunk && fills_extent(flow, inst, operand, access)));
    for (int64_t p = first; p <= first + (extent.high - extent.low); p++) {
        BlockState *state = &flow->states[p];
        if (sure) {
            state->full = true;
            continue;
        }
        /* A part is left as it was, or the store runs where the write did not. */
        if (!state->full && (!whole || sunk || !extent.exact)) need_block(flow, p, inst);
        if (!state->full && whole && extent.exact && !state->condition) {
            state->condition = inst->condition;
            state->loop = inst->loop;
        }
    }
    PendingStore store = {.low = extent.low,
                          .high = extent.high,
                          .exact = extent.exact || sunk,
                          .operand = operand,
                          .inst = inst,
                          .point = flow->rewriter->plan->accesses[access].inst,
                          .condition = outer_condition(flow, inst),
                          .sunk = sunk};
    PUSH(&flow->rewriter->scratch, flow->stores, flow->nstores, flow->store_capacity, store);
}

static void flow_access(Flow *flow, uint32_t access) {
    const PlanAccess *plan_access = &flow->rewriter->plan->accesses[access];
    const Inst *inst = &flow->rewriter->from->insts[plan_access->inst];
    for (uint32_t o = inst->accumulate ? 0 : inst->ndst; o < inst->ndst + inst->nsrc; o++)
        if (serves_operand(flow->segment, inst, o)) flow_read(flow, inst, &inst->operands[o]);
    for (uint32_t o = 0; o < inst->ndst; o++)
        if (serves_operand(flow->segment, inst, o))
            flow_write(flow, inst, &inst->operands[o], access);
}

/* Of two stores of the same blocks in one segment the later serves for both: nothing reads the home
 * between them. Looks at the next few stores only, so that the cost stays linear. */
static void drop_superseded(Flow *flow) {
    enum { LOOKED_AT = 32 };
    for (size_t i = 0; i < flow->nstores; i++)
        for (size_t j = i + 1; j < flow->nstores && j <= i + LOOKED_AT; j++) {
            const PendingStore *later = &flow->stores[j];
            if (later->exact && later->low <= flow->stores[i].low &&
                later->high >= flow->stores[i].high &&
                (!later->condition || condition_equal(later->condition, flow->stores[i].condition)))
                flow->stores[i].dropped = true;
        }
}

/* ---- reloads ---- */

static Operand copy_operand(Segment *segment, int64_t first, int64_t last, Arena *arena) {
    Affine none = {0};
    return (Operand){.tensor = segment->copy,
                     .blocks = blocks_between(none, first, last, segment->range.count, arena)};
}

/* True if some write runs before the segment's reload: else there is nothing to fetch. */
static bool is_reached(Rewriter *rewriter, const Segment *segment) {
    const Plan *plan = rewriter->plan;
    if (segment->first > plan->first[segment->tensor] &&
        (plan->accesses[segment->first - 1].writes ||
         rewriter->sources->last_write[segment->first - 1] != UINT32_MAX))
        return true;
    for (uint32_t a = segment->first; a < plan->first[segment->tensor + 1]; a++)
        if (plan->accesses[a].writes && segment->level != NO_LOOP &&
            loop_common(rewriter->from, plan->accesses[a].loop, segment->level) != NO_LOOP)
            return true;
    return false;
}

/* Positions [first, last] of the copy, which lie side by side in the original, in its home. */
static Operand home_operand(Flow *flow, int64_t first, int64_t last) {
    Rewriter *rewriter = flow->rewriter;
    Segment *segment = flow->segment;
    const int64_t *offsets = segment->range.offsets;
    const Tensor *original = &rewriter->from->tensors[segment->tensor];
    return (Operand){.tensor = home_of(rewriter, segment),
                     .blocks = blocks_between(segment->range.base, offsets[first], offsets[last],
                                              original->blocks, rewriter->arena)};
}

static Affine plus(Affine affine, int64_t step, Arena *arena) {
    Affine minus = affine_constant(arena, -step);
    return affine_difference(arena, affine, minus);
}

/* The operand of a DMA that loads positions [first, last] again from where they lie in DRAM;
 * `source` is that of the first. */
static Operand source_operand(Flow *flow, int64_t first, int64_t last, const DramSource *source) {
    Rewriter *rewriter = flow->rewriter;
    const Inst *load = &rewriter->from->insts[rewriter->plan->accesses[source->access].inst];
    Operand src = {.tensor = rewriter->new_id[source->tensor]};
    int64_t blocks = rewriter->from->tensors[source->tensor].blocks, start;
    bool all = affine_is_constant(source->index, rewriter->from, &start) && start == 0 &&
               last - first + 1 == blocks;
    if (!source->alike) {
        src.blocks = inst_src(load)->blocks;
        src.region = inst_src(load)->region;
    } else if (!all) {
        Blocks *named = NEW(rewriter->arena, Blocks);
        *named = (Blocks){.kind = first == last ? BLOCKS_ONE : BLOCKS_RANGE, .low = source->index};
        if (first != last) named->high = plus(source->index, last - first + 1, rewriter->arena);
        src.blocks = named;
    }
    return src;
}

/* True if positions [first, last] are just what the source's load wrote. */
static bool is_all_of_load(Flow *flow, const DramSource *source, int64_t first, int64_t last) {
    Rewriter *rewriter = flow->rewriter;
    const BlockRange *range = &flow->segment->range;
    const Inst *load = &rewriter->from->insts[rewriter->plan->accesses[source->access].inst];
    const Operand *one[] = {&load->operands[0]};
    const Inst *inst[] = {load};
    BlockRange own =
        block_range_make(rewriter->from, range->level, one, inst, 1, &rewriter->scratch);
    return !own.loose && affine_equal(own.base, range->base) && own.count == last - first + 1 &&
           own.offsets[0] == range->offsets[first] &&
           own.offsets[own.count - 1] == range->offsets[last];
}

/* The longest run of needed blocks from `first` on that lie side by side in the original and, where
 * `source` tells of the first, in the same dram tensor behind it. Returns its last position. */
static int64_t run_end(Flow *flow, int64_t first, uint32_t point, DramSource *source,
                       bool *has_source) {
    Rewriter *rewriter = flow->rewriter;
    const Segment *segment = flow->segment;
    const BlockRange *range = &segment->range;
    RematQuery query = {.plan = rewriter->plan,
                        .sources = rewriter->sources,
                        .tensor = segment->tensor,
                        .access = segment->first,
                        .range = range,
                        .offset = range->offsets[first],
                        .point = point};
    *has_source =
        rewriter->options.remat && !segment->at_entry && remat(&query, rewriter->arena, source);
    int64_t last = first;
    while (last + 1 < range->count && flow->needs[last + 1] &&
           range->offsets[last + 1] == range->offsets[last] + 1) {
        DramSource next;
        query.offset = range->offsets[last + 1];
        bool found = rewriter->options.remat && remat(&query, rewriter->arena, &next);
        if (found != *has_source) break;
        if (found &&
            (next.tensor != source->tensor || next.alike != source->alike ||
             (!next.alike && next.access != source->access) ||
             !affine_equal(next.index, plus(source->index, last + 1 - first, rewriter->arena))))
            break;
        last++;
    }
    if (*has_source && !source->alike && !is_all_of_load(flow, source, first, last))
        *has_source = false;
    return last;
}

static bool is_fetched(const Rewriter *rewriter, const Segment *segment, const Inst *inst,
                       uint32_t o) {
    bool reads = o >= inst->ndst || inst->accumulate ||
                 !operand_is_whole(rewriter->from, &inst->operands[o]);
    return reads && serves_operand(segment, inst, o);
}

/* A single access whose operands cannot be told apart fetches for each operand what that names, or
 * everything at once where one of them names everything. */
static void reload_operands(Flow *flow, Spot *spot) {
    Rewriter *rewriter = flow->rewriter;
    Segment *segment = flow->segment;
    const Inst *inst = &rewriter->from->insts[rewriter->plan->accesses[segment->first].inst];
    uint32_t count = inst->ndst + inst->nsrc, all = UINT32_MAX;
    for (uint32_t o = 0; o < count; o++)
        if (is_fetched(rewriter, segment, inst, o) &&
            !blocks_in_range(rewriter->from, &segment->range, &inst->operands[o], rewriter->arena))
            all = o;
    for (uint32_t o = 0; o < count; o++) {
        const Operand *operand = &inst->operands[o];
        if (!is_fetched(rewriter, segment, inst, o) || (all != UINT32_MAX && o != all)) continue;
        Operand src = {.tensor = home_of(rewriter, segment), .blocks = operand->blocks};
        Operand dst = {
            .tensor = segment->copy,
            .blocks = blocks_in_range(rewriter->from, &segment->range, operand, rewriter->arena)};
        insert_dma(rewriter, spot, (SpillDma){OP_LOAD, dst, src, inst->condition, inst});
    }
}

static void insert_reloads(Flow *flow) {
    Rewriter *rewriter = flow->rewriter;
    Segment *segment = flow->segment;
    if (!flow->any_need || segment->at_entry) return;
    /* What nothing has written is fetched only where it is read all the same: under a condition or
     * that never holds. */
    if (!is_reached(rewriter, segment) && !rewriter->plan->accesses[segment->first].reads) return;
    uint32_t inst = rewriter->plan->accesses[segment->first].inst;
    Spot *spot = spot_before(rewriter, segment, inst);
    if (segment->range.loose && segment->end == segment->first + 1 &&
        is_direct(flow, &rewriter->from->insts[inst])) {
        reload_operands(flow, spot);
        return;
    }
    uint32_t below = loop_below(rewriter->from, rewriter->from->insts[inst].loop, segment->level);
    uint32_t point = below == NO_LOOP ? inst : rewriter->from->loops[below].first;
    const Condition *condition = flow->unconditional ? NULL : flow->first_needing->condition;
    for (int64_t p = 0; p < segment->range.count; p++) {
        if (!flow->needs[p]) continue;
        DramSource source;
        bool has_source;
        int64_t last = run_end(flow, p, point, &source, &has_source);
        Operand src =
            has_source ? source_operand(flow, p, last, &source) : home_operand(flow, p, last);
        Operand dst = copy_operand(segment, p, last, rewriter->arena);
        insert_dma(rewriter, spot, (SpillDma){OP_LOAD, dst, src, condition, flow->first_needing});
        p = last;
    }
}

static void insert_stores(Flow *flow) {
    Rewriter *rewriter = flow->rewriter;
    Segment *segment = flow->segment;
    for (size_t i = 0; i < flow->nstores; i++) {
        const PendingStore *store = &flow->stores[i];
        if (store->dropped) continue;
        Operand dst = {.tensor = home_of(rewriter, segment)}, src = {.tensor = segment->copy};
        if (store->sunk) {
            int64_t first = block_range_position(&segment->range, store->low);
            int64_t last = first + (store->high - store->low);
            src = copy_operand(segment, first, last, rewriter->arena);
            dst.blocks =
                blocks_between(segment->range.base, store->low, store->high,
                               rewriter->from->tensors[segment->tensor].blocks, rewriter->arena);
        } else {
            src.blocks =
                blocks_in_range(rewriter->from, &segment->range, store->operand, rewriter->arena);
            dst.blocks = store->operand->blocks;
        }
        insert_dma(rewriter, spot_after(rewriter, segment, store->point),
                   (SpillDma){OP_SAVE, dst, src, store->condition, store->inst});
    }
}

/* The value of an `input` goes home at entry, all of it. */
static void insert_entry_store(Rewriter *rewriter, Segment *segment) {
    Operand dst = {.tensor = home_of(rewriter, segment)}, src = {.tensor = segment->copy};
    insert_dma(rewriter, &rewriter->start, (SpillDma){.kind = OP_SAVE, .dst = dst, .src = src});
}

/* ---- segments ---- */

static Operand *own_operands(Rewriter *rewriter, uint32_t inst) {
    const Inst *original = &rewriter->from->insts[inst];
    uint32_t count = original->ndst + original->nsrc;
    if (!rewriter->operands[inst]) {
        rewriter->operands[inst] = RAW_ARRAY(rewriter->arena, Operand, count);
        for (uint32_t o = 0; o < count; o++) {
            rewriter->operands[inst][o] = original->operands[o];
            rewriter->operands[inst][o].tensor = UINT32_MAX; /* not decided yet */
        }
    }
    return rewriter->operands[inst];
}

static void rewrite_operands(Rewriter *rewriter, Segment *segment, uint32_t access) {
    uint32_t point = rewriter->plan->accesses[access].inst;
    const Inst *inst = &rewriter->from->insts[point];
    Operand *operands = own_operands(rewriter, point);
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        if (!serves_operand(segment, inst, o)) continue;
        operands[o].tensor = segment->copy;
        if (!segment->at_entry)
            operands[o].blocks = blocks_in_range(rewriter->from, &segment->range,
                                                 &inst->operands[o], rewriter->arena);
    }
}

static uint32_t segment_level(const Plan *plan, uint32_t tensor, uint32_t first, uint32_t end) {
    uint32_t level = plan->accesses[first].loop;
    for (uint32_t a = first + 1; a < end; a++)
        level = loop_common(plan->func, level, plan->accesses[a].loop);
    while (level != NO_LOOP && !plan_loop(plan, tensor, level)->cut)
        level = plan->func->loops[level].parent;
    return level;
}

static BlockRange segment_range(Rewriter *rewriter, const Segment *segment) {
    const Func *func = rewriter->from;
    const Operand **operands = NULL;
    const Inst **insts = NULL;
    size_t count = 0, capacity = 0, ninsts = 0, inst_capacity = 0;
    if (segment->at_entry) return block_range_whole(func, segment->tensor, rewriter->arena);
    for (uint32_t a = segment->first; a < segment->end; a++) {
        const Inst *inst = &func->insts[rewriter->plan->accesses[a].inst];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            if (!serves_operand(segment, inst, o)) continue;
            PUSH(&rewriter->scratch, operands, count, capacity, &inst->operands[o]);
            PUSH(&rewriter->scratch, insts, ninsts, inst_capacity, inst);
        }
    }
    return block_range_make(func, segment->level, operands, insts, (uint32_t)count,
                            rewriter->arena);
}

/* Groups an access's operands by the blocks that they name; returns how many groups. */
static uint32_t group_operands(Rewriter *rewriter, uint32_t tensor, const Inst *inst,
                               uint32_t *groups) {
    uint32_t count = 0;
    const Operand **firsts =
        RAW_ARRAY(&rewriter->scratch, const Operand *, (size_t)inst->ndst + inst->nsrc);
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        if (inst->operands[o].tensor != tensor) continue;
        uint32_t group = 0;
        while (group < count && !blocks_equal(firsts[group]->blocks, inst->operands[o].blocks))
            group++;
        if (group == count) firsts[count++] = &inst->operands[o];
        groups[o] = group;
    }
    return count;
}

/* Copies of their own would lose something where two groups are written, maybe the same block, and
 * one of them in part. */
static bool can_part(const Rewriter *rewriter, uint32_t tensor, const Inst *inst) {
    uint32_t written = 0;
    bool in_part = false;
    for (uint32_t o = 0; o < inst->ndst; o++) {
        if (inst->operands[o].tensor != tensor) continue;
        written++;
        in_part |= !operand_is_whole(rewriter->from, &inst->operands[o]);
    }
    return written <= 1 || !in_part;
}

static BlockRange segment_range(Rewriter *rewriter, const Segment *segment);
static void rewrite_segment(Rewriter *rewriter, Segment *segment);

/* Blocks that copies for each group would hold together. */
static int64_t blocks_of_parts(Rewriter *rewriter, const Segment *segment, const uint32_t *groups,
                               uint32_t count) {
    int64_t sum = 0;
    for (uint32_t group = 0; group < count; group++) {
        Segment part = *segment;
        part.groups = groups;
        part.group = group;
        sum += segment_range(rewriter, &part).count;
    }
    return sum;
}

/* A single access that names blocks which cannot be told apart gets a copy for each set of blocks,
 * so that each holds only what is named. False where it has to stay one. */
static bool part_access(Rewriter *rewriter, const Segment *segment) {
    const Inst *inst = &rewriter->from->insts[rewriter->plan->accesses[segment->first].inst];
    if (segment->end != segment->first + 1 || segment->level != inst->loop || segment->groups ||
        !can_part(rewriter, segment->tensor, inst))
        return false;
    uint32_t *groups = RAW_ARRAY(&rewriter->scratch, uint32_t, (size_t)inst->ndst + inst->nsrc);
    uint32_t count = group_operands(rewriter, segment->tensor, inst, groups);
    if (count < 2 || blocks_of_parts(rewriter, segment, groups, count) > segment->range.count)
        return false;
    for (uint32_t group = 0; group < count; group++) {
        Segment part = *segment;
        part.groups = groups;
        part.group = group;
        rewrite_segment(rewriter, &part);
    }
    return true;
}

static void rewrite_segment(Rewriter *rewriter, Segment *segment) {
    const Tensor *original = &rewriter->from->tensors[segment->tensor];
    segment->range = segment_range(rewriter, segment);
    if (segment->range.loose && part_access(rewriter, segment)) return;
    if (segment->at_entry) {
        segment->copy = rewriter->new_id[segment->tensor];
    } else {
        segment->copy = add_tensor(rewriter, added_tensor(original, SPACE_SB, segment->range.count),
                                   segment->tensor, ROLE_COPY);
        rewriter->out->first_access[segment->copy] = segment->first;
        rewriter->out->end_access[segment->copy] = segment->end;
        BlockRange *range = NEW(rewriter->arena, BlockRange);
        *range = segment->range;
        rewriter->out->block_range[segment->copy] = range;
    }
    size_t count = (size_t)segment->range.count;
    Flow flow = {.rewriter = rewriter,
                 .segment = segment,
                 .states = NEW_ARRAY(&rewriter->scratch, BlockState, count),
                 .needs = NEW_ARRAY(&rewriter->scratch, bool, count)};
    for (size_t p = 0; segment->at_entry && p < count; p++)
        flow.states[p].full = true;
    if (segment->at_entry) insert_entry_store(rewriter, segment);
    for (uint32_t a = segment->first + segment->at_entry; a < segment->end; a++) {
        rewrite_operands(rewriter, segment, a);
        flow_access(&flow, a);
    }
    drop_superseded(&flow);
    insert_reloads(&flow);
    insert_stores(&flow);
}

static void rewrite_tensor(Rewriter *rewriter, uint32_t tensor) {
    const Plan *plan = rewriter->plan;
    uint32_t end = plan->first[tensor + 1];
    for (uint32_t a = plan->first[tensor]; a < end;) {
        Segment segment = {.tensor = tensor, .first = a, .end = a + 1};
        while (segment.end < end && !plan->accesses[segment.end].cut)
            segment.end++;
        segment.at_entry = plan->accesses[a].inst == ENTRY;
        segment.level = segment_level(plan, tensor, segment.first, segment.end);
        rewrite_segment(rewriter, &segment);
        a = segment.end;
    }
}

/* ---- the new function ---- */

static void emit_inst(Rewriter *rewriter, Inst inst, uint32_t origin) {
    uint32_t id = build_inst(&rewriter->build, inst);
    size_t count = id;
    PUSH(&rewriter->scratch, rewriter->out->origin_inst, count, rewriter->inst_capacity, origin);
}

static void emit_spot(Rewriter *rewriter, const Spot *spot) {
    for (uint32_t i = spot->head; i != UINT32_MAX; i = rewriter->insertions[i].next)
        emit_inst(rewriter, rewriter->insertions[i].inst, INSERTED);
}

/* True if a load is dropped. What it brings into the copy of a spilled tensor is seen later. */
static bool is_dropped(const Rewriter *rewriter, uint32_t point) {
    const Inst *inst = &rewriter->from->insts[point];
    return rewriter->options.dead && rewriter->options.dead[point] &&
           !rewriter->plan->spilled[inst_dst(inst)->tensor];
}

/* Operands that no spilled tensor owns get their new ids. */
static void emit_original(Rewriter *rewriter, uint32_t point) {
    Inst inst = rewriter->from->insts[point];
    if (is_dropped(rewriter, point)) {
        rewriter->out->removed++;
        return;
    }
    uint32_t count = inst.ndst + inst.nsrc;
    Operand *operands = own_operands(rewriter, point);
    for (uint32_t o = 0; o < count; o++)
        if (operands[o].tensor == UINT32_MAX)
            operands[o].tensor = rewriter->new_id[inst.operands[o].tensor];
    inst.operands = operands;
    emit_inst(rewriter, inst, point);
}

static void emit_all(Rewriter *rewriter) {
    emit_spot(rewriter, &rewriter->start);
    for (Walk walk = walk_begin(rewriter->from); walk_next(&walk);) {
        const Loop *loop = walk.event == WALK_INST ? NULL : &rewriter->from->loops[walk.loop];
        switch (walk.event) {
        case WALK_INST:
            emit_spot(rewriter, &rewriter->before_inst[walk.inst]);
            emit_original(rewriter, walk.inst);
            emit_spot(rewriter, &rewriter->after_inst[walk.inst]);
            break;
        case WALK_OPEN:
            emit_spot(rewriter, &rewriter->before_loop[walk.loop]);
            build_loop(&rewriter->build, loop->name, loop->low, loop->high, loop->span);
            break;
        case WALK_CLOSE:
            build_end_loop(&rewriter->build);
            emit_spot(rewriter, &rewriter->after_loop[walk.loop]);
            break;
        }
    }
}

static Spot *empty_spots(Arena *arena, uint32_t count) {
    Spot *spots = RAW_ARRAY(arena, Spot, count);
    for (uint32_t i = 0; i < count; i++)
        spots[i] = (Spot){UINT32_MAX, UINT32_MAX};
    return spots;
}

/* True if loads that are dropped are all that names the tensor. */
static bool is_forgotten(const Rewriter *rewriter, uint32_t tensor) {
    const Plan *plan = rewriter->plan;
    uint32_t first = plan->first[tensor], end = plan->first[tensor + 1];
    bool dead = rewriter->options.dead && first < end;
    for (uint32_t a = first; a < end && dead; a++)
        dead = plan->accesses[a].inst != ENTRY && rewriter->options.dead[plan->accesses[a].inst];
    return dead;
}

/* Declares what is not spilled, and spilled inputs, whose value comes in where they stand. */
static void keep_tensors(Rewriter *rewriter) {
    const Func *from = rewriter->from;
    rewriter->new_id = RAW_ARRAY(&rewriter->scratch, uint32_t, from->ntensors);
    for (uint32_t t = 0; t < from->ntensors; t++) {
        bool spilled = rewriter->plan->spilled[t];
        bool kept = (!spilled && !is_forgotten(rewriter, t)) || from->tensors[t].input;
        rewriter->new_id[t] =
            kept ? add_tensor(rewriter, from->tensors[t], t, ROLE_KEPT) : UINT32_MAX;
    }
}

/* ---- removing what is not needed ---- */

void drop_insts(Rewritten *out, const bool *dead, Arena *arena) {
    const Func *from = out->func;
    Builder build;
    build_begin(&build, arena, from->name, from->meta, from->span);
    for (uint32_t t = 0; t < from->ntensors; t++)
        build_tensor(&build, from->tensors[t]);
    for (Walk walk = walk_begin(from); walk_next(&walk);) {
        build_walked(&build, from, &walk);
        if (walk.event != WALK_INST || dead[walk.inst]) continue;
        uint32_t to = build_inst(&build, from->insts[walk.inst]);
        out->origin_inst[to] = out->origin_inst[walk.inst];
    }
    out->func = build_finish(&build);
    out->live = NULL;
}

/* Operands of a rewrite were made by it and belong to it. */
static void renumber_operands(const Inst *inst, const uint32_t *new_id) {
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        Operand *operand = (Operand *)(uintptr_t)&inst->operands[o];
        operand->tensor = new_id[operand->tensor];
    }
}

const uint32_t *keep_named(Rewritten *out, Arena *arena) {
    Func *func = out->func;
    uint32_t *new_id = RAW_ARRAY(arena, uint32_t, func->ntensors), count = 0;
    memset(new_id, 0xFF, func->ntensors * sizeof *new_id);
    const bool *named = find_named(func, arena);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (out->role[t] != ROLE_KEPT && !named[t]) continue;
        func->tensors[count] = func->tensors[t];
        out->origin[count] = out->origin[t];
        out->role[count] = out->role[t];
        out->first_access[count] = out->first_access[t];
        out->end_access[count] = out->end_access[t];
        if (out->block_range) out->block_range[count] = out->block_range[t];
        new_id[t] = count++;
    }
    func->ntensors = count;
    for (uint32_t i = 0; i < func->ninsts; i++)
        renumber_operands(&func->insts[i], new_id);
    out->live = NULL;
    return new_id;
}

/* Where the outermost loop around an instruction ends; after it where there is none. */
static uint32_t end_of_loops(const Func *func, uint32_t inst) {
    uint32_t loop = loop_outermost(func, func->insts[inst].loop);
    return loop == NO_LOOP ? inst + 1 : func->loops[loop].end;
}

void keep_later_writes(const Func *func, const uint32_t *early, bool *dead, Arena *arena) {
    bool *written = NEW_ARRAY(arena, bool, func->ntensors);
    uint32_t *load = NEW_ARRAY(arena, uint32_t, func->ntensors); /* 1 + the first that is dead */
    for (uint32_t i = 0; i < func->ninsts; i++)
        for (uint32_t o = 0; o < func->insts[i].ndst; o++) {
            uint32_t t = func->insts[i].operands[o].tensor;
            if (!early[t] || i == early[t] - 1 || i >= end_of_loops(func, early[t] - 1)) continue;
            written[t] |= !dead[i];
            if (dead[i] && !load[t]) load[t] = i + 1;
        }
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (load[t] && !written[t]) dead[load[t] - 1] = false;
}

void keep_first_writes(const Func *func, bool *dead, Arena *arena) {
    bool *written = NEW_ARRAY(arena, bool, func->ntensors);
    uint32_t *load = NEW_ARRAY(arena, uint32_t, func->ntensors);  /* 1 + the first that is dead */
    uint32_t *early = NEW_ARRAY(arena, uint32_t, func->ntensors); /* 1 + the read before it */
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = inst->accumulate ? 0 : inst->ndst; o < inst->ndst + inst->nsrc; o++) {
            uint32_t t = inst->operands[o].tensor;
            if (written[t]) continue;
            if (!load[t] && !early[t] && !func->tensors[t].input) early[t] = i + 1;
            if (!load[t]) continue;
            dead[load[t] - 1] = false;
            written[t] = true;
        }
        for (uint32_t o = 0; o < inst->ndst; o++) {
            uint32_t t = inst->operands[o].tensor;
            written[t] |= !dead[i];
            if (dead[i] && !load[t]) load[t] = i + 1;
        }
    }
    keep_later_writes(func, early, dead, arena);
}

/* Which instructions go where writes to tensors of `role` must be needed: stores into homes, or
 * loads into copies. Returns how many. */
static uint32_t find_needless(Rewriter *rewriter, Role role, OpKind kind, bool *dead) {
    const Rewritten *out = rewriter->out;
    const Func *func = out->func;
    Arena *scratch = &rewriter->scratch;
    bool *wanted = NEW_ARRAY(scratch, bool, func->ntensors);
    bool *needed = NEW_ARRAY(scratch, bool, func->ninsts);
    for (uint32_t t = 0; t < func->ntensors; t++)
        wanted[t] = out->role[t] == role;
    live_range_of(func, scratch, wanted, needed);
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        bool judged = inst->kind == kind && !inst->accumulate && wanted[inst->operands[0].tensor];
        bool of_input = kind == OP_SAVE && judged && rewriter->options.store_inputs &&
                        out->role[inst_src(inst)->tensor] == ROLE_KEPT;
        dead[i] = judged && !needed[i] && !of_input;
    }
    if (kind == OP_LOAD) keep_first_writes(func, dead, scratch);
    uint32_t gone = 0;
    for (uint32_t i = 0; i < func->ninsts; i++)
        gone += dead[i];
    return gone;
}

/* True if some were. */
static bool remove_needless(Rewriter *rewriter, Role role, OpKind kind) {
    Rewritten *out = rewriter->out;
    bool *dead = NEW_ARRAY(&rewriter->scratch, bool, out->func->ninsts);
    uint32_t gone = find_needless(rewriter, role, kind, dead);
    if (gone == 0) return false;
    out->removed += gone;
    drop_insts(out, dead, &rewriter->scratch);
    keep_named(out, &rewriter->scratch);
    return true;
}

static void *moved(const void *items, size_t count, size_t size, Arena *arena) {
    void *copy = arena_raw(arena, count, size);
    if (count) memcpy(copy, items, count * size);
    return copy;
}

/* What was made in scratch, where arrays grow and are made anew, goes into the result's arena. */
static void move_result(Rewritten *out, Arena *arena) {
    Func *func = moved(out->func, 1, sizeof *func, arena);
    func->tensors = moved(func->tensors, func->ntensors, sizeof *func->tensors, arena);
    func->insts = moved(func->insts, func->ninsts, sizeof *func->insts, arena);
    func->loops = moved(func->loops, func->nloops, sizeof *func->loops, arena);
    out->func = func;
    out->origin = moved(out->origin, func->ntensors, sizeof *out->origin, arena);
    out->role = moved(out->role, func->ntensors, sizeof *out->role, arena);
    out->first_access = moved(out->first_access, func->ntensors, sizeof *out->first_access, arena);
    out->end_access = moved(out->end_access, func->ntensors, sizeof *out->end_access, arena);
    out->block_range = moved(out->block_range, func->ntensors, sizeof *out->block_range, arena);
    out->origin_inst = moved(out->origin_inst, func->ninsts, sizeof *out->origin_inst, arena);
}

Rewritten rewrite(const Plan *plan, const Sources *sources, RewriteOptions options, Arena *arena) {
    assert(plan_is_closed(plan));
    const Func *from = plan->func;
    Rewritten out = {0};
    Rewriter rewriter = {.plan = plan,
                         .sources = sources,
                         .from = from,
                         .options = options,
                         .arena = arena,
                         .start = {UINT32_MAX, UINT32_MAX},
                         .out = &out};
    arena_init(&rewriter.scratch);
    build_begin(&rewriter.build, &rewriter.scratch, from->name, from->meta, from->span);
    keep_tensors(&rewriter);
    rewriter.operands = NEW_ARRAY(&rewriter.scratch, Operand *, from->ninsts);
    rewriter.before_inst = empty_spots(&rewriter.scratch, from->ninsts);
    rewriter.after_inst = empty_spots(&rewriter.scratch, from->ninsts);
    rewriter.before_loop = empty_spots(&rewriter.scratch, from->nloops);
    rewriter.after_loop = empty_spots(&rewriter.scratch, from->nloops);
    rewriter.homes = RAW_ARRAY(&rewriter.scratch, uint32_t, from->ntensors);
    memset(rewriter.homes, 0xFF, from->ntensors * sizeof *rewriter.homes);
    for (uint32_t t = 0; t < from->ntensors; t++)
        if (plan->spilled[t]) rewrite_tensor(&rewriter, t);
    emit_all(&rewriter);
    out.func = build_finish(&rewriter.build);
    remove_needless(&rewriter, ROLE_HOME, OP_SAVE);
    if (remove_needless(&rewriter, ROLE_COPY, OP_LOAD))
        remove_needless(&rewriter, ROLE_HOME, OP_SAVE);
    shrink_parts(&out, from, arena);
    move_result(&out, arena);
    arena_free(&rewriter.scratch);
    return out;
}

Rewritten rewrite_nothing(const Func *func, const Live *live, Arena *arena) {
    Rewritten same = {.func = NEW(arena, Func),
                      .origin = RAW_ARRAY(arena, uint32_t, func->ntensors),
                      .role = NEW_ARRAY(arena, uint8_t, func->ntensors),
                      .first_access = NEW_ARRAY(arena, uint32_t, func->ntensors),
                      .end_access = NEW_ARRAY(arena, uint32_t, func->ntensors),
                      .origin_inst = RAW_ARRAY(arena, uint32_t, func->ninsts),
                      .live = live};
    *same.func = *func;
    same.func->tensors = moved(func->tensors, func->ntensors, sizeof(Tensor), arena);
    for (uint32_t t = 0; t < func->ntensors; t++)
        same.origin[t] = t;
    for (uint32_t i = 0; i < func->ninsts; i++)
        same.origin_inst[i] = i;
    return same;
}

bool added_any(const Rewritten *rewritten) {
    for (uint32_t t = 0; t < rewritten->func->ntensors; t++)
        if (rewritten->role[t] != ROLE_KEPT) return true;
    return false;
}

bool is_as_declared(const Rewritten *rewritten, const Func *from, const Str *names) {
    if (rewritten->func->ntensors != from->ntensors || added_any(rewritten)) return false;
    for (uint32_t t = 0; t < from->ntensors; t++)
        if (!str_equal(from->tensors[t].name, names[t])) return false;
    return true;
}
