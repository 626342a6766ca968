#include "bound/demand.h"

#include "analysis/timeline.h"
#include "ir/dma.h"
#include "ir/region.h"
#include "ir/runs.h"
#include "support/checked.h"

/* Limits. Costs and areas are such that their products fit in 64 bits. */
enum { MOST_POINTS = 1 << 20, MOST_CELLS = 1 << 22, MOST_GAPS = 1 << 20 };
#define MOST_COST (INT64_C(1) << 34)
#define MOST_AREA (INT64_C(1) << 26)

#define NONE UINT32_MAX

/* Where in DRAM a value lies: in blocks low to high - 1, since a load or save. */
typedef struct {
    uint32_t tensor, since;
    int64_t low, high;
    bool part;     /* of the blocks: writes of other parts leave it as it is */
    uint32_t next; /* of the same value, NONE: the last */
} DramHolder;

/* What an atom contains from a write on. */
typedef struct {
    uint32_t last; /* point of the last access */
    uint32_t holders;
    int64_t store;  /* parts */
    int64_t credit; /* parts that the load which made it takes for it, 0: nothing did */
    bool droppable; /* that load need not run where the first read loads for itself */
    bool read, clean;
    bool entry; /* an input has it at point 0 */
    bool vague; /* not told from others: no gaps */
} BoundValue;

/* What an atom of a tensor takes, wherever its block is. */
typedef struct {
    LaneShape shape;
    int64_t area; /* partitions times bytes */
} AtomShape;

typedef struct {
    const Func *func;
    const Target *target;
    Arena *arena; /* of the result */
    Arena scratch;
    BoundDemand *out;
    Timeline timeline;
    Atoms atoms;
    AtomShape **shapes; /* [ntensors][atoms of a block] of sb tensors */
    bool *resident;     /* [ntensors] fixed, pinned, output */
    int64_t *indices;   /* [nloops] at this point */
    uint32_t point;
    BoundValue *values; /* value 0 is none */
    size_t nvalues, value_capacity;
    DramHolder *holders;
    size_t nholders, holder_capacity;
    size_t gap_capacity, operand_capacity;
    uint32_t *value_of;   /* [cells] */
    uint32_t *cell_seen;  /* [cells] the last point that named it */
    uint32_t **written;   /* [ntensors] of dram: [blocks] point of the last write */
    uint32_t **rewritten; /* the same, of writes of whole blocks */
    uint32_t *touched;    /* values accessed at this point */
    size_t ntouched, touched_capacity;
    bool too_large;
} DemandPass;

/* ---- shapes ---- */

static LaneShape area_shape(LaneShape shape) {
    uint32_t quadrants = (uint32_t)__builtin_popcount(shape.bands.masks[0]);
    return (LaneShape){shape.height * quadrants, {1, {1}}};
}

/* An atom may be moved alone, in a copy that begins where it does. Of one that is not as high as
 * its tensor only whole quadrants count, in any place. */
static LaneShape shape_of_atom(const Tensor *tensor, Region part) {
    uint32_t height = (uint32_t)(ceil_div(part.b1, GRANULE) - ceil_div(part.b0, GRANULE));
    Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
    if (part.p0 == 0 && part.p1 == tensor->partitions) return (LaneShape){height, bands};
    bool some = ceil_div(part.p1, QUADRANT_PARTITIONS) > ceil_div(part.p0, QUADRANT_PARTITIONS);
    return (LaneShape){some ? height : 0, class_bands(CLASS_ANY_QUADRANT)};
}

static void shape_atoms(DemandPass *pass, uint32_t tensor) {
    const AtomGrid *grid = &pass->atoms.grids[tensor];
    AtomShape *shapes = RAW_ARRAY(&pass->scratch, AtomShape, grid->count);
    for (uint32_t a = 0; a < grid->count; a++) {
        Region part = atom_region(grid, a);
        shapes[a].shape = shape_of_atom(&pass->func->tensors[tensor], part);
        shapes[a].area = (part.p1 - part.p0) * (part.b1 - part.b0);
        if (pass->out->lanes == 1) shapes[a].shape = area_shape(shapes[a].shape);
    }
    pass->shapes[tensor] = shapes;
}

