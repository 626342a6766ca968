#include "driver/feasible.h"

#include "analysis/access.h"
#include "analysis/partners.h"
#include "analysis/pressure.h"
#include "place/overlap.h"
#include "place/place.h"
#include "support/checked.h"
#include "support/sort.h"

/* ---- what is needed at the least ---- */

/* Blocks that an instruction surely names of a tensor: the most that one of its accesses
 * [*next, end) there names. Moves *next behind them. */
static int64_t blocks_demanded(const Func *func, uint32_t point, const Access **next,
                               const Access *end) {
    int64_t most = 0;
    for (; *next < end && (*next)->inst <= point; ++*next) {
        if ((*next)->inst < point) continue;
        BlockSpan span = operand_blocks(func, &func->insts[point].operands[(*next)->operand]);
        int64_t named = span.exact ? span.last - span.first + 1 : 1;
        if (named > most) most = named;
    }
    return most;
}

/* True if the instruction copies the tensor, and the other end may be the same place: one of the
 * two then counts for both. */
static bool is_shared(const Plan *plan, uint32_t tensor, uint32_t point) {
    const Inst *inst = &plan->func->insts[point];
    if (!copy_is_elidable(plan->func, inst)) return false;
    bool stays = !plan->spillable[inst_src(inst)->tensor];
    return tensor == (stays ? inst_dst(inst) : inst_src(inst))->tensor;
}

static Node demand_node(const Tensor *tensor, uint32_t id, uint32_t blocks, LiveRange range) {
    return (Node){.tensor = id,
                  .blocks = blocks,
                  .height = tensor_height(tensor),
                  .align = tensor_align(tensor),
                  .class = shape_class(tensor->partitions, tensor->base),
                  .range = range};
}

/* A fixed tensor may touch the last granule, which need not be whole; the others share what is left
 * of the whole ones. */
