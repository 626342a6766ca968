#include "driver/next_best.h"

#include "support/search.h"
#include "support/sort.h"

#define NONE UINT32_MAX

/* A gap over a point at which an instruction that forced somebody is short. */
typedef struct {
    uint32_t gap;
    uint32_t at; /* in `points` */
} IdleBlock;

/* Those of one forcing instruction: rows [first, end) in order of tensors. */
typedef struct {
    uint32_t first, end;
} IdleBlocks;

typedef struct {
    const LeaveQuestion *question;
    const TimeFacts *facts;
    Arena *arena;
    uint32_t *group; /* [ninsts] of a forcing instruction its number; NONE: it is none */
    uint32_t ngroups;
    uint32_t *points; /* [npoints] at which they are short, in order */
    uint32_t npoints;
    IdleBlock *rows; /* [nrows] by group, tensor, gap, point */
    size_t nrows, capacity;
    IdleBlocks *groups; /* [ngroups] */
    int64_t *wanted;    /* [npoints] granules that must go in place of the tensor at hand */
    int64_t *freed;     /* [npoints] that the tensor at hand has freed so far */
    bool *cut;          /* [gaps] of the tensor at hand */
    bool *stored;       /* [values] likewise */
} NextBest;

/* ---- where it is short ---- */

static uint32_t inst_of(const NextBest *pass, uint32_t point) {
    return pass->facts->timeline.points[point].inst;
}

static void find_groups(NextBest *pass, const LeaveChoice *choices, uint32_t count) {
    uint32_t ninsts = pass->facts->func->ninsts;
    pass->group = RAW_ARRAY(pass->arena, uint32_t, ninsts);
    for (uint32_t i = 0; i < ninsts; i++)
        pass->group[i] = NONE;
    for (uint32_t c = 0; c < count; c++)
        if (pass->group[choices[c].inst] == NONE) pass->group[choices[c].inst] = pass->ngroups++;
}

/* The iterations that need more than there is; where none does, those that need most. */
static void find_points(NextBest *pass) {
    uint32_t npoints = pass->facts->timeline.npoints;
    uint32_t *least = NEW_ARRAY(pass->arena, uint32_t, pass->ngroups);
    for (uint32_t p = 0; p < npoints; p++) {
        uint32_t g = pass->group[inst_of(pass, p)];
        if (g != NONE && pass->question->needs[p] > least[g]) least[g] = pass->question->needs[p];
    }
    for (uint32_t g = 0; g < pass->ngroups; g++)
        if (least[g] > pass->facts->size) least[g] = pass->facts->size + 1;
    pass->points = RAW_ARRAY(pass->arena, uint32_t, npoints);
    for (uint32_t p = 0; p < npoints; p++) {
        uint32_t g = pass->group[inst_of(pass, p)];
        if (g != NONE && pass->question->needs[p] >= least[g]) pass->points[pass->npoints++] = p;
    }
}

/* ---- who is idle there ---- */

static void add_rows(NextBest *pass, uint32_t gap, LiveRange range) {
    for (uint32_t i = 0; i < range.count; i++) {
        uint32_t at;
        FIND_FIRST(at, 0u, pass->npoints, pass->points[at] >= range.items[i].first);
        for (; at < pass->npoints && pass->points[at] <= range.items[i].last; at++) {
            IdleBlock row = {gap, at};
            PUSH(pass->arena, pass->rows, pass->nrows, pass->capacity, row);
        }
    }
}

/* False where there are too many. */
static bool find_rows(NextBest *pass) {
    enum { MOST = 1 << 22 };
    const TimeGaps *gaps = &pass->facts->gaps;
    for (uint32_t g = 0; g < gaps->count && pass->nrows <= MOST; g++) {
        if (gaps->resident[pass->facts->cells.tensor[gaps->gaps[g].cell]]) continue;
        add_rows(pass, g, gaps->gaps[g].points);
        add_rows(pass, g, gaps->gaps[g].tail);
    }
    return pass->nrows <= MOST;
}

static uint32_t group_of(const NextBest *pass, const IdleBlock *row) {
    return pass->group[inst_of(pass, pass->points[row->at])];
}

