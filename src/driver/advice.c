#include "driver/advice.h"

#include "support/clock.h"

Shortage shortage_at(const Peak *peak, Arena *arena) {
    uint32_t *tensors = RAW_ARRAY(arena, uint32_t, peak->count);
    int64_t *blocks = RAW_ARRAY(arena, int64_t, peak->count);
    for (uint32_t i = 0; i < peak->count; i++) {
        tensors[i] = peak->tensors[i].tensor;
        blocks[i] = peak->tensors[i].blocks;
    }
    int64_t over = peak->needed - peak->usable;
    return (Shortage){tensors, blocks, peak->count, over > 0 ? over : 0, peak->at.point};
}

static AdviceLine line_of_change(const FitQuestion *question, FitChange change, Arena *arena) {
    AdviceLine line = {.span = change_span(question->func, change)};
    if (line.span.end == line.span.begin) line.span = question->func->span;
    Writer text;
    writer_to_memory(&text);
    write_text(&text, "would fit: ");
    write_change(question->func, change, question->options->source, &text);
    line.text = writer_take(&text, arena);
    return line;
}

/* Where no change is told: why. */
static const char *why_none(FitChanges changes) {
    return changes.cut_short ? "found no change that would make it fit; not all could be tried"
                             : "found no change that would make it fit";
}

static Advice single_line(const FitQuestion *question, const char *text, Arena *arena) {
    AdviceLine *line = NEW(arena, AdviceLine);
    *line = (AdviceLine){question->func->span, str_from(text)};
    return (Advice){line, 1};
}

Advice find_advice(const FitQuestion *question, const Shortage *shortage, Arena *arena) {
    enum { MOST_SHORT = 4096 };
    Advice advice = {0};
    if (shortage->count > MOST_SHORT) return advice;
    FitChanges changes = find_changes(question, shortage, arena);
    if (clock_is_past(question->deadline))
        return single_line(question, "no time is left to find what would make it fit", arena);
    if (changes.count == 0) return single_line(question, why_none(changes), arena);
    advice.items = RAW_ARRAY(arena, AdviceLine, changes.count);
    for (; advice.count < changes.count; advice.count++)
        advice.items[advice.count] = line_of_change(question, changes.items[advice.count], arena);
    return advice;
}