static void clip_fixed(Nodes *nodes, uint32_t size, Arena *scratch) {
    for (uint32_t n = 0; n < nodes->count; n++) {
        Node *node = &nodes->items[n];
        if (!node->fixed) continue;
        Rect *rects = RAW_ARRAY(scratch, Rect, node->blocks);
        for (uint32_t b = 0; b < node->blocks; b++) {
            rects[b] = node->rects[b];
            if (rects[b].high > size) rects[b].high = size;
            if (rects[b].low > size) rects[b].low = size;
        }
        node->rects = rects;
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
        Rect *rects = RAW_ARRAY(scratch, Rect, node->blocks);
        for (uint32_t b = 0; b < node->blocks; b++) {
            rects[b] = node->rects[b];
            LiveRange range = node_block_range(node, b);
            for (uint32_t i = 0; i < range.count; i++) {
                PlacedInterval one = {range.items[i], rects[b], (uint32_t)fixed.nrects};
                PUSH(scratch, fixed.placed, fixed.nplaced, fixed.placed_capacity, one);
            }
            PUSH(scratch, fixed.rects, fixed.nrects, fixed.rects_capacity, &rects[b]);
            PUSH(scratch, fixed.whole, fixed.nwhole, fixed.whole_capacity, rects[b]);
        }
        node->rects = rects;
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

/* Fixed tensors that lie over each other take room once: the check of fixed places has let them, so
 * that they are never there at once, or have one value. Never counts too much. */
static void share_fixed(Nodes *nodes, Arena *scratch) {
    FixedBlocks fixed = gather_fixed(nodes, scratch);
    check_overlaps(fixed.placed, fixed.nplaced, count_once, &fixed);
}

/* Nodes that the accesses of a tensor demand, each at its point. */
static void add_demands(Nodes *nodes, const Plan *plan, uint32_t t, const Accesses *operands,
                        Interval *points) {
    const Access *next = &operands->items[operands->first[t]];
    const Access *end = &operands->items[operands->first[t + 1]];
    for (uint32_t a = plan->first[t]; a < plan->first[t + 1]; a++) {
        uint32_t point = plan->accesses[a].inst;
        if (point == ENTRY) continue;
        int64_t blocks = blocks_demanded(plan->func, point, &next, end);
        if (is_shared(plan, t, point)) continue;
        points[a] = (Interval){point, point};
        nodes->items[nodes->count++] =
            demand_node(&plan->func->tensors[t], t, (uint32_t)blocks, (LiveRange){&points[a], 1});
    }
}

/* The nodes of all that stays, and of each access of what may go. */
static Nodes demand_of(const Plan *plan, const Nodes *staying, Arena *scratch) {
    const Func *func = plan->func;
    Nodes nodes = {.npoints = func->ninsts};
    size_t most = (size_t)staying->count + plan->first[func->ntensors];
    nodes.items = RAW_ARRAY(scratch, Node, most);
    Interval *points = RAW_ARRAY(scratch, Interval, plan->first[func->ntensors]);
    Accesses operands = find_accesses(func, scratch);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (plan->spillable[t])
            add_demands(&nodes, plan, t, &operands, points);
        else if (staying->of[t] != NO_NODE)
            nodes.items[nodes.count++] = staying->items[staying->of[t]];
    }
    return nodes;
}

uint32_t infeasible_instruction(const Facts *facts) {
    Arena scratch;
    arena_init(&scratch);
    Nodes staying = renumber(facts->func, &facts->live, NULL, &scratch);
    clip_fixed(&staying, facts->size, &scratch);
    uint32_t point = UINT32_MAX;
    if (find_pressure(&staying, &scratch).peak > facts->size) { /* else all fits at once */
        share_fixed(&staying, &scratch);
        Nodes nodes = demand_of(&facts->plan, &staying, &scratch);
        Pressure pressure = find_pressure(&nodes, &scratch);
        if (pressure.peak > facts->size) point = pressure.peak_point;
    }
    arena_free(&scratch);
    return point;
}

/* Adds those blocks of a node that are live at the point. */
static void add_blocks(PackProblem *problem, const Node *node, const Interval *point) {
    for (uint32_t b = 0; b < node->blocks; b++) {
        PackItem item = pack_item(node, b);
        if (item.height == 0 || !live_at(item.range, point->first)) continue;
        item.range = (LiveRange){point, 1};
        problem->items[problem->count++] = item;
    }
}

/* True if the items fit on each other in any order, each in all of the width. */
static bool surely_fits(const PackProblem *problem) {
    uint64_t sum = 0;
    bool fixed = false;
    for (uint32_t i = 0; i < problem->count; i++) {
        sum += problem->items[i].height + problem->items[i].align - 1;
        fixed |= problem->items[i].fixed;
    }
    return !fixed && sum <= problem->size;
}

/* The first point at which the nodes live there have no places. `nodes`: first `staying` of them
 * that live for long, then those of one point each, listed by point. */
static uint32_t impossible_point(const Nodes *nodes, uint32_t staying, uint32_t size,
                                 Arena *scratch) {
    enum { STEPS = 200000, STEPS_OF_ALL = 100 * STEPS };
    PackItem *items = RAW_ARRAY(scratch, PackItem, nodes_blocks(nodes));
    Arena search;
    arena_init(&search);
    uint64_t left = STEPS_OF_ALL, used;
    uint32_t found = UINT32_MAX, next = staying;
    for (uint32_t p = 0; p < nodes->npoints && found == UINT32_MAX && left >= STEPS; p++) {
        PackProblem problem = {items, 0, size};
        Interval point = {p, p};
        for (uint32_t n = 0; n < staying; n++)
            add_blocks(&problem, &nodes->items[n], &point);
        for (; next < nodes->count && nodes->items[next].range.items[0].first == p; next++)
            add_blocks(&problem, &nodes->items[next], &point);
        if (surely_fits(&problem)) continue;
        PackOptions options = {.steps = STEPS, .seed = 1};
        if (pack(&problem, options, &search, &used) == PACK_IMPOSSIBLE) found = p;
        left -= used < left ? used : left;
        arena_reset(&search);
    }
    arena_free(&search);
    return found;
}

uint32_t impossible_instruction(const Facts *facts) {
    Arena scratch;
    arena_init(&scratch);
    Nodes staying = renumber(facts->func, &facts->live, NULL, &scratch);
    clip_fixed(&staying, facts->size, &scratch);
    Nodes demand = demand_of(&facts->plan, &staying, &scratch);
    SortKey *keys = RAW_ARRAY(&scratch, SortKey, demand.count);
    uint32_t lasting = 0;
    for (uint32_t n = 0; n < demand.count; n++) {
        const Node *node = &demand.items[n];
        bool stays = !facts->plan.spillable[node->tensor];
        keys[n] = (SortKey){stays ? 0 : 1 + (uint64_t)node->range.items[0].first, n};
        lasting += stays;
    }
    sort_keys(keys, demand.count, &scratch);
    Nodes sorted = demand;
    sorted.items = RAW_ARRAY(&scratch, Node, demand.count);
    for (uint32_t n = 0; n < demand.count; n++)
        sorted.items[n] = demand.items[keys[n].id];
    uint32_t point = impossible_point(&sorted, lasting, facts->size, &scratch);
    arena_free(&scratch);
    return point;
}

/* ---- what is told ---- */

/* A tensor that must be there, and how many of its blocks. */
typedef struct {
    uint32_t tensor;
    int64_t blocks;
    bool stays; /* it is no operand: fixed, pinned, an output or an input at entry */
} Need;

typedef struct {
    const Func *func;
    Arena scratch;
    uint32_t *number; /* [ntensors] 1 + the tensor's need; 0: it has none */
    Need *needs;
    size_t count, capacity;
} Needs;

static void add_need(Needs *needs, uint32_t tensor, int64_t blocks, bool stays) {
    if (needs->number[tensor] > 0) {
        Need *need = &needs->needs[needs->number[tensor] - 1];
        int64_t sum = need->blocks + blocks, most = needs->func->tensors[tensor].blocks;
        need->blocks = sum < most ? sum : most;
        return;
    }
    Need need = {tensor, blocks, stays};
    PUSH(&needs->scratch, needs->needs, needs->count, needs->capacity, need);
    needs->number[tensor] = (uint32_t)needs->count;
}

/* True if one of the operand's last few namesakes before it has the same blocks. `before[o]`: 1 +
 * the operand before o that names the same tensor; 0: there is none. */
static bool is_named_before(const Inst *inst, const uint32_t *before, uint32_t operand) {
    enum { MOST_COMPARED = 64 };
    uint32_t o = before[operand];
    for (int i = 0; i < MOST_COMPARED && o > 0; i++, o = before[o - 1])
        if (blocks_equal(inst->operands[o - 1].blocks, inst->operands[operand].blocks)) return true;
    return false;
}

/* Operands in the order written, each tensor once; blocks that two operands name alike count once.
 */
static void gather_operands(Needs *needs, const Inst *inst) {
    uint32_t *last = NEW_ARRAY(&needs->scratch, uint32_t, needs->func->ntensors);
    uint32_t *before = RAW_ARRAY(&needs->scratch, uint32_t, (size_t)inst->ndst + inst->nsrc);
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        const Operand *operand = &inst->operands[o];
        before[o] = last[operand->tensor];
        last[operand->tensor] = o + 1;
        if (needs->func->tensors[operand->tensor].space != SPACE_SB) continue;
        if (!is_named_before(inst, before, o))
            add_need(needs, operand->tensor, operand_most_blocks(needs->func, operand), false);
    }
}

