#include "driver/next_best.h"

#include "support/checked.h"
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

/* What a tensor takes to leave in place of another. */
typedef struct {
    uint32_t tensor; /* NONE: nobody can */
    int64_t blocks, cycles;
} Offer;

enum { WIDTHS = 3 /* of 1, 2 and 4 quadrants */ };

/* The two best offers of tensors that are at least so wide, for what was last wanted over one
 * forcing instruction: of tensors that want the same, each is offered the best that is not it. */
typedef struct {
    Offer best[WIDTHS][2];
    IdleBlocks wanting; /* rows of the tensor that wanted it; empty: none yet */
    int64_t total;      /* granules, of all points */
} Offers;

typedef struct {
    const LeaveQuestion *question;
    const TimeFacts *facts;
    Arena *arena;
    uint32_t *group; /* [ninsts] of a forcing instruction its number; NONE: it is none */
    uint32_t ngroups;
    uint32_t *points; /* [npoints] at which they are short, in order */
    uint32_t npoints;
    IdleBlock *rows; /* [nrows] by group, tensor, point, price */
    size_t nrows, capacity;
    IdleBlocks *groups; /* [ngroups] */
    Offers *offers;     /* [ngroups] */
    int64_t *offered;   /* [npoints] what was wanted of those */
    int64_t *wanted;    /* [npoints] granules that must go in place of the tensor at hand */
    int64_t total;      /* of `wanted` */
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
    return saturating_add(load, store ? pass->facts->gaps.store[gap->value] : 0);
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

/* Those of one tensor: by point, cheap ones first; prices past the largest key are alike. */
static void order_rows(NextBest *pass, IdleBlocks rows, Arena *scratch) {
    enum { PRICE_BITS = 40 };
    static const int64_t MOST_PRICE = (INT64_C(1) << PRICE_BITS) - 1;
    uint32_t count = rows.end - rows.first;
    SortKey *keys = RAW_ARRAY(scratch, SortKey, count);
    IdleBlock *before = RAW_ARRAY(scratch, IdleBlock, count);
    for (uint32_t i = 0; i < count; i++) {
        const IdleBlock *row = &pass->rows[rows.first + i];
        int64_t price = price_of(pass, row);
        if (price > MOST_PRICE) price = MOST_PRICE;
        keys[i] = (SortKey){(uint64_t)row->at << PRICE_BITS | (uint64_t)price, i};
        before[i] = *row;
    }
    sort_keys(keys, count, scratch);
    for (uint32_t i = 0; i < count; i++)
        pass->rows[rows.first + i] = before[keys[i].id];
    arena_reset(scratch);
}

static void order_all_rows(NextBest *pass) {
    Arena scratch;
    arena_init(&scratch);
    for (uint32_t g = 0; g < pass->ngroups; g++)
        for (uint32_t r = pass->groups[g].first; r < pass->groups[g].end;) {
            IdleBlocks rows = rows_of_tensor(pass, pass->groups[g], r);
            order_rows(pass, rows, &scratch);
            r = rows.end;
        }
    arena_free(&scratch);
}

/* The tensor itself leaves with what does not stay; sets what must go in its place. */
static void leave(NextBest *pass, IdleBlocks rows, LeaveChoice *choice) {
    for (uint32_t r = rows.first; r < rows.end; r++) {
        const IdleBlock *row = &pass->rows[r];
        if (stays(pass, row, choice->inst)) continue;
        pass->wanted[row->at] += height_of(pass, row);
        pass->total += height_of(pass, row);
        choice->here += cut_gap(pass, row);
        choice->known = true;
    }
    for (uint32_t r = rows.first; r < rows.end; r++) {
        uint32_t at = pass->rows[r].at;
        int64_t over = (int64_t)pass->question->needs[pass->points[at]] - pass->facts->size;
        if (over <= 0 || over >= pass->wanted[at]) continue;
        pass->total -= pass->wanted[at] - over;
        pass->wanted[at] = over;
    }
    forget_cuts(pass, rows);
}

/* What is cut already frees something in each iteration: those of the point that begins at `r`. */
static void count_cut(NextBest *pass, IdleBlocks rows, uint32_t r) {
    uint32_t at = pass->rows[r].at;
    for (; r < rows.end && pass->rows[r].at == at; r++)
        if (pass->cut[pass->rows[r].gap]) pass->freed[at] += height_of(pass, &pass->rows[r]);
}

/* Another tensor leaves with as much of what stays as is wanted, if it has that. */
static Offer leave_instead(NextBest *pass, IdleBlocks rows, uint32_t inst) {
    Offer offer = {.tensor = tensor_of(pass, &pass->rows[rows.first])};
    int64_t blocks = 0;
    for (uint32_t r = rows.first; r < rows.end; r++) {
        const IdleBlock *row = &pass->rows[r];
        bool begins = r == rows.first || pass->rows[r - 1].at != row->at;
        if (begins) count_cut(pass, rows, r);
        if (begins) blocks = pass->freed[row->at] / height_of(pass, row);
        bool enough = pass->freed[row->at] >= pass->wanted[row->at];
        if (enough || pass->cut[row->gap] || !stays(pass, row, inst)) continue;
        offer.cycles = saturating_add(offer.cycles, cut_gap(pass, row));
        pass->freed[row->at] += height_of(pass, row);
        if (++blocks > offer.blocks) offer.blocks = blocks;
    }
    return offer;
}

/* `own`: the rows of the one that left. */
static bool is_enough(const NextBest *pass, IdleBlocks own) {
    for (uint32_t r = own.first; r < own.end; r++)
        if (pass->freed[pass->rows[r].at] < pass->wanted[pass->rows[r].at]) return false;
    return true;
}

/* 0 to 2: one, two or four quadrants. */
static int width_of(const NextBest *pass, uint32_t tensor) {
    const Tensor *one = &pass->facts->func->tensors[tensor];
    return class_quadrants(shape_class(one->partitions, one->base)) / 2;
}

/* Of equal offers the first one is better. */
static bool is_cheaper(const Offer *offer, const Offer *than) {
    return than->tensor == NONE || offer->cycles < than->cycles;
}

static void add_offer(Offers *offers, int width, Offer offer) {
    for (int w = 0; w <= width; w++) {
        Offer *best = offers->best[w];
        if (is_cheaper(&offer, &best[0])) {
            best[1] = best[0];
            best[0] = offer;
        } else if (is_cheaper(&offer, &best[1])) {
            best[1] = offer;
        }
    }
}

/* True if the offers are for what is wanted now: they agree where something is, and in the sum. */
static bool is_offered(const NextBest *pass, const Offers *offers, IdleBlocks own) {
    if (offers->wanting.first == offers->wanting.end || offers->total != pass->total) return false;
    for (uint32_t r = own.first; r < own.end; r++)
        if (pass->offered[pass->rows[r].at] != pass->wanted[pass->rows[r].at]) return false;
    return true;
}

static void note_wanted(NextBest *pass, Offers *offers, IdleBlocks own) {
    for (uint32_t r = offers->wanting.first; r < offers->wanting.end; r++)
        pass->offered[pass->rows[r].at] = 0;
    for (uint32_t r = own.first; r < own.end; r++)
        pass->offered[pass->rows[r].at] = pass->wanted[pass->rows[r].at];
    *offers = (Offers){.wanting = own, .total = pass->total};
    for (int w = 0; w < WIDTHS; w++)
        offers->best[w][0].tensor = offers->best[w][1].tensor = NONE;
}

static void find_offers(NextBest *pass, Offers *offers, IdleBlocks own, uint32_t inst) {
    IdleBlocks all = pass->groups[pass->group[inst]];
    note_wanted(pass, offers, own);
    for (uint32_t r = all.first; r < all.end;) {
        IdleBlocks rows = rows_of_tensor(pass, all, r);
        r = rows.end;
        Offer offer = leave_instead(pass, rows, inst);
        if (is_enough(pass, own)) add_offer(offers, width_of(pass, offer.tensor), offer);
        forget_cuts(pass, rows);
    }
}

/* The cheapest other tensor; of equal ones the first. */
static void find_other(NextBest *pass, IdleBlocks own, LeaveChoice *choice) {
    Offers *offers = &pass->offers[pass->group[choice->inst]];
    if (!is_offered(pass, offers, own)) find_offers(pass, offers, own, choice->inst);
    const Offer *best = offers->best[width_of(pass, choice->tensor)];
    if (best->tensor == choice->tensor) best++;
    choice->next = best->tensor;
    choice->blocks = best->blocks;
    choice->cycles = best->cycles;
}

static void choose(NextBest *pass, LeaveChoice *choice) {
    IdleBlocks all = pass->groups[pass->group[choice->inst]], own = {0, 0};
    uint32_t first;
    FIND_FIRST(first, all.first, all.end, tensor_of(pass, &pass->rows[first]) >= choice->tensor);
    if (first < all.end && tensor_of(pass, &pass->rows[first]) == choice->tensor)
        own = rows_of_tensor(pass, all, first);
    pass->total = 0;
    leave(pass, own, choice);
    choice->next = NONE;
    if (choice->known) find_other(pass, own, choice);
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
    pass.offers = NEW_ARRAY(scratch, Offers, pass.ngroups);
    pass.offered = NEW_ARRAY(scratch, int64_t, pass.npoints);
    pass.wanted = NEW_ARRAY(scratch, int64_t, pass.npoints);
    pass.freed = NEW_ARRAY(scratch, int64_t, pass.npoints);
    pass.cut = NEW_ARRAY(scratch, bool, pass.facts->gaps.count);
    pass.stored = NEW_ARRAY(scratch, bool, pass.facts->gaps.nvalues);
    order_all_rows(&pass);
    for (uint32_t c = 0; c < count; c++)
        choose(&pass, &choices[c]);
}
