#include "spill/time/gaps.h"

#include <string.h>

#include "ir/region.h"
#include "spill/parts.h"
#include "spill/time/cells.h"
#include "support/checked.h"
#include "support/search.h"
#include "support/union_find.h"

/* A write of blocks low to high of a dram tensor. */
typedef struct {
    uint32_t point;
    int64_t low, high;
} DramWrite;

typedef struct {
    DramWrite *items;
    size_t count, capacity;
} DramWrites;

/* Where in DRAM a value lies. */
typedef struct {
    uint32_t tensor; /* NO_SOURCE: nowhere */
    int64_t block;
    uint32_t since; /* the point of the load or save */
    uint32_t run;   /* the outermost run in which its block differs from iteration to iteration */
} Holder;

typedef struct {
    const TimeFacts *facts;
    const Timeline *timeline;
    const Func *func;
    const Cells *cells;
    const Target *target;
    bool remat;
    Arena *arena; /* of the result */
    Arena scratch;
    TimeGaps *out;
    size_t gap_capacity;
    DramWrites *writes;    /* [ntensors] in order of time */
    uint32_t *leader;      /* [accesses] of writes: sets of those that leave one value */
    int64_t *first, *last; /* [nloops] indexes of the point looked at, in its runs' first and last
                              iterations */
} GapPass;

static const CellAccess *access_at(const GapPass *pass, uint32_t access) {
    return &pass->cells->accesses[access];
}

static const Inst *inst_at(const GapPass *pass, uint32_t point) {
    return &pass->func->insts[pass->timeline->points[point].inst];
}

/* ---- writes of DRAM ---- */

static void set_indices(GapPass *pass, uint32_t point) {
    uint32_t frame = pass->timeline->points[point].frame;
    frame_first(pass->timeline, frame, pass->first);
    frame_last(pass->timeline, frame, pass->last);
}

/* The blocks that an operand names in all the iterations that a point stands for. */
static Range blocks_over_run(const GapPass *pass, const Operand *operand) {
    const Tensor *tensor = &pass->func->tensors[operand->tensor];
    const Blocks *blocks = operand->blocks;
    Range all = {0, tensor->blocks - 1};
    if (!blocks || blocks->kind == BLOCKS_ALL) return all;
    const Affine *high = blocks->kind == BLOCKS_RANGE ? &blocks->high : &blocks->low;
    int64_t extra = blocks->kind == BLOCKS_RANGE ? 1 : 0;
    int64_t ends[] = {affine_value(blocks->low, pass->first), affine_value(blocks->low, pass->last),
                      affine_value(*high, pass->first) - extra,
                      affine_value(*high, pass->last) - extra};
    bool varies = ends[0] != ends[1] || ends[2] != ends[3];
    if (varies && (blocks->low.modulus || high->modulus)) return all;
    for (int i = 0; i < 4; i++) {
        if (i == 0 || ends[i] < all.low) all.low = ends[i];
        if (i == 0 || ends[i] > all.high) all.high = ends[i];
    }
    return all;
}

static bool overlap_in_dram(const Tensor *a, const Tensor *b) {
    if (a->space != SPACE_DRAM || b->space != SPACE_DRAM || a->offset < 0 || b->offset < 0)
        return false;
    int64_t a_size = saturating_mul(a->blocks, saturating_mul(a->partitions, a->bytes));
    int64_t b_size = saturating_mul(b->blocks, saturating_mul(b->partitions, b->bytes));
    return a->offset < saturating_add(b->offset, b_size) &&
           b->offset < saturating_add(a->offset, a_size);
}

/* A write counts for every dram tensor whose bytes it may change. */
static void add_write(GapPass *pass, uint32_t point, const Operand *operand) {
    const Tensor *tensors = pass->func->tensors;
    Range blocks = blocks_over_run(pass, operand);
    for (uint32_t t = 0; t < pass->func->ntensors; t++) {
        bool same = t == operand->tensor;
        if (!same && !overlap_in_dram(&tensors[t], &tensors[operand->tensor])) continue;
        DramWrites *list = &pass->writes[t];
        DramWrite write = {point, same ? blocks.low : 0,
                           same ? blocks.high : tensors[t].blocks - 1};
        PUSH(&pass->scratch, list->items, list->count, list->capacity, write);
        if (tensors[operand->tensor].offset < 0) return;
    }
}

