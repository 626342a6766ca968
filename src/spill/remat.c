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

/* ---- writes of blocks ---- */

/* A key for each block that a write names, where those are few; the key of ALL_BLOCKS where they
 * are many. Blocks of one number modulo ALL_BLOCKS count as one. */
enum { FEW_BLOCKS = 16, BLOCK_BITS = 40 };
#define ALL_BLOCKS ((INT64_C(1) << BLOCK_BITS) - 1)

static uint64_t block_key(uint32_t tensor, int64_t block) {
    return (uint64_t)tensor << BLOCK_BITS |
           (uint64_t)(block == ALL_BLOCKS ? ALL_BLOCKS : block % ALL_BLOCKS);
}

static bool are_few(int64_t low, int64_t high) {
    return high - low < FEW_BLOCKS;
}

static void add_block_writes(Sources *sources, uint32_t inst, const Operand *operand,
                             size_t *capacity, Arena *arena) {
    BlockSpan span = operand_blocks(sources->func, operand);
    bool few = are_few(span.first, span.last);
    int64_t low = few ? span.first : ALL_BLOCKS, high = few ? span.last : ALL_BLOCKS;
    for (int64_t b = low; b <= high; b++) {
        SortKey write = {block_key(operand->tensor, b), inst};
        PUSH(arena, sources->block_writes, sources->nblock_writes, *capacity, write);
    }
}

static void fill_block_writes(Sources *sources, Arena *arena) {
    const Func *func = sources->func;
    size_t capacity = 0;
    for (uint32_t i = 0; i < func->ninsts; i++)
        for (uint32_t o = 0; o < func->insts[i].ndst; o++)
            if (func->tensors[func->insts[i].operands[o].tensor].space == SPACE_DRAM)
                add_block_writes(sources, i, &func->insts[i].operands[o], &capacity, arena);
    sort_keys(sources->block_writes, sources->nblock_writes, arena);
}