/* What is there whether the instruction names it or not. */
static void gather_what_stays(Needs *needs, const Live *live, uint32_t point, bool entry) {
    const Func *func = needs->func;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        if (tensor->space != SPACE_SB || needs->number[t] > 0) continue;
        bool stays = tensor->fixed || tensor->pin || tensor->output || (entry && tensor->input);
        if (!stays || !live_at(live->whole[t], point)) continue;
        int64_t blocks = 0;
        for (int64_t b = 0; b < tensor->blocks; b++)
            blocks += live_at(live_block(live, t, b), point);
        add_need(needs, t, blocks, true);
    }
}

static int64_t need_bytes(const Needs *needs, const Need *need) {
    return saturating_mul(need->blocks, needs->func->tensors[need->tensor].bytes);
}

static void load_band(int64_t *loads, uint8_t mask, int64_t bytes) {
    for (int q = 0; q < QUADRANTS; q++)
        if (mask & (1 << q)) loads[q] = saturating_add(loads[q], bytes);
}

static int64_t band_load(const int64_t *loads, uint8_t mask) {
    int64_t most = 0;
    for (int q = 0; q < QUADRANTS; q++)
        if ((mask & (1 << q)) && loads[q] > most) most = loads[q];
    return most;
}

/* Bytes per partition in the fullest quadrant, when those that can choose go where least is: wide
 * ones first. */
