#include "driver/peak_text.h"

#include <inttypes.h>

#include "driver/peak_room.h"

/* Of long lists the first are told, and how many more there are. */
enum { MOST_TENSORS = 8 };

/* `line 12`, or `point 7`. */
static void write_moment(Moment moment, Writer *out) {
    if (moment.line > 0)
        write_format(out, "line %u", moment.line);
    else
        write_format(out, "point %u", moment.point);
}

bool has_iteration(const Func *func, Moment moment) {
    return moment.indices && func->insts[moment.point].loop != NO_LOOP;
}

void write_iteration(const Func *func, Moment moment, Writer *out) {
    if (!has_iteration(func, moment)) return;
    uint32_t loop = NO_LOOP;
    while ((loop = loop_inward(func, moment.point, loop)) != NO_LOOP) {
        if (func->loops[loop].depth > 0) write_text(out, ", ");
        write_str(out, func->loops[loop].name);
        write_format(out, " = %" PRId64, moment.indices[func->loops[loop].depth]);
    }
}

void write_moment_in_full(const Func *func, const Source *source, Moment moment, Writer *out) {
    if (moment.line > 0) {
        write_str(out, source->name);
        write_format(out, ":%u", moment.line);
    } else {
        write_moment(moment, out);
    }
    write_text(out, " (");
    write_str(out, func->insts[moment.point].op);
    write_char(out, ')');
    if (has_iteration(func, moment)) write_text(out, ", ");
    write_iteration(func, moment, out);
}

static Str line_of_point(const Peak *peak, const Source *source, Arena *arena) {
    Writer out;
    writer_to_memory(&out);
    write_moment_in_full(peak->func, source, peak->at, &out);
    write_format(&out, ": %" PRId64 " bytes/partition are %s, %" PRId64 " are usable", peak->needed,
                 peak->placed ? "taken" : "needed", peak->usable);
    if (peak->needed > peak->usable)
        write_format(&out, ", %" PRId64 " too few", peak->needed - peak->usable);
    return writer_take(&out, arena);
}

/* The ends of a copy that does nothing take their bytes once. */
static void write_shared(const Func *func, const PeakTensor *one, Writer *out) {
    if (one->shared == 0) return;
    if (one->shared < one->bytes)
        write_format(out, ", %" PRId64 " of the bytes in the place of %%", one->shared);
    else
        write_text(out, ", in the place of %");
    write_str(out, func->tensors[one->shares].name);
}

static Str line_of_tensor(const Peak *peak, const PeakTensor *one, Arena *arena) {
    const Tensor *tensor = &peak->func->tensors[one->tensor];
    Writer out;
    writer_to_memory(&out);
    write_text(&out, "  %");
    write_str(&out, tensor->name);
    write_format(&out, "  %" PRId64 " byte%s", one->bytes, one->bytes == 1 ? "" : "s");
    if (tensor->blocks > 1)
        write_format(&out, " in %" PRId64 " of %" PRId64 " blocks", one->blocks, tensor->blocks);
    write_format(&out, ", %" PRId64 " partition%s, lives from ", tensor->partitions,
                 tensor->partitions == 1 ? "" : "s");
    write_moment(one->first, &out);
    write_text(&out, " to ");
    write_moment(one->last, &out);
    write_text(&out, one->used ? ", used here" : ", unused here");
    if (one->next.point != UINT32_MAX) {
        write_text(&out, one->used ? " and next at " : ", next used at ");
        write_moment(one->next, &out);
    }
    write_shared(peak->func, one, &out);
    return writer_take(&out, arena);
}

static Str line_of_others(const Peak *peak, Arena *arena) {
    int64_t bytes = 0;
    for (uint32_t i = MOST_TENSORS; i < peak->count; i++)
        bytes += peak->tensors[i].bytes - peak->tensors[i].shared;
    return str_format(arena, "  and %u more, %" PRId64 " bytes", peak->count - MOST_TENSORS, bytes);
}

static Str line_of_room(const Peak *peak, Arena *arena) {
    if (peak->free == 0) return str_format(arena, "  nothing is free");
    Rect rect = peak->largest;
    int64_t first = band_start(rect.mask), last = first - 1 + rect_partitions(rect);
    return str_format(arena,
                      "  %" PRId64 " bytes are free in all partitions, %" PRId64
                      " of them as bytes %" PRId64 " to %" PRId64 " of partitions %" PRId64
                      " to %" PRId64 ", %" PRId64 " in other pieces",
                      peak->free, rect_area(rect), (int64_t)rect.low * GRANULE,
                      (int64_t)rect.high * GRANULE - 1, first, last, peak->fragmented);
}

TextLines peak_lines(const Peak *peak, const Source *source, Arena *arena) {
    TextLines lines = {.items = RAW_ARRAY(arena, Str, MOST_TENSORS + 3)};
    lines.items[lines.count++] = line_of_point(peak, source, arena);
    for (uint32_t i = 0; i < peak->count && i < MOST_TENSORS; i++)
        lines.items[lines.count++] = line_of_tensor(peak, &peak->tensors[i], arena);
    if (peak->count > MOST_TENSORS) lines.items[lines.count++] = line_of_others(peak, arena);
    if (peak->placed) lines.items[lines.count++] = line_of_room(peak, arena);
    return lines;
}