/* True if some tensor is bound to some quadrants: else all are alike, and areas say all. */
static bool tells_quadrants(const Func *func) {
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        if (tensor->space != SPACE_SB || tensor->partitions > PARTITIONS / 2) continue;
        if (tensor->base >= 0 || tensor->fixed) return true;
    }
    return false;
}

static void shape_tensors(DemandPass *pass) {
    const Func *func = pass->func;
    BoundDemand *out = pass->out;
    out->lanes = tells_quadrants(func) ? QUADRANTS : 1;
    out->size = target_granules(pass->target) * (out->lanes == 1 ? QUADRANTS : 1);
    pass->shapes = NEW_ARRAY(&pass->scratch, AtomShape *, func->ntensors);
    pass->resident = NEW_ARRAY(&pass->scratch, bool, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        pass->resident[t] = tensor_stays(tensor);
        if (tensor->space != SPACE_SB) continue;
        shape_atoms(pass, t);
        pass->too_large |= block_dma(pass->target, tensor) > MOST_COST ||
                           saturating_mul(tensor->partitions, tensor->bytes) > MOST_AREA;
    }
}

/* A fixed tensor of one atom takes the granules that it touches, where it is. */
static LaneShape shape_of_cell(const DemandPass *pass, uint32_t tensor, int64_t block,
                               uint32_t atom) {
    const Tensor *info = &pass->func->tensors[tensor];
    LaneShape shape = pass->shapes[tensor][atom].shape;
    if (!info->fixed || pass->atoms.grids[tensor].count > 1) return shape;
    Rect rect = tensor_rect(info, info->at[block]);
    uint32_t size = target_granules(pass->target);
    if (rect.high > size) rect.high = size;
    shape = (LaneShape){rect.high - rect.low, {1, {rect.mask}}};
    return pass->out->lanes == 1 ? area_shape(shape) : shape;
}

/* ---- room ---- */

static void take_room(DemandPass *pass, LaneShape shape, uint32_t point) {
    BoundDemand *out = pass->out;
    if (shape.height == 0) return;
    if (shape.bands.count == 1) {
        for (uint32_t lane = 0; lane < out->lanes; lane++)
            if (shape.bands.masks[0] >> lane & 1) out->taken[lane][point] += shape.height;
        return;
    }
    size_t count = out->noperands;
    DemandOperand operand = {point, shape};
    PUSH(pass->arena, out->operands, count, pass->operand_capacity, operand);
    out->noperands = (uint32_t)count;
}

static void add_demand_gap(DemandPass *pass, DemandGap gap) {
    BoundDemand *out = pass->out;
    if (gap.first > gap.last || (gap.load == MUST_KEEP && gap.shape.height == 0)) return;
    size_t count = out->ngaps;
    pass->too_large |= count == MOST_GAPS;
    if (pass->too_large) return;
    PUSH(pass->arena, out->gaps, count, pass->gap_capacity, gap);
    out->ngaps = (uint32_t)count;
}

/* ---- values ---- */

static uint32_t new_value(DemandPass *pass, int64_t store) {
    BoundValue value = {.last = pass->point, .holders = NONE, .store = store};
    PUSH(&pass->scratch, pass->values, pass->nvalues, pass->value_capacity, value);
    return (uint32_t)(pass->nvalues - 1);
}

static void touch_value(DemandPass *pass, uint32_t value) {
    PUSH(&pass->scratch, pass->touched, pass->ntouched, pass->touched_capacity, value);
}

/* Operands one block at a time. */
typedef struct {
    const Operand *operand;
    int64_t low, high; /* blocks */
    AtomSpan span;
    int64_t cycles; /* of a DMA of what is named of a block */
    Region region;  /* of a block */
    int64_t area;
} NamedAtoms;

static NamedAtoms named_atoms(const DemandPass *pass, const Operand *operand) {
    const Tensor *tensor = &pass->func->tensors[operand->tensor];
    Range blocks = named_now(pass->func, operand, pass->indices);
    NamedAtoms named = {.operand = operand,
                        .low = blocks.low < 0 ? 0 : blocks.low,
                        .high = blocks.high < tensor->blocks ? blocks.high : tensor->blocks,
                        .region = operand_region(pass->func, operand)};
    const Region *r = &named.region;
    named.area = (r->p1 - r->p0) * (r->b1 - r->b0);
    named.cycles = latency_dram(pass->target, r->p1 - r->p0, r->b1 - r->b0);
    if (tensor->space == SPACE_SB && pass->atoms.grids[operand->tensor].count)
        named.span = span_of_region(&pass->atoms.grids[operand->tensor], operand->region);
    return named;
}

