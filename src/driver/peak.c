#include "driver/peak.h"

#include "analysis/partners.h"
#include "analysis/pressure.h"
#include "driver/peak_room.h"
#include "ir/runs.h"
#include "spill/time/place_cells.h"
#include "support/search.h"
#include "support/sort.h"

/* A node at the peak, and when it lives there. */
typedef struct {
    uint32_t tensor;
    int64_t blocks;
    Interval live;
    uint32_t next; /* point of its next access; UINT32_MAX: none */
    bool used;
} PeakNode;

typedef struct {
    const PeakOf *of;
    const Func *func; /* of->func; where all is placed, each tensor with a place is fixed here */
    Arena *arena;     /* of the result */
    Arena scratch;
    bool in_time;
    TimeFacts facts;  /* where it is laid out in time */
    Nodes nodes;      /* tensors over points of the text, or cells over those of time */
    uint32_t point;   /* the peak */
    int64_t *indices; /* [nloops] there, in time */
    PeakNode *found;  /* [nfound] what lives there */
    uint32_t nfound;
} PeakPass;

/* ---- ranges ---- */

/* The function with what is placed as fixed. */
static const Func *with_fixed(const Func *func, Arena *arena) {
    Func *fixed = NEW(arena, Func);
    *fixed = *func;
    fixed->tensors = RAW_ARRAY(arena, Tensor, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        fixed->tensors[t] = func->tensors[t];
        fixed->tensors[t].fixed = func->tensors[t].space == SPACE_SB && func->tensors[t].at;
    }
    return fixed;
}

static bool lay_out_in_time(PeakPass *pass) {
    TimeOptions options = {
        .full = 30000, .most_points = 2000000, .most_accesses = 16000000, .keeps_loads = true};
    TimeFacts *facts = &pass->facts;
    if (pass->func->nloops == 0 ||
        !find_cell_facts(pass->func, pass->of->target, options, &pass->scratch, facts))
        return false;
    pass->nodes = cell_nodes(facts, all_gaps(facts, &pass->scratch), &pass->scratch);
    return true;
}

static void find_ranges(PeakPass *pass) {
    pass->in_time = lay_out_in_time(pass);
    if (!pass->in_time) pass->nodes = renumber(pass->func, pass->of->live, NULL, &pass->scratch);
}

/* ---- what is needed ---- */

/* One fixed block as a node of its own. */
static Node node_of_block(const Node *node, uint32_t block) {
    Node one = *node;
    one.blocks = 1;
    one.rects = &node->rects[block];
    one.height = one.rects->high - one.rects->low;
    one.range = node_block_range(node, block);
    one.block_ranges = NULL;
    return one;
}

/* The order of rectangles on the chip: those that are the same are neighbours. */
static const uint32_t *order_by_place(const Node *items, uint32_t count, Arena *arena) {
    enum { KEYS = 3 };
    uint64_t *rows = RAW_ARRAY(arena, uint64_t, (size_t)KEYS * count);
    uint32_t *order = RAW_ARRAY(arena, uint32_t, count);
    for (uint32_t n = 0; n < count; n++) {
        Rect rect = *items[n].rects;
        uint64_t *row = &rows[(size_t)KEYS * n];
        row[0] = rect.low;
        row[1] = rect.high;
        row[2] = rect.mask;
        order[n] = n;
    }
    sort_rows(rows, KEYS, order, count, arena);
    return order;
}

/* Joins the ranges of items that are one rectangle, pairs of neighbours at a time so that each
 * interval is looked at O(log items) times. */
static LiveRange join_all(const Node *items, const uint32_t *order, uint32_t count, Arena *arena) {
    LiveRange *ranges = RAW_ARRAY(arena, LiveRange, count);
    for (uint32_t i = 0; i < count; i++)
        ranges[i] = items[order[i]].range;
    for (; count > 1; count = (count + 1) / 2)
        for (uint32_t i = 0; i < count; i += 2)
            ranges[i / 2] = i + 1 < count ? live_union(ranges[i], ranges[i + 1], arena) : ranges[i];
    return ranges[0];
}

