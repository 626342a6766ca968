#include "spill/time/text_need.h"

#include "spill/time/place_cells.h"

/* ---- the text as it stands ---- */

static void need_of_text(const Func *func, const Live *live, Arena *arena, TextNeed *result) {
    Nodes nodes = renumber(func, live, NULL, arena);
    Pressure pressure = find_pressure(&nodes, arena);
    result->need = pressure.need;
    result->peak = pressure.peak;
    if (pressure.peak == 0) return;
    result->inst = pressure.peak_point;
    for (uint32_t t = 0; t < func->ntensors; t++)
        for (int64_t b = 0; func->tensors[t].space == SPACE_SB && b < func->tensors[t].blocks; b++)
            result->blocks[t] += live_at(live_block(live, t, b), result->inst);
}

/* ---- laid out in time ---- */

static void note_peak(const TimeFacts *facts, const Nodes *nodes, uint32_t point,
                      TextNeed *result) {
    result->inst = facts->timeline.points[point].inst;
    frame_first(&facts->timeline, facts->timeline.points[point].frame, result->indices);
    for (uint32_t n = 0; n < nodes->count; n++)
        result->blocks[nodes->items[n].tensor] += live_at(nodes->items[n].range, point);
}

static bool need_in_time(const Func *func, const Target *target, Arena *scratch, TextNeed *result) {
    TimeOptions options = {
        .full = 30000, .most_points = 1000000, .most_accesses = 8000000, .keeps_loads = true};
    TimeFacts facts;
    if (!sums_fit(target) || !find_cell_facts(func, target, options, scratch, &facts)) return false;
    /* All gaps: the function keeps what it does not store and load again itself. */
    Nodes nodes = cell_nodes(&facts, all_gaps(&facts, scratch), scratch);
    Pressure pressure = find_pressure(&nodes, scratch);
    for (uint32_t p = 0; p < facts.timeline.npoints; p++) {
        uint32_t *need = &result->need[facts.timeline.points[p].inst];
        if (pressure.need[p] > *need) *need = pressure.need[p];
    }
    result->peak = pressure.peak;
    if (pressure.peak > 0) note_peak(&facts, &nodes, pressure.peak_point, result);
    return true;
}

TextNeed find_text_need(const Func *func, const Live *live, const Target *target, Arena *arena) {
    TextNeed result = {.need = NEW_ARRAY(arena, uint32_t, func->ninsts),
                       .inst = UINT32_MAX,
                       .blocks = NEW_ARRAY(arena, uint32_t, func->ntensors),
                       .indices = NEW_ARRAY(arena, int64_t, func->nloops)};
    Arena scratch;
    arena_init(&scratch);
    result.in_time = func->nloops > 0 && need_in_time(func, target, &scratch, &result);
    arena_free(&scratch);
    if (!result.in_time) need_of_text(func, live, arena, &result);
    return result;
}
