#include "spill/remat.h"

#include <assert.h>

#include "support/checked.h"
#include "support/search.h"

enum { MOST_SCANNED = 256 };

static void fill_dram_writes(Sources *sources, const Func *func, Arena *arena) {
    sources->first = NEW_ARRAY(arena, uint32_t, (size_t)func->ntensors + 2);
    uint32_t *next = sources->first + 1;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < func->ninsts; i++)
            for (uint32_t o = 0; o < func->insts[i].ndst; o++) {
                uint32_t t = func->insts[i].operands[o].tensor;
                if (func->tensors[t].space != SPACE_DRAM) continue;
                if (fill)
                    sources->writes[next[t]++] = i;
                else
                    next[t + 1]++;
            }
        if (fill) return;
        for (uint32_t t = 0; t < func->ntensors; t++)
            next[t + 1] += next[t];
        sources->writes = RAW_ARRAY(arena, uint32_t, next[func->ntensors]);
    }
}

Sources sources_make(const Plan *plan, Arena *arena) {
    const Func *func = plan->func;
    uint32_t count = plan->first[func->ntensors];
    Sources sources = {.func = func,
                       .last_write = RAW_ARRAY(arena, uint32_t, count),
                       .next_write = RAW_ARRAY(arena, uint32_t, count)};
    fill_dram_writes(&sources, func, arena);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        uint32_t write = UINT32_MAX;
        for (uint32_t a = plan->first[t]; a < plan->first[t + 1]; a++) {
            sources.last_write[a] = write;
            if (plan->accesses[a].writes) write = a;
        }
        write = UINT32_MAX;
        for (uint32_t a = plan->first[t + 1]; a-- > plan->first[t];) {
            sources.next_write[a] = write;
            if (plan->accesses[a].writes) write = a;
        }
    }
    return sources;
}

/* True if an instruction in [from, end) writes the tensor. O(log writes). */
static bool written_between(const Sources *sources, uint32_t tensor, uint32_t from, uint32_t end) {
    uint32_t at, behind = sources->first[tensor + 1];
    FIND_FIRST(at, sources->first[tensor], behind, sources->writes[at] >= from);
    return at < behind && sources->writes[at] < end;
}

static int64_t dram_end(const Tensor *tensor) {
    int64_t bytes =
        saturating_mul(tensor->blocks, saturating_mul(tensor->partitions, tensor->bytes));
    return saturating_add(tensor->offset, bytes);
}

/* The same for the tensor and all whose place in DRAM overlaps its own. */
static bool source_changes(const Sources *sources, uint32_t tensor, uint32_t from, uint32_t end) {
    const Func *func = sources->func;
    if (written_between(sources, tensor, from, end)) return true;
    const Tensor *own = &func->tensors[tensor];
    if (own->offset < 0) return false;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *other = &func->tensors[t];
        if (t == tensor || other->space != SPACE_DRAM || other->offset < 0) continue;
        if (other->offset < dram_end(own) && own->offset < dram_end(other) &&
            written_between(sources, t, from, end))
            return true;
    }
    return false;
}

typedef enum { APART, COVERS, MAY_TOUCH } Hit;

/* How a write's destination meets the block at `offset` of the block range. */
static Hit hit_of(const Func *func, const BlockRange *range, const Operand *operand, int64_t offset,
                  Arena *arena) {
    if (!operand->blocks || operand->blocks->kind == BLOCKS_ALL) return COVERS;
    const Operand *one[] = {operand};
    Inst anywhere = {.loop = range->level}; /* what guards the write is no matter here */
    const Inst *inst[] = {&anywhere};
    BlockRange own = block_range_make(func, range->level, one, inst, 1, arena);
    if (own.loose || !affine_equal(own.base, range->base)) {
        BlockSpan span = operand_blocks(func, operand);
        bool constant = range->base.count == 0 && range->level == NO_LOOP;
        return constant && (offset < span.first || offset > span.last) ? APART : MAY_TOUCH;
    }
    if (offset < own.offsets[0] || offset > own.offsets[own.count - 1]) return APART;
    return block_range_extent(func, &own, operand).exact ? COVERS : MAY_TOUCH;
}

static Hit access_hit(const RematQuery *query, uint32_t access, Arena *arena,
                      const Operand **found) {
    const Plan *plan = query->plan;
    if (plan->accesses[access].inst == ENTRY) return COVERS;
    const Inst *inst = &plan->func->insts[plan->accesses[access].inst];
    Hit worst = APART;
    for (uint32_t o = 0; o < inst->ndst; o++) {
        if (inst->operands[o].tensor != query->tensor) continue;
        Hit hit = hit_of(plan->func, query->range, &inst->operands[o], query->offset, arena);
        if (hit == APART) continue;
        worst = worst == APART ? hit : MAY_TOUCH;
        *found = &inst->operands[o];
    }
    return worst;
}

/* True if every iteration of the loops that the index runs over writes a block of its own, these
 * being all blocks from the least to the largest, and nothing else of the tensor in them is
 * written. */
