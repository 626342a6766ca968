#include "driver/least_nodes.h"

#include <string.h>

#include "analysis/partners.h"
#include "place/overlap.h"
#include "support/union_find.h"

/* ---- fixed tensors ---- */

/* Gives the node places of its own, which may then be changed. */
static Rect *own_rects(Node *node, Arena *arena) {
    Rect *rects = RAW_ARRAY(arena, Rect, node->blocks);
    memcpy(rects, node->rects, node->blocks * sizeof *rects);
    node->rects = rects;
    return rects;
}

void clip_fixed(Nodes *nodes, uint32_t size, Arena *arena) {
    for (uint32_t n = 0; n < nodes->count; n++) {
        Node *node = &nodes->items[n];
        if (!node->fixed) continue;
        Rect *rects = own_rects(node, arena);
        for (uint32_t b = 0; b < node->blocks; b++) {
            if (rects[b].high > size) rects[b].high = size;
            if (rects[b].low > size) rects[b].low = size;
        }
    }
}

/* Blocks of fixed tensors, by the number that a sweep has for them. */
typedef struct {
    PlacedInterval *placed;
    size_t nplaced, placed_capacity;
    Rect **rects; /* [blocks] what counts of it */
    size_t nrects, rects_capacity;
    Rect *whole; /* [blocks] all of it */
    size_t nwhole, whole_capacity;
} FixedBlocks;

static FixedBlocks gather_fixed(const Nodes *nodes, Arena *scratch) {
    FixedBlocks fixed = {0};
    for (uint32_t n = 0; n < nodes->count; n++) {
        Node *node = &nodes->items[n];
        if (!node->fixed) continue;
        Rect *rects = own_rects(node, scratch);
        for (uint32_t b = 0; b < node->blocks; b++) {
            LiveRange range = node_block_range(node, b);
            for (uint32_t i = 0; i < range.count; i++) {
                PlacedInterval one = {range.items[i], rects[b], (uint32_t)fixed.nrects};
                PUSH(scratch, fixed.placed, fixed.nplaced, fixed.placed_capacity, one);
            }
            PUSH(scratch, fixed.rects, fixed.nrects, fixed.rects_capacity, &rects[b]);
            PUSH(scratch, fixed.whole, fixed.nwhole, fixed.whole_capacity, rects[b]);
        }
    }
    return fixed;
}

/* The later of two counts where the earlier does not lie; where that is in its middle, on the
 * larger side. */
static bool count_once(void *context, const PlacedInterval *earlier, const PlacedInterval *later) {
    FixedBlocks *fixed = context;
    Rect *rest = fixed->rects[later->owner], other = fixed->whole[earlier->owner];
    if (other.low >= rest->high || other.high <= rest->low) return true;
    uint32_t below = other.low > rest->low ? other.low - rest->low : 0;
    uint32_t above = other.high < rest->high ? rest->high - other.high : 0;
    if (below >= above)
        rest->high = rest->low + below;
    else
        rest->low = rest->high - above;
    return rest->low < rest->high;
}

void share_fixed(Nodes *nodes, Arena *arena) {
    FixedBlocks fixed = gather_fixed(nodes, arena);
    check_overlaps(fixed.placed, fixed.nplaced, count_once, &fixed);
}

/* ---- what stays ---- */

/* The points of a that are none of b. */
static LiveRange live_without(LiveRange a, LiveRange b, Arena *arena) {
    Interval *items = RAW_ARRAY(arena, Interval, (size_t)a.count + b.count);
    uint32_t count = 0;
    for (uint32_t i = 0, j = 0; i < a.count; i++) {
        uint64_t first = a.items[i].first, last = a.items[i].last;
        while (j < b.count && b.items[j].last < first)
            j++;
        for (uint32_t k = j; k < b.count && b.items[k].first <= last; k++) {
            if (b.items[k].first > first)
                items[count++] = (Interval){(uint32_t)first, b.items[k].first - 1};
            first = (uint64_t)b.items[k].last + 1;
        }
        if (first <= last) items[count++] = (Interval){(uint32_t)first, (uint32_t)last};
    }
    return (LiveRange){items, count};
}

/* Takes from the ranges of a node those of its set that have been counted, and adds it to these.
 * `counted`: [blocks] NULL for the first of its set. */
static LiveRange *count_node(Node *node, LiveRange *counted, Arena *arena) {
    LiveRange *rest = RAW_ARRAY(arena, LiveRange, node->blocks);
    LiveRange *sum = counted ? counted : NEW_ARRAY(arena, LiveRange, node->blocks);
    for (uint32_t b = 0; b < node->blocks; b++) {
        LiveRange range = node_block_range(node, b);
        rest[b] = counted ? live_without(range, counted[b], arena) : range;
        sum[b] = live_union(range, sum[b], arena);
    }
    if (counted) node->block_ranges = rest;
    return sum;
}

