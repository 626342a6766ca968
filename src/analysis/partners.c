#include "analysis/partners.h"

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

/* Two groups, and where a block of both lives. */
typedef struct {
    const Handing *handing;
    NodeGroups groups;
    uint32_t a, b; /* the groups' names */
    bool all;      /* all blocks are alike */
    int64_t block; /* else: this one */
} Meeting;

/* True if the instruction is a copy between the two groups. */
static bool is_between(const Meeting *meeting, uint32_t point) {
    const Handing *handing = meeting->handing;
    if (!handing->elidable[point]) return false;
    const Inst *inst = &handing->func->insts[point];
    uint32_t dst = meeting->groups.of[handing->nodes->of[inst_dst(inst)->tensor]];
    uint32_t src = meeting->groups.of[handing->nodes->of[inst_src(inst)->tensor]];
    return (dst == meeting->a && src == meeting->b) || (dst == meeting->b && src == meeting->a);
}

static bool may_write_block(const Meeting *meeting, Access access) {
    const Func *func = meeting->handing->func;
    if (!access_writes(func, access)) return false;
    BlockSpan span = operand_blocks(func, &func->insts[access.inst].operands[access.operand]);
    return meeting->all || (span.first <= meeting->block && meeting->block <= span.last);
}

/* True if something within the interval writes the tensor that is no copy between the groups. */
static bool is_written(const Meeting *meeting, uint32_t tensor, Interval interval) {
    const Accesses *accesses = &meeting->handing->accesses;
    uint32_t at, end = accesses->first[tensor + 1];
    FIND_FIRST(at, accesses->first[tensor], end, accesses->items[at].inst >= interval.first);
    for (; at < end && accesses->items[at].inst <= interval.last; at++)
        if (may_write_block(meeting, accesses->items[at]) &&
            !is_between(meeting, accesses->items[at].inst))
            return true;
    return false;
}

/* The same for the tensors of the group that node n belongs to. */
static bool group_is_written(const Meeting *meeting, uint32_t n, Interval interval) {
    const Nodes *nodes = meeting->handing->nodes;
    for (uint32_t m = meeting->groups.next[n];; m = meeting->groups.next[m]) {
        if (is_written(meeting, nodes->items[m].tensor, interval)) return true;
        if (m == n) return false;
    }
}

static bool meet_rightly(const Meeting *meeting, LiveRange one, LiveRange other) {
    for (uint32_t i = 0, j = 0; i < one.count && j < other.count;) {
        Interval x = one.items[i], y = other.items[j];
        Interval both = {x.first > y.first ? x.first : y.first, x.last < y.last ? x.last : y.last};
        if (both.first <= both.last && (group_is_written(meeting, meeting->a, both) ||
                                        group_is_written(meeting, meeting->b, both)))
            return false;
        if (x.last < y.last)
            i++;
        else
            j++;
    }
    return true;
}

/* True if some value of the group is there on entry. */
static bool has_input(const Handing *handing, NodeGroups groups, uint32_t n) {
    for (uint32_t m = groups.next[n];; m = groups.next[m]) {
        if (handing->func->tensors[handing->nodes->items[m].tensor].input) return true;
        if (m == n) return false;
    }
}

bool partners_meet_rightly(const Handing *handing, NodeGroups groups, const Node *a,
                           const Node *b) {
    const uint32_t *of = handing->nodes->of;
    Meeting meeting = {.handing = handing,
                       .groups = groups,
                       .a = groups.of[of[a->tensor]],
                       .b = groups.of[of[b->tensor]],
                       .all = !a->block_ranges && !b->block_ranges};
    if (has_input(handing, groups, meeting.a) && has_input(handing, groups, meeting.b))
        return false;
    if (meeting.all) return meet_rightly(&meeting, a->range, b->range);
    for (meeting.block = 0; meeting.block < (int64_t)a->blocks; meeting.block++) {
        uint32_t block = (uint32_t)meeting.block;
        if (!meet_rightly(&meeting, node_block_range(a, block), node_block_range(b, block)))
            return false;
    }
    return true;
}

Handing find_handing(const Func *func, const Nodes *nodes, Arena *arena) {
    Handing handing = {func, nodes, NEW_ARRAY(arena, bool, func->ninsts), 0, {0}};
    for (uint32_t p = 0; p < func->ninsts; p++) {
        handing.elidable[p] = copy_is_elidable(func, &func->insts[p]);
        handing.count += handing.elidable[p];
    }
    if (handing.count > 0) handing.accesses = find_accesses(func, arena);
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
        if (!handing->elidable[p]) continue;
        const Inst *inst = &func->insts[p];
        uint32_t to = inst_dst(inst)->tensor, from = inst_src(inst)->tensor;
        Partner partner = {p, nodes->of[to], nodes->of[from]};
        if (bands_agree(&func->tensors[to], &func->tensors[from]) &&
            partners_meet_rightly(handing, (NodeGroups){alone, alone}, &nodes->items[partner.dst],
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
