#include "output/svg_chart.h"
#include "support/checked.h"

/* ---- lines of the source ---- */

/* The first or the last point of an interval that has a line; UINT32_MAX where none has. */
static uint32_t point_with_line(const Chart *chart, Interval points, bool last) {
    for (uint32_t i = 0; i <= points.last - points.first; i++) {
        uint32_t point = last ? points.last - i : points.first + i;
        if (chart->usage->where[point].length > 0) return point;
    }
    return UINT32_MAX;
}

void write_where(const Chart *chart, Interval points, const char *before, Writer *out) {
    uint32_t first = point_with_line(chart, points, false);
    if (first == UINT32_MAX) return;
    Str from = chart->usage->where[first];
    Str to = chart->usage->where[point_with_line(chart, points, true)];
    bool one = str_equal(from, to), number = from.text[0] >= '0' && from.text[0] <= '9';
    write_text(out, before);
    if (number) write_text(out, one ? "line " : "lines ");
    svg_escape(out, from);
    if (one) return;
    write_text(out, number ? "\xE2\x80\x93" : " \xE2\x80\x93 ");
    svg_escape(out, to);
}

static void draw_lines(const Chart *chart, Writer *out) {
    if (chart->lines == chart->opcodes) return;
    uint32_t room = fitting_columns(chart->point_step * chart->width / chart->points);
    for (int64_t point = 0; point < chart->points; point += chart->point_step) {
        Str where = base_name(chart->usage->where[point]);
        if (where.length == 0) continue;
        int64_t x = chart_middle(chart, (uint32_t)point);
        bool first = svg_columns(where) > fitting_columns(2 * (x - chart->left));
        svg_open_text(out, "axis", first ? chart->left : x, chart->lines + 10 * PX,
                      first ? ANCHOR_START : ANCHOR_MIDDLE);
        svg_clip_titled(out, where, room < 3 ? 3 : room);
        svg_close_text(out);
    }
    svg_text(out, "name", chart->left - 8 * PX, chart->lines + 10 * PX, ANCHOR_END,
             chart->usage->has_loc ? "source" : "line");
}

/* ---- points and opcodes ---- */

static void draw_numbers(const Chart *chart, Writer *out) {
    for (int64_t point = 0; point < chart->points; point += chart->point_step) {
        int64_t x = chart_middle(chart, (uint32_t)point);
        svg_line(out, "tick", x, chart->axis, x, chart->axis + 4 * PX);
        svg_open_text(out, "axis", x, chart->axis + 15 * PX, ANCHOR_MIDDLE);
        svg_number(out, point);
        svg_close_text(out);
    }
    svg_text(out, "name", chart->left - 8 * PX, chart->axis + 15 * PX, ANCHOR_END, "point");
}

static void draw_opcode(const Chart *chart, uint32_t point, Writer *out) {
    const Inst *inst = &chart->func->insts[point];
    const char *class = dma_is_store(inst) ? "op spill" : dma_is_reload(inst) ? "op reload" : "op";
    int64_t x = chart_middle(chart, point);
    if (chart->upright) {
        write_format(out, "<text class=\"%s\" text-anchor=\"end\" transform=\"translate(", class);
        svg_length(out, x + 4 * PX);
        write_char(out, ' ');
        svg_length(out, chart->opcodes + 2 * PX);
        write_text(out, ") rotate(-90)\">");
    } else {
        svg_open_text(out, class, x, chart->opcodes + 12 * PX, ANCHOR_MIDDLE);
    }
    int64_t room = chart->upright ? chart->opcodes_height - 8 * PX : chart->width / chart->points;
    svg_clip_titled(out, inst->op, fitting_columns(room));
    svg_close_text(out);
}

void draw_axis(const Chart *chart, Writer *out) {
    if (chart->points == 0) return;
    draw_numbers(chart, out);
    draw_lines(chart, out);
    if (chart->opcodes_height == 0) return;
    svg_text(out, "name", chart->left - 8 * PX, chart->opcodes + 12 * PX, ANCHOR_END, "opcode");
    for (uint32_t p = 0; p < chart->points; p++)
        draw_opcode(chart, p, out);
}

/* ---- DMAs ---- */

/* What one column of the strip holds in one direction. */
typedef struct {
    uint32_t first, last, count; /* points, and how many DMAs */
    uint32_t inserted;           /* of these, by spilling */
} Column;