static void find_writes(GapPass *pass) {
    pass->writes = NEW_ARRAY(&pass->scratch, DramWrites, pass->func->ntensors);
    for (uint32_t p = 0; p < pass->timeline->npoints; p++) {
        const Inst *inst = inst_at(pass, p);
        for (uint32_t o = 0; o < inst->ndst; o++) {
            if (pass->func->tensors[inst->operands[o].tensor].space != SPACE_DRAM) continue;
            set_indices(pass, p);
            add_write(pass, p, &inst->operands[o]);
        }
    }
}

/* True if a point of [begin, end) may write the block. Gives up, and says so, after some writes. */
static bool is_written(const GapPass *pass, uint32_t tensor, int64_t block, uint32_t begin,
                       uint32_t end) {
    enum { LOOKED_AT = 256 };
    const DramWrites *list = &pass->writes[tensor];
    size_t at;
    FIND_FIRST(at, (size_t)0, list->count, list->items[at].point >= begin);
    for (int looked = 0; at < list->count && list->items[at].point < end; at++, looked++)
        if (looked == LOOKED_AT || (list->items[at].low <= block && block <= list->items[at].high))
            return true;
    return false;
}

/* ---- values ---- */

/* The last write at or before an access of its cell; UINT32_MAX if there is none. */
static uint32_t write_before(const GapPass *pass, uint32_t cell, uint32_t access) {
    for (; !access_at(pass, access)->writes; access--)
        if (access == pass->cells->first[cell]) return UINT32_MAX;
    return access;
}

/* Around a back edge the value before the run and the one at its end are read by one access. */
static void unite_round_edges(GapPass *pass, uint32_t cell, uint32_t access, uint32_t before) {
    const TimePoint *point = &pass->timeline->points[access_at(pass, access)->point];
    for (uint32_t r = point->run; r != NO_RUN; r = pass->timeline->runs[r].parent) {
        if (!is_first_in_run(pass->facts, cell, access, r)) return;
        uint32_t end = write_before(pass, cell, last_access_in_run(pass->facts, cell, r));
        if (end != UINT32_MAX && before != UINT32_MAX) sets_join(pass->leader, before, end);
    }
}

static bool find_values_of(GapPass *pass, uint32_t cell) {
    uint32_t current = UINT32_MAX;
    bool resident = pass->out->resident[pass->cells->tensor[cell]];
    for (uint32_t a = pass->cells->first[cell]; a < pass->cells->first[cell + 1]; a++) {
        const CellAccess *access = access_at(pass, a);
        if (access->reads && current == UINT32_MAX && !resident) return false;
        if (access->reads) unite_round_edges(pass, cell, a, current);
        if (access->writes) current = a;
    }
    return true;
}

static bool find_values(GapPass *pass) {
    uint32_t count = pass->cells->first[pass->cells->ncells];
    pass->leader = sets_make(count, &pass->scratch);
    for (uint32_t c = 0; c < pass->cells->ncells; c++)
        if (!find_values_of(pass, c)) return false;
    return true;
}

/* ---- cycles ---- */

static void find_moved(GapPass *pass) {
    const Func *func = pass->func;
    Region *moved = pass->out->moved;
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = inst->accumulate ? 0 : inst->ndst; o < inst->ndst + inst->nsrc; o++) {
            uint32_t t = inst->operands[o].tensor;
            moved[t] = region_hull(moved[t], operand_region(func, &inst->operands[o]));
        }
    }
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        bool unread = moved[t].p1 == 0;
        moved[t] = unread ? whole_region(tensor) : region_widened(tensor, moved[t]);
    }
}

