#include "output/svg_chart.h"

/* ---- tooltips ---- */

static void write_name(const Chart *chart, const ChartPiece *piece, Writer *out) {
    const Tensor *tensor = &chart->func->tensors[piece->tensor];
    write_char(out, '%');
    svg_escape(out, tensor->name);
    chart_blocks(chart, piece, out);
}

static void write_shape(const Tensor *tensor, Writer *out) {
    chart_shape(tensor, out);
    write_text(out, ", ");
    svg_count(out, tensor->bytes, "byte");
    write_text(out, " per partition");
}

static void write_range(LiveRange range, Writer *out) {
    enum { MOST_INTERVALS = 8 };
    write_text(out, "live at points ");
    for (uint32_t i = 0; i < range.count && i < MOST_INTERVALS; i++) {
        if (i > 0) write_text(out, ", ");
        write_int(out, range.items[i].first);
        if (range.items[i].last == range.items[i].first) continue;
        write_text(out, "\xE2\x80\x93");
        write_int(out, range.items[i].last);
    }
    if (range.count > MOST_INTERVALS)
        write_format(out, " and %u stretches more", range.count - MOST_INTERVALS);
}

static void write_place(const Tensor *tensor, const ChartPiece *piece, Writer *out) {
    int32_t first = tensor->at[piece->block].partition;
    write_format(out, "partitions %d\xE2\x80\x93%d, bytes ", first,
                 first + (int32_t)tensor->partitions - 1);
    svg_number(out, piece->low);
    write_text(out, "\xE2\x80\x93");
    svg_number(out, piece->high - 1);
}

static void write_kind(const Chart *chart, uint32_t id, Writer *out) {
    const Tensor *tensor = &chart->func->tensors[id];
    if (tensor->input) write_text(out, "\ninput");
    if (tensor->output) write_text(out, "\noutput: live to the end");
    if (tensor->pin) write_text(out, "\npinned: never spilled");
    if (tensor->fixed) write_text(out, "\nfixed: its place was given");
    if (chart->original[id].length == 0) return;
    write_text(out, "\nworking copy of %");
    svg_escape(out, chart->original[id]);
    write_text(out, ", which was spilled");
}

static void write_cost(const Chart *chart, uint32_t id, Writer *out) {
    if (!chart->item->cost) return;
    double cost = chart->item->cost[id];
    if (cost <= 0) return; /* where blocks were spilled in place, none is known */
    if (cost < 1e15) {
        write_text(out, "\nspilling it costs ");
        svg_count(out, (int64_t)(cost + 0.5), "cycle");
    } else {
        write_text(out, "\nmust not be spilled");
    }
}

static void write_tooltip(const Chart *chart, const ChartPiece *piece, Writer *out) {
    const Tensor *tensor = &chart->func->tensors[piece->tensor];
    write_text(out, "<title>");
    write_name(chart, piece, out);
    write_char(out, '\n');
    write_shape(tensor, out);
    write_char(out, '\n');
    LiveRange range = live_block(chart->item->live, piece->tensor, piece->block);
    write_range(range, out);
    write_where(chart, (Interval){range.items[0].first, range.items[range.count - 1].last}, "\n",
                out);
    write_char(out, '\n');
    write_place(tensor, piece, out);
    if (piece->shares) write_text(out, "\nothers have this place in other iterations");
    write_kind(chart, piece->tensor, out);
    write_cost(chart, piece->tensor, out);
    write_text(out, "</title>\n");
}

/* ---- rectangles ---- */

static void put_rect(const char *class, ChartBox box, Writer *out) {
    write_text(out, "<rect");
    if (*class) write_format(out, " class=\"%s\"", class);
    svg_box(out, box.x, box.y, box.width, box.height);
    write_text(out, "/>\n");
}

/* Bars at the ends of what comes in or goes out in the State Buffer. */
static void draw_ends(const Chart *chart, const ChartPiece *piece, ChartBox box, Writer *out) {
    enum { BAR = 4 * PX };
    const Tensor *tensor = &chart->func->tensors[piece->tensor];
    LiveRange range = live_block(chart->item->live, piece->tensor, piece->block);
    if (box.width < 3 * BAR) return;
    ChartBox bar = {box.x, box.y, BAR, box.height};
    if (tensor->input && piece->live.first == range.items[0].first) put_rect("enter", bar, out);
    bar.x = box.x + box.width - BAR;
    if (tensor->output && piece->live.last == range.items[range.count - 1].last)
        put_rect("leave", bar, out);
}

