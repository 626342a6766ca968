#include "spill/time/live_in_time.h"

#include "spill/time/entry.h"
#include "spill/time/project.h"

/* The ranges of the text, `own` as it stands; false where it is not laid out. */
static bool project(const Func *func, const Target *target, const Live *own, Arena *arena,
                    Live *live) {
    const Func *entered = with_entry(func, arena);
    TimeOptions options = {.full = 30000, .most_points = 100000, .most_accesses = 1000000};
    TimeFacts facts;
    if (!find_time_facts(entered, target, options, arena, &facts)) return false;
    Webs webs = whole_webs(&facts, arena);
    Rewritten text = rewrite_nothing(entered, NULL, arena);
    if (entered != func) leave_entry(func, &text, arena);
    text.live = own;
    project_live(&webs, all_gaps(&facts, arena), &text, arena);
    if (text.live == own) return false;
    if (entered != func) forget_entry(func, &text, arena);
    *live = *text.live;
    return true;
}

Live live_in_time(const Func *func, const Target *target, Arena *arena) {
    Live own = live_range(func, arena), live;
    if (func->nloops == 0) return own;
    Live *as_text = NEW(arena, Live);
    *as_text = own;
    return project(func, target, as_text, arena, &live) ? live : own;
}