/* What DMAs of a part take at an access, in all iterations that its point stands for. */
static int64_t cycles_at(const GapPass *pass, uint32_t access, Region part) {
    int64_t all = saturating_mul(part_dma(pass->target, part),
                                 point_trips(pass->timeline, access_at(pass, access)->point));
    return all < MOST_CYCLES ? all : MOST_CYCLES;
}

static int64_t dma_at(const GapPass *pass, uint32_t cell, uint32_t access) {
    return cycles_at(pass, access, pass->out->moved[pass->cells->tensor[cell]]);
}

static void number_values(GapPass *pass) {
    TimeGaps *out = pass->out;
    const Cells *cells = pass->cells;
    uint32_t count = cells->first[cells->ncells];
    out->value_of = RAW_ARRAY(pass->arena, uint32_t, count);
    out->store = NEW_ARRAY(pass->arena, int64_t, count);
    for (uint32_t c = 0; c < cells->ncells; c++)
        for (uint32_t a = cells->first[c]; a < cells->first[c + 1]; a++) {
            out->value_of[a] = UINT32_MAX;
            if (!cells->accesses[a].writes) continue;
            uint32_t root = set_of(pass->leader, a);
            uint32_t value = root == a ? out->nvalues++ : out->value_of[root];
            out->value_of[a] = value;
            out->store[value] += dma_at(pass, c, a);
        }
}

/* ---- sources ---- */

static const Holder NOWHERE = {NO_SOURCE, 0, 0, NO_RUN};

/* The outermost run around a point in whose iterations the operand's blocks differ. */
static uint32_t run_of_operand(const GapPass *pass, uint32_t point, const Operand *operand) {
    Range over = blocks_over_run(pass, operand);
    const Blocks *blocks = operand->blocks;
    int64_t span =
        blocks && blocks->kind == BLOCKS_RANGE
            ? affine_value(blocks->high, pass->first) - affine_value(blocks->low, pass->first)
            : 1;
    bool varies = blocks && blocks->kind != BLOCKS_ALL && over.high - over.low + 1 != span;
    uint32_t run = pass->timeline->points[point].run;
    while (varies && run != NO_RUN && pass->timeline->runs[run].parent != NO_RUN)
        run = pass->timeline->runs[run].parent;
    return varies ? run : NO_RUN;
}

static int64_t first_named(const GapPass *pass, const Operand *operand) {
    const Blocks *blocks = operand->blocks;
    return blocks && blocks->kind != BLOCKS_ALL ? affine_value(blocks->low, pass->first) : 0;
}

static int64_t count_named(const GapPass *pass, const Operand *operand) {
    const Blocks *blocks = operand->blocks;
    if (!blocks || blocks->kind == BLOCKS_ALL) return pass->func->tensors[operand->tensor].blocks;
    if (blocks->kind == BLOCKS_ONE) return 1;
    return affine_value(blocks->high, pass->first) - affine_value(blocks->low, pass->first);
}

/* Where a plain load or save leaves the cell's value in DRAM too: block for block of one form. */
static Holder holder_of(GapPass *pass, uint32_t cell, uint32_t access) {
    uint32_t point = access_at(pass, access)->point;
    const Inst *inst = inst_at(pass, point);
    if (access_at(pass, access)->operand == ENTRY_OPERAND) return NOWHERE;
    if ((inst->kind != OP_LOAD && inst->kind != OP_SAVE) || inst->accumulate) return NOWHERE;
    bool load = inst->kind == OP_LOAD;
    const Operand *sb = &inst->operands[load ? 0 : 1], *dram = &inst->operands[load ? 1 : 0];
    const Tensor *own = &pass->func->tensors[sb->tensor];
    const Tensor *other = &pass->func->tensors[dram->tensor];
    if (own->partitions != other->partitions || own->bytes != other->bytes ||
        dtype_bytes(own->dtype) != dtype_bytes(other->dtype) || !operand_is_whole(pass->func, sb) ||
        !operand_is_whole(pass->func, dram))
        return NOWHERE;
    set_indices(pass, point);
    if (count_named(pass, sb) != count_named(pass, dram)) return NOWHERE;
    int64_t offset = cell_block(pass->cells, cell) - first_named(pass, sb);
    return (Holder){dram->tensor, first_named(pass, dram) + offset, point,
                    run_of_operand(pass, point, dram)};
}

