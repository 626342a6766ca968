#include "spill/time/webs.h"

#include <string.h>

#include "spill/time/cells.h"
#include "support/union_find.h"

typedef struct {
    const TimeFacts *facts;
    const Timeline *timeline;
    const Func *from;
    const Cells *cells;
    const TimeGaps *gaps;
    const bool *kept;
    Arena *arena; /* of the result */
    Arena scratch;
    Webs *out;
    uint32_t *first_operand; /* [ninsts] number of its first operand */
    uint32_t noperands;
    uint32_t *leader; /* [noperands] sets of those that share a web */
    uint32_t *tensor; /* [noperands] of the new function */
} WebPass;

static uint32_t operand_of(const WebPass *pass, uint32_t access) {
    const CellAccess *info = &pass->cells->accesses[access];
    return pass->first_operand[pass->timeline->points[info->point].inst] + info->operand;
}

static void number_operands(WebPass *pass) {
    const Func *from = pass->from;
    pass->first_operand = RAW_ARRAY(&pass->scratch, uint32_t, from->ninsts);
    for (uint32_t i = 0; i < from->ninsts; i++) {
        pass->first_operand[i] = pass->noperands;
        pass->noperands += from->insts[i].ndst + from->insts[i].nsrc;
    }
    pass->leader = sets_make(pass->noperands, &pass->scratch);
}

/* Operands of one tensor in one instruction stay one; so do all of a tensor that must stay. */
static void join_by_text(WebPass *pass) {
    const Func *from = pass->from;
    uint32_t *latest = NEW_ARRAY(&pass->scratch, uint32_t, from->ntensors);
    uint32_t *of_inst = NEW_ARRAY(&pass->scratch, uint32_t, from->ntensors);
    for (uint32_t i = 0; i < from->ninsts; i++)
        for (uint32_t o = 0; o < from->insts[i].ndst + from->insts[i].nsrc; o++) {
            uint32_t t = from->insts[i].operands[o].tensor, number = pass->first_operand[i] + o;
            bool one = from->tensors[t].space != SPACE_SB || pass->gaps->resident[t];
            if (latest[t] && (one || of_inst[t] == i + 1))
                sets_join(pass->leader, latest[t] - 1, number);
            latest[t] = number + 1;
            of_inst[t] = i + 1;
        }
}

/* [ntensors] 1 + the number of the first operand that defines each in the text; 0: there is none.
 */
static uint32_t *find_first_writes(const WebPass *pass, Arena *scratch) {
    const Func *from = pass->from;
    uint32_t *first = NEW_ARRAY(scratch, uint32_t, from->ntensors);
    for (uint32_t i = from->ninsts; i-- > 0;)
        for (uint32_t o = from->insts[i].ndst; o-- > 0 && !is_dead(pass->facts, i);)
            first[from->insts[i].operands[o].tensor] = pass->first_operand[i] + o + 1;
    return first;
}

/* Operands that never name a block when they run stay with the one that defines their tensor: by
 * themselves they would be read, and nothing would write them. */
static void join_idle(WebPass *pass) {
    const Func *from = pass->from;
    const Cells *cells = pass->cells;
    bool *lives = NEW_ARRAY(&pass->scratch, bool, pass->noperands);
    const uint32_t *first = find_first_writes(pass, &pass->scratch);
    for (uint32_t a = 0; a < cells->first[cells->ncells]; a++)
        if (cells->accesses[a].operand != ENTRY_OPERAND)
            lives[set_of(pass->leader, operand_of(pass, a))] = true;
    for (uint32_t i = 0; i < from->ninsts; i++)
        for (uint32_t o = 0; o < from->insts[i].ndst + from->insts[i].nsrc; o++) {
            uint32_t t = from->insts[i].operands[o].tensor, number = pass->first_operand[i] + o;
            uint32_t root = set_of(pass->leader, number);
            if (!lives[root] && first[t]) sets_join(pass->leader, root, first[t] - 1);
        }
}

/* A kept gap joins the access before it, and those at the ends of runs that it comes round. */
static void join_gap(WebPass *pass, const TimeGap *gap) {
    const Cells *cells = pass->cells;
    if (pass->gaps->resident[cells->tensor[gap->cell]]) return; /* whole already */
    uint32_t own = operand_of(pass, gap->access), first = cells->first[gap->cell];
    if (gap->access > first) sets_join(pass->leader, operand_of(pass, gap->access - 1), own);
    uint32_t point = cells->accesses[gap->access].point;
    for (uint32_t r = pass->timeline->points[point].run; r != NO_RUN;
         r = pass->timeline->runs[r].parent) {
        if (!is_first_in_run(pass->facts, gap->cell, gap->access, r)) return;
        sets_join(pass->leader, operand_of(pass, last_access_in_run(pass->facts, gap->cell, r)),
                  own);
    }
}

