#include "analysis/partners.h"

#include "analysis/access.h"
#include "support/search.h"

bool copy_is_elidable(const Func *func, const Inst *inst) {
    if (inst->kind != OP_COPY || inst->accumulate || inst->ndst != 1 || inst->nsrc != 1)
        return false;
    const Operand *dst = inst_dst(inst), *src = inst_src(inst);
    const Tensor *to = &func->tensors[dst->tensor], *from = &func->tensors[src->tensor];
    if (dst->tensor == src->tensor || dst->region || src->region ||
        to->partitions != from->partitions || to->bytes != from->bytes ||
        to->blocks != from->blocks)
        return false;
    BlockSpan a = operand_blocks(func, dst), b = operand_blocks(func, src);
    return a.exact && b.exact && a.first <= a.last && a.first == b.first && a.last == b.last;
}

/* ---- where two nodes meet ---- */

static const Node *node_of(const Handing *handing, const Operand *operand) {
    return &handing->nodes->items[handing->nodes->of[operand->tensor]];
}

/* True if the instruction is a copy between the two groups that ends its source. */
static bool is_between(const Handing *handing, const uint32_t *group, uint32_t a, uint32_t b,
                       uint32_t point) {
    if (!handing->ends_source[point]) return false;
    const Inst *inst = &handing->func->insts[point];
    uint32_t dst = group[handing->nodes->of[inst_dst(inst)->tensor]];
    uint32_t src = group[handing->nodes->of[inst_src(inst)->tensor]];
    return (dst == a && src == b) || (dst == b && src == a);
}

/* True if an interval of the range begins at the point, or ends there. */
static bool begins_at(LiveRange range, uint32_t point) {
    uint32_t at;
    FIND_FIRST(at, 0, range.count, range.items[at].first >= point);
    return at < range.count && range.items[at].first == point;
}

static bool ends_at(LiveRange range, uint32_t point) {
    uint32_t at;
    FIND_FIRST(at, 0, range.count, range.items[at].last >= point);
    return at < range.count && range.items[at].last == point;
}

/* True if the copy hands the block on: the source ends there and the destination begins. `block`
 * UINT32_MAX: all blocks. */
static bool hands_on(const Handing *handing, uint32_t block, uint32_t point) {
    const Inst *inst = &handing->func->insts[point];
    BlockSpan span = operand_blocks(handing->func, inst_dst(inst));
    const Node *to = node_of(handing, inst_dst(inst)), *from = node_of(handing, inst_src(inst));
    bool all = block == UINT32_MAX;
    if (all ? span.first > 0 || span.last + 1 < to->blocks
            : block < span.first || block > span.last)
        return false;
    LiveRange ends = all ? from->range : node_block_range(from, block);
    LiveRange begins = all ? to->range : node_block_range(to, block);
    return ends_at(ends, point) && begins_at(begins, point);
}

bool partners_meet_rightly(const Handing *handing, const uint32_t *group, const Node *a,
                           const Node *b) {
    const Nodes *nodes = handing->nodes;
    bool alike = !a->block_ranges && !b->block_ranges;
    uint32_t group_a = group[nodes->of[a->tensor]], group_b = group[nodes->of[b->tensor]];
    for (uint32_t block = 0; block < (alike ? 1 : a->blocks); block++) {
        LiveRange one = alike ? a->range : node_block_range(a, block);
        LiveRange other = alike ? b->range : node_block_range(b, block);
        for (uint32_t i = 0, j = 0; i < one.count && j < other.count;) {
            Interval x = one.items[i], y = other.items[j];
            uint32_t first = x.first > y.first ? x.first : y.first;
            uint32_t last = x.last < y.last ? x.last : y.last;
            for (uint32_t p = first; first <= last && p <= last; p++)
                if (!is_between(handing, group, group_a, group_b, p) ||
                    !hands_on(handing, alike ? UINT32_MAX : block, p))
                    return false;
            if (x.last < y.last)
                i++;
            else
                j++;
        }
    }
    return true;
}

/* ---- copies that hand on ---- */

/* True if the source's value goes round the back edge of a loop that ends with the copy: unless all
 * that the copy names is written first in the next iteration. */
static bool goes_round(const Func *func, const Accesses *accesses, const Inst *copy,
                       uint32_t point) {
    const Operand *src = inst_src(copy);
    BlockSpan wanted = operand_blocks(func, src);
    uint32_t end = accesses->first[src->tensor + 1];
    for (uint32_t loop = copy->loop; loop != NO_LOOP && func->loops[loop].end - 1 == point;
         loop = func->loops[loop].parent) {
        uint32_t at, first = accesses->first[src->tensor];
        FIND_FIRST(at, first, end, accesses->items[at].inst >= func->loops[loop].first);
        Access access = accesses->items[at]; /* there is one: the copy's own */
        const Inst *inst = &func->insts[access.inst];
        const Operand *operand = &inst->operands[access.operand];
        bool alone = at + 1 == end || accesses->items[at + 1].inst != access.inst;
        BlockSpan span = operand_blocks(func, operand);
        if (access_reads(func, access) || !alone || inst->condition ||
            !operand_is_whole(func, operand) || !span.exact || span.first > wanted.first ||
            span.last < wanted.last)
            return true;
    }
    return false;
}