/* True if the holder has the value still when `access` runs. */
static bool still_holds(const GapPass *pass, const Holder *holder, uint32_t def, uint32_t point) {
    if (holder->tensor == NO_SOURCE) return false;
    if (is_written(pass, holder->tensor, holder->block, holder->since + 1, point)) return false;
    bool in_run = holder->run == NO_RUN;
    for (uint32_t r = pass->timeline->points[point].run; r != NO_RUN;
         r = pass->timeline->runs[r].parent) {
        const Run *run = &pass->timeline->runs[r];
        in_run |= r == holder->run;
        if (holder->since >= run->first && def >= run->first) continue;
        if (is_written(pass, holder->tensor, holder->block, run->first, run->end)) return false;
    }
    return in_run;
}

/* ---- gaps ---- */

static void add_points(GapPass *pass, TimeGap *gap, uint32_t first, uint32_t end) {
    if (first >= end) return;
    Interval *items = (Interval *)(uintptr_t)gap->points.items; /* this pass has made them */
    if (gap->points.count && items[gap->points.count - 1].last + 1 >= first) {
        if (items[gap->points.count - 1].last < end - 1)
            items[gap->points.count - 1].last = end - 1;
        return;
    }
    Interval *grown = RAW_ARRAY(pass->arena, Interval, gap->points.count + 1);
    if (gap->points.count) memcpy(grown, items, gap->points.count * sizeof *items);
    grown[gap->points.count] = (Interval){first, end - 1};
    gap->points = (LiveRange){grown, gap->points.count + 1};
}

/* From the access before, or from the end of a run that has that one: what lies between it and its
 * end belongs to the gap round the back edge, where there is one. */
static uint32_t gap_begin(const GapPass *pass, uint32_t cell, uint32_t before, uint32_t point) {
    uint32_t begin = access_at(pass, before)->point + 1;
    for (uint32_t r = pass->timeline->points[begin - 1].run; r != NO_RUN;
         r = pass->timeline->runs[r].parent) {
        const Run *run = &pass->timeline->runs[r];
        if (point < run->end) break;
        uint32_t first = first_access_in_run(pass->facts, cell, r);
        if (access_at(pass, first)->reads) begin = run->end;
    }
    return begin;
}

static void find_points(GapPass *pass, TimeGap *gap) {
    uint32_t point = access_at(pass, gap->access)->point;
    uint32_t begin = 0;
    if (gap->access > pass->cells->first[gap->cell]) {
        uint32_t after = access_at(pass, gap->access - 1)->point + 1;
        begin = gap_begin(pass, gap->cell, gap->access - 1, point);
        if (after < begin) {
            Interval *tail = NEW(pass->arena, Interval);
            *tail = (Interval){after, begin - 1};
            gap->tail = (LiveRange){tail, 1};
        }
    }
    add_points(pass, gap, begin, point);
    for (uint32_t r = pass->timeline->points[point].run; r != NO_RUN;
         r = pass->timeline->runs[r].parent) {
        if (!is_first_in_run(pass->facts, gap->cell, gap->access, r)) return;
        uint32_t last = last_access_in_run(pass->facts, gap->cell, r);
        add_points(pass, gap, access_at(pass, last)->point + 1, pass->timeline->runs[r].end);
    }
}

/* A load that only the access after it reads need not run where that one loads for itself. */
static bool is_sole_load(GapPass *pass, uint32_t access) {
    const CellAccess *load = access_at(pass, access);
    const Inst *inst = inst_at(pass, load->point);
    if (inst->kind != OP_LOAD || load->reads || !load->writes) return false;
    set_indices(pass, load->point);
    return count_named(pass, &inst->operands[0]) == 1;
}