/* By group; within one they stay in order. */
static void sort_rows_by_group(NextBest *pass) {
    IdleBlock *sorted = RAW_ARRAY(pass->arena, IdleBlock, pass->nrows);
    pass->groups = NEW_ARRAY(pass->arena, IdleBlocks, pass->ngroups);
    for (size_t r = 0; r < pass->nrows; r++)
        pass->groups[group_of(pass, &pass->rows[r])].end++;
    uint32_t sum = 0;
    for (uint32_t g = 0; g < pass->ngroups; g++) {
        uint32_t size = pass->groups[g].end;
        pass->groups[g] = (IdleBlocks){sum, sum};
        sum += size;
    }
    for (size_t r = 0; r < pass->nrows; r++)
        sorted[pass->groups[group_of(pass, &pass->rows[r])].end++] = pass->rows[r];
    pass->rows = sorted;
}

static const TimeGap *gap_of(const NextBest *pass, const IdleBlock *row) {
    return &pass->facts->gaps.gaps[row->gap];
}

static uint32_t tensor_of(const NextBest *pass, const IdleBlock *row) {
    return pass->facts->cells.tensor[gap_of(pass, row)->cell];
}

static bool stays(const NextBest *pass, const IdleBlock *row, uint32_t inst) {
    const LeaveQuestion *question = pass->question;
    int64_t block = cell_block(&pass->facts->cells, gap_of(pass, row)->cell);
    return question->stays(question->context, tensor_of(pass, row), block, inst);
}

static uint32_t height_of(const NextBest *pass, const IdleBlock *row) {
    return tensor_height(&pass->facts->func->tensors[tensor_of(pass, row)]);
}

/* ---- what it takes ---- */

static int64_t price_of(const NextBest *pass, const IdleBlock *row) {
    const TimeGap *gap = gap_of(pass, row);
    bool store = gap->source == NO_SOURCE && !pass->stored[gap->value];
    int64_t load = gap->repeats && gap->load == 1 ? 0 : gap->load; /* 1 stands for nothing there */
    return load + (store ? pass->facts->gaps.store[gap->value] : 0);
}

/* The gap is cut, if it is not yet; returns what that takes. */
static int64_t cut_gap(NextBest *pass, const IdleBlock *row) {
    if (pass->cut[row->gap]) return 0;
    int64_t price = price_of(pass, row);
    pass->cut[row->gap] = true;
    if (gap_of(pass, row)->source == NO_SOURCE) pass->stored[gap_of(pass, row)->value] = true;
    return price;
}

static void forget_cuts(NextBest *pass, IdleBlocks rows) {
    for (uint32_t r = rows.first; r < rows.end; r++) {
        pass->cut[pass->rows[r].gap] = false;
        pass->stored[gap_of(pass, &pass->rows[r])->value] = false;
        pass->freed[pass->rows[r].at] = 0;
    }
}

/* The rows of the tensor of the first. */
static IdleBlocks rows_of_tensor(const NextBest *pass, IdleBlocks all, uint32_t first) {
    uint32_t end = first;
    while (end < all.end &&
           tensor_of(pass, &pass->rows[end]) == tensor_of(pass, &pass->rows[first]))
        end++;
    return (IdleBlocks){first, end};
}

/* The tensor itself leaves with what does not stay; sets what must go in its place. */
static void leave(NextBest *pass, IdleBlocks rows, LeaveChoice *choice) {
    for (uint32_t r = rows.first; r < rows.end; r++) {
        const IdleBlock *row = &pass->rows[r];
        if (stays(pass, row, choice->inst)) continue;
        pass->wanted[row->at] += height_of(pass, row);
        choice->here += cut_gap(pass, row);
        choice->known = true;
    }
    for (uint32_t r = rows.first; r < rows.end; r++) {
        uint32_t at = pass->rows[r].at;
        int64_t over = (int64_t)pass->question->needs[pass->points[at]] - pass->facts->size;
        if (over > 0 && over < pass->wanted[at]) pass->wanted[at] = over;
    }
    forget_cuts(pass, rows);
}

/* By point, cheap ones first. */
static const SortKey *order_rows(const NextBest *pass, IdleBlocks rows) {
    enum { PRICE_BITS = 40 };
    uint32_t count = rows.end - rows.first;
    SortKey *keys = RAW_ARRAY(pass->arena, SortKey, count);
    for (uint32_t i = 0; i < count; i++) {
        const IdleBlock *row = &pass->rows[rows.first + i];
        uint64_t price = (uint64_t)price_of(pass, row);
        keys[i] = (SortKey){(uint64_t)row->at << PRICE_BITS | price, rows.first + i};
    }
    sort_keys(keys, count, pass->arena);
    return keys;
}