/* Where an operand is, atom by atom, block by block. */
typedef struct {
    const NamedAtoms *named;
    int64_t block;
    uint32_t row, column;
    uint32_t atom, cell; /* the current one */
} AtomWalk;

static AtomWalk walk_atoms(const NamedAtoms *named) {
    return (AtomWalk){named, named->low, named->span.row, named->span.column, 0, 0};
}

static bool next_atom(const DemandPass *pass, AtomWalk *walk) {
    const AtomSpan *span = &walk->named->span;
    uint32_t tensor = walk->named->operand->tensor;
    const AtomGrid *grid = &pass->atoms.grids[tensor];
    if (walk->block >= walk->named->high || grid->count == 0) return false;
    walk->atom = walk->row * (grid->bytes.count - 1) + walk->column;
    walk->cell = pass->atoms.first_cell[tensor] + (uint32_t)walk->block * grid->count + walk->atom;
    if (++walk->column < span->end_column) return true;
    walk->column = span->column;
    if (++walk->row < span->end_row) return true;
    walk->row = span->row;
    walk->block++;
    return true;
}

static int64_t block_of_cell(const DemandPass *pass, uint32_t tensor, uint32_t cell) {
    return (cell - pass->atoms.first_cell[tensor]) / pass->atoms.grids[tensor].count;
}

static LaneShape walk_shape(const DemandPass *pass, const AtomWalk *walk) {
    uint32_t tensor = walk->named->operand->tensor;
    return shape_of_cell(pass, tensor, block_of_cell(pass, tensor, walk->cell), walk->atom);
}

/* What an atom of `area` takes of a DMA of `cycles` that moves `whole`, in parts, rounded down. */
static int64_t share_of(int64_t cycles, int64_t area, int64_t whole) {
    int64_t product = cycles * area;
    return PARTS(product / whole) + PARTS(product % whole) / whole;
}

/* Its part of a load that moves what is named of a block, rounded up. */
static int64_t load_credit(const DemandPass *pass, const AtomWalk *walk) {
    const NamedAtoms *named = walk->named;
    int64_t area = pass->shapes[named->operand->tensor][walk->atom].area;
    return share_of(named->cycles, area, named->area) + (named->cycles * area % named->area != 0);
}

/* Its part of a DMA of a whole block, which is the least: the start is shared by most. */
static int64_t block_share(const DemandPass *pass, uint32_t tensor, uint32_t atom) {
    const Tensor *info = &pass->func->tensors[tensor];
    return share_of(block_dma(pass->target, info), pass->shapes[tensor][atom].area,
                    info->partitions * info->bytes);
}

/* ---- reads ---- */

/* What not keeping a value until this read costs. One DMA may bring more than this read needs, for
 * others. */
static int64_t cost_of_gap(const DemandPass *pass, const AtomWalk *walk, const BoundValue *value) {
    uint32_t tensor = walk->named->operand->tensor;
    if (pass->resident[tensor]) return MUST_KEEP;
    int64_t credit = value->droppable && !value->read ? value->credit : 0;
    return block_share(pass, tensor, walk->atom) - credit;
}

static void read_value(DemandPass *pass, const AtomWalk *walk, uint32_t v) {
    BoundValue *value = &pass->values[v];
    if (value->last == pass->point) return;
    bool droppable = value->droppable && !value->read;
    DemandGap gap = {.first = value->last + !droppable,
                     .last = pass->point - 1,
                     .value = v,
                     .shape = walk_shape(pass, walk),
                     .load = cost_of_gap(pass, walk, value),
                     .clean = value->clean};
    if (value->entry && !value->read) take_room(pass, gap.shape, 0);
    if (!value->vague) add_demand_gap(pass, gap);
    value->read = true;
    value->last = pass->point;
    touch_value(pass, v);
}

/* Values that are equal take room once, as do the operands that name one atom. */
static void read_operand(DemandPass *pass, const Operand *operand) {
    if (pass->func->tensors[operand->tensor].space != SPACE_SB) return;
    NamedAtoms named = named_atoms(pass, operand);
    for (AtomWalk walk = walk_atoms(&named); next_atom(pass, &walk);) {
        uint32_t v = pass->value_of[walk.cell];
        bool seen = pass->cell_seen[walk.cell] == pass->point;
        seen |= v && pass->values[v].read && pass->values[v].last == pass->point;
        pass->cell_seen[walk.cell] = pass->point;
        if (!seen && !pass->values[v].vague) take_room(pass, walk_shape(pass, &walk), pass->point);
        if (v) read_value(pass, &walk, v);
    }
}