/* What lies at one place takes room once: the two ends of a copy that does nothing. */
static Nodes share_places(const Nodes *nodes, Arena *arena) {
    Nodes shared = {.items = RAW_ARRAY(arena, Node, nodes_blocks(nodes)),
                    .npoints = nodes->npoints};
    Node *fixed = RAW_ARRAY(arena, Node, nodes_blocks(nodes));
    uint32_t nfixed = 0;
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        if (!node->fixed) shared.items[shared.count++] = *node;
        for (uint32_t b = 0; node->fixed && b < node->blocks; b++)
            fixed[nfixed++] = node_of_block(node, b);
    }
    const uint32_t *order = order_by_place(fixed, nfixed, arena);
    for (uint32_t i = 0, end; i < nfixed; i = end) {
        Node one = fixed[order[i]];
        for (end = i + 1; end < nfixed && rects_same(*one.rects, *fixed[order[end]].rects) &&
                          one.rects->high == fixed[order[end]].rects->high;)
            end++;
        one.range = join_all(fixed, &order[i], end - i, arena);
        shared.items[shared.count++] = one;
    }
    return shared;
}

/* Leaves out what is written by copies that may do nothing. Of what is left no two could have one
 * place: they hold values of their own where both live. */
static void leave_out_copied(PeakPass *pass) {
    bool *copied = NEW_ARRAY(&pass->scratch, bool, pass->func->ntensors);
    for (uint32_t p = 0; p < pass->func->ninsts; p++) {
        const Inst *inst = &pass->func->insts[p];
        if (copy_is_elidable(pass->func, inst)) copied[inst_dst(inst)->tensor] = true;
    }
    for (uint32_t n = 0; n < pass->nodes.count; n++) {
        Node *node = &pass->nodes.items[n];
        if (!copied[node->tensor]) continue;
        node->range = (LiveRange){NULL, 0};
        node->block_ranges = NULL;
    }
}

/* Granules needed at the peak; sets it. */
static uint32_t find_worst(PeakPass *pass) {
    Nodes shared = share_places(&pass->nodes, &pass->scratch);
    Pressure pressure = find_pressure(&shared, &pass->scratch);
    const uint32_t *needs = quadrant_needs(&shared, &pressure, &pass->scratch);
    uint32_t most = 0;
    for (uint32_t p = 0; p < shared.npoints; p++) {
        if (needs[p] <= most) continue;
        most = needs[p];
        pass->point = p;
    }
    return most;
}

/* ---- who lives there ---- */

static Interval interval_at(LiveRange range, uint32_t point) {
    uint32_t at;
    FIND_FIRST(at, 0u, range.count, range.items[at].last >= point);
    return range.items[at];
}

static PeakNode peak_node(const Node *node, uint32_t point) {
    PeakNode found = {.tensor = node->tensor, .next = UINT32_MAX};
    for (uint32_t b = 0; b < node->blocks; b++) {
        LiveRange range = node_block_range(node, b);
        if (!live_at(range, point)) continue;
        Interval live = interval_at(range, point);
        if (found.blocks++ == 0) found.live = live;
        if (live.first < found.live.first) found.live.first = live.first;
        if (live.last > found.live.last) found.live.last = live.last;
    }
    return found;
}

/* True if the operand of instruction `p` may name a block that lives from the peak on to there;
 * before the peak: round a back edge. */
static bool names_live(const PeakPass *pass, uint32_t p, const Operand *operand) {
    BlockSpan span = operand_blocks(pass->func, operand);
    for (int64_t b = span.first; b <= span.last; b++) {
        LiveRange range = live_block(pass->of->live, operand->tensor, b);
        if (live_at(range, pass->point) && p <= interval_at(range, pass->point).last) return true;
    }
    return false;
}

/* Accesses of what lives there by the instructions of [begin, end), in the text. */
static void note_accesses(PeakPass *pass, const uint32_t *of, uint32_t begin, uint32_t end) {
    for (uint32_t p = begin; p < end; p++) {
        const Inst *inst = &pass->func->insts[p];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            uint32_t i = of[inst->operands[o].tensor];
            if (i == UINT32_MAX || !names_live(pass, p, &inst->operands[o])) continue;
            PeakNode *found = &pass->found[i];
            if (p == pass->point)
                found->used = true;
            else if (found->next == UINT32_MAX)
                found->next = p;
        }
    }
}

