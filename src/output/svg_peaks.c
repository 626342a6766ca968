#include <inttypes.h>

#include "driver/peak_text.h"
#include "output/svg_chart.h"

/* `K \xC3\x973 768`: a tensor, how many of its blocks, and their bytes, `(in %J)` where they
 * lie in the place of another. */
static void write_tensor(const Func *func, const PeakTensor *one, Writer *text) {
    const Tensor *tensor = &func->tensors[one->tensor];
    write_char(text, '%');
    write_str(text, tensor->name);
    if (tensor->blocks > 1) write_format(text, " \xC3\x97%" PRId64, one->blocks);
    write_char(text, ' ');
    svg_number(text, one->bytes);
    if (one->shared == 0) return;
    write_text(text, " (");
    if (one->shared < one->bytes) svg_number(text, one->shared);
    write_text(text, one->shared < one->bytes ? " in %" : "in %");
    write_str(text, func->tensors[one->shares].name);
    write_char(text, ')');
}

/* As many as fit in the columns, and how many more. */
static void write_tensors(const Peak *peak, uint32_t columns, Writer *text) {
    enum { MORE = 12 /* columns of what follows */ };
    uint32_t shown = 0;
    Writer one;
    writer_to_memory(&one);
    for (; shown < peak->count; shown++) {
        const PeakTensor *next = &peak->tensors[shown];
        one.length = 0;
        write_tensor(peak->func, next, &one);
        Str words = {one.buffer, (uint32_t)one.length};
        uint32_t used = svg_columns((Str){text->buffer, (uint32_t)text->length});
        if (shown > 0 && used + svg_columns(words) + MORE > columns) break;
        write_text(text, shown ? ", " : " ");
        write_str(text, words);
    }
    if (shown < peak->count) write_format(text, ", %u more", peak->count - shown);
    writer_free(&one);
}

/* `line 31` or `a.py:7`, in parentheses, where it is known. */
static void write_place(Str where, Writer *text) {
    if (where.length == 0) return;
    bool number = where.text[0] >= '0' && where.text[0] <= '9';
    write_text(text, number ? " (line " : " (");
    write_str(text, where);
    write_char(text, ')');
}

/* `whole`: the same with more tensors, which is the title where the line has not all of it. */
static void draw_line(const Chart *chart, int64_t y, Str words, Str whole, Writer *out) {
    uint32_t columns = fitting_columns(chart->page - 30 * PX);
    svg_open_text(out, "peak", 18 * PX, y, ANCHOR_START);
    svg_clip(out, words, columns);
    if (!str_equal(words, whole) || svg_columns(words) > columns) svg_title(out, whole);
    svg_close_text(out);
}

/* The point of the result where an instruction of the input is; UINT32_MAX: nowhere. */
static uint32_t point_of(const JsonFunc *item, uint32_t inst) {
    for (uint32_t p = 0; p < item->func->ninsts; p++)
        if (item->origin_inst[p] == inst) return p;
    return UINT32_MAX;
}

/* `most taken at point 12 (line 31), i = 3: 768 \xE2\x80\x93 %a 512, %b 256` */
static void write_peak(const Chart *chart, const Peak *peak, uint32_t columns, Writer *text) {
    uint32_t point =
        peak == chart->usage->now ? peak->at.point : point_of(chart->item, peak->at.point);
    write_text(text, peak == chart->usage->now ? "most taken" : "needed before spilling");
    if (point != UINT32_MAX) write_format(text, " at point %u", point);
    write_place(where_of_moment(chart->usage, peak, peak->at, chart->arena), text);
    if (has_iteration(peak->func, peak->at)) write_text(text, ", ");
    write_iteration(peak->func, peak->at, text);
    write_text(text, ": ");
    svg_number(text, peak->needed);
    write_text(text, " \xE2\x80\x93");
    write_tensors(peak, columns, text);
}

static void draw_peak(const Chart *chart, const Peak *peak, int64_t y, Writer *out) {
    enum { LONGEST = 4000 /* columns of a title */ };
    Writer text, all;
    writer_to_memory(&text);
    writer_to_memory(&all);
    write_peak(chart, peak, fitting_columns(chart->page - 30 * PX), &text);
    write_peak(chart, peak, LONGEST, &all);
    Str words = {text.buffer, (uint32_t)text.length}, whole = {all.buffer, (uint32_t)all.length};
    draw_line(chart, y, words, whole, out);
    writer_free(&text);
    writer_free(&all);
}

void draw_peaks(const Chart *chart, Writer *out) {
    const Usage *usage = chart->usage;
    if (usage->now) draw_peak(chart, usage->now, chart->peaks, out);
    if (usage->before) draw_peak(chart, usage->before, chart->peaks + 18 * PX, out);
}