/* ---- writes ---- */

/* Each atom has a new value. A load may be dropped: its room is in the gap to its first read. */
static void write_operand(DemandPass *pass, const Inst *inst, const Operand *operand) {
    NamedAtoms named = named_atoms(pass, operand);
    bool load = inst->kind == OP_LOAD;
    bool droppable = load && !inst->accumulate && !pass->resident[operand->tensor];
    for (AtomWalk walk = walk_atoms(&named); next_atom(pass, &walk);) {
        uint32_t v = new_value(pass, block_share(pass, operand->tensor, walk.atom));
        BoundValue *value = &pass->values[v];
        pass->value_of[walk.cell] = v;
        if (pass->cell_seen[walk.cell] != pass->point && !droppable)
            take_room(pass, walk_shape(pass, &walk), pass->point);
        pass->cell_seen[walk.cell] = pass->point;
        if (!load) continue;
        value->droppable = droppable;
        value->credit = load_credit(pass, &walk);
    }
    bool vague = pass->atoms.grids[operand->tensor].count == 0;
    if (load && vague && named.high > named.low)
        pass->out->saved = saturating_add(
            pass->out->saved, saturating_mul(PARTS(named.cycles), named.high - named.low));
}

/* ---- copies ---- */

/* True if a copy hands values on atom by atom. */
static bool copies_atoms(const DemandPass *pass, const NamedAtoms *to, const NamedAtoms *from) {
    const AtomGrid *a = &pass->atoms.grids[to->operand->tensor];
    const AtomGrid *b = &pass->atoms.grids[from->operand->tensor];
    return a->count == b->count && a->count > 0 && a->bytes.at == b->bytes.at &&
           region_equal(to->region, from->region) && to->high - to->low == from->high - from->low;
}

/* What is copied in another way may share room with its source: nothing is known of it. */
static void copy_vaguely(DemandPass *pass, const NamedAtoms *to) {
    for (AtomWalk walk = walk_atoms(to); next_atom(pass, &walk);) {
        uint32_t v = new_value(pass, 0);
        pass->value_of[walk.cell] = v;
        pass->values[v].vague = true;
    }
}

/* Both ends take room once. */
static void copy_operand(DemandPass *pass, const Inst *inst) {
    NamedAtoms to = named_atoms(pass, inst_dst(inst)), from = named_atoms(pass, inst_src(inst));
    if (!copies_atoms(pass, &to, &from)) {
        copy_vaguely(pass, &to);
        return;
    }
    AtomWalk target = walk_atoms(&to), source = walk_atoms(&from);
    while (next_atom(pass, &target) && next_atom(pass, &source)) {
        pass->value_of[target.cell] = pass->value_of[source.cell];
        pass->cell_seen[target.cell] = pass->point;
    }
}

/* ---- DRAM ---- */

static bool is_part(const DemandPass *pass, const Operand *operand) {
    return !operand_is_whole(pass->func, operand);
}

static void write_dram(DemandPass *pass, const Operand *operand) {
    NamedAtoms named = named_atoms(pass, operand);
    for (int64_t block = named.low; block < named.high; block++) {
        pass->written[operand->tensor][block] = pass->point;
        if (!is_part(pass, operand)) pass->rewritten[operand->tensor][block] = pass->point;
    }
}

static bool still_there(const DemandPass *pass, const DramHolder *holder) {
    uint32_t **written = holder->part ? pass->rewritten : pass->written;
    for (int64_t block = holder->low; block < holder->high; block++)
        if (written[holder->tensor][block] > holder->since) return false;
    return true;
}

/* What an operand of many blocks brought, unequal, counts as always there. */
static void hold(DemandPass *pass, uint32_t value, DramHolder holder) {
    enum { MANY = 64 };
    if (holder.high - holder.low > MANY) holder.high = holder.low;
    holder.next = pass->values[value].holders;
    PUSH(&pass->scratch, pass->holders, pass->nholders, pass->holder_capacity, holder);
    pass->values[value].holders = (uint32_t)(pass->nholders - 1);
}