static int64_t blocks_moved(const Func *func, const Operand *operand) {
    BlockSpan span = operand_blocks(func, operand);
    bool one = operand->blocks && operand->blocks->kind == BLOCKS_ONE;
    return one ? 1 : span.exact ? span.last - span.first + 1 : 0;
}

static void write_dma_cost(const Chart *chart, const Inst *inst, Writer *out) {
    const Operand *operand = dma_on_chip(inst);
    const Tensor *tensor = &chart->func->tensors[operand->tensor];
    const Region *region = operand->region;
    int64_t blocks = blocks_moved(chart->func, operand);
    int64_t cycles =
        latency_dram(chart->target, region ? region->p1 - region->p0 : tensor->partitions,
                     region ? region->b1 - region->b0 : tensor->bytes);
    write_char(out, '\n');
    svg_count(out, saturating_mul(cycles, blocks > 0 ? blocks : 1), "cycle");
    if (blocks == 0) write_text(out, " a block");
    if (inst->loop == NO_LOOP) return;
    write_text(out, ", run ");
    svg_count(out, loop_trips(chart->func, inst->loop), "time");
}

static void write_one_dma(const Chart *chart, uint32_t point, Writer *out) {
    const Inst *inst = &chart->func->insts[point];
    write_format(out, "point %u: %s ", point,
                 dma_is_store(inst)      ? "store to DRAM,"
                 : dma_is_reload(inst)   ? "reload from DRAM,"
                 : inst->kind == OP_LOAD ? "load"
                                         : "save");
    write_char(out, '%');
    svg_escape(out, chart->func->tensors[inst_src(inst)->tensor].name);
    write_text(out, " to %");
    svg_escape(out, chart->func->tensors[inst_dst(inst)->tensor].name);
    write_where(chart, (Interval){point, point}, "\n", out);
    write_dma_cost(chart, inst, out);
}

static void write_dmas(const Chart *chart, const Column *column, Writer *out) {
    if (column->count == 1) {
        write_one_dma(chart, column->first, out);
        return;
    }
    write_format(out, "points %u\xE2\x80\x93%u: ", column->first, column->last);
    svg_count(out, column->count, "DMA");
    write_text(out, ", ");
    svg_number(out, column->inserted);
    write_text(out, " of spilling");
}

/* A triangle that points up for what comes in and down for what goes out. */
static void draw_column(const Chart *chart, const Column *column, bool in, int64_t y, Writer *out) {
    enum { HIGH = 10 * PX, NARROW = 4 * PX, BROAD = 10 * PX };
    int64_t broad = chart->width / chart->points;
    broad = broad > BROAD ? BROAD : broad < NARROW ? NARROW : broad;
    int64_t x = chart_middle(chart, column->first) - broad / 2;
    const char *class = column->inserted == 0 ? "dma" : in ? "reload" : "spill";
    write_format(out, "<path class=\"%s\" d=\"M", class);
    svg_length(out, x);
    write_char(out, ' ');
    svg_length(out, in ? y + HIGH : y);
    write_char(out, 'h');
    svg_length(out, broad);
    write_char(out, 'l');
    svg_length(out, -broad / 2);
    write_char(out, ' ');
    svg_length(out, in ? -HIGH : HIGH);
    write_text(out, "z\"><title>");
    write_dmas(chart, column, out);
    write_text(out, "</title></path>\n");
}

static void draw_direction(const Chart *chart, OpKind kind, int64_t y, Writer *out) {
    enum { WIDTH = 2 * PX };
    size_t ncolumns = (size_t)(chart->width / WIDTH) + 1;
    Column *columns = NEW_ARRAY(chart->arena, Column, ncolumns);
    for (uint32_t p = 0; p < chart->points; p++) {
        const Inst *inst = &chart->func->insts[p];
        if (inst->kind != kind) continue;
        Column *column = &columns[(chart_middle(chart, p) - chart->left) / WIDTH];
        if (column->count++ == 0) column->first = p;
        column->last = p;
        column->inserted += dma_is_store(inst) || dma_is_reload(inst);
    }
    svg_line(out, "grid", chart->left, y + 10 * PX, chart->left + chart->width, y + 10 * PX);
    for (size_t i = 0; i < ncolumns; i++)
        if (columns[i].count > 0) draw_column(chart, &columns[i], kind == OP_LOAD, y, out);
}

