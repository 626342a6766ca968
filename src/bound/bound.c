#include "bound/bound.h"

#include "bound/round.h"
#include "support/checked.h"

/* Rounded up. */
static int64_t whole_cycles(int64_t parts) {
    return parts / PARTS(1) + (parts > 0 && parts % PARTS(1) != 0);
}

Bound find_bound(const Func *func, const Target *target, BoundSearch search, Arena *arena) {
    Bound bound = {0};
    BoundDemand demand;
    if (!find_demand(func, target, arena, &demand)) return bound;
    bound.problem = find_rows(&demand, arena);
    int64_t reached = saturating_mul(search.reached, PARTS(1));
    int64_t enough = saturating_sub(reached, bound.problem.constant);
    bound.prices = find_prices(&bound.problem, enough, search.steps, arena);
    int64_t proved = proved_parts(&bound.problem, &bound.prices, arena);
    if (proved == INT64_MIN) return bound;
    proved = round_to_sums(&bound.problem, proved, arena);
    bound.known = true;
    bound.cycles = whole_cycles(saturating_add(proved, bound.problem.constant));
    return bound;
}