/* ---- the new function ---- */

/* The first web of a tensor in the text keeps its number. */
static uint32_t number_webs(WebPass *pass) {
    const Func *from = pass->from;
    uint32_t count = from->ntensors;
    uint32_t *of_root = RAW_ARRAY(&pass->scratch, uint32_t, pass->noperands);
    memset(of_root, 0xFF, pass->noperands * sizeof *of_root);
    bool *seen = NEW_ARRAY(&pass->scratch, bool, from->ntensors);
    pass->tensor = RAW_ARRAY(&pass->scratch, uint32_t, pass->noperands);
    pass->out->parent = RAW_ARRAY(pass->arena, uint32_t, from->ntensors + pass->noperands);
    for (uint32_t t = 0; t < from->ntensors; t++)
        pass->out->parent[t] = t;
    for (uint32_t i = 0; i < from->ninsts; i++)
        for (uint32_t o = 0; o < from->insts[i].ndst + from->insts[i].nsrc; o++) {
            uint32_t number = pass->first_operand[i] + o, root = set_of(pass->leader, number);
            uint32_t t = from->insts[i].operands[o].tensor;
            if (of_root[root] == UINT32_MAX) {
                of_root[root] = seen[t] ? count++ : t;
                pass->out->parent[of_root[root]] = t;
                seen[t] = true;
            }
            pass->tensor[number] = of_root[root];
        }
    return count;
}

static void make_func(WebPass *pass, uint32_t ntensors) {
    const Func *from = pass->from;
    Func *func = NEW(pass->arena, Func);
    *func = *from;
    func->ntensors = ntensors;
    func->tensors = RAW_ARRAY(pass->arena, Tensor, ntensors);
    func->insts = RAW_ARRAY(pass->arena, Inst, from->ninsts);
    memcpy(func->tensors, from->tensors, from->ntensors * sizeof(Tensor));
    for (uint32_t t = from->ntensors; t < ntensors; t++) {
        func->tensors[t] = from->tensors[pass->out->parent[t]];
        func->tensors[t].name = STR("");
        func->tensors[t].meta = (MetaList){NULL, 0};
    }
    for (uint32_t i = 0; i < from->ninsts; i++) {
        uint32_t count = from->insts[i].ndst + from->insts[i].nsrc;
        Operand *operands = RAW_ARRAY(pass->arena, Operand, count);
        for (uint32_t o = 0; o < count; o++) {
            operands[o] = from->insts[i].operands[o];
            operands[o].tensor = pass->tensor[pass->first_operand[i] + o];
        }
        func->insts[i] = from->insts[i];
        func->insts[i].operands = operands;
    }
    pass->out->facts.func = func;
    pass->out->facts.timeline.func = func;
}

/* ---- cells of webs ---- */

static void number_cells(WebPass *pass) {
    const Func *func = pass->out->facts.func;
    Cells *cells = &pass->out->facts.cells;
    uint32_t count = 0;
    cells->first_cell = RAW_ARRAY(pass->arena, uint32_t, (size_t)func->ntensors + 1);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        cells->first_cell[t] = count;
        if (func->tensors[t].space == SPACE_SB) count += (uint32_t)func->tensors[t].blocks;
    }
    cells->first_cell[func->ntensors] = cells->ncells = count;
    cells->tensor = RAW_ARRAY(pass->arena, uint32_t, count);
    for (uint32_t t = 0; t < func->ntensors; t++)
        for (uint32_t c = cells->first_cell[t]; c < cells->first_cell[t + 1]; c++)
            cells->tensor[c] = t;
}

static uint32_t new_cell(const WebPass *pass, uint32_t cell, uint32_t access) {
    if (pass->cells->accesses[access].operand == ENTRY_OPERAND) /* of an input, which stays whole */
        return pass->out->facts.cells.first_cell[pass->cells->tensor[cell]] +
               (uint32_t)cell_block(pass->cells, cell);
    uint32_t t = pass->tensor[operand_of(pass, access)];
    return pass->out->facts.cells.first_cell[t] + (uint32_t)cell_block(pass->cells, cell);
}