/* Partners that stay may lie in one place: where they live together one of them counts. */
static void share_copies(const Facts *facts, Nodes *nodes, Arena *arena) {
    Handing handing = find_handing(facts->func, nodes, arena);
    Partners partners = find_partners(&handing, arena);
    if (partners.count == 0) return;
    uint32_t *leader = sets_make(nodes->count, arena);
    bool *paired = NEW_ARRAY(arena, bool, nodes->count);
    const bool *spillable = facts->plan.spillable;
    for (uint32_t i = 0; i < partners.count; i++) {
        uint32_t dst = partners.items[i].dst, src = partners.items[i].src;
        if (spillable[nodes->items[dst].tensor] || spillable[nodes->items[src].tensor]) continue;
        paired[dst] = paired[src] = true;
        sets_join(leader, dst, src);
    }
    LiveRange **counted = NEW_ARRAY(arena, LiveRange *, nodes->count);
    for (int turn = 0; turn < 2; turn++) /* fixed ones first, and all of them */
        for (uint32_t n = 0; n < nodes->count; n++) {
            Node *node = &nodes->items[n], as_it_is = *node;
            if (!paired[n] || node->fixed != (turn == 0)) continue;
            LiveRange **sum = &counted[set_of(leader, n)];
            *sum = count_node(node->fixed ? &as_it_is : node, *sum, arena);
        }
}

/* ---- operands ---- */

bool may_share_place(SameValues *values, uint32_t a, uint32_t b) {
    const Inst *inst = &values->func->insts[values->next];
    if (copy_is_elidable(values->func, inst)) {
        uint32_t dst = inst_dst(inst)->tensor, src = inst_src(inst)->tensor;
        a = a == dst ? src : a; /* the value that it gets */
        b = b == dst ? src : b;
        return a == b || may_hold_same(values, a, b);
    }
    for (uint32_t o = 0; o < inst->ndst; o++)
        if (inst->operands[o].tensor == a || inst->operands[o].tensor == b) return false;
    return may_hold_same(values, a, b);
}

typedef struct {
    const Facts *facts;
    Nodes *nodes;
    Interval *points; /* [nodes] */
    SameValues values;
    uint32_t *node;        /* [ntensors] 1 + the node of an operand, where it is of this point */
    uint32_t *group_node;  /* [ntensors] the same, of the last one of a group of copies */
    uint32_t *before;      /* [nodes] 1 + the one of its group before it at the same point */
    uint32_t *group_stays; /* [ntensors] 1 + a tensor of the group that stays */
    uint32_t *next_stays;  /* [ntensors] and the next one */
    uint32_t first;        /* node of this point */
} LeastPass;

enum { MOST_COMPARED = 64 /* beyond which one takes no room: never too much counts */ };

/* True if some tensor that stays is there and may have the value. */
static bool lies_with_one_that_stays(LeastPass *pass, uint32_t tensor) {
    SameValues *values = &pass->values;
    if (!values->copied[tensor]) return false;
    uint32_t stays = pass->group_stays[set_of(values->group, tensor)];
    for (int i = 0; stays > 0; stays = pass->next_stays[stays - 1])
        if (i++ == MOST_COMPARED || (live_at(pass->facts->live.whole[stays - 1], values->next) &&
                                     may_share_place(values, tensor, stays - 1)))
            return true;
    return false;
}

/* The last node of the tensor's group at this point; 0: there is none. */
static uint32_t last_of_group(LeastPass *pass, uint32_t tensor) {
    if (!pass->values.copied[tensor]) return 0;
    uint32_t node = pass->group_node[set_of(pass->values.group, tensor)];
    return node > pass->first ? node : 0;
}

/* True if the tensor may share the place of one that has been counted, which then has as many
 * blocks as either needs. */
static bool lies_with_another(LeastPass *pass, uint32_t tensor, uint32_t blocks) {
    SameValues *values = &pass->values;
    uint32_t other = last_of_group(pass, tensor);
    for (int i = 0; other > 0; other = pass->before[other - 1]) {
        Node *node = &pass->nodes->items[other - 1];
        if (i++ == MOST_COMPARED) return true;
        if (!may_share_place(values, tensor, node->tensor)) continue;
        bool known = is_value_known(values, tensor) && is_value_known(values, node->tensor);
        if (known && blocks > node->blocks) node->blocks = blocks;
        return true;
    }
    return false;
}

