#include "output/svg_chart.h"
#include "support/sort.h"

/* Tensors that live at a worst point, the largest first. */
static SortKey *largest_first(const Func *func, const TextNeed *need, uint32_t *count,
                              Arena *scratch) {
    SortKey *keys = RAW_ARRAY(scratch, SortKey, func->ntensors);
    *count = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (need->blocks[t] == 0) continue;
        uint64_t bytes = (uint64_t)need->blocks[t] * (uint64_t)func->tensors[t].bytes;
        keys[(*count)++] = (SortKey){UINT64_MAX - bytes, t};
    }
    sort_keys(keys, *count, scratch);
    return keys;
}

/* `K \xC3\x973 768`: a tensor, how many of its blocks, and their bytes. */
static void write_tensor(const Tensor *tensor, uint32_t blocks, Writer *text) {
    write_char(text, '%');
    write_str(text, tensor->name);
    if (tensor->blocks > 1) write_format(text, " \xC3\x97%u", blocks);
    write_char(text, ' ');
    svg_number(text, tensor->bytes * (int64_t)blocks);
}

/* As many as fit in the columns, and how many more. */
static void write_tensors(const Func *func, const TextNeed *need, uint32_t columns, Writer *text) {
    enum { MORE = 12 /* columns of what follows */ };
    Arena scratch;
    arena_init(&scratch);
    uint32_t count, shown = 0;
    const SortKey *keys = largest_first(func, need, &count, &scratch);
    Writer one;
    writer_to_memory(&one);
    for (; shown < count; shown++) {
        one.length = 0;
        write_tensor(&func->tensors[keys[shown].id], need->blocks[keys[shown].id], &one);
        Str words = {one.buffer, (uint32_t)one.length};
        uint32_t used = svg_columns((Str){text->buffer, (uint32_t)text->length});
        if (shown > 0 && used + svg_columns(words) + MORE > columns) break;
        write_text(text, shown ? ", " : " ");
        write_str(text, words);
    }
    if (shown < count) write_format(text, ", %u more", count - shown);
    writer_free(&one);
    arena_free(&scratch);
}

/* `line 31` or `a.py:7`, in parentheses, where it is known. */
static void write_place(Str where, Writer *text) {
    if (where.length == 0) return;
    bool number = where.text[0] >= '0' && where.text[0] <= '9';
    write_text(text, number ? " (line " : " (");
    write_str(text, where);
    write_char(text, ')');
}

static void draw_line(const Chart *chart, int64_t y, Writer *text, Writer *out) {
    Str words = {text->buffer, (uint32_t)text->length};
    svg_open_text(out, "peak", 18 * PX, y, ANCHOR_START);
    svg_clip(out, words, fitting_columns(chart->page - 30 * PX));
    svg_close_text(out);
    text->length = 0;
}

/* The point of the result where an instruction of the input is; UINT32_MAX: nowhere. */
static uint32_t point_of(const JsonFunc *item, uint32_t inst) {
    for (uint32_t p = 0; p < item->func->ninsts; p++)
        if (item->origin_inst[p] == inst) return p;
    return UINT32_MAX;
}

void draw_peaks(const Chart *chart, Writer *out) {
    if (chart->peak == 0) return;
    uint32_t columns = fitting_columns(chart->page - 30 * PX);
    const TextNeed *now = &chart->usage->now, *before = &chart->usage->before;
    Writer text;
    writer_to_memory(&text);
    write_format(&text, "most needed at point %u", now->inst);
    write_place(chart->usage->where[now->inst], &text);
    write_text(&text, ": ");
    svg_number(&text, chart->peak);
    write_text(&text, " \xE2\x80\x93");
    write_tensors(chart->func, now, columns, &text);
    draw_line(chart, chart->peaks, &text, out);
    if (chart->before > 0) {
        uint32_t point = point_of(chart->item, before->inst);
        write_text(&text, "before spilling");
        if (point != UINT32_MAX) {
            write_format(&text, " at point %u", point);
            write_place(chart->usage->where[point], &text);
        }
        write_text(&text, ": ");
        svg_number(&text, chart->before);
        write_text(&text, " \xE2\x80\x93");
        write_tensors(chart->item->input, before, columns, &text);
        draw_line(chart, chart->peaks + 18 * PX, &text, out);
    }
    writer_free(&text);
}