/* Accesses by their new cells; those of one are in order of time as before. */
static void move_accesses(WebPass *pass) {
    const Cells *from = pass->cells;
    Cells *cells = &pass->out->facts.cells;
    uint32_t count = from->first[from->ncells];
    cells->first = NEW_ARRAY(pass->arena, uint32_t, (size_t)cells->ncells + 2);
    cells->accesses = RAW_ARRAY(pass->arena, CellAccess, count);
    uint32_t *access = RAW_ARRAY(pass->arena, uint32_t, count);
    TimeGaps *gaps = &pass->out->facts.gaps;
    gaps->of = RAW_ARRAY(pass->arena, uint32_t, count);
    gaps->value_of = RAW_ARRAY(pass->arena, uint32_t, count);
    for (uint32_t c = 0; c < from->ncells; c++)
        for (uint32_t a = from->first[c]; a < from->first[c + 1]; a++)
            cells->first[new_cell(pass, c, a) + 2]++;
    for (uint32_t c = 2; c <= cells->ncells + 1; c++)
        cells->first[c] += cells->first[c - 1];
    for (uint32_t c = 0; c < from->ncells; c++)
        for (uint32_t a = from->first[c]; a < from->first[c + 1]; a++) {
            uint32_t cell = new_cell(pass, c, a), to = cells->first[cell + 1]++;
            cells->accesses[to] = from->accesses[a];
            access[to] = a;
            gaps->value_of[to] = pass->gaps->value_of[a];
            uint32_t g = gaps->of[to] = pass->gaps->of[a];
            if (g == UINT32_MAX) continue;
            gaps->gaps[g].access = to;
            gaps->gaps[g].cell = cell;
        }
    pass->out->access = access;
}

/* Gaps that begin in another web cannot be kept. */
static void mark_apart(WebPass *pass) {
    TimeGaps *gaps = &pass->out->facts.gaps;
    for (uint32_t g = 0; g < gaps->count; g++) {
        const TimeGap *gap = &pass->gaps->gaps[g];
        if (pass->gaps->resident[pass->cells->tensor[gap->cell]]) continue;
        uint32_t own = set_of(pass->leader, operand_of(pass, gap->access));
        uint32_t first = pass->cells->first[gap->cell];
        bool apart =
            gap->access > first && set_of(pass->leader, operand_of(pass, gap->access - 1)) != own;
        uint32_t point = pass->cells->accesses[gap->access].point;
        for (uint32_t r = pass->timeline->points[point].run; r != NO_RUN && !apart;
             r = pass->timeline->runs[r].parent) {
            if (!is_first_in_run(pass->facts, gap->cell, gap->access, r)) break;
            uint32_t last = last_access_in_run(pass->facts, gap->cell, r);
            apart = set_of(pass->leader, operand_of(pass, last)) != own;
        }
        gaps->gaps[g].apart = apart;
    }
}

static void copy_gaps(WebPass *pass, uint32_t ntensors) {
    TimeGaps *gaps = &pass->out->facts.gaps;
    *gaps = *pass->gaps;
    gaps->gaps = RAW_ARRAY(pass->arena, TimeGap, gaps->count);
    if (gaps->count) memcpy(gaps->gaps, pass->gaps->gaps, gaps->count * sizeof *gaps->gaps);
    gaps->resident = RAW_ARRAY(pass->arena, bool, ntensors);
    for (uint32_t t = 0; t < ntensors; t++)
        gaps->resident[t] = pass->gaps->resident[pass->out->parent[t]];
}

Webs find_webs(const TimeFacts *facts, const bool *kept, Arena *arena) {
    Webs webs = {.facts = *facts};
    WebPass pass = {.facts = facts,
                    .timeline = &facts->timeline,
                    .from = facts->func,
                    .cells = &facts->cells,
                    .gaps = &facts->gaps,
                    .kept = kept,
                    .arena = arena,
                    .out = &webs};
    arena_init(&pass.scratch);
    number_operands(&pass);
    join_by_text(&pass);
    join_idle(&pass);
    for (uint32_t g = 0; g < facts->gaps.count; g++)
        if (kept[g]) join_gap(&pass, &facts->gaps.gaps[g]);
    uint32_t ntensors = number_webs(&pass);
    make_func(&pass, ntensors);
    number_cells(&pass);
    copy_gaps(&pass, ntensors);
    move_accesses(&pass);
    mark_apart(&pass);
    arena_free(&pass.scratch);
    return webs;
}

Webs whole_webs(const TimeFacts *facts, Arena *arena) {
    uint32_t ntensors = facts->func->ntensors, naccesses = facts->cells.first[facts->cells.ncells];
    uint32_t *parent = RAW_ARRAY(arena, uint32_t, ntensors);
    uint32_t *access = RAW_ARRAY(arena, uint32_t, naccesses);
    for (uint32_t t = 0; t < ntensors; t++)
        parent[t] = t;
    for (uint32_t a = 0; a < naccesses; a++)
        access[a] = a;
    return (Webs){*facts, parent, access};
}