static int64_t bytes_at_once(const Needs *needs) {
    int64_t loads[QUADRANTS] = {0};
    static const uint8_t most_bands[] = {1, 2, 4};
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < needs->count; i++) {
            const Tensor *tensor = &needs->func->tensors[needs->needs[i].tensor];
            Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
            if (bands.count != most_bands[turn]) continue;
            int64_t height = ceil_div(tensor->bytes, GRANULE) * GRANULE;
            for (int64_t b = 0; b < needs->needs[i].blocks; b++) {
                uint8_t best = 0;
                for (uint8_t band = 1; band < bands.count; band++)
                    if (band_load(loads, bands.masks[band]) < band_load(loads, bands.masks[best]))
                        best = band;
                load_band(loads, bands.masks[best], height);
            }
        }
    return band_load(loads, 0xF);
}

/* What no placement can go below: the even share of all, or what one quadrant must hold. */
static int64_t least_at_once(const Needs *needs) {
    int64_t loads[QUADRANTS] = {0}, area = 0;
    for (size_t i = 0; i < needs->count; i++) {
        const Tensor *tensor = &needs->func->tensors[needs->needs[i].tensor];
        Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
        int64_t height = ceil_div(tensor->bytes, GRANULE) * GRANULE;
        int64_t all = saturating_mul(height, needs->needs[i].blocks);
        area = saturating_add(area, saturating_mul(all, __builtin_popcount(bands.masks[0])));
        if (bands.count == 1) load_band(loads, bands.masks[0], all);
    }
    int64_t share = ceil_div(ceil_div(area, QUADRANTS), GRANULE) * GRANULE;
    int64_t most = band_load(loads, 0xF);
    return most > share ? most : share;
}

static void note_need(const Needs *needs, const Need *need, Span span, DiagQueue *diags) {
    const Tensor *tensor = &needs->func->tensors[need->tensor];
    const char *why = !need->stays     ? ""
                      : tensor->fixed  ? ", fixed and live here"
                      : tensor->pin    ? ", pinned and live here"
                      : tensor->output ? ", an output and live here"
                                       : ", an input";
    int32_t first = tensor->at ? tensor->at[0].partition : tensor->base < 0 ? 0 : tensor->base;
    Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
    if (bands.count > 1 && !tensor->at)
        diag_note(diags, span, false, "  %%%.*s  %lld bytes, %lld partitions of any %s%s",
                  (int)tensor->name.length, tensor->name.text, (long long)need_bytes(needs, need),
                  (long long)tensor->partitions, bands.count == 4 ? "quadrant" : "half", why);
    else
        diag_note(diags, span, false, "  %%%.*s  %lld bytes, partitions %d-%lld%s",
                  (int)tensor->name.length, tensor->name.text, (long long)need_bytes(needs, need),
                  first, (long long)(first + tensor->partitions - 1), why);
}

