#include "bound/atoms.h"

#include "ir/region.h"
#include "support/sort.h"
#include "support/union_find.h"

enum { MOST_ATOMS = 64 /* of a block */ };

/* Where the regions of a set of tensors begin and end, on one axis. */
typedef struct {
    SortKey *items;
    size_t count, capacity;
} CutList;

typedef struct {
    const Func *func;
    Arena *arena; /* of the result */
    Arena scratch;
    uint32_t *leader; /* [ntensors] tensors that copies join are cut alike */
    CutList *lists;   /* [2 * ntensors] partitions, then bytes, of each leader */
} AtomPass;

static void join_copies(AtomPass *pass) {
    for (uint32_t i = 0; i < pass->func->ninsts; i++) {
        const Inst *inst = &pass->func->insts[i];
        if (inst->kind != OP_COPY) continue;
        uint32_t to = inst_dst(inst)->tensor, from = inst_src(inst)->tensor;
        const Tensor *a = &pass->func->tensors[to], *b = &pass->func->tensors[from];
        if (a->partitions == b->partitions && a->bytes == b->bytes)
            sets_join(pass->leader, to, from);
    }
}

static void add_cut(AtomPass *pass, CutList *list, int64_t at) {
    SortKey key = {(uint64_t)at, (uint32_t)list->count};
    PUSH(&pass->scratch, list->items, list->count, list->capacity, key);
}

static void add_cuts(AtomPass *pass, uint32_t tensor, Region region) {
    CutList *lists = &pass->lists[2 * set_of(pass->leader, tensor)];
    add_cut(pass, &lists[0], region.p0);
    add_cut(pass, &lists[0], region.p1);
    add_cut(pass, &lists[1], region.b0);
    add_cut(pass, &lists[1], region.b1);
}

static void collect_cuts(AtomPass *pass) {
    const Func *func = pass->func;
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            const Operand *operand = &inst->operands[o];
            if (func->tensors[operand->tensor].space == SPACE_SB && operand->region)
                add_cuts(pass, operand->tensor, *operand->region);
        }
    }
}

static AtomCuts sorted_cuts(AtomPass *pass, const CutList *list) {
    int64_t *at = RAW_ARRAY(pass->arena, int64_t, list->count);
    uint32_t count = 0;
    sort_keys(list->items, list->count, &pass->scratch);
    for (size_t i = 0; i < list->count; i++)
        if (count == 0 || at[count - 1] != (int64_t)list->items[i].key)
            at[count++] = (int64_t)list->items[i].key;
    return (AtomCuts){at, count};
}

static AtomGrid make_grid(AtomPass *pass, uint32_t leader) {
    const Tensor *tensor = &pass->func->tensors[leader];
    add_cuts(pass, leader, whole_region(tensor));
    AtomGrid grid = {.partitions = sorted_cuts(pass, &pass->lists[2 * leader]),
                     .bytes = sorted_cuts(pass, &pass->lists[2 * leader + 1])};
    uint64_t count = (uint64_t)(grid.partitions.count - 1) * (grid.bytes.count - 1);
    grid.count = count <= MOST_ATOMS ? (uint32_t)count : 0;
    return grid;
}

static const AtomGrid *make_grids(AtomPass *pass) {
    const Func *func = pass->func;
    AtomGrid *grids = NEW_ARRAY(pass->arena, AtomGrid, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (func->tensors[t].space != SPACE_SB) continue;
        uint32_t leader = set_of(pass->leader, t);
        grids[t] = leader == t ? make_grid(pass, t) : grids[leader];
    }
    return grids;
}

/* False where there are too many. */
static bool number_atoms(const Func *func, uint32_t most, Arena *arena, Atoms *atoms) {
    uint64_t count = 0;
    atoms->first_cell = RAW_ARRAY(arena, uint32_t, (size_t)func->ntensors + 1);
    for (uint32_t t = 0; t < func->ntensors && count <= most; t++) {
        atoms->first_cell[t] = (uint32_t)count;
        if (func->tensors[t].space == SPACE_SB)
            count += (uint64_t)func->tensors[t].blocks * atoms->grids[t].count;
    }
    if (count <= most) atoms->first_cell[func->ntensors] = atoms->ncells = (uint32_t)count;
    return count <= most;
}

bool find_atoms(const Func *func, uint32_t most, Arena *arena, Atoms *atoms) {
    AtomPass pass = {.func = func, .arena = arena};
    arena_init(&pass.scratch);
    pass.leader = sets_make(func->ntensors, &pass.scratch);
    pass.lists = NEW_ARRAY(&pass.scratch, CutList, (size_t)func->ntensors * 2);
    join_copies(&pass);
    collect_cuts(&pass);
    atoms->grids = make_grids(&pass);
    arena_free(&pass.scratch);
    return number_atoms(func, most, arena, atoms);
}

static uint32_t cut_at(AtomCuts cuts, int64_t at) {
    uint32_t i = 0;
    while (cuts.at[i] < at)
        i++;
    return i;
}

AtomSpan span_of_region(const AtomGrid *grid, const Region *region) {
    if (!region) return (AtomSpan){0, grid->partitions.count - 1, 0, grid->bytes.count - 1};
    return (AtomSpan){cut_at(grid->partitions, region->p0), cut_at(grid->partitions, region->p1),
                      cut_at(grid->bytes, region->b0), cut_at(grid->bytes, region->b1)};
}

Region atom_region(const AtomGrid *grid, uint32_t atom) {
    uint32_t columns = grid->bytes.count - 1, row = atom / columns, column = atom % columns;
    return (Region){grid->partitions.at[row], grid->partitions.at[row + 1], grid->bytes.at[column],
                    grid->bytes.at[column + 1]};
}