/* A value is clean until its next access if it is so after this one; what has lost it never gets it
 * back. */
static void judge_clean(DemandPass *pass, uint32_t v) {
    BoundValue *value = &pass->values[v];
    while (value->holders != NONE && !still_there(pass, &pass->holders[value->holders]))
        value->holders = pass->holders[value->holders].next;
    value->clean = false;
    for (uint32_t h = value->holders; h != NONE && !value->clean; h = pass->holders[h].next)
        value->clean = still_there(pass, &pass->holders[h]);
}

/* Block for block of one form. */
static bool is_like(const DemandPass *pass, const NamedAtoms *a, const NamedAtoms *b) {
    const Tensor *one = &pass->func->tensors[a->operand->tensor];
    const Tensor *other = &pass->func->tensors[b->operand->tensor];
    return one->partitions == other->partitions && one->bytes == other->bytes &&
           dtype_bytes(one->dtype) == dtype_bytes(other->dtype) &&
           a->high - a->low == b->high - b->low && region_equal(a->region, b->region);
}

/* From now on DRAM has what a load brought or a save took. An unequal load may be repeated as it
 * stands, an unequal save tells nothing. */
static void hold_values(DemandPass *pass, const NamedAtoms *sb, const NamedAtoms *dram, bool load) {
    bool like = is_like(pass, sb, dram);
    if (!like && !load) return;
    bool part = is_part(pass, dram->operand);
    for (AtomWalk walk = walk_atoms(sb); next_atom(pass, &walk);) {
        int64_t block = block_of_cell(pass, sb->operand->tensor, walk.cell) - sb->low + dram->low;
        DramHolder holder = {.tensor = dram->operand->tensor,
                             .since = pass->point,
                             .low = like ? block : dram->low,
                             .high = like ? block + 1 : dram->high,
                             .part = part};
        if (pass->value_of[walk.cell]) hold(pass, pass->value_of[walk.cell], holder);
    }
}

static void move_values(DemandPass *pass, const Inst *inst) {
    if (inst->accumulate) return;
    NamedAtoms to = named_atoms(pass, inst_dst(inst)), from = named_atoms(pass, inst_src(inst));
    if (inst->kind == OP_LOAD)
        hold_values(pass, &to, &from, true);
    else
        hold_values(pass, &from, &to, false);
}

/* ---- points ---- */

static void judge_written(DemandPass *pass, const Operand *operand) {
    NamedAtoms named = named_atoms(pass, operand);
    for (AtomWalk walk = walk_atoms(&named); next_atom(pass, &walk);)
        touch_value(pass, pass->value_of[walk.cell]);
}

static void write_operands(DemandPass *pass, const Inst *inst) {
    for (uint32_t o = 0; o < inst->ndst; o++) {
        const Operand *operand = &inst->operands[o];
        Space space = pass->func->tensors[operand->tensor].space;
        if (space == SPACE_DRAM) write_dram(pass, operand);
        if (space == SPACE_SB && inst->kind == OP_COPY && !inst->accumulate)
            copy_operand(pass, inst);
        else if (space == SPACE_SB)
            write_operand(pass, inst, operand);
    }
}

static void trace_point(DemandPass *pass, const Inst *inst) {
    pass->ntouched = 0;
    for (uint32_t o = inst->ndst; o < inst->ndst + inst->nsrc; o++)
        read_operand(pass, &inst->operands[o]);
    if (inst->accumulate) read_operand(pass, inst_dst(inst));
    write_operands(pass, inst);
    if (inst->kind == OP_LOAD || inst->kind == OP_SAVE) move_values(pass, inst);
    if (inst->kind == OP_LOAD) judge_written(pass, inst_dst(inst));
    for (size_t i = 0; i < pass->ntouched; i++)
        judge_clean(pass, pass->touched[i]);
}

static void enter_inputs(DemandPass *pass) {
    const Func *func = pass->func;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (func->tensors[t].space != SPACE_SB || !func->tensors[t].input) continue;
        for (uint32_t c = pass->atoms.first_cell[t]; c < pass->atoms.first_cell[t + 1]; c++) {
            uint32_t atom = (c - pass->atoms.first_cell[t]) % pass->atoms.grids[t].count;
            pass->value_of[c] = new_value(pass, block_share(pass, t, atom));
            pass->values[pass->value_of[c]].entry = true;
        }
    }
}

