#include "test/repair.h"

#include <string.h>

#include "test/run.h"

/* Which bytes of a tensor are written: its partition and byte axes are cut wherever a region
 * begins or ends, so that a cell is written wholly or not at all. */
typedef struct {
    int64_t *p, *b; /* [np + 1], [nb + 1] cuts, ascending */
    uint32_t np, nb;
    bool *written; /* [blocks][np][nb] */
} Grid;

typedef struct {
    Func *func;
    Arena *arena;
    Grid *grids;     /* [ntensors] */
    uint32_t *flags; /* [ninsts + 1] first flag of each instruction's operands */
    bool *drop;      /* operand reads what is not there */
} Repair;

static void add_cut(int64_t *cuts, uint32_t *count, int64_t cut) {
    uint32_t place = 0;
    while (place < *count && cuts[place] < cut)
        place++;
    if (place < *count && cuts[place] == cut) return;
    memmove(cuts + place + 1, cuts + place, (*count - place) * sizeof *cuts);
    cuts[place] = cut;
    ++*count;
}

static Grid make_grid(const Repair *repair, uint32_t t) {
    const Func *func = repair->func;
    const Tensor *tensor = &func->tensors[t];
    size_t most = 2 * (size_t)repair->flags[func->ninsts] + 2;
    Grid grid = {.p = NEW_ARRAY(repair->arena, int64_t, most),
                 .b = NEW_ARRAY(repair->arena, int64_t, most)};
    uint32_t np = 0, nb = 0;
    add_cut(grid.p, &np, 0);
    add_cut(grid.p, &np, tensor->partitions);
    add_cut(grid.b, &nb, 0);
    add_cut(grid.b, &nb, tensor->bytes);
    for (uint32_t point = 0; point < func->ninsts; point++) {
        const Inst *inst = &func->insts[point];
        for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++) {
            const Region *region = inst->operands[i].region;
            if (inst->operands[i].tensor != t || !region) continue;
            add_cut(grid.p, &np, region->p0);
            add_cut(grid.p, &np, region->p1);
            add_cut(grid.b, &nb, region->b0);
            add_cut(grid.b, &nb, region->b1);
        }
    }
    grid.np = np - 1;
    grid.nb = nb - 1;
    size_t cells = (size_t)tensor->blocks * grid.np * grid.nb;
    grid.written = NEW_ARRAY(repair->arena, bool, cells);
    memset(grid.written, tensor->input || tensor->space == SPACE_PSUM, cells);
    return grid;
}

/* Writes the cells that an operand touches now, or asks whether all of them are written. */
static bool touch(Repair *repair, const Stepper *run, const Operand *operand, bool write) {
    Grid *grid = &repair->grids[operand->tensor];
    const Region *region = operand->region;
    int64_t first, last;
    run_blocks(run, operand, &first, &last);
    for (int64_t block = first; block <= last; block++)
        for (uint32_t p = 0; p < grid->np; p++)
            for (uint32_t b = 0; b < grid->nb; b++) {
                if (region && (grid->p[p] < region->p0 || grid->p[p] >= region->p1 ||
                               grid->b[b] < region->b0 || grid->b[b] >= region->b1))
                    continue;
                bool *cell = &grid->written[((size_t)block * grid->np + p) * grid->nb + b];
                if (write)
                    *cell = true;
                else if (!*cell)
                    return false;
            }
    return true;
}

static void run_step(Repair *repair, const Stepper *run) {
    const Inst *inst = &repair->func->insts[run->point];
    bool *drop = repair->drop + repair->flags[run->point];
    for (uint32_t i = inst->accumulate ? 0 : inst->ndst; i < inst->ndst + inst->nsrc; i++)
        if (!touch(repair, run, &inst->operands[i], false)) drop[i] = true;
    for (uint32_t i = 0; i < inst->ndst; i++)
        touch(repair, run, &inst->operands[i], true);
}

static bool writes(const Inst *inst, uint32_t tensor) {
    for (uint32_t i = 0; i < inst->ndst; i++)
        if (inst->operands[i].tensor == tensor) return true;
    return false;
}

/* True if the instruction is conditional and the tensor is written later in its innermost loop. */
static bool defined_later(const Func *func, uint32_t point, uint32_t tensor) {
    const Inst *inst = &func->insts[point];
    if (!inst->condition || inst->loop == NO_LOOP) return false;
    for (uint32_t later = point + 1; later < func->loops[inst->loop].end; later++)
        if (writes(&func->insts[later], tensor)) return true;
    return false;
}

static void drop_by_order(Repair *repair) {
    const Func *func = repair->func;
    bool *written = NEW_ARRAY(repair->arena, bool, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        written[t] = func->tensors[t].input || func->tensors[t].space == SPACE_PSUM;
    for (uint32_t point = 0; point < func->ninsts; point++) {
        const Inst *inst = &func->insts[point];
        bool *drop = repair->drop + repair->flags[point];
        for (uint32_t i = inst->accumulate ? 0 : inst->ndst; i < inst->ndst + inst->nsrc; i++) {
            uint32_t tensor = inst->operands[i].tensor;
            if (!written[tensor] && !defined_later(func, point, tensor)) drop[i] = true;
        }
        for (uint32_t i = 0; i < inst->ndst; i++)
            written[inst->operands[i].tensor] = true;
    }
}

/* The instruction without its dropped sources; a transfer without source is an ordinary write. */
static void drop_sources(Repair *repair, uint32_t point) {
    Inst *inst = &repair->func->insts[point];
    const bool *drop = repair->drop + repair->flags[point];
    Operand *kept = NEW_ARRAY(repair->arena, Operand, (size_t)inst->ndst + inst->nsrc);
    uint32_t count = 0, all = inst->ndst + inst->nsrc;
    if (inst->accumulate && drop[0]) inst->accumulate = false;
    for (uint32_t i = 0; i < all; i++)
        if (i < inst->ndst || !drop[i]) kept[count++] = inst->operands[i];
    if (count == all) return;
    inst->operands = kept;
    inst->nsrc = count - inst->ndst;
    if (inst->kind == OP_OTHER) return;
    inst->kind = OP_OTHER;
    inst->op = STR("memset");
}

static void drop_outputs(const Func *func) {
    for (uint32_t t = 0; t < func->ntensors; t++) {
        Tensor *tensor = &func->tensors[t];
        bool written = tensor->input;
        for (uint32_t point = 0; point < func->ninsts && !written; point++)
            written = writes(&func->insts[point], t);
        if (!written) tensor->output = false;
    }
}

void repair_reads(Func *func, Arena *arena) {
    Repair repair = {.func = func, .arena = arena};
    repair.flags = NEW_ARRAY(arena, uint32_t, (size_t)func->ninsts + 1);
    for (uint32_t point = 0; point < func->ninsts; point++)
        repair.flags[point + 1] =
            repair.flags[point] + func->insts[point].ndst + func->insts[point].nsrc;
    repair.drop = NEW_ARRAY(arena, bool, repair.flags[func->ninsts]);
    repair.grids = NEW_ARRAY(arena, Grid, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        repair.grids[t] = make_grid(&repair, t);
    drop_by_order(&repair);
    for (Stepper run = run_begin(func, arena); run_next(&run);)
        if (run_happens(&run)) run_step(&repair, &run);
    for (uint32_t point = 0; point < func->ninsts; point++)
        drop_sources(&repair, point);
    drop_outputs(func);
}