static void add_node(LeastPass *pass, uint32_t tensor, uint32_t blocks) {
    const Tensor *info = &pass->facts->func->tensors[tensor];
    uint32_t n = pass->nodes->count++, point = pass->values.next;
    pass->points[n] = (Interval){point, point};
    pass->nodes->items[n] = (Node){.tensor = tensor,
                                   .blocks = blocks,
                                   .height = tensor_height(info),
                                   .align = tensor_align(info),
                                   .class = shape_class(info->partitions, info->base),
                                   .range = {&pass->points[n], 1}};
    pass->node[tensor] = n + 1;
    pass->before[n] = last_of_group(pass, tensor);
    pass->group_node[set_of(pass->values.group, tensor)] = n + 1;
}

bool blocks_may_share(const Func *func, uint32_t tensor) {
    enum { MOST_CELLS = 1 << 15 /* that are told apart in time */ };
    const Tensor *info = &func->tensors[tensor];
    bool many = info->blocks > 1 && info->blocks <= MOST_CELLS;
    return func->nloops > 0 && many && !info->fixed && !info->output && !info->input;
}

/* Blocks that the operand surely names. */
static uint32_t blocks_demanded(const Func *func, const Operand *operand) {
    BlockSpan span = operand_blocks(func, operand);
    return span.exact ? (uint32_t)(span.last - span.first + 1) : 1;
}

static void add_operands(LeastPass *pass) {
    const Func *func = pass->facts->func;
    const Inst *inst = &func->insts[pass->values.next];
    pass->first = pass->nodes->count;
    if (pass->facts->dead && pass->facts->dead[pass->values.next]) return;
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        uint32_t tensor = inst->operands[o].tensor;
        if (!pass->facts->plan.spillable[tensor] && !blocks_may_share(func, tensor)) continue;
        uint32_t blocks = blocks_demanded(func, &inst->operands[o]);
        uint32_t known = pass->node[tensor];
        if (known > pass->first) {
            Node *node = &pass->nodes->items[known - 1];
            if (blocks > node->blocks) node->blocks = blocks;
        } else if (!lies_with_one_that_stays(pass, tensor) &&
                   !lies_with_another(pass, tensor, blocks)) {
            add_node(pass, tensor, blocks);
        }
    }
}

static void list_those_that_stay(LeastPass *pass) {
    const Func *func = pass->facts->func;
    for (uint32_t t = func->ntensors; t-- > 0;) {
        if (func->tensors[t].space != SPACE_SB || pass->facts->plan.spillable[t]) continue;
        uint32_t *first = &pass->group_stays[set_of(pass->values.group, t)];
        pass->next_stays[t] = *first;
        *first = t + 1;
    }
}

/* Those that stay, with room for a node of each operand. */
static Nodes nodes_that_stay(const Facts *facts, const Nodes *lying, size_t operands,
                             Arena *arena) {
    Nodes own = *lying;
    own.items = RAW_ARRAY(arena, Node, lying->count + operands);
    for (uint32_t n = 0; n < lying->count; n++)
        own.items[n] = lying->items[n];
    share_copies(facts, &own, arena);
    Nodes stay = {.items = own.items, .npoints = facts->func->ninsts};
    for (uint32_t n = 0; n < lying->count; n++) {
        uint32_t tensor = own.items[n].tensor;
        if (!facts->plan.spillable[tensor] && !blocks_may_share(facts->func, tensor))
            stay.items[stay.count++] = own.items[n];
    }
    return stay;
}

static LeastPass least_pass(const Facts *facts, Nodes *nodes, size_t most, Arena *arena) {
    uint32_t count = facts->func->ntensors;
    return (LeastPass){.facts = facts,
                       .nodes = nodes,
                       .points = RAW_ARRAY(arena, Interval, most),
                       .values = same_values_begin(facts->func, arena),
                       .node = NEW_ARRAY(arena, uint32_t, count),
                       .group_node = NEW_ARRAY(arena, uint32_t, count),
                       .before = NEW_ARRAY(arena, uint32_t, most),
                       .group_stays = NEW_ARRAY(arena, uint32_t, count),
                       .next_stays = NEW_ARRAY(arena, uint32_t, count)};
}

LeastNodes find_least_nodes(const Facts *facts, const Nodes *lying, Arena *arena) {
    const Func *func = facts->func;
    size_t operands = 0;
    for (uint32_t p = 0; p < func->ninsts; p++)
        operands += (size_t)func->insts[p].ndst + func->insts[p].nsrc;
    LeastNodes least = {.nodes = nodes_that_stay(facts, lying, operands, arena)};
    least.staying = least.nodes.count;
    LeastPass pass = least_pass(facts, &least.nodes, lying->count + operands, arena);
    if (pass.values.any) list_those_that_stay(&pass);
    for (; pass.values.next < func->ninsts; same_values_next(&pass.values))
        add_operands(&pass);
    return least;
}
