#include "spill/time/cells.h"

#include "ir/region.h"
#include "ir/runs.h"
#include "support/search.h"

/* An access before those of a cell are brought together. */
typedef struct {
    uint32_t cell;
    bool later;  /* it held a value before */
    bool whole;  /* all of it is written */
    bool partly; /* it reads only because a part is written, and the rest stays */
    CellAccess access;
} Named;

typedef struct {
    const TimeFacts *facts;
    const Timeline *timeline;
    const Func *func;
    Cells *cells;
    Arena scratch;
    Named *named; /* in order of time */
    size_t nnamed, capacity;
    uint32_t most;
    uint32_t *latest; /* [ncells] 1 + its latest in `named` */
    int64_t *indices; /* [nloops] of the point */
    uint32_t frame;   /* that `indices` are of */
    bool entering;    /* only loads so far */
} CellPass;

static bool number_cells(CellPass *pass, Arena *arena) {
    const Func *func = pass->func;
    Cells *cells = pass->cells;
    uint64_t count = 0;
    cells->first_cell = RAW_ARRAY(arena, uint32_t, (size_t)func->ntensors + 1);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        cells->first_cell[t] = (uint32_t)count;
        if (func->tensors[t].space == SPACE_SB) count += (uint64_t)func->tensors[t].blocks;
        if (count > pass->most) return false;
    }
    cells->first_cell[func->ntensors] = cells->ncells = (uint32_t)count;
    cells->tensor = RAW_ARRAY(arena, uint32_t, count);
    for (uint32_t t = 0; t < func->ntensors; t++)
        for (uint32_t c = cells->first_cell[t]; c < cells->first_cell[t + 1]; c++)
            cells->tensor[c] = t;
    return true;
}

/* Another operand of the same instruction: what one of them writes whole has no rest. */
static void join_access(Named *same, CellAccess access, bool partial) {
    if (same->access.operand == ENTRY_OPERAND) return; /* it holds the value already */
    same->whole |= access.writes && !partial;
    if (same->partly) same->access.reads = false;
    same->partly = !same->whole && same->later && (same->partly || partial) &&
                   !(same->access.reads || access.reads);
    same->access.reads |= access.reads || same->partly;
    same->access.writes |= access.writes;
}

/* A part that is written leaves the rest as it was: that is needed where there is a value. */
static void add_access(CellPass *pass, uint32_t cell, CellAccess access, bool partial) {
    uint32_t latest = pass->latest[cell];
    if (latest && pass->named[latest - 1].access.point == access.point) {
        join_access(&pass->named[latest - 1], access, partial);
        return;
    }
    Named named = {.cell = cell,
                   .later = latest > 0 || access.operand == ENTRY_OPERAND,
                   .whole = access.writes && !partial,
                   .partly = partial && latest > 0 && !access.reads};
    access.reads |= named.partly;
    named.access = access;
    PUSH(&pass->scratch, pass->named, pass->nnamed, pass->capacity, named);
    pass->latest[cell] = (uint32_t)pass->nnamed;
}

static void add_operand(CellPass *pass, uint32_t point, uint32_t o) {
    const Inst *inst = &pass->func->insts[pass->timeline->points[point].inst];
    const Operand *operand = &inst->operands[o];
    const Tensor *tensor = &pass->func->tensors[operand->tensor];
    if (tensor->space != SPACE_SB) return;
    Range blocks = named_now(pass->func, operand, pass->indices);
    bool writes = o < inst->ndst;
    CellAccess access = {.point = point,
                         .operand = (uint16_t)o,
                         .reads = !writes || inst->accumulate,
                         .writes = writes};
    bool partial = writes && !operand_is_whole(pass->func, operand);
    for (int64_t b = blocks.low < 0 ? 0 : blocks.low; b < blocks.high && b < tensor->blocks; b++)
        add_access(pass, pass->cells->first_cell[operand->tensor] + (uint32_t)b, access, partial);
}

/* All blocks of an input are written at once, before the first instruction. */
static void add_entries(CellPass *pass) {
    const Cells *cells = pass->cells;
    for (uint32_t c = 0; c < cells->ncells && pass->timeline->npoints > 0; c++) {
        CellAccess entry = {.point = 0, .operand = ENTRY_OPERAND, .writes = true};
        if (pass->func->tensors[cells->tensor[c]].input) add_access(pass, c, entry, false);
    }
    pass->entering = pass->nnamed > 0 && !pass->facts->keeps_loads;
}

/* The first instructions may be loads that are dropped in the end: until the first one that is
 * none, any may become the one at which inputs come in. */
static void prolong_entries(CellPass *pass, uint32_t point) {
    enum { MOST = 1024 };
    const Cells *cells = pass->cells;
    for (uint32_t c = 0; c < cells->ncells; c++) {
        if (!pass->latest[c]) continue;
        CellAccess entry = pass->named[pass->latest[c] - 1].access;
        if (entry.operand != ENTRY_OPERAND || entry.point + 1 != point) continue;
        entry.point = point;
        add_access(pass, c, entry, false);
    }
    const Inst *inst = &pass->func->insts[pass->timeline->points[point].inst];
    pass->entering = inst->kind == OP_LOAD && point < MOST;
}

static bool add_point(CellPass *pass, uint32_t point) {
    const TimePoint *at = &pass->timeline->points[point];
    const Inst *inst = &pass->func->insts[at->inst];
    if (at->frame != pass->frame) frame_first(pass->timeline, at->frame, pass->indices);
    pass->frame = at->frame;
    uint32_t count = inst->ndst + inst->nsrc;
    if (count >= ENTRY_OPERAND) return false;
    for (uint32_t o = 0; o < count && !is_dead(pass->facts, at->inst); o++)
        add_operand(pass, point, o);
    if (pass->entering) prolong_entries(pass, point);
    return pass->nnamed <= pass->most;
}

