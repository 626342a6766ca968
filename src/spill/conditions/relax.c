#include "spill/conditions/relax.h"

#include "support/checked.h"

enum { MOST_PROBES = 10 };

/* Samples that are one cell so far, and how best to split them. */
typedef struct {
    SampleList list;
    Cell cell;
    TreeNode path[MOST_CONJUNCTIONS]; /* bands that it lies outside of */
    uint32_t npath;
    TreeNode split;
    int64_t least; /* extra weight of both sides after that split */
} Open;

typedef struct {
    RankedSamples *ranked;
    uint32_t *sides[2]; /* [count] */
    int64_t extra[2];   /* of the inside and the outside of what was probed last */
} Relaxing;

void add_path_hole(Cell *cell, const TreeNode *split) {
    uint32_t f = split->feature;
    if (split->low == 0 || split->high == UINT32_MAX) return;
    for (uint32_t rank = split->low; rank < split->high; rank++)
        if (rank > cell->low[f] && rank < cell->high[f])
            cell->holes[cell->nholes++] = (Hole){f, rank};
}

static SampleList side_of(const RankedSamples *ranked, SampleList list, const TreeNode *split,
                          bool inside, uint32_t *ids) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < list.count; i++)
        if (split_holds(split, sample_ranks(ranked, list.ids[i])) == inside)
            ids[count++] = list.ids[i];
    return (SampleList){ids, count};
}

/* What both sides of a split cover that is unwanted. */
static void probe_split(Relaxing *r, Open *open, TreeNode split) {
    for (uint32_t side = 0; side < 2; side++) {
        SampleList list = side_of(r->ranked, open->list, &split, side == 0, r->sides[side]);
        r->extra[side] = check_cell(r->ranked, list).extra;
    }
    int64_t sum = saturating_add(r->extra[0], r->extra[1]);
    if (sum >= open->least) return;
    open->least = sum;
    open->split = split;
}

/* Thresholds above `from` and below `to`: no prefix covers less than `before`, no suffix less than
 * `after`. */
typedef struct {
    uint32_t from, to;
    int64_t before, after;
} ThresholdGap;

/* Branch and bound: the gap with the least bound is halved first. */
static void probe_thresholds(Relaxing *r, Open *open, uint32_t feature) {
    ThresholdGap gaps[MOST_PROBES + 1];
    uint32_t count = 1;
    gaps[0] = (ThresholdGap){open->cell.low[feature], open->cell.high[feature] + 1, 0, 0};
    for (uint32_t probes = 0; probes < MOST_PROBES; probes++) {
        uint32_t best = UINT32_MAX;
        int64_t least = open->least;
        for (uint32_t i = 0; i < count; i++) {
            int64_t bound = saturating_add(gaps[i].before, gaps[i].after);
            if (gaps[i].to - gaps[i].from < 2 || bound >= least) continue;
            best = i;
            least = bound;
        }
        if (best == UINT32_MAX) break;
        ThresholdGap gap = gaps[best];
        uint32_t middle = gap.from + (gap.to - gap.from) / 2;
        probe_split(r, open, (TreeNode){false, feature, 0, middle, 0});
        gaps[best] = (ThresholdGap){gap.from, middle, gap.before, r->extra[1]};
        gaps[count++] = (ThresholdGap){middle, gap.to, r->extra[0], gap.after};
    }
}

static void find_split(Relaxing *r, Open *open) {
    TreeNode bands[MOST_BANDS];
    open->least = open->cell.extra;
    if (open->least == 0) return;
    for (uint32_t f = 0; f < r->ranked->nfeatures; f++)
        probe_thresholds(r, open, f);
    uint32_t count = suggest_bands(r->ranked, open->list, &open->cell, bands);
    for (uint32_t i = 0; i < count && i < MOST_PROBES; i++)
        probe_split(r, open, bands[i]);
}

/* Keeps what a further split can matter to. */
static SampleList drop_outside(const RankedSamples *ranked, const Cell *cell, uint32_t *ids,
                               uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (ranked->labels[ids[i]] != SAMPLE_EITHER && in_box(ranked, cell, ids[i]))
            ids[kept++] = ids[i];
    return (SampleList){ids, kept};
}

static Open make_open(Relaxing *r, const Open *parent, bool inside, Arena *scratch) {
    Open open = *parent;
    uint32_t *ids = RAW_ARRAY(scratch, uint32_t, parent->list.count);
    open.list = side_of(r->ranked, parent->list, &parent->split, inside, ids);
    if (!inside) open.path[open.npath++] = parent->split;
    open.cell = check_cell(r->ranked, open.list);
    open.list = drop_outside(r->ranked, &open.cell, ids, open.list.count);
    find_split(r, &open);
    return open;
}

/* The one that gains most from its split; UINT32_MAX if none does. */
static uint32_t best_open(const Open *opens, uint32_t count) {
    uint32_t best = UINT32_MAX;
    int64_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t gain = opens[i].cell.extra - opens[i].least;
        if (gain <= most) continue;
        best = i;
        most = gain;
    }
    return best;
}

uint32_t relax_cells(RankedSamples *ranked, SampleList list, uint32_t most, Cell *cells,
                     Arena *scratch) {
    Relaxing r = {.ranked = ranked};
    for (uint32_t side = 0; side < 2; side++)
        r.sides[side] = RAW_ARRAY(scratch, uint32_t, list.count);
    Open *opens = NEW_ARRAY(scratch, Open, most);
    uint32_t count = 1;
    opens[0] = (Open){.list = list, .cell = check_cell(ranked, list)};
    if (most > 1)
        find_split(&r, &opens[0]);
    else
        opens[0].least = opens[0].cell.extra;
    for (uint32_t at; count < most && (at = best_open(opens, count)) != UINT32_MAX; count++) {
        opens[count] = make_open(&r, &opens[at], false, scratch);
        opens[at] = make_open(&r, &opens[at], true, scratch);
    }
    for (uint32_t i = 0; i < count; i++) {
        cells[i] = opens[i].cell;
        for (uint32_t p = 0; p < opens[i].npath; p++)
            add_path_hole(&cells[i], &opens[i].path[p]);
    }
    return count;
}
