#include "spill/time/time_facts.h"

#include <string.h>

#include "spill/time/cells.h"
#include "spill/time/classes.h"
#include "spill/time/gaps.h"
#include "spill/time/sources.h"
#include "support/clock.h"

bool find_cell_facts(const Func *func, const Target *target, TimeOptions options, Arena *arena,
                     TimeFacts *facts) {
    *facts = (TimeFacts){.func = func,
                         .target = target,
                         .size = target_granules(target),
                         .dead = options.dead,
                         .keeps_loads = options.keeps_loads};
    return lay_out(func, options.full, options.most_points, arena, &facts->timeline) &&
           facts->timeline.npoints > 0 && find_cells(facts, options.most_accesses, arena) &&
           !clock_is_past(options.deadline) && find_gaps(facts, options.remat, arena);
}

bool sums_fit(const Target *target) {
    enum { LARGEST = 1 << 28 /* granules */ };
    return target_granules(target) <= LARGEST;
}

bool find_time_facts(const Func *func, const Target *target, TimeOptions options, Arena *arena,
                     TimeFacts *facts) {
    if (!sums_fit(target) || !find_cell_facts(func, target, options, arena, facts)) return false;
    if (clock_is_past(options.deadline)) return false;
    find_classes(facts, arena);
    find_source_forms(facts, arena);
    return !clock_is_past(options.deadline);
}

bool *all_gaps(const TimeFacts *facts, Arena *arena) {
    bool *all = RAW_ARRAY(arena, bool, facts->gaps.count);
    memset(all, true, facts->gaps.count);
    return all;
}
