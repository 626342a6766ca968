#include "output/svg_chart.h"
#include "support/sort.h"

/* ---- rectangles that are the same ---- */

static bool same_rectangle(const ChartPiece *a, const ChartPiece *b) {
    return a->tensor == b->tensor && a->low == b->low && a->high == b->high && a->mask == b->mask &&
           a->live.first == b->live.first && a->live.last == b->live.last && a->alone == b->alone;
}

/* Blocks of one tensor that have one place, each in iterations of its own. */
static void join_same(Chart *chart, size_t first, size_t end, Arena *scratch) {
    SortKey *keys = RAW_ARRAY(scratch, SortKey, end - first);
    for (size_t i = first; i < end; i++) {
        const ChartPiece *piece = &chart->pieces[i];
        uint64_t place = (uint64_t)piece->low / GRANULE * 16 + piece->mask;
        keys[i - first] = (SortKey){place << 32 | piece->live.first, (uint32_t)i};
    }
    sort_keys(keys, end - first, scratch);
    uint32_t leader = NO_PIECE, latest = NO_PIECE;
    for (size_t i = 0; i < end - first; i++) {
        uint32_t id = keys[i].id;
        bool same =
            leader != NO_PIECE && same_rectangle(&chart->pieces[leader], &chart->pieces[id]);
        if (same) {
            chart->pieces[latest].next = id;
            chart->pieces[id].covered = true;
            chart->pieces[leader].shares = true;
        }
        if (!same) leader = id;
        latest = id;
    }
}

static void join_all(Chart *chart) {
    Arena scratch;
    arena_init(&scratch);
    for (size_t first = 0, end; first < chart->npieces; first = end) {
        for (end = first + 1; end < chart->npieces; end++)
            if (chart->pieces[end].tensor != chart->pieces[first].tensor) break;
        if (end > first + 1) join_same(chart, first, end, &scratch);
    }
    arena_free(&scratch);
}

/* ---- those that overlap ---- */

bool pieces_meet(const ChartPiece *a, const ChartPiece *b) {
    return (a->mask & b->mask) && a->low < b->high && b->low < a->high;
}

/* A sweep over first points: each is compared with those that live then. */
static bool mark_overlaps(Chart *chart, Arena *scratch) {
    SortKey *keys = RAW_ARRAY(scratch, SortKey, chart->ndrawn);
    uint32_t *open = RAW_ARRAY(scratch, uint32_t, chart->ndrawn);
    size_t nopen = 0;
    bool any = false;
    for (size_t i = 0; i < chart->ndrawn; i++)
        keys[i] = (SortKey){chart->pieces[chart->drawn[i]].live.first, chart->drawn[i]};
    sort_keys(keys, chart->ndrawn, scratch);
    for (size_t i = 0; i < chart->ndrawn; i++) {
        ChartPiece *piece = &chart->pieces[keys[i].id];
        size_t left = 0;
        for (size_t k = 0; k < nopen; k++) {
            ChartPiece *other = &chart->pieces[open[k]];
            if (other->live.last < piece->live.first) continue;
            open[left++] = open[k];
            if (pieces_meet(piece, other)) any = piece->shares = other->shares = true;
        }
        nopen = left;
        open[nopen++] = keys[i].id;
    }
    return any;
}

/* Those of one block stay together: the longest first. */
static void order_drawn(Chart *chart, Arena *scratch) {
    SortKey *keys = RAW_ARRAY(scratch, SortKey, chart->ndrawn);
    for (size_t i = 0, end; i < chart->ndrawn; i = end) {
        const ChartPiece *first = &chart->pieces[chart->drawn[i]], *piece = first;
        uint64_t points = 0;
        for (end = i; end < chart->ndrawn; end++) {
            piece = &chart->pieces[chart->drawn[end]];
            if (piece->tensor != first->tensor || piece->block != first->block) break;
            points += (uint64_t)piece->live.last - piece->live.first + 1;
        }
        for (size_t k = i; k < end; k++)
            keys[k] = (SortKey){UINT64_MAX - points, chart->drawn[k]};
    }
    sort_keys(keys, chart->ndrawn, scratch);
    for (size_t i = 0; i < chart->ndrawn; i++)
        chart->drawn[i] = keys[i].id;
}

void chart_shared(Chart *chart) {
    if (chart->func->nloops > 0) join_all(chart); /* straight code has one iteration */
    chart->drawn = RAW_ARRAY(chart->arena, uint32_t, chart->npieces);
    for (size_t i = 0; i < chart->npieces; i++)
        if (chart->pieces[i].alone && !chart->pieces[i].covered)
            chart->drawn[chart->ndrawn++] = (uint32_t)i;
    if (chart->func->nloops == 0) return;
    Arena scratch;
    arena_init(&scratch);
    if (mark_overlaps(chart, &scratch)) order_drawn(chart, &scratch);
    arena_free(&scratch);
}

/* ---- names of blocks ---- */

static void write_blocks(uint32_t first, uint32_t end, Writer *out) {
    if (end == first + 1)
        write_format(out, "%u", first);
    else
        write_format(out, "%u..%u", first, end);
}

void chart_blocks(const Chart *chart, const ChartPiece *piece, Writer *out) {
    if (chart->func->tensors[piece->tensor].blocks == 1) return;
    uint32_t first = piece->block, end = piece->end_block;
    write_char(out, '[');
    for (uint32_t i = piece->next; i != NO_PIECE; i = chart->pieces[i].next) {
        const ChartPiece *same = &chart->pieces[i];
        if (same->block != end) {
            write_blocks(first, end, out);
            write_text(out, ", ");
            first = same->block;
        }
        end = same->end_block;
    }
    write_blocks(first, end, out);
    write_char(out, ']');
}