static bool fills_in_loop(const Plan *plan, uint32_t tensor, uint32_t access, uint32_t outermost,
                          Affine index) {
    const Func *func = plan->func;
    const Loop *loop = &func->loops[outermost];
    int64_t step = affine_coefficient(index, outermost);
    if (index.modulus) return false;
    if ((step != 1 && step != -1) || plan->accesses[access].loop != outermost) return false;
    for (uint32_t a = plan->first[tensor]; a < plan->first[tensor + 1]; a++) {
        const PlanAccess *other = &plan->accesses[a];
        if (a != access && other->writes && other->inst != ENTRY && other->inst >= loop->first &&
            other->inst < loop->end)
            return false;
    }
    return true;
}

/* The outermost loop around `loop` that does not lie around `level`, or NO_LOOP. */
static uint32_t outermost_apart(const Func *func, uint32_t loop, uint32_t level) {
    uint32_t common = loop_common(func, loop, level), apart = NO_LOOP;
    for (; loop != common; loop = func->loops[loop].parent)
        apart = loop;
    return apart;
}

/* The write that reaches the reload linearly, and how it meets the block. */
typedef struct {
    uint32_t access; /* of the plan, UINT32_MAX if none was found */
    const Operand *dst;
    Hit hit;
} Reaching;

static Reaching reaching_write(const RematQuery *query, Arena *arena) {
    const uint32_t *last_write = query->sources->last_write;
    Reaching write = {.access = last_write[query->access]};
    for (int scanned = 0; write.access != UINT32_MAX && scanned < MOST_SCANNED; scanned++) {
        write.hit = access_hit(query, write.access, arena, &write.dst);
        if (write.hit != APART) return write;
        write.access = last_write[write.access];
    }
    return (Reaching){.access = UINT32_MAX};
}

/* True if a write after the reload, before instruction `end`, may touch the block. */
static bool written_after(const RematQuery *query, uint32_t end, Arena *arena) {
    const PlanAccess *accesses = query->plan->accesses;
    const uint32_t *next_write = query->sources->next_write;
    uint32_t write = accesses[query->access].writes ? query->access : next_write[query->access];
    for (int scanned = 0; write != UINT32_MAX && accesses[write].inst < end; scanned++) {
        const Operand *dst;
        if (scanned == MOST_SCANNED || access_hit(query, write, arena, &dst) != APART) return true;
        write = next_write[write];
    }
    return false;
}

/* True if the block range moves on in each iteration of the loop, in which the tensor is written:
 * what is written beside it now may be in it later. */
static bool moves_to_written(const Plan *plan, uint32_t tensor, const BlockRange *range,
                             uint32_t loop) {
    const Loop *around = &plan->func->loops[loop];
    bool moves = false, written = false;
    for (uint32_t i = 0; i < range->base.count; i++)
        moves |= range->base.terms[i].loop != NO_LOOP &&
                 loop_encloses(plan->func, loop, range->base.terms[i].loop);
    for (uint32_t a = plan->first[tensor]; moves && a < plan->first[tensor + 1]; a++) {
        const PlanAccess *access = &plan->accesses[a];
        written |= access->writes && access->inst >= around->first && access->inst < around->end;
    }
    return written;
}

static bool same_shape(const Tensor *a, const Tensor *b) {
    return a->partitions == b->partitions && a->bytes == b->bytes && a->dtype == b->dtype;
}

/* True if both operands name the same number of blocks, known to be so. */
static bool names_as_many(const Func *func, const Operand *a, const Operand *b, Arena *arena) {
    const Operand *both[] = {a, b};
    int64_t count[2] = {1, 1};
    for (int i = 0; i < 2; i++) {
        const Blocks *blocks = both[i]->blocks;
        if (!blocks || blocks->kind == BLOCKS_ALL)
            count[i] = func->tensors[both[i]->tensor].blocks;
        else if (blocks->kind == BLOCKS_RANGE &&
                 !affine_is_constant(affine_difference(arena, blocks->high, blocks->low), func,
                                     &count[i]))
            return false;
    }
    return count[0] == count[1];
}

static Affine low_index(const Operand *operand, Arena *arena) {
    if (operand->blocks && operand->blocks->kind != BLOCKS_ALL) return operand->blocks->low;
    return affine_constant(arena, 0);
}

/* base + offset */
static Affine wanted_block(const BlockRange *range, int64_t offset, Arena *arena) {
    if (range->base.modulus) return range->base;
    Term *terms = NEW_ARRAY(arena, Term, (size_t)range->base.count + 1);
    for (uint32_t i = 0; i < range->base.count; i++)
        terms[i] = range->base.terms[i];
    terms[range->base.count] = (Term){offset, NO_LOOP};
    return (Affine){terms, range->base.count + 1, 0};
}

/* source block = source index - destination index + wanted block. A remainder on either side tells
 * only where the wanted block is the destination's in the same iteration. */
static bool source_block(Affine from, Affine to, Affine wanted, Arena *arena, Affine *index) {
    *index = from;
    if (affine_equal(to, wanted)) return true;
    if (from.modulus || to.modulus || wanted.modulus) return false;
    Affine shift = affine_difference(arena, to, wanted);
    *index = affine_difference(arena, from, shift);
    return true;
}