Handing find_handing(const Func *func, const Nodes *nodes, Arena *arena) {
    Handing handing = {func, nodes, NEW_ARRAY(arena, bool, func->ninsts), 0};
    Arena scratch;
    arena_init(&scratch);
    Accesses accesses = {0};
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        if (!copy_is_elidable(func, inst)) continue;
        if (!accesses.first) accesses = find_accesses(func, &scratch);
        const Tensor *to = &func->tensors[inst_dst(inst)->tensor];
        bool both_stay = (to->input && p == 0) || func->tensors[inst_src(inst)->tensor].output;
        handing.ends_source[p] = !both_stay && !goes_round(func, &accesses, inst, p);
        handing.count += handing.ends_source[p];
    }
    arena_free(&scratch);
    return handing;
}

/* ---- all partners ---- */

static bool bands_agree(const Tensor *a, const Tensor *b) {
    return a->base < 0 || b->base < 0 || a->base == b->base;
}

static void count_groups(const Func *func, const Nodes *nodes, Partners *partners, Arena *scratch) {
    uint32_t *leader = RAW_ARRAY(scratch, uint32_t, nodes->count);
    bool *accumulates = NEW_ARRAY(scratch, bool, nodes->count);
    for (uint32_t n = 0; n < nodes->count; n++)
        leader[n] = n;
    for (uint32_t i = 0; i < partners->count; i++) {
        uint32_t ends[2] = {partners->items[i].dst, partners->items[i].src};
        for (int e = 0; e < 2; e++)
            while (leader[ends[e]] != ends[e])
                ends[e] = leader[ends[e]] = leader[leader[ends[e]]];
        leader[ends[0] > ends[1] ? ends[0] : ends[1]] = ends[0] < ends[1] ? ends[0] : ends[1];
    }
    bool *member = NEW_ARRAY(scratch, bool, nodes->count);
    for (uint32_t i = 0; i < partners->count; i++)
        member[partners->items[i].dst] = member[partners->items[i].src] = true;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        if (!func->insts[p].accumulate) continue;
        uint32_t n = nodes->of[inst_dst(&func->insts[p])->tensor];
        if (n == NO_NODE || !member[n]) continue;
        while (leader[n] != n)
            n = leader[n];
        if (!accumulates[n]) partners->groups++;
        accumulates[n] = true;
    }
}

Partners find_partners(const Handing *handing, Arena *arena) {
    const Func *func = handing->func;
    const Nodes *nodes = handing->nodes;
    Partners partners = {0};
    if (handing->count == 0) return partners;
    size_t count = 0, capacity = 0;
    Arena scratch;
    arena_init(&scratch);
    uint32_t *alone = RAW_ARRAY(&scratch, uint32_t, nodes->count);
    for (uint32_t n = 0; n < nodes->count; n++)
        alone[n] = n;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        if (!handing->ends_source[p]) continue;
        const Inst *inst = &func->insts[p];
        uint32_t to = inst_dst(inst)->tensor, from = inst_src(inst)->tensor;
        Partner partner = {p, nodes->of[to], nodes->of[from]};
        if (bands_agree(&func->tensors[to], &func->tensors[from]) &&
            partners_meet_rightly(handing, alone, &nodes->items[partner.dst],
                                  &nodes->items[partner.src]))
            PUSH(arena, partners.items, count, capacity, partner);
    }
    partners.count = (uint32_t)count;
    if (count > 0) count_groups(func, nodes, &partners, &scratch);
    arena_free(&scratch);
    return partners;
}

/* True if b is in the ring of a. */
static bool in_ring(const Nodes *nodes, uint32_t a, uint32_t b) {
    for (uint32_t n = nodes->items[a].partner; n != 0 && n - 1 != a;
         n = nodes->items[n - 1].partner)
        if (n - 1 == b) return true;
    return a == b;
}

void link_partners(const Partners *partners, const uint32_t *into, Nodes *nodes) {
    for (uint32_t i = 0; i < partners->count; i++) {
        uint32_t a = into[partners->items[i].dst], b = into[partners->items[i].src];
        if (in_ring(nodes, a, b)) continue;
        /* Two rings become one where two of their links change places. */
        uint32_t after_a = nodes->items[a].partner, after_b = nodes->items[b].partner;
        nodes->items[a].partner = after_b ? after_b : b + 1;
        nodes->items[b].partner = after_a ? after_a : a + 1;
    }
}