/* What an instruction may read of any block of a tensor. */
static Region region_read(const Func *func, const Inst *inst, uint32_t tensor) {
    Region region = {0};
    for (uint32_t o = inst->accumulate ? 0 : inst->ndst; o < inst->ndst + inst->nsrc; o++)
        if (inst->operands[o].tensor == tensor)
            region = region_hull(region, operand_region(func, &inst->operands[o]));
    return region;
}

/* What it surely writes of each block that it writes; empty where several operands may. */
static Region region_written(const Inst *inst, uint32_t tensor) {
    Region region = {0};
    uint32_t count = 0;
    for (uint32_t o = 0; o < inst->ndst; o++)
        if (inst->operands[o].tensor == tensor && count++ == 0 && inst->operands[o].region)
            region = *inst->operands[o].region;
    return count == 1 ? region : (Region){0};
}

/* True if `region` has all of `part`, as spill code moves it. */
static bool covers(Region region, Region part, const Tensor *tensor) {
    if (part.p1 == 0) return true;
    part = region_widened(tensor, part);
    return region.p0 <= part.p0 && part.p1 <= region.p1 && region.b0 <= part.b0 &&
           part.b1 <= region.b1;
}

/* A part that is written leaves a rest that must be there only if something reads of it later. In a
 * run, round the back edge, something may. */
static void forget_rests_of(const CellPass *pass, uint32_t cell, const bool *partly) {
    const Cells *cells = pass->cells;
    uint32_t t = cells->tensor[cell];
    const Tensor *tensor = &pass->func->tensors[t];
    Region needed = tensor->output ? whole_region(tensor) : (Region){0};
    for (uint32_t a = cells->first[cell + 1]; a-- > cells->first[cell];) {
        CellAccess *access = &cells->accesses[a];
        const TimePoint *at = &pass->timeline->points[access->point];
        const Inst *inst = &pass->func->insts[at->inst];
        if (at->run != NO_RUN) needed = whole_region(tensor);
        if (partly[a]) access->reads = !covers(region_written(inst, t), needed, tensor);
        if (access->writes && !access->reads) needed = (Region){0};
        if (access->reads && !partly[a])
            needed = region_hull(needed, region_read(pass->func, inst, t));
    }
}

static void forget_rests(CellPass *pass, const bool *partly) {
    for (uint32_t c = 0; c < pass->cells->ncells; c++)
        forget_rests_of(pass, c, partly);
}

static void gather(CellPass *pass, Arena *arena) {
    Cells *cells = pass->cells;
    bool *partly = RAW_ARRAY(&pass->scratch, bool, pass->nnamed);
    cells->first = NEW_ARRAY(arena, uint32_t, (size_t)cells->ncells + 2);
    cells->accesses = RAW_ARRAY(arena, CellAccess, pass->nnamed);
    for (size_t i = 0; i < pass->nnamed; i++)
        cells->first[pass->named[i].cell + 2]++;
    for (uint32_t c = 2; c <= cells->ncells + 1; c++)
        cells->first[c] += cells->first[c - 1];
    for (size_t i = 0; i < pass->nnamed; i++) {
        uint32_t to = cells->first[pass->named[i].cell + 1]++;
        cells->accesses[to] = pass->named[i].access;
        partly[to] = pass->named[i].partly;
    }
    forget_rests(pass, partly);
}

bool find_cells(TimeFacts *facts, uint32_t most, Arena *arena) {
    CellPass pass = {.facts = facts,
                     .timeline = &facts->timeline,
                     .func = facts->func,
                     .cells = &facts->cells,
                     .most = most,
                     .frame = NO_FRAME};
    arena_init(&pass.scratch);
    bool fits = number_cells(&pass, arena);
    pass.latest = NEW_ARRAY(&pass.scratch, uint32_t, fits ? facts->cells.ncells : 0);
    pass.indices = NEW_ARRAY(&pass.scratch, int64_t, pass.func->nloops);
    if (fits) add_entries(&pass);
    for (uint32_t p = 0; fits && p < facts->timeline.npoints; p++)
        fits = add_point(&pass, p);
    if (fits) gather(&pass, arena);
    arena_free(&pass.scratch);
    return fits;
}

uint32_t first_access_in_run(const TimeFacts *facts, uint32_t cell, uint32_t run) {
    const Cells *cells = &facts->cells;
    uint32_t begin = facts->timeline.runs[run].first, at;
    FIND_FIRST(at, cells->first[cell], cells->first[cell + 1], cells->accesses[at].point >= begin);
    return at;
}

uint32_t last_access_in_run(const TimeFacts *facts, uint32_t cell, uint32_t run) {
    const Cells *cells = &facts->cells;
    uint32_t end = facts->timeline.runs[run].end, at;
    FIND_FIRST(at, cells->first[cell], cells->first[cell + 1], cells->accesses[at].point >= end);
    return at - 1;
}

bool is_first_in_run(const TimeFacts *facts, uint32_t cell, uint32_t access, uint32_t run) {
    return access == facts->cells.first[cell] ||
           facts->cells.accesses[access - 1].point < facts->timeline.runs[run].first;
}

int64_t access_position(const TimeFacts *facts, uint32_t cell, uint32_t access, int64_t *indices) {
    const CellAccess *info = &facts->cells.accesses[access];
    const TimePoint *at = &facts->timeline.points[info->point];
    const Blocks *blocks = facts->func->insts[at->inst].operands[info->operand].blocks;
    int64_t block = cell_block(&facts->cells, cell);
    if (!blocks || blocks->kind == BLOCKS_ALL) return block;
    frame_first(&facts->timeline, at->frame, indices);
    return block - affine_value(blocks->low, indices);
}
