#include "spill/time/live_in_time.h"

#include "spill/time/entry.h"
#include "spill/time/project.h"

Live live_in_time(const Func *func, const Target *target, const Live *own, Arena *arena) {
    if (func->nloops == 0) return *own;
    const Func *entered = with_entry(func, arena);
    TimeOptions options = {.full = 30000, .most_points = 100000, .most_accesses = 1000000};
    TimeFacts facts;
    if (!find_time_facts(entered, target, options, arena, &facts)) return *own;
    Webs webs = whole_webs(&facts, arena);
    Rewritten text = rewrite_nothing(entered, NULL, arena);
    if (entered != func) leave_entry(func, &text, arena);
    text.live = own;
    project_live(&webs, all_gaps(&facts, arena), &text, arena);
    if (entered != func && text.live != own) forget_entry(func, &text, arena);
    return *text.live;
}
