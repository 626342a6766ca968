/* Ruin and recreate: which joins are tried, and for how long.
 *
 * Right joins lead to more: a problem cut from a full rectangle ends as one piece. Fewer
 * pieces are better: some joins are undone and made again, and the result is kept if it has hardly
 * more pieces ("ruin and recreate", Schrimpf and others 2000). From time to time the exact search
 * tries to place the few pieces that are left. */
#include "place/exact/join.h"

typedef struct {
    const PackPart *part;
    Budget *budget;
    PackPlaces *places;
    uint64_t end; /* steps used when it is over */
    Joined joined;
    Arena arenas[2]; /* of what is joined now, and of what is tried beside it */
    uint32_t current;
} Recreate;

static bool is_over(const Recreate *pass) {
    return pass->budget->used >= pass->end || !budget_spend(pass->budget, 0);
}

/* Searches for places of the pieces as they are joined now; `steps` for each. */
static bool search_pieces(Recreate *pass, uint64_t steps) {
    Arena scratch;
    arena_init(&scratch);
    Budget share = *pass->budget;
    uint64_t most = steps * pass->joined.problem.count, left = pass->end - share.used;
    share.limit = share.used + (most < left ? most : left);
    PackPlaces own;
    PackProblem *pieces = &pass->joined.problem;
    bool found = pack_solve(pieces, false, &share, &scratch, &own) == PACK_FOUND;
    for (uint32_t i = 0; i < pieces->count && found; i++) {
        pieces->items[i].offset = own.offset[i];
        pieces->items[i].band = own.band[i];
    }
    if (found) pack_unjoin(&pass->joined, &scratch, pass->places);
    pass->budget->used = share.used + 1;
    pass->budget->random = share.random;
    arena_free(&scratch);
    return found;
}

/* Keeps what leaves no more pieces, and now and then one more. */
static void rejoin(Recreate *pass, uint32_t percent) {
    enum { SELDOM = 16 };
    Joined next;
    Arena *arena = &pass->arenas[!pass->current];
    pack_join_again(&pass->joined, percent, pass->budget, arena, &next);
    uint32_t most = pass->joined.problem.count + (budget_random(pass->budget) % SELDOM == 0);
    if (next.problem.count <= most) {
        pass->joined = next;
        pass->current = !pass->current;
        arena = &pass->arenas[!pass->current];
    }
    arena_reset(arena);
}

/* From a first joining on: rounds of ruin and recreate, each followed by a search, until some
 * rounds have left no fewer pieces. */
static bool try_from(Recreate *pass, JoinRule rule) {
    enum { STALE = 12, PER_ROUND = 100, MOST_PERCENT = 3, FIRST_STEPS = 20000, STEPS = 100000 };
    Arena *arena = &pass->arenas[pass->current];
    arena_reset(arena);
    if (!pack_join(pass->part, rule, pass->budget, arena, &pass->joined)) return false;
    bool found = !is_over(pass) && search_pieces(pass, FIRST_STEPS);
    uint32_t least = UINT32_MAX, stale = 0;
    for (uint32_t round = 0; stale < STALE && !found && !is_over(pass); round++, stale++) {
        for (uint32_t i = 0; i < PER_ROUND && !is_over(pass); i++)
            rejoin(pass, 1 + i % MOST_PERCENT);
        if (pass->joined.problem.count < least) {
            least = pass->joined.problem.count;
            stale = 0;
        }
        found = !is_over(pass) && search_pieces(pass, STEPS * pack_luby(stale + 1));
    }
    return found;
}

static bool overlaps_fixed(const PackPart *part) {
    const uint32_t *start = part->neighbours->start, *list = part->neighbours->list;
    for (uint32_t k = 0; k < part->count; k++)
        for (uint32_t e = start[part->ids[k]]; e < start[part->ids[k] + 1]; e++)
            if (part->problem->items[list[e]].fixed) return true;
    return false;
}

bool pack_recreate(const PackPart *part, Budget *budget, PackPlaces *places) {
    static const double MOST[] = {0.2, 0.5, 1, 2};
    enum { KINDS = sizeof MOST / sizeof *MOST };
    if (overlaps_fixed(part) || budget->used >= budget->limit) return false;
    Recreate pass = {.part = part,
                     .budget = budget,
                     .places = places,
                     .end = budget->used + (budget->limit - budget->used) / 4 * 3};
    arena_init(&pass.arenas[0]);
    arena_init(&pass.arenas[1]);
    bool found = false;
    for (uint32_t t = 0; !found && !is_over(&pass); t++) {
        found = try_from(&pass, (JoinRule){MOST[t % KINDS], t < KINDS ? 0 : 1});
        if (t + 1 >= KINDS && pass.joined.npieces <= part->count) break; /* nothing ever matches */
    }
    arena_free(&pass.arenas[0]);
    arena_free(&pass.arenas[1]);
    return found;
}