/* A note for each need in order; where there are many, for the largest ones, the largest first. */
static void note_needs(Needs *needs, Span span, DiagQueue *diags) {
    enum { MOST_NOTED = 20 };
    if (needs->count <= MOST_NOTED) {
        for (size_t i = 0; i < needs->count; i++)
            note_need(needs, &needs->needs[i], span, diags);
        return;
    }
    SortKey *order = RAW_ARRAY(&needs->scratch, SortKey, needs->count);
    for (size_t i = 0; i < needs->count; i++)
        order[i] = (SortKey){INT64_MAX - need_bytes(needs, &needs->needs[i]), (uint32_t)i};
    sort_keys(order, needs->count, &needs->scratch);
    int64_t bytes = 0;
    for (size_t i = 0; i < needs->count; i++)
        if (i < MOST_NOTED)
            note_need(needs, &needs->needs[order[i].id], span, diags);
        else
            bytes = saturating_add(bytes, need_bytes(needs, &needs->needs[order[i].id]));
    diag_note(diags, span, false, "  and %zu more, of %lld bytes", needs->count - MOST_NOTED,
              (long long)bytes);
}

static bool nothing_can_go(const Needs *needs) {
    for (size_t i = 0; i < needs->count; i++) {
        const Tensor *tensor = &needs->func->tensors[needs->needs[i].tensor];
        if (!tensor->fixed && !tensor->pin && !tensor->output) return false;
    }
    return true;
}

static Shortage shortage_of(const Needs *needs, uint32_t inst, int64_t over, Arena *arena) {
    uint32_t *tensors = RAW_ARRAY(arena, uint32_t, needs->count);
    int64_t *blocks = RAW_ARRAY(arena, int64_t, needs->count);
    SortKey *order = RAW_ARRAY(arena, SortKey, needs->count);
    for (uint32_t i = 0; i < needs->count; i++)
        order[i] = (SortKey){UINT64_MAX - (uint64_t)need_bytes(needs, &needs->needs[i]), i};
    sort_keys(order, needs->count, arena);
    for (uint32_t i = 0; i < needs->count; i++) {
        tensors[i] = needs->needs[order[i].id].tensor;
        blocks[i] = needs->needs[order[i].id].blocks;
    }
    return (Shortage){tensors, blocks, (uint32_t)needs->count, over > 0 ? over : 0, inst};
}

Shortage report_infeasible(const Infeasible *what, DiagQueue *diags, Arena *arena) {
    const Func *func = what->func;
    uint32_t inst = what->inst;
    bool proved = what->proved;
    Needs needs = {.func = func};
    needs.number = NEW_ARRAY(&needs.scratch, uint32_t, func->ntensors);
    bool entry = inst == UINT32_MAX;
    if (!entry) gather_operands(&needs, &func->insts[inst]);
    gather_what_stays(&needs, what->live, entry ? 0 : inst, entry);
    Span span = entry && needs.count > 0 ? func->tensors[needs.needs[0].tensor].span
                : entry                  ? func->span
                                         : func->insts[inst].span;
    int64_t bytes = bytes_at_once(&needs), usable = target_usable(what->target);
    if (bytes > usable && !proved) bytes = least_at_once(&needs);
    diag_error(diags, span, "couldn't allocate every tensor in SB and spilling can't help");
    const char *subject = entry ? "the inputs need" : "this instruction needs";
    if (bytes > usable)
        diag_note(diags, span, false,
                  "%s %lld bytes/partition at once, %lld are usable, %lld too few", subject,
                  (long long)bytes, (long long)usable, (long long)(bytes - usable));
    else
        diag_note(diags, span, false, "%s %lld bytes/partition at once, %lld are usable, but %s",
                  subject, (long long)bytes, (long long)usable,
                  proved ? "bands, alignment and fixed places leave no room for them"
                         : "found no placement within the budget of steps");
    if (nothing_can_go(&needs))
        diag_note(diags, span, false, "all of them are pinned, fixed or outputs");
    note_needs(&needs, span, diags);
    Shortage shortage = shortage_of(&needs, inst, bytes - usable, arena);
    arena_free(&needs.scratch);
    return shortage;
}
