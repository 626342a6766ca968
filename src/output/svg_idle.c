#include "output/svg_chart.h"
#include "support/search.h"

/* Blocks [first, end) that a piece is drawn for, and perhaps others between them. */
static void drawn_blocks(const Chart *chart, const ChartPiece *piece, int64_t *first,
                         int64_t *end) {
    *first = piece->block;
    *end = piece->end_block;
    for (uint32_t i = piece->next; i != NO_PIECE; i = chart->pieces[i].next)
        *end = chart->pieces[i].end_block;
}

/* The first access of the piece's blocks at a point of [point, piece->live.last]; the point after
 * that where there is none. */
static uint32_t next_access(const Chart *chart, const ChartPiece *piece, uint32_t point) {
    const Accesses *all = &chart->accesses;
    int64_t first, end;
    drawn_blocks(chart, piece, &first, &end);
    uint32_t at, last = all->first[piece->tensor + 1];
    FIND_FIRST(at, all->first[piece->tensor], last, all->items[at].inst >= point);
    for (; at < last && all->items[at].inst <= piece->live.last; at++) {
        const Inst *inst = &chart->func->insts[all->items[at].inst];
        BlockSpan span = operand_blocks(chart->func, &inst->operands[all->items[at].operand]);
        if (span.first < end && first <= span.last) return all->items[at].inst;
    }
    return piece->live.last + 1;
}

static void write_idle(const Chart *chart, ChartBox box, Interval points, Writer *out) {
    enum { NARROWEST = 6 * PX, LOWEST = 3 * PX, INSET = PX / 2 };
    int64_t x = chart_x(chart, points.first), width = chart_x(chart, points.last + 1) - x;
    if (width < NARROWEST || box.height < LOWEST) return;
    write_text(out, "<path class=\"idle\" d=\"M");
    svg_length(out, x + INSET);
    write_char(out, ' ');
    svg_length(out, box.y + INSET);
    write_char(out, 'h');
    svg_length(out, width - 2 * INSET);
    write_char(out, 'v');
    svg_length(out, box.height - 2 * INSET);
    write_char(out, 'h');
    svg_length(out, 2 * INSET - width);
    write_text(out, "z\"/>\n");
}

void draw_idle(const Chart *chart, const ChartPiece *piece, ChartBox box, Writer *out) {
    for (uint32_t point = piece->live.first; point <= piece->live.last;) {
        uint32_t access = next_access(chart, piece, point);
        if (access > point) write_idle(chart, box, (Interval){point, access - 1}, out);
        point = access + 1;
    }
}
