#include "driver/peak.h"

#include "driver/peak_room.h"
#include "driver/peak_shared.h"
#include "ir/runs.h"
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
    const Occupancy *all;
    const Func *func; /* all->func */
    Arena *arena;     /* of the result */
    Arena scratch;
    uint32_t point;   /* the peak */
    int64_t *indices; /* [nloops] there, in time */
    PeakNode *found;  /* [nfound] what lives there */
    uint32_t nfound;
} PeakPass;

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
        LiveRange range = live_block(pass->all->of->live, operand->tensor, b);
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
    for (uint32_t n = 0; n < pass->all->nodes.count; n++) {
        const Node *node = &pass->all->nodes.items[n];
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
    const Inst *inst = &pass->func->insts[pass->all->facts.timeline.points[pass->point].inst];
    int64_t block = cell_block(&pass->all->facts.cells, cell);
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        if (inst->operands[o].tensor != pass->all->facts.cells.tensor[cell]) continue;
        Range named = named_now(pass->func, &inst->operands[o], pass->indices);
        if (named.low <= block && block < named.high) return true;
    }
    return false;
}

static void find_cell(PeakPass *pass, uint32_t cell, const Node *node) {
    const Cells *cells = &pass->all->facts.cells;
    PeakNode found = peak_node(node, pass->point);
    uint32_t first = cells->first[cell], end = cells->first[cell + 1], at;
    FIND_FIRST(at, first, end, cells->accesses[at].point >= pass->point);
    if (at < end && cells->accesses[at].point == pass->point) at++;
    found.used = is_named_there(pass, cell);
    if (at < end && cells->accesses[at].point <= found.live.last)
        found.next = cells->accesses[at].point;
    for (uint32_t r = pass->all->facts.timeline.points[pass->point].run;
         r != NO_RUN && found.next == UINT32_MAX; r = pass->all->facts.timeline.runs[r].parent) {
        FIND_FIRST(at, first, end,
                   cells->accesses[at].point >= pass->all->facts.timeline.runs[r].first);
        if (at < end && cells->accesses[at].point < pass->point)
            found.next = cells->accesses[at].point;
    }
    pass->found[pass->nfound++] = found;
}

static void find_in_time(PeakPass *pass) {
    const Timeline *timeline = &pass->all->facts.timeline;
    pass->indices = NEW_ARRAY(&pass->scratch, int64_t, pass->func->nloops);
    frame_first(timeline, timeline->points[pass->point].frame, pass->indices);
    for (uint32_t c = 0; c < pass->all->facts.cells.ncells; c++) {
        uint32_t n = pass->all->nodes.of[c];
        if (n != NO_NODE && live_at(pass->all->nodes.items[n].range, pass->point))
            find_cell(pass, c, &pass->all->nodes.items[n]);
    }
}

/* ---- the result ---- */

static Moment moment_at(const PeakPass *pass, uint32_t point) {
    Moment moment = {.point = point};
    if (point == UINT32_MAX) return moment;
    if (pass->all->in_time) moment.point = pass->all->facts.timeline.points[point].inst;
    const Inst *inst = &pass->func->insts[moment.point];
    bool known = pass->all->of->source && inst->span.end > inst->span.begin;
    if (known) moment.line = source_line(pass->all->of->source, inst->span.begin);
    if (!pass->all->in_time || inst->loop == NO_LOOP) return moment;
    const Loop *loops = pass->func->loops;
    int64_t *all = NEW_ARRAY(pass->arena, int64_t, pass->func->nloops);
    int64_t *own = RAW_ARRAY(pass->arena, int64_t, loops[inst->loop].depth + 1);
    frame_first(&pass->all->facts.timeline, pass->all->facts.timeline.points[point].frame, all);
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

/* The largest first, of those that are alike the one that lives first, whatever its number is. */
static uint32_t *order_by_size(PeakPass *pass, uint32_t count) {
    enum { BEGIN, SMALLNESS, KEYS };
    uint64_t *rows = RAW_ARRAY(&pass->scratch, uint64_t, (size_t)count * KEYS);
    uint32_t *order = RAW_ARRAY(&pass->scratch, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        const PeakNode *found = &pass->found[i];
        int64_t bytes = pass->func->tensors[found->tensor].bytes * found->blocks;
        rows[(size_t)i * KEYS + BEGIN] = found->live.first;
        rows[(size_t)i * KEYS + SMALLNESS] = UINT64_MAX - (uint64_t)bytes;
        order[i] = i;
    }
    sort_rows(rows, KEYS, order, count, &pass->scratch);
    return order;
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
    const uint32_t *order = order_by_size(pass, count);
    peak->tensors = RAW_ARRAY(pass->arena, PeakTensor, count);
    peak->count = count;
    for (uint32_t i = 0; i < count; i++)
        peak->tensors[i] = peak_tensor(pass, &pass->found[order[i]]);
}

/* Blocks that lie there, as rectangles. */
static void find_room(PeakPass *pass, Peak *peak) {
    Rect *taken = RAW_ARRAY(&pass->scratch, Rect, nodes_blocks(&pass->all->nodes));
    uint32_t count = 0;
    for (uint32_t n = 0; n < pass->all->nodes.count; n++) {
        const Node *node = &pass->all->nodes.items[n];
        for (uint32_t b = 0; node->fixed && b < node->blocks; b++)
            if (live_at(node_block_range(node, b), pass->point)) taken[count++] = node->rects[b];
    }
    PeakRoom room =
        find_peak_room(taken, count, target_granules(pass->all->of->target), &pass->scratch);
    peak->largest = room.largest;
    peak->free = room.area;
    peak->fragmented = room.area - rect_area(room.largest);
}

static void fill(PeakPass *pass, Peak *peak) {
    const Target *target = pass->all->of->target;
    uint32_t most = pass->all->needs[pass->point];
    pass->found = RAW_ARRAY(&pass->scratch, PeakNode, pass->all->nodes.count);
    if (pass->all->in_time)
        find_in_time(pass);
    else
        find_in_text(pass);
    *peak = (Peak){.func = pass->all->of->func,
                   .in_time = pass->all->in_time,
                   .at = moment_at(pass, pass->point),
                   .needed = (int64_t)most * GRANULE,
                   .usable = target_usable(target),
                   .placed = pass->all->of->placed};
    peak->need = needs_of_insts(pass->all, pass->arena);
    gather_tensors(pass, peak);
    find_shared_places(peak, pass->all, pass->point, &pass->scratch);
    if (peak->placed) find_room(pass, peak);
}

const Peak *peak_of(const Occupancy *all, Arena *arena) {
    PeakPass pass = {.all = all, .func = all->func, .arena = arena, .point = all->peak};
    if (all->peak == UINT32_MAX) return NULL;
    Peak *peak = NEW(arena, Peak);
    arena_init(&pass.scratch);
    fill(&pass, peak);
    arena_free(&pass.scratch);
    return peak;
}

const Peak *find_peak(const PeakOf *of, Arena *arena) {
    Arena scratch;
    arena_init(&scratch);
    Occupancy all = find_occupancy(of, &scratch);
    const Peak *peak = peak_of(&all, arena);
    arena_free(&scratch);
    return peak;
}