static void draw_piece(const Chart *chart, const ChartPiece *piece, Writer *out) {
    enum { SMALL = 3 * PX, TINY = 15 * PX / 10 };
    for (uint32_t i = 0; i < chart->nlanes; i++) {
        const Lane *lane = &chart->lanes[i];
        if (!(piece->mask & lane->mask)) continue;
        ChartBox box = chart_box(chart, lane, piece);
        int64_t least = box.width < box.height ? box.width : box.height;
        put_rect(least < TINY ? "s" : least < SMALL ? "n" : "", box, out);
        if (chart->has.fixed && chart->func->tensors[piece->tensor].fixed)
            put_rect("hatch", box, out);
        draw_idle(chart, piece, box, out);
        draw_ends(chart, piece, box, out);
    }
}

/* Every other one of a family, or of a tensor's blocks, has another shade. */
static bool is_odd(Str name) {
    char last = name.text[name.length - 1];
    return last >= '0' && last <= '9' && (last - '0') % 2 == 1;
}

static void open_group(const Chart *chart, const ChartPiece *piece, Writer *out) {
    const Tensor *tensor = &chart->func->tensors[piece->tensor];
    write_format(out, "<g class=\"t c%u", chart->colour[piece->tensor]);
    bool copy = chart->original[piece->tensor].length > 0;
    if ((!copy && is_odd(tensor->name)) != (piece->block & 1)) write_text(out, " odd");
    if (copy) write_text(out, " copy");
    if (chart->request->changed && chart->request->changed[piece->tensor])
        write_text(out, " changed");
    if (tensor->pin) write_text(out, " pin");
    write_text(out, "\">");
    write_tooltip(chart, piece, out);
}

static bool same_group(const ChartPiece *a, const ChartPiece *b) {
    return a->tensor == b->tensor && a->block == b->block;
}

static void draw_alone(const Chart *chart, Writer *out) {
    const ChartPiece *group = NULL;
    for (size_t i = 0; i < chart->ndrawn; i++) {
        const ChartPiece *piece = &chart->pieces[chart->drawn[i]];
        if (!group || !same_group(group, piece)) {
            if (group) write_text(out, "</g>\n");
            open_group(chart, piece, out);
            group = piece;
        }
        draw_piece(chart, piece, out);
    }
    if (group) write_text(out, "</g>\n");
}

/* ---- those that are too many ---- */

enum { CELL = 2 * PX };

typedef struct {
    bool *cells; /* [rows][columns] */
    int64_t rows, columns;
} Raster;

static void fill_raster(const Chart *chart, const Lane *lane, Raster *raster) {
    for (size_t i = 0; i < chart->npieces; i++) {
        const ChartPiece *piece = &chart->pieces[i];
        if (piece->alone || piece->covered || !(piece->mask & lane->mask)) continue;
        ChartBox box = chart_box(chart, lane, piece);
        int64_t right = (box.x - chart->left + box.width - 1) / CELL;
        int64_t foot = (box.y - lane->top + box.height - 1) / CELL;
        for (int64_t row = (box.y - lane->top) / CELL; row <= foot && row < raster->rows; row++)
            for (int64_t column = (box.x - chart->left) / CELL;
                 column <= right && column < raster->columns; column++)
                raster->cells[row * raster->columns + column] = true;
    }
}

static void write_row(const Chart *chart, const Lane *lane, const Raster *raster, int64_t row,
                      Writer *out) {
    const bool *cells = raster->cells + row * raster->columns;
    for (int64_t column = 0, end; column < raster->columns; column = end + 1) {
        for (end = column; end < raster->columns && cells[end]; end++)
            continue;
        if (end == column) continue;
        write_char(out, 'M');
        svg_length(out, chart->left + column * CELL);
        write_char(out, ' ');
        svg_length(out, lane->top + row * CELL + CELL / 2);
        write_char(out, 'h');
        svg_length(out, (end - column) * CELL);
    }
}

static void draw_crowd(const Chart *chart, const Lane *lane, Writer *out) {
    Arena scratch;
    arena_init(&scratch);
    Raster raster = {.rows = lane->height / CELL, .columns = chart->width / CELL};
    raster.cells = NEW_ARRAY(&scratch, bool, (size_t)(raster.rows * raster.columns));
    fill_raster(chart, lane, &raster);
    write_text(out, "<g class=\"t crowd\"><title>");
    svg_count(out, (int64_t)chart->ntogether, "rectangle");
    write_text(out, " too small to be drawn one by one</title>\n<path d=\"");
    for (int64_t row = 0; row < raster.rows; row++)
        write_row(chart, lane, &raster, row, out);
    write_text(out, "\"/></g>\n");
    arena_free(&scratch);
}

void draw_tensors(const Chart *chart, Writer *out) {
    if (chart->has.crowd)
        for (uint32_t i = 0; i < chart->nlanes; i++)
            draw_crowd(chart, &chart->lanes[i], out);
    draw_alone(chart, out);
    draw_labels(chart, out);
}