/* What is cut already frees something in each iteration: those of the point that begins at `i`. */
static void count_cut(NextBest *pass, const SortKey *keys, uint32_t i, uint32_t count) {
    uint32_t at = pass->rows[keys[i].id].at;
    for (; i < count && pass->rows[keys[i].id].at == at; i++) {
        const IdleBlock *row = &pass->rows[keys[i].id];
        if (pass->cut[row->gap]) pass->freed[at] += height_of(pass, row);
    }
}

/* Another tensor leaves with as much of what stays as is wanted, if it has that. */
static void leave_instead(NextBest *pass, IdleBlocks rows, uint32_t inst, LeaveChoice *other) {
    const SortKey *keys = order_rows(pass, rows);
    uint32_t count = rows.end - rows.first;
    int64_t blocks = 0;
    *other = (LeaveChoice){.next = tensor_of(pass, &pass->rows[rows.first])};
    for (uint32_t i = 0; i < count; i++) {
        const IdleBlock *row = &pass->rows[keys[i].id];
        bool begins = i == 0 || pass->rows[keys[i - 1].id].at != row->at;
        if (begins) count_cut(pass, keys, i, count);
        if (begins) blocks = pass->freed[row->at] / height_of(pass, row);
        bool enough = pass->freed[row->at] >= pass->wanted[row->at];
        if (enough || pass->cut[row->gap] || !stays(pass, row, inst)) continue;
        other->cycles += cut_gap(pass, row);
        pass->freed[row->at] += height_of(pass, row);
        if (++blocks > other->blocks) other->blocks = blocks;
    }
}

static bool is_enough(const NextBest *pass, IdleBlocks own) {
    for (uint32_t r = own.first; r < own.end; r++)
        if (pass->freed[pass->rows[r].at] < pass->wanted[pass->rows[r].at]) return false;
    return true;
}

static int quadrants_of(const NextBest *pass, uint32_t tensor) {
    const Tensor *one = &pass->facts->func->tensors[tensor];
    return class_quadrants(shape_class(one->partitions, one->base));
}

/* The cheapest other tensor; of equal ones the first. `own`: the rows of the one that left. */
static void find_other(NextBest *pass, IdleBlocks all, IdleBlocks own, LeaveChoice *choice) {
    choice->next = NONE;
    for (uint32_t r = all.first; r < all.end;) {
        IdleBlocks rows = rows_of_tensor(pass, all, r);
        r = rows.end;
        uint32_t tensor = tensor_of(pass, &pass->rows[rows.first]);
        if (tensor == choice->tensor ||
            quadrants_of(pass, tensor) < quadrants_of(pass, choice->tensor))
            continue;
        LeaveChoice other;
        leave_instead(pass, rows, choice->inst, &other);
        bool better =
            is_enough(pass, own) && (choice->next == NONE || other.cycles < choice->cycles);
        forget_cuts(pass, rows);
        if (!better) continue;
        choice->next = tensor;
        choice->blocks = other.blocks;
        choice->cycles = other.cycles;
    }
}

static void choose(NextBest *pass, LeaveChoice *choice) {
    IdleBlocks all = pass->groups[pass->group[choice->inst]], own = {0, 0};
    for (uint32_t r = all.first; r < all.end && own.end == 0; r++)
        if (tensor_of(pass, &pass->rows[r]) == choice->tensor) own = rows_of_tensor(pass, all, r);
    leave(pass, own, choice);
    if (choice->known) find_other(pass, all, own, choice);
    for (uint32_t r = own.first; r < own.end; r++)
        pass->wanted[pass->rows[r].at] = 0;
}

void find_next_best(const LeaveQuestion *question, LeaveChoice *choices, uint32_t count,
                    Arena *scratch) {
    NextBest pass = {.question = question, .facts = question->facts, .arena = scratch};
    find_groups(&pass, choices, count);
    find_points(&pass);
    if (!find_rows(&pass)) return;
    sort_rows_by_group(&pass);
    pass.wanted = NEW_ARRAY(scratch, int64_t, pass.npoints);
    pass.freed = NEW_ARRAY(scratch, int64_t, pass.npoints);
    pass.cut = NEW_ARRAY(scratch, bool, pass.facts->gaps.count);
    pass.stored = NEW_ARRAY(scratch, bool, pass.facts->gaps.nvalues);
    for (uint32_t c = 0; c < count; c++)
        choose(&pass, &choices[c]);
}