void draw_dmas(const Chart *chart, Writer *out) {
    if (!chart->has.dma) return;
    int64_t x = chart->left - 8 * PX;
    svg_text(out, "name", x, chart->dma + 10 * PX, ANCHOR_END, "from DRAM");
    svg_text(out, "name", x, chart->dma + 27 * PX, ANCHOR_END, "to DRAM");
    draw_direction(chart, OP_LOAD, chart->dma, out);
    draw_direction(chart, OP_SAVE, chart->dma + 17 * PX, out);
}

/* ---- loops ---- */

static void write_loop_tooltip(const Chart *chart, uint32_t id, Writer *out) {
    const Loop *loop = &chart->func->loops[id];
    write_text(out, "<title>loop ");
    svg_escape(out, loop->name);
    write_text(out, " = ");
    write_int(out, loop->low);
    write_text(out, "..");
    write_int(out, loop->high);
    write_text(out, ": ");
    svg_count(out, saturating_sub(loop->high, loop->low), "trip");
    if (loop->parent != NO_LOOP) {
        write_text(out, ", ");
        svg_number(out, loop_trips(chart->func, id));
        write_text(out, " in all");
    }
    if (loop->end > loop->first)
        write_format(out, "\npoints %u\xE2\x80\x93%u", loop->first, loop->end - 1);
    if (loop->end > loop->first)
        write_where(chart, (Interval){loop->first, loop->end - 1}, ", ", out);
    write_text(out, "</title>");
}

static void write_loop_name(const Chart *chart, const Loop *loop, int64_t x, int64_t width,
                            int64_t y, Writer *out) {
    enum { FEWEST = 3 };
    uint32_t room = fitting_columns(width);
    int64_t trips = saturating_sub(loop->high, loop->low);
    int length = (int)loop->name.length;
    Str name = str_format(chart->arena, "%.*s = %lld..%lld: %lld trip%s", length, loop->name.text,
                          (long long)loop->low, (long long)loop->high, (long long)trips,
                          trips == 1 ? "" : "s");
    if (svg_columns(name) > room)
        name = str_format(chart->arena, "%.*s \xC3\x97%lld", length, loop->name.text,
                          (long long)trips);
    if (svg_columns(name) > room && room < FEWEST) return;
    svg_open_text(out, "op", x + width / 2, y, ANCHOR_MIDDLE);
    svg_clip(out, name, room);
    svg_close_text(out);
}

static void draw_loop(const Chart *chart, uint32_t id, Writer *out) {
    enum { INSET = PX };
    const Loop *loop = &chart->func->loops[id];
    int64_t x = chart_x(chart, loop->first), end = chart_x(chart, loop->end);
    int64_t y = chart->loops + (int64_t)loop->depth * 24 * PX;
    if (end - x > 4 * INSET) {
        x += INSET;
        end -= INSET;
    }
    write_text(out, "<g class=\"loop\">");
    write_loop_tooltip(chart, id, out);
    write_text(out, "<path d=\"M");
    svg_length(out, x);
    write_char(out, ' ');
    svg_length(out, y);
    write_text(out, "v5H");
    svg_length(out, end > x ? end : x + PX);
    write_text(out, "v-5\"/>");
    write_loop_name(chart, loop, x, end - x, y + 17 * PX, out);
    write_text(out, "</g>\n");
}

/* Loops of a row that begin within the same pixel are drawn once. */
void draw_loops(const Chart *chart, Writer *out) {
    if (chart->loop_rows == 0) return;
    svg_text(out, "name", chart->left - 8 * PX, chart->loops + 10 * PX, ANCHOR_END, "loops");
    int64_t *free = NEW_ARRAY(chart->arena, int64_t, chart->loop_rows);
    for (uint32_t l = 0; l < chart->func->nloops; l++) {
        const Loop *loop = &chart->func->loops[l];
        if (loop->depth >= chart->loop_rows || chart_x(chart, loop->first) < free[loop->depth])
            continue;
        /* An empty loop is a tick that leaves room for the next one at its place. */
        free[loop->depth] = chart_x(chart, loop->first) + (loop->end > loop->first ? PX : 0);
        draw_loop(chart, l, out);
    }
}
