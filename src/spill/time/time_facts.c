#include "spill/time/time_facts.h"

#include "spill/time/cells.h"
#include "spill/time/classes.h"
#include "spill/time/gaps.h"
#include "spill/time/sources.h"

bool find_time_facts(const Func *func, const Target *target, TimeOptions options, Arena *arena,
                     TimeFacts *facts) {
    enum { LARGEST = 1 << 28 /* granules whose sums 32 bits hold */ };
    *facts = (TimeFacts){.func = func,
                         .target = target,
                         .size = target_granules(target),
                         .dead = options.dead,
                         .keeps_loads = options.keeps_loads};
    if (facts->size > LARGEST ||
        !lay_out(func, options.full, options.most_points, arena, &facts->timeline) ||
        facts->timeline.npoints == 0 || !find_cells(facts, options.most_accesses, arena) ||
        !find_gaps(facts, options.remat, arena))
        return false;
    find_classes(facts, arena);
    find_source_forms(facts, arena);
    return true;
}