/* True if an index names loops around the reload only, and blocks that the source has. */
static bool is_known_at_reload(const RematQuery *query, Affine index, const Operand *src) {
    const Func *func = query->plan->func;
    uint32_t level = query->range->level;
    for (uint32_t i = 0; i < index.count; i++) {
        uint32_t loop = index.terms[i].loop;
        if (loop != NO_LOOP && (level == NO_LOOP || !loop_encloses(func, loop, level)))
            return false;
    }
    Range range = affine_range(index, func, NULL);
    return range.low >= 0 && range.high < func->tensors[src->tensor].blocks;
}

/* The block of the source that the wanted one came from, if its index is known at the reload. */
static bool map_block(const RematQuery *query, const Operand *dst, const Operand *src, Arena *arena,
                      Affine *index) {
    Affine wanted = wanted_block(query->range, query->offset, arena);
    if (!source_block(low_index(src, arena), low_index(dst, arena), wanted, arena, index))
        return false;
    const Affine zero = {0};
    if (!index->modulus) *index = affine_difference(arena, *index, zero);
    return is_known_at_reload(query, *index, src);
}

/* A plain load: one that writes what it reads, always. */
static bool is_plain_load(const Inst *inst, const Operand *dst) {
    return inst->kind == OP_LOAD && !inst->accumulate && !inst->condition &&
           !inst_src(inst)->region && !dst->region;
}

/* True if the wanted block is one of those that the loop's iterations write: its index, less what
 * the write's has beside the loop's own index, stays between the first one's and the last one's. */
static bool is_filled(const Func *func, Affine wanted, Affine index, uint32_t outermost,
                      Arena *arena) {
    const Loop *loop = &func->loops[outermost];
    int64_t step = affine_coefficient(index, outermost), other;
    Term own = {step, outermost};
    Affine rest = affine_difference(arena, index, (Affine){&own, 1, 0});
    int64_t low = step > 0 ? loop->low : -(loop->high - 1);
    int64_t high = step > 0 ? loop->high - 1 : -loop->low;
    Range range;
    if (!wanted.modulus) {
        range = affine_range(affine_difference(arena, wanted, rest), func, NULL);
    } else {
        if (!affine_is_constant(rest, func, &other)) return false;
        range = affine_range(wanted, func, NULL);
        low = saturating_add(low, other);
        high = saturating_add(high, other);
    }
    return low <= range.low && range.high <= high;
}

/* True if the load brings the whole block before the reload: by itself, or in all iterations of
 * loop `apart`. */
static bool brings_block(const RematQuery *query, const Reaching *write, uint32_t apart,
                         Arena *arena) {
    const Blocks *blocks = write->dst->blocks;
    if (write->hit != MAY_TOUCH) return true;
    return apart != NO_LOOP && blocks && blocks->kind == BLOCKS_ONE &&
           fills_in_loop(query->plan, query->tensor, write->access, apart, blocks->low) &&
           is_filled(query->plan->func, wanted_block(query->range, query->offset, arena),
                     blocks->low, apart, arena);
}

/* True if neither place changes between load and reload, on any path. */
static bool stays_unchanged(const RematQuery *query, uint32_t load, uint32_t apart, Arena *arena) {
    const Func *func = query->plan->func;
    const Inst *inst = &func->insts[load];
    uint32_t around = outermost_apart(func, query->range->level, inst->loop);
    uint32_t end = around == NO_LOOP ? query->point : func->loops[around].end;
    uint32_t begin = apart == NO_LOOP ? load + 1 : func->loops[apart].first;
    if (source_changes(query->sources, inst_src(inst)->tensor, begin, end)) return false;
    return around == NO_LOOP ||
           (!moves_to_written(query->plan, query->tensor, query->range, around) &&
            !written_after(query, end, arena));
}

bool remat(const RematQuery *query, Arena *arena, DramSource *source) {
    const Plan *plan = query->plan;
    const Func *func = plan->func;
    assert(query->access >= plan->first[query->tensor] &&
           query->access < plan->first[query->tensor + 1]);
    if (query->range->loose) return false;
    Reaching write = reaching_write(query, arena);
    if (write.access == UINT32_MAX || plan->accesses[write.access].inst == ENTRY) return false;
    uint32_t load = plan->accesses[write.access].inst;
    const Inst *inst = &func->insts[load];
    if (!is_plain_load(inst, write.dst)) return false;
    const Operand *src = inst_src(inst);
    uint32_t apart = outermost_apart(func, inst->loop, query->range->level);
    if (!brings_block(query, &write, apart, arena) || !stays_unchanged(query, load, apart, arena))
        return false;
    *source =
        (DramSource){.access = write.access, .tensor = src->tensor, .same_form = apart == NO_LOOP};
    if (!map_block(query, write.dst, src, arena, &source->index)) return false;
    source->alike = same_shape(&func->tensors[query->tensor], &func->tensors[src->tensor]) &&
                    names_as_many(func, write.dst, src, arena);
    return source->alike || source->same_form;
}