/* Outputs stay to the end. */
static void end_outputs(DemandPass *pass) {
    const Func *func = pass->func;
    pass->point = pass->out->npoints;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (func->tensors[t].space != SPACE_SB || !func->tensors[t].output) continue;
        Operand all = {.tensor = t};
        NamedAtoms named = named_atoms(pass, &all);
        for (AtomWalk walk = walk_atoms(&named); next_atom(pass, &walk);)
            if (pass->value_of[walk.cell]) read_value(pass, &walk, pass->value_of[walk.cell]);
    }
}

/* Loads that nothing reads take nothing. */
static void count_dead(DemandPass *pass) {
    for (size_t v = 1; v < pass->nvalues; v++) {
        const BoundValue *value = &pass->values[v];
        if (!value->read) pass->out->saved = saturating_add(pass->out->saved, value->credit);
    }
}

/* ---- the whole ---- */

static bool make_dram(DemandPass *pass) {
    enum { MOST_BLOCKS_WRITTEN = 1 << 22 };
    const Func *func = pass->func;
    int64_t count = 0;
    pass->written = NEW_ARRAY(&pass->scratch, uint32_t *, func->ntensors);
    pass->rewritten = NEW_ARRAY(&pass->scratch, uint32_t *, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (func->tensors[t].space != SPACE_DRAM) continue;
        count = saturating_add(count, func->tensors[t].blocks);
        if (count > MOST_BLOCKS_WRITTEN) return false;
        pass->written[t] = NEW_ARRAY(&pass->scratch, uint32_t, (size_t)func->tensors[t].blocks);
        pass->rewritten[t] = NEW_ARRAY(&pass->scratch, uint32_t, (size_t)func->tensors[t].blocks);
    }
    return true;
}

/* False where it is too long to be laid out in full. */
static bool prepare(DemandPass *pass) {
    Arena *scratch = &pass->scratch;
    if (!lay_out(pass->func, MOST_POINTS, MOST_POINTS, scratch, &pass->timeline) ||
        pass->timeline.nruns > 0 || !find_atoms(pass->func, MOST_CELLS, scratch, &pass->atoms) ||
        !make_dram(pass))
        return false;
    shape_tensors(pass);
    BoundDemand *out = pass->out;
    out->npoints = pass->timeline.npoints + 1;
    for (uint32_t lane = 0; lane < out->lanes; lane++)
        out->taken[lane] = NEW_ARRAY(pass->arena, int64_t, out->npoints);
    pass->value_of = NEW_ARRAY(scratch, uint32_t, pass->atoms.ncells);
    pass->cell_seen = NEW_ARRAY(scratch, uint32_t, pass->atoms.ncells);
    pass->indices = NEW_ARRAY(scratch, int64_t, pass->func->nloops);
    new_value(pass, 0); /* none */
    return !pass->too_large;
}

static void trace(DemandPass *pass) {
    uint32_t frame = NO_FRAME;
    enter_inputs(pass);
    for (uint32_t p = 0; p < pass->timeline.npoints && !pass->too_large; p++) {
        const TimePoint *at = &pass->timeline.points[p];
        if (at->frame != frame) frame_first(&pass->timeline, at->frame, pass->indices);
        frame = at->frame;
        pass->point = p + 1;
        trace_point(pass, &pass->func->insts[at->inst]);
        pass->too_large |= pass->nvalues > MOST_CELLS;
    }
    end_outputs(pass);
    count_dead(pass);
}

static void take_stores(DemandPass *pass) {
    BoundDemand *out = pass->out;
    out->nvalues = (uint32_t)pass->nvalues;
    out->store = RAW_ARRAY(pass->arena, int64_t, pass->nvalues);
    for (size_t v = 0; v < pass->nvalues; v++)
        out->store[v] = pass->values[v].store;
}

bool find_demand(const Func *func, const Target *target, Arena *arena, BoundDemand *demand) {
    *demand = (BoundDemand){0};
    DemandPass pass = {.func = func, .target = target, .arena = arena, .out = demand};
    arena_init(&pass.scratch);
    bool known = prepare(&pass);
    if (known) trace(&pass);
    known &= !pass.too_large;
    if (known) take_stores(&pass);
    arena_free(&pass.scratch);
    return known;
}
