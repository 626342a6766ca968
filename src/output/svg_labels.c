#include "output/svg_chart.h"
#include "support/sort.h"

enum { MARGIN = 6 * PX };

/* ---- what stands on a rectangle ---- */

void chart_shape(const Tensor *tensor, Writer *out) {
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (i > 0) write_text(out, "\xC3\x97");
        write_int(out, tensor->shape[i]);
    }
    write_char(out, ' ');
    write_str(out, dtype_name(tensor->dtype));
}

static Str label_of(const Chart *chart, const ChartPiece *piece, Str name) {
    const Tensor *tensor = &chart->func->tensors[piece->tensor];
    if (tensor->blocks == 1) return name;
    Writer text;
    writer_to_memory(&text);
    write_str(&text, name);
    chart_blocks(chart, piece, &text);
    return writer_take(&text, chart->arena);
}

/* Writes the name along the middle of the box, or upright where that holds more of it. */
static void put_label(ChartBox box, Str label, uint32_t columns, bool upright, bool two_lines,
                      Writer *out) {
    int64_t x = box.x + box.width / 2, y = box.y + box.height / 2;
    if (upright) {
        write_text(out, "<text class=\"label\" text-anchor=\"middle\" transform=\"translate(");
        svg_length(out, x + 4 * PX);
        write_char(out, ' ');
        svg_length(out, y);
        write_text(out, ") rotate(-90)\">");
    } else {
        svg_open_text(out, "label", x, y + (two_lines ? -2 * PX : 4 * PX), ANCHOR_MIDDLE);
    }
    svg_clip(out, label, columns);
    svg_close_text(out);
}

/* Size and shape below the name, where there is room. */
static bool has_second_line(const Tensor *tensor, ChartBox box) {
    enum { LONGEST = 24 };
    return tensor->rank <= 3 && box.height >= 34 * PX &&
           fitting_columns(box.width - MARGIN) >= LONGEST;
}

static void put_second_line(const Tensor *tensor, ChartBox box, Writer *out) {
    svg_open_text(out, "label more", box.x + box.width / 2, box.y + box.height / 2 + 12 * PX,
                  ANCHOR_MIDDLE);
    chart_shape(tensor, out);
    svg_close_text(out);
}

/* The name in the box: whole, or the original's that a copy stands for, or its beginning. */
static void draw_label(const Chart *chart, const ChartPiece *piece, ChartBox box, Writer *out) {
    enum { FEWEST = 4, LINE = 13 * PX };
    const Tensor *tensor = &chart->func->tensors[piece->tensor];
    Str original = chart->original[piece->tensor];
    uint32_t across = box.height >= LINE ? fitting_columns(box.width - MARGIN) : 0;
    uint32_t along = box.width >= LINE ? fitting_columns(box.height - MARGIN) : 0;
    if (across == 0 && along == 0) return;
    Str label = label_of(chart, piece, tensor->name);
    uint32_t columns = svg_columns(label);
    if (columns > across && columns > along && original.length > 0) {
        label = label_of(chart, piece, original);
        columns = svg_columns(label);
    }
    bool upright = columns > across && along > across;
    uint32_t room = upright ? along : across;
    if (columns > room && room < FEWEST) return;
    bool two_lines = !upright && has_second_line(tensor, box);
    put_label(box, label, room, upright, two_lines, out);
    if (two_lines) put_second_line(tensor, box, out);
}

/* ---- where nothing lies over it ---- */

/* Intervals of points where pieces drawn later hide the one at hand, in order. */
static SortKey *hiding_intervals(const Chart *chart, size_t at, size_t *count, Arena *scratch) {
    const ChartPiece *piece = &chart->pieces[chart->drawn[at]];
    SortKey *keys = RAW_ARRAY(scratch, SortKey, chart->ndrawn - at);
    *count = 0;
    for (size_t i = at + 1; i < chart->ndrawn; i++) {
        const ChartPiece *other = &chart->pieces[chart->drawn[i]];
        if (other->live.last < piece->live.first || other->live.first > piece->live.last) continue;
        if (pieces_meet(piece, other))
            keys[(*count)++] = (SortKey){other->live.first, other->live.last};
    }
    sort_keys(keys, *count, scratch);
    return keys;
}

/* The longest run of points of a piece that no other hides; first > last where there is none. */
static Interval widest_free(const Chart *chart, size_t at) {
    const ChartPiece *piece = &chart->pieces[chart->drawn[at]];
    if (!piece->shares) return piece->live;
    Arena scratch;
    arena_init(&scratch);
    size_t count;
    const SortKey *keys = hiding_intervals(chart, at, &count, &scratch);
    Interval widest = {1, 0};
    uint32_t free = piece->live.first; /* no piece hides it from here to the next */
    for (size_t i = 0; i <= count; i++) {
        uint32_t next = i < count ? (uint32_t)keys[i].key : piece->live.last + 1;
        if (next > free && (int64_t)next - 1 - free > (int64_t)widest.last - widest.first)
            widest = (Interval){free, next - 1};
        if (i < count && keys[i].id + 1 > free) free = keys[i].id + 1;
    }
    arena_free(&scratch);
    return widest;
}

void draw_labels(const Chart *chart, Writer *out) {
    for (size_t i = 0; i < chart->ndrawn; i++) {
        const ChartPiece *piece = &chart->pieces[chart->drawn[i]];
        ChartPiece free = *piece;
        free.live = widest_free(chart, i);
        if (free.live.first > free.live.last) continue;
        for (uint32_t l = 0; l < chart->nlanes; l++)
            if (piece->mask & chart->lanes[l].mask)
                draw_label(chart, piece, chart_box(chart, &chart->lanes[l], &free), out);
    }
}