static void find_in_text(PeakPass *pass) {
    uint32_t *of = RAW_ARRAY(&pass->scratch, uint32_t, pass->func->ntensors);
    for (uint32_t t = 0; t < pass->func->ntensors; t++)
        of[t] = UINT32_MAX;
    for (uint32_t n = 0; n < pass->nodes.count; n++) {
        const Node *node = &pass->nodes.items[n];
        if (!live_at(node->range, pass->point)) continue;
        of[node->tensor] = pass->nfound;
        pass->found[pass->nfound++] = peak_node(node, pass->point);
    }
    note_accesses(pass, of, pass->point, pass->func->ninsts);
    /* Round the back edges, of inner loops first. */
    for (uint32_t l = pass->func->insts[pass->point].loop; l != NO_LOOP;
         l = pass->func->loops[l].parent)
        note_accesses(pass, of, pass->func->loops[l].first, pass->point);
}

/* What an input holds on entry counts as an access, so accesses do not tell. */
static bool is_named_there(PeakPass *pass, uint32_t cell) {
    const Inst *inst = &pass->func->insts[pass->facts.timeline.points[pass->point].inst];
    int64_t block = cell_block(&pass->facts.cells, cell);
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        if (inst->operands[o].tensor != pass->facts.cells.tensor[cell]) continue;
        Range named = named_now(pass->func, &inst->operands[o], pass->indices);
        if (named.low <= block && block < named.high) return true;
    }
    return false;
}

static void find_cell(PeakPass *pass, uint32_t cell, const Node *node) {
    const Cells *cells = &pass->facts.cells;
    PeakNode found = peak_node(node, pass->point);
    uint32_t first = cells->first[cell], end = cells->first[cell + 1], at;
    FIND_FIRST(at, first, end, cells->accesses[at].point >= pass->point);
    if (at < end && cells->accesses[at].point == pass->point) at++;
    found.used = is_named_there(pass, cell);
    if (at < end && cells->accesses[at].point <= found.live.last)
        found.next = cells->accesses[at].point;
    for (uint32_t r = pass->facts.timeline.points[pass->point].run;
         r != NO_RUN && found.next == UINT32_MAX; r = pass->facts.timeline.runs[r].parent) {
        FIND_FIRST(at, first, end, cells->accesses[at].point >= pass->facts.timeline.runs[r].first);
        if (at < end && cells->accesses[at].point < pass->point)
            found.next = cells->accesses[at].point;
    }
    pass->found[pass->nfound++] = found;
}

static void find_in_time(PeakPass *pass) {
    const Timeline *timeline = &pass->facts.timeline;
    pass->indices = NEW_ARRAY(&pass->scratch, int64_t, pass->func->nloops);
    frame_first(timeline, timeline->points[pass->point].frame, pass->indices);
    for (uint32_t c = 0; c < pass->facts.cells.ncells; c++) {
        uint32_t n = pass->nodes.of[c];
        if (n != NO_NODE && live_at(pass->nodes.items[n].range, pass->point))
            find_cell(pass, c, &pass->nodes.items[n]);
    }
}

/* ---- the result ---- */

static Moment moment_at(const PeakPass *pass, uint32_t point) {
    Moment moment = {.point = point};
    if (point == UINT32_MAX) return moment;
    if (pass->in_time) moment.point = pass->facts.timeline.points[point].inst;
    const Inst *inst = &pass->func->insts[moment.point];
    bool known = pass->of->source && inst->span.end > inst->span.begin;
    if (known) moment.line = source_line(pass->of->source, inst->span.begin);
    if (!pass->in_time || inst->loop == NO_LOOP) return moment;
    const Loop *loops = pass->func->loops;
    int64_t *all = NEW_ARRAY(pass->arena, int64_t, pass->func->nloops);
    int64_t *own = RAW_ARRAY(pass->arena, int64_t, loops[inst->loop].depth + 1);
    frame_first(&pass->facts.timeline, pass->facts.timeline.points[point].frame, all);
    for (uint32_t l = inst->loop; l != NO_LOOP; l = loops[l].parent)
        own[loops[l].depth] = all[l];
    moment.indices = own;
    return moment;
}

/* True if an access at point `a` comes before one at `b`; those before the peak come round a back
 * edge. */
