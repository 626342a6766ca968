#include "output/usage.h"

#include "spill/rewrite.h"
#include "support/search.h"

/* ---- need before spilling ---- */

/* Of the instructions before and behind what was inserted at `point`, the less. */
static uint32_t need_between(const JsonFunc *item, const Peak *before, uint32_t point,
                             uint32_t latest) {
    uint32_t next = point;
    while (next < item->func->ninsts && item->origin_inst[next] == INSERTED)
        next++;
    uint32_t behind = next < item->func->ninsts ? before->need[item->origin_inst[next]] : 0;
    return behind < latest ? behind : latest;
}

static const uint32_t *find_outline(const JsonFunc *item, const Peak *before, Arena *arena) {
    uint32_t *outline = RAW_ARRAY(arena, uint32_t, item->func->ninsts), latest = 0, between = 0;
    for (uint32_t p = 0; p < item->func->ninsts; p++) {
        bool inserted = item->origin_inst[p] == INSERTED;
        if (!inserted) latest = before->need[item->origin_inst[p]];
        if (inserted && (p == 0 || item->origin_inst[p - 1] != INSERTED))
            between = need_between(item, before, p, latest);
        outline[p] = inserted ? between : latest;
    }
    return outline;
}

/* ---- lines ---- */

/* The instruction of the program itself that was written at `begin`: they are in the order of the
 * text, whatever stands between them. UINT32_MAX: none. */
static uint32_t find_written(const uint32_t *own, uint32_t count, const Func *func, size_t begin) {
    uint32_t at;
    FIND_FIRST(at, 0u, count, func->insts[own[at]].span.begin >= begin);
    return at < count && func->insts[own[at]].span.begin == begin ? own[at] : UINT32_MAX;
}

/* `line` 0: it has none. */
static Str loc_or_line(const Inst *inst, uint32_t line, Arena *arena) {
    const Meta *loc = meta_find(inst->meta, "loc");
    if (loc && loc->kind == META_TEXT) return loc->text;
    if (loc && loc->kind == META_NUMBER) return str_format(arena, "%lld", (long long)loc->number);
    return line ? str_format(arena, "%u", line) : STR("");
}

Str where_of_moment(const Usage *usage, const Peak *peak, Moment moment, Arena *arena) {
    if (peak == usage->now) return usage->where[moment.point];
    return loc_or_line(&peak->func->insts[moment.point], moment.line, arena);
}

/* What spilling inserted is where that is which it serves. */
static void find_where(const Drawing *drawing, const JsonFunc *item, Arena *arena, Usage *usage) {
    Arena scratch;
    arena_init(&scratch);
    const Func *func = item->func;
    LineStarts lines = source_lines(drawing->source, &scratch);
    Str *where = RAW_ARRAY(arena, Str, func->ninsts);
    uint32_t *own = RAW_ARRAY(&scratch, uint32_t, func->ninsts), count = 0;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        if (!item->origin_inst || item->origin_inst[p] != INSERTED) own[count++] = p;
        Span span = func->insts[p].span;
        uint32_t line = span.end > 0 ? line_at(&lines, span.begin) : 0;
        where[p] = loc_or_line(&func->insts[p], line, arena);
        usage->has_loc |= meta_find(func->insts[p].meta, "loc") != NULL;
    }
    for (uint32_t p = 0; item->origin_inst && p < func->ninsts; p++) {
        if (item->origin_inst[p] != INSERTED || func->insts[p].span.end == 0) continue;
        uint32_t served = find_written(own, count, func, func->insts[p].span.begin);
        if (served != UINT32_MAX) where[p] = where[served];
    }
    usage->where = where;
    arena_free(&scratch);
}

Str base_name(Str where) {
    uint32_t start = 0;
    for (uint32_t i = 0; i < where.length; i++)
        if (where.text[i] == '/') start = i + 1;
    return (Str){where.text + start, where.length - start};
}

/* ---- the whole ---- */

static const Peak *peak_now(const Drawing *drawing, const JsonFunc *item, Arena *arena) {
    if (item->report) return item->report->peak_after;
    PeakOf of = {.func = item->func,
                 .live = item->live,
                 .target = drawing->target,
                 .source = drawing->source,
                 .placed = true};
    return find_peak(&of, arena);
}

Usage find_usage(const Drawing *drawing, uint32_t index, Arena *arena) {
    const JsonFunc *item = &drawing->funcs[index];
    Usage usage = {.now = peak_now(drawing, item, arena)};
    usage.need = usage.now ? usage.now->need : NEW_ARRAY(arena, uint32_t, item->func->ninsts);
    if (item->report && item->report->peak_before != item->report->peak_after) {
        usage.before = item->report->peak_before;
        usage.outline = find_outline(item, usage.before, arena);
    }
    find_where(drawing, item, arena, &usage);
    return usage;
}