static void find_placed(Sources *sources, Arena *arena) {
    const Func *func = sources->func;
    sources->placed = RAW_ARRAY(arena, uint32_t, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (func->tensors[t].space == SPACE_DRAM && func->tensors[t].offset >= 0)
            sources->placed[sources->nplaced++] = t;
}

/* True if an instruction in [from, end) writes the block, or is filed under that key. */
static bool block_written(const Sources *sources, uint64_t key, uint32_t from, uint32_t end) {
    const SortKey *items = sources->block_writes;
    size_t at;
    FIND_FIRST(at, (size_t)0, sources->nblock_writes,
               items[at].key > key || (items[at].key == key && items[at].id >= from));
    return at < sources->nblock_writes && items[at].key == key && items[at].id < end;
}

/* True if an instruction in [from, end) writes the tensor. O(log writes). */
static bool written_between(const Sources *sources, uint32_t tensor, uint32_t from, uint32_t end) {
    uint32_t at, behind = sources->first[tensor + 1];
    FIND_FIRST(at, sources->first[tensor], behind, sources->writes[at] >= from);
    return at < behind && sources->writes[at] < end;
}

/* True if it may write any of the blocks. */
static bool blocks_written(const Sources *sources, uint32_t tensor, Range blocks, uint32_t from,
                           uint32_t end) {
    if (!written_between(sources, tensor, from, end)) return false;
    if (!are_few(blocks.low, blocks.high) ||
        block_written(sources, block_key(tensor, ALL_BLOCKS), from, end))
        return true;
    for (int64_t b = blocks.low; b <= blocks.high; b++)
        if (block_written(sources, block_key(tensor, b), from, end)) return true;
    return false;
}

static int64_t dram_end(const Tensor *tensor) {
    int64_t bytes =
        saturating_mul(tensor->blocks, saturating_mul(tensor->partitions, tensor->bytes));
    return saturating_add(tensor->offset, bytes);
}

/* The same, for writes of tensors whose place in DRAM overlaps its own too. */
static bool source_changes(const Sources *sources, uint32_t tensor, Range blocks, uint32_t from,
                           uint32_t end) {
    const Func *func = sources->func;
    if (blocks_written(sources, tensor, blocks, from, end)) return true;
    const Tensor *own = &func->tensors[tensor];
    if (own->offset < 0) return false;
    for (uint32_t i = 0; i < sources->nplaced; i++) {
        uint32_t t = sources->placed[i];
        const Tensor *other = &func->tensors[t];
        if (t != tensor && other->offset < dram_end(own) && own->offset < dram_end(other) &&
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

/* A plain load or save: whole blocks on chip, always. */
static bool is_plain(const Func *func, const Inst *inst, OpKind kind, const Operand *on_chip) {
    return inst->kind == kind && !inst->accumulate && !inst->condition &&
           operand_is_whole(func, on_chip);
}

/* True if what lies in DRAM is block for block of the form that the value has on chip. */
static bool is_alike(const Func *func, const Operand *on_chip, const Operand *dram, Arena *arena) {
    return same_shape(&func->tensors[on_chip->tensor], &func->tensors[dram->tensor]) &&
           operand_is_whole(func, dram) && names_as_many(func, on_chip, dram, arena);
}

/* True if the instruction is a save after which its target holds the value as a home would. */
static bool is_cleaning(const Func *func, const Inst *inst, Arena *arena) {
    return inst->kind == OP_SAVE && is_plain(func, inst, OP_SAVE, inst_src(inst)) &&
           is_alike(func, inst_src(inst), inst_dst(inst), arena);
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

/* True if the wanted block is always one of those that the index takes in the loop. */
static bool runs_over(const Func *func, Affine index, uint32_t loop, Affine wanted, Arena *arena) {
    if (index.modulus || wanted.modulus) return false;
    int64_t step = affine_coefficient(index, loop);
    Term *term = NEW(arena, Term);
    *term = (Term){step, loop};
    Affine moving = {term, 1, 0};
    Affine resting = affine_difference(arena, index, moving);
    Range at = affine_range(affine_difference(arena, wanted, resting), func, NULL);
    Range over = affine_range(moving, func, NULL);
    return over.low <= at.low && at.high <= over.high;
}

/* True if the load brings the whole block before the reload: by itself, or in all iterations of
 * loop `apart`. */
static bool brings_block(const RematQuery *query, const Reaching *write, uint32_t apart,
                         Arena *arena) {
    const Blocks *blocks = write->dst->blocks;
    if (write->hit != MAY_TOUCH) return true;
    if (apart == NO_LOOP || !blocks || blocks->kind != BLOCKS_ONE) return false;
    Affine wanted = wanted_block(query->range, query->offset, arena);
    return fills_in_loop(query->plan, query->tensor, write->access, apart, blocks->low) &&
           runs_over(query->plan->func, blocks->low, apart, wanted, arena);
}

/* The blocks of the dram operand that the wanted one lies in. */
static Range source_blocks(const Func *func, const DramSource *source, const Operand *dram) {
    if (source->alike) return affine_range(source->index, func, NULL);
    BlockSpan span = operand_blocks(func, dram);
    return (Range){span.first, span.last};
}

/* True if neither place changes between the load or save and the reload, on any path. */
static bool stays_unchanged(const RematQuery *query, uint32_t from, uint32_t apart,
                            const DramSource *source, Arena *arena) {
    const Func *func = query->plan->func;
    const Inst *inst = &func->insts[from];
    uint32_t around = outermost_apart(func, query->range->level, inst->loop);
    uint32_t end = around == NO_LOOP ? query->point : func->loops[around].end;
    uint32_t begin = apart == NO_LOOP ? from + 1 : func->loops[apart].first;
    const Operand *dram = source->saved ? inst_dst(inst) : inst_src(inst);
    if (source_changes(query->sources, dram->tensor, source_blocks(func, source, dram), begin, end))
        return false;
    return around == NO_LOOP ||
           (!moves_to_written(query->plan, query->tensor, query->range, around) &&
            !written_after(query, end, arena));
}

static bool remat_load(const RematQuery *query, Arena *arena, DramSource *source) {
    const Plan *plan = query->plan;
    const Func *func = plan->func;
    Reaching write = reaching_write(query, arena);
    if (write.access == UINT32_MAX || plan->accesses[write.access].inst == ENTRY) return false;
    uint32_t load = plan->accesses[write.access].inst;
    const Inst *inst = &func->insts[load];
    if (!is_plain(func, inst, OP_LOAD, write.dst)) return false;
    const Operand *src = inst_src(inst);
    uint32_t apart = outermost_apart(func, inst->loop, query->range->level);
    if (!brings_block(query, &write, apart, arena)) return false;
    *source = (DramSource){.access = write.access,
                           .tensor = src->tensor,
                           .same_form = apart == NO_LOOP,
                           .alike = is_alike(func, write.dst, src, arena)};
    if (!source->alike && !source->same_form) return false;
    return map_block(query, write.dst, src, arena, &source->index) &&
           stays_unchanged(query, load, apart, source, arena);
}

/* True if the target of the save holds the wanted block at the reload. It does where the save runs
 * before the reload in each iteration of the loops around it: no matter what wrote the value. */
static bool holds_block(const RematQuery *query, uint32_t access, Arena *arena,
                        DramSource *source) {
    const Func *func = query->plan->func;
    uint32_t save = query->plan->accesses[access].inst;
    const Inst *inst = &func->insts[save];
    if (!loop_encloses(func, inst->loop, query->range->level) ||
        hit_of(func, query->range, inst_src(inst), query->offset, arena) != COVERS)
        return false;
    *source = (DramSource){
        .access = access, .saved = true, .tensor = inst_dst(inst)->tensor, .alike = true};
    return map_block(query, inst_src(inst), inst_dst(inst), arena, &source->index) &&
           stays_unchanged(query, save, NO_LOOP, source, arena);
}

/* Looks at saves before the reload, the last first, up to a write that may touch the block. */
static bool remat_save(const RematQuery *query, Arena *arena, DramSource *source) {
    const uint32_t *last_event = query->sources->last_event;
    uint32_t access = last_event[query->access];
    for (int scanned = 0; access != UINT32_MAX && scanned < MOST_SCANNED; scanned++) {
        const Operand *dst;
        if (!query->plan->accesses[access].writes) {
            if (holds_block(query, access, arena, source)) return true;
        } else if (access_hit(query, access, arena, &dst) != APART) {
            return false;
        }
        access = last_event[access];
    }
    return false;
}

bool remat(const RematQuery *query, Arena *arena, DramSource *source) {
    assert(query->access >= query->plan->first[query->tensor] &&
           query->access < query->plan->first[query->tensor + 1]);
    if (query->range->loose) return false;
    return remat_load(query, arena, source) || remat_save(query, arena, source);
}

/* ---- the index ---- */

static void find_neighbours(Sources *sources, const Plan *plan, uint32_t tensor, Arena *arena) {
    uint32_t write = UINT32_MAX, event = UINT32_MAX;
    for (uint32_t a = plan->first[tensor]; a < plan->first[tensor + 1]; a++) {
        const PlanAccess *access = &plan->accesses[a];
        sources->last_write[a] = write;
        sources->last_event[a] = event;
        if (access->writes) write = a;
        if (access->writes || is_cleaning(plan->func, &plan->func->insts[access->inst], arena))
            event = a;
    }
    write = UINT32_MAX;
    for (uint32_t a = plan->first[tensor + 1]; a-- > plan->first[tensor];) {
        sources->next_write[a] = write;
        if (plan->accesses[a].writes) write = a;
    }
}

Sources sources_make(const Plan *plan, Arena *arena) {
    const Func *func = plan->func;
    uint32_t count = plan->first[func->ntensors];
    Sources sources = {.func = func,
                       .last_write = RAW_ARRAY(arena, uint32_t, count),
                       .next_write = RAW_ARRAY(arena, uint32_t, count),
                       .last_event = RAW_ARRAY(arena, uint32_t, count)};
    fill_dram_writes(&sources, func, arena);
    fill_block_writes(&sources, arena);
    find_placed(&sources, arena);
    for (uint32_t t = 0; t < func->ntensors; t++)
        find_neighbours(&sources, plan, t, arena);
    return sources;
}
