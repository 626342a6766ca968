/* Which joins are tried, and for how long.
 *
 * Right joins lead to more: a problem cut from a full rectangle ends as one piece. So the fewer
 * pieces are left the better, and joins are undone and made anew, keeping what leaves hardly more
 * pieces ("ruin and recreate", Schrimpf and others 2000). Now and then the exact search has a look
 * at the few pieces that are left. */
#include "place/exact/join.h"

typedef struct {
    const PackProblem *problem;
    Part part;
    Effort *effort;
    Places *places;
    uint64_t end; /* steps used when it is over */
    Joined joined;
    Arena arenas[2]; /* of what is joined now, and of what is tried beside it */
    uint32_t current;
} Tries;

static bool is_over(const Tries *tries) {
    return tries->effort->used >= tries->end || !effort_spend(tries->effort, 0);
}

/* A search for places of the pieces as joined last, of so many steps for each. */
static bool search_pieces(Tries *tries, uint64_t steps) {
    Arena scratch;
    arena_init(&scratch);
    Effort share = *tries->effort;
    uint64_t most = steps * tries->joined.problem.count, left = tries->end - share.used;
    share.limit = share.used + (most < left ? most : left);
    Places own;
    PackProblem *pieces = &tries->joined.problem;
    bool found = pack_solve(pieces, false, &share, &scratch, &own) == PACK_FOUND;
    for (uint32_t i = 0; i < pieces->count && found; i++) {
        pieces->items[i].offset = own.offset[i];
        pieces->items[i].band = own.band[i];
    }
    if (found) pack_take_apart(&tries->joined, &scratch, tries->places);
    tries->effort->used = share.used + 1;
    tries->effort->random = share.random;
    arena_free(&scratch);
    return found;
}

/* Keeps what leaves no more pieces, and now and then one more. */
static void join_anew(Tries *tries, uint32_t percent) {
    enum { SELDOM = 16 };
    Joined next;
    Arena *arena = &tries->arenas[!tries->current];
    pack_join_again(&tries->joined, percent, tries->effort, arena, &next);
    uint32_t most = tries->joined.problem.count + (effort_random(tries->effort) % SELDOM == 0);
    if (next.problem.count <= most) {
        tries->joined = next;
        tries->current = !tries->current;
        arena = &tries->arenas[!tries->current];
    }
    arena_reset(arena);
}

/* From a first joining on: rounds of joining anew, each followed by a search, until some rounds
 * have left no fewer pieces. */
static bool try_from(Tries *tries, double most, double noise) {
    enum { STALE = 12, PER_ROUND = 100, MOST_PERCENT = 3, FIRST_STEPS = 20000, STEPS = 100000 };
    Arena *arena = &tries->arenas[tries->current];
    arena_reset(arena);
    if (!pack_join(tries->problem, tries->part, most, noise, tries->effort, arena, &tries->joined))
        return false;
    bool found = !is_over(tries) && search_pieces(tries, FIRST_STEPS);
    uint32_t least = UINT32_MAX, stale = 0;
    for (uint32_t round = 0; stale < STALE && !found && !is_over(tries); round++, stale++) {
        for (uint32_t i = 0; i < PER_ROUND && !is_over(tries); i++)
            join_anew(tries, 1 + i % MOST_PERCENT);
        if (tries->joined.problem.count < least) {
            least = tries->joined.problem.count;
            stale = 0;
        }
        found = !is_over(tries) && search_pieces(tries, STEPS * pack_luby(stale + 1));
    }
    return found;
}

static bool meets_fixed(const PackProblem *problem, const Neighbours *neighbours, Part part) {
    for (uint32_t k = 0; k < part.count; k++)
        for (uint32_t e = neighbours->start[part.ids[k]]; e < neighbours->start[part.ids[k] + 1];
             e++)
            if (problem->items[neighbours->list[e]].fixed) return true;
    return false;
}

bool pack_by_joining(const PackProblem *problem, const Neighbours *neighbours, Part part,
                     Effort *effort, Places *places) {
    static const double MOST[] = {0.2, 0.5, 1, 2};
    enum { KINDS = sizeof MOST / sizeof *MOST };
    if (meets_fixed(problem, neighbours, part) || effort->used >= effort->limit) return false;
    Tries tries = {.problem = problem,
                   .part = part,
                   .effort = effort,
                   .places = places,
                   .end = effort->used + (effort->limit - effort->used) / 4 * 3};
    arena_init(&tries.arenas[0]);
    arena_init(&tries.arenas[1]);
    bool found = false;
    for (uint32_t t = 0; !found && !is_over(&tries); t++) {
        found = try_from(&tries, MOST[t % KINDS], t < KINDS ? 0 : 1);
        if (t + 1 >= KINDS && tries.joined.npieces <= part.count) break; /* nothing ever matches */
    }
    arena_free(&tries.arenas[0]);
    arena_free(&tries.arenas[1]);
    return found;
}