static bool comes_before(const PeakPass *pass, uint32_t a, uint32_t b) {
    if (a == UINT32_MAX || b == UINT32_MAX) return b == UINT32_MAX;
    bool round_a = a < pass->point, round_b = b < pass->point;
    if (round_a != round_b) return round_b;
    return a < b;
}

/* What is known of the blocks of one tensor, put together. */
static PeakNode join_blocks(const PeakPass *pass, PeakNode a, PeakNode b) {
    a.blocks += b.blocks;
    a.used |= b.used;
    if (b.live.first < a.live.first) a.live.first = b.live.first;
    if (b.live.last > a.live.last) a.live.last = b.live.last;
    if (comes_before(pass, b.next, a.next)) a.next = b.next;
    return a;
}

static PeakTensor peak_tensor(const PeakPass *pass, const PeakNode *found) {
    int64_t bytes = pass->func->tensors[found->tensor].bytes;
    return (PeakTensor){.tensor = found->tensor,
                        .blocks = found->blocks,
                        .bytes = bytes * found->blocks,
                        .used = found->used,
                        .first = moment_at(pass, found->live.first),
                        .last = moment_at(pass, found->live.last),
                        .next = moment_at(pass, found->next)};
}

/* Nodes of one tensor are neighbours. */
static void gather_tensors(PeakPass *pass, Peak *peak) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < pass->nfound; i++) {
        PeakNode one = pass->found[i];
        if (count && pass->found[count - 1].tensor == one.tensor)
            pass->found[count - 1] = join_blocks(pass, pass->found[count - 1], one);
        else
            pass->found[count++] = one;
    }
    SortKey *order = RAW_ARRAY(&pass->scratch, SortKey, count);
    for (uint32_t i = 0; i < count; i++) {
        const Tensor *tensor = &pass->func->tensors[pass->found[i].tensor];
        order[i] = (SortKey){UINT64_MAX - (uint64_t)(tensor->bytes * pass->found[i].blocks), i};
    }
    sort_keys(order, count, &pass->scratch);
    peak->tensors = RAW_ARRAY(pass->arena, PeakTensor, count);
    peak->count = count;
    for (uint32_t i = 0; i < count; i++)
        peak->tensors[i] = peak_tensor(pass, &pass->found[order[i].id]);
}

/* Blocks that lie there, as rectangles. */
static void find_room(PeakPass *pass, Peak *peak) {
    Rect *taken = RAW_ARRAY(&pass->scratch, Rect, nodes_blocks(&pass->nodes));
    uint32_t count = 0;
    for (uint32_t n = 0; n < pass->nodes.count; n++) {
        const Node *node = &pass->nodes.items[n];
        for (uint32_t b = 0; node->fixed && b < node->blocks; b++)
            if (live_at(node_block_range(node, b), pass->point)) taken[count++] = node->rects[b];
    }
    PeakRoom room = find_peak_room(taken, count, pass->facts.size, &pass->scratch);
    peak->largest = room.largest;
    peak->free = room.area;
    peak->fragmented = room.area - rect_area(room.largest);
}

static void fill(PeakPass *pass, Peak *peak, uint32_t most) {
    pass->found = RAW_ARRAY(&pass->scratch, PeakNode, pass->nodes.count);
    if (pass->in_time)
        find_in_time(pass);
    else
        find_in_text(pass);
    *peak = (Peak){.func = pass->of->func,
                   .in_time = pass->in_time,
                   .at = moment_at(pass, pass->point),
                   .needed = (int64_t)most * GRANULE,
                   .usable = target_usable(pass->of->target),
                   .placed = pass->of->placed};
    gather_tensors(pass, peak);
    pass->facts.size = target_granules(pass->of->target);
    if (peak->placed) find_room(pass, peak);
}

const Peak *find_peak(const PeakOf *of, Arena *arena) {
    PeakPass pass = {.of = of, .func = of->func, .arena = arena};
    Peak *peak = NULL;
    arena_init(&pass.scratch);
    if (of->placed) pass.func = with_fixed(of->func, &pass.scratch);
    find_ranges(&pass);
    if (of->least) leave_out_copied(&pass);
    uint32_t most = find_worst(&pass);
    if (most > 0) {
        peak = NEW(arena, Peak);
        fill(&pass, peak, most);
    }
    arena_free(&pass.scratch);
    return peak;
}
