#include "output/usage.h"

#include "spill/rewrite.h"

/* ---- need before spilling ---- */

/* Of the instructions before and behind what was inserted at `point`, the less. */
static uint32_t need_between(const JsonFunc *item, const TextNeed *before, uint32_t point,
                             uint32_t latest) {
    uint32_t next = point;
    while (next < item->func->ninsts && item->origin_inst[next] == INSERTED)
        next++;
    uint32_t behind = next < item->func->ninsts ? before->need[item->origin_inst[next]] : 0;
    return behind < latest ? behind : latest;
}

static const uint32_t *find_outline(const JsonFunc *item, const TextNeed *before, Arena *arena) {
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

static Str where_is(const JsonFunc *item, uint32_t point, const LineStarts *lines, Arena *arena) {
    const Inst *inst = &item->func->insts[point];
    const Meta *loc = meta_find(inst->meta, "loc");
    if (loc && loc->kind == META_TEXT) return loc->text;
    if (loc && loc->kind == META_NUMBER) return str_format(arena, "%lld", (long long)loc->number);
    bool inserted = item->origin_inst && item->origin_inst[point] == INSERTED;
    if (inserted || inst->span.end == 0) return STR("");
    return str_format(arena, "%u", line_at(lines, inst->span.begin));
}

static void find_where(const Drawing *drawing, const JsonFunc *item, Arena *arena, Usage *usage) {
    Arena scratch;
    arena_init(&scratch);
    LineStarts lines = source_lines(drawing->source, &scratch);
    Str *where = RAW_ARRAY(arena, Str, item->func->ninsts);
    for (uint32_t p = 0; p < item->func->ninsts; p++) {
        where[p] = where_is(item, p, &lines, arena);
        usage->has_loc |= meta_find(item->func->insts[p].meta, "loc") != NULL;
    }
    usage->where = where;
    arena_free(&scratch);
}

/* ---- the whole ---- */

Usage find_usage(const Drawing *drawing, uint32_t index, Arena *arena) {
    const JsonFunc *item = &drawing->funcs[index];
    Usage usage = {.now = find_text_need(item->func, item->live, drawing->target, arena)};
    if (item->input && item->report && item->report->spilled_tensors > 0) {
        usage.before = find_text_need(item->input, item->input_live, drawing->target, arena);
        usage.outline = find_outline(item, &usage.before, arena);
    }
    find_where(drawing, item, arena, &usage);
    return usage;
}