static void add_gap(GapPass *pass, uint32_t cell, uint32_t access, uint32_t def,
                    const Holder holders[2], bool single) {
    TimeGaps *out = pass->out;
    TimeGap gap = {.access = access, .cell = cell, .source = NO_SOURCE};
    gap.load = dma_at(pass, cell, access);
    gap.value = def == UINT32_MAX ? UINT32_MAX : out->value_of[def];
    uint32_t point = access_at(pass, access)->point;
    for (int h = 0; h < 2 && single && gap.source == NO_SOURCE; h++) {
        if (!still_holds(pass, &holders[h], access_at(pass, def)->point, point)) continue;
        gap.source = holders[h].tensor;
        gap.block = holders[h].block;
        gap.since = holders[h].since;
        gap.varies = holders[h].run != NO_RUN;
        gap.repeats = h == 0 && def + 1 == access && is_sole_load(pass, def);
    }
    if (gap.repeats) {
        Region all = whole_region(&pass->func->tensors[pass->cells->tensor[cell]]);
        gap.load = saturating_sub(gap.load, cycles_at(pass, def, all));
    }
    if (gap.load < 1) gap.load = 1; /* of choices that cost the same, the one that cuts less */
    find_points(pass, &gap);
    out->of[access] = out->count;
    size_t count = out->count;
    PUSH(pass->arena, out->gaps, count, pass->gap_capacity, gap);
    out->count++;
}

static void add_gaps_of(GapPass *pass, uint32_t cell, const uint32_t *defs) {
    Holder holders[2] = {NOWHERE, NOWHERE}; /* by the load that made the value, by a save of it */
    uint32_t def = UINT32_MAX;
    for (uint32_t a = pass->cells->first[cell]; a < pass->cells->first[cell + 1]; a++) {
        const CellAccess *access = access_at(pass, a);
        pass->out->of[a] = UINT32_MAX;
        bool single = pass->remat && def != UINT32_MAX && defs[pass->out->value_of[def]] == 1;
        if (access->reads) add_gap(pass, cell, a, def, holders, single);
        if (access->writes) {
            def = a;
            holders[0] = access->reads ? NOWHERE : holder_of(pass, cell, a);
            holders[1] = NOWHERE;
        } else if (inst_at(pass, access->point)->kind == OP_SAVE) {
            holders[1] = holder_of(pass, cell, a);
        }
    }
}

static void add_gaps(GapPass *pass) {
    const Cells *cells = pass->cells;
    uint32_t *defs = NEW_ARRAY(&pass->scratch, uint32_t, (size_t)pass->out->nvalues + 1);
    uint32_t count = cells->first[cells->ncells];
    for (uint32_t a = 0; a < count; a++)
        if (pass->out->value_of[a] != UINT32_MAX) defs[pass->out->value_of[a]]++;
    pass->out->of = RAW_ARRAY(pass->arena, uint32_t, count);
    for (uint32_t c = 0; c < cells->ncells; c++)
        add_gaps_of(pass, c, defs);
}

bool find_gaps(TimeFacts *facts, bool remat, Arena *arena) {
    const Func *func = facts->func;
    TimeGaps *gaps = &facts->gaps;
    *gaps = (TimeGaps){.resident = NEW_ARRAY(arena, bool, func->ntensors),
                       .moved = NEW_ARRAY(arena, Region, func->ntensors)};
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        gaps->resident[t] = tensor_stays(tensor) || tensor->input;
    }
    GapPass pass = {.facts = facts,
                    .timeline = &facts->timeline,
                    .func = func,
                    .cells = &facts->cells,
                    .target = facts->target,
                    .remat = remat,
                    .arena = arena,
                    .out = gaps};
    arena_init(&pass.scratch);
    pass.first = NEW_ARRAY(&pass.scratch, int64_t, func->nloops);
    pass.last = NEW_ARRAY(&pass.scratch, int64_t, func->nloops);
    bool sound = find_values(&pass);
    if (sound) {
        find_moved(&pass);
        number_values(&pass);
        find_writes(&pass);
        add_gaps(&pass);
    }
    arena_free(&pass.scratch);
    return sound;
}
