/* Placement search: the parts of the problem, and who tries what for how long. */
#include "place/exact/pack.h"

#include <math.h>
#include <string.h>

#include "place/exact/internal.h"
#include "support/clock.h"
#include "support/sort.h"

/* False: the fixed items are in each other's way or outside. */
static bool fixed_agree(const PackProblem *problem, const Neighbours *neighbours) {
    for (uint32_t i = 0; i < problem->count; i++) {
        const PackItem *item = &problem->items[i];
        if (!item->fixed) continue;
        if ((uint64_t)item->offset + item->height > problem->size) return false;
        for (uint32_t k = neighbours->start[i]; k < neighbours->start[i + 1]; k++) {
            const PackItem *other = &problem->items[neighbours->list[k]];
            if (other->fixed && item->offset < (uint64_t)other->offset + other->height &&
                other->offset < (uint64_t)item->offset + item->height)
                return false;
        }
    }
    return true;
}

static bool each_fits(const PackProblem *problem) {
    for (uint32_t i = 0; i < problem->count; i++) {
        const PackItem *item = &problem->items[i];
        uint64_t low = item->fixed ? item->offset : 0;
        if (low + item->height > problem->size) return false;
    }
    return true;
}

/* Items that hang together through overlaps, fixed items aside. */
typedef struct {
    Part *parts;
    size_t count, capacity;
} Parts;

static Parts find_parts(const PackProblem *problem, const Neighbours *neighbours, Arena *scratch) {
    uint32_t n = problem->count;
    Parts parts = {0};
    uint32_t *ids = RAW_ARRAY(scratch, uint32_t, n);
    bool *seen = NEW_ARRAY(scratch, bool, n);
    uint32_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (seen[i] || problem->items[i].fixed) continue;
        Part part = {.ids = ids + used, .capacity = problem->size};
        seen[i] = true;
        ids[used++] = i;
        for (uint32_t k = 0; part.ids + k < ids + used; k++) {
            uint32_t id = part.ids[k];
            for (uint32_t e = neighbours->start[id]; e < neighbours->start[id + 1]; e++) {
                uint32_t other = neighbours->list[e];
                if (seen[other] || problem->items[other].fixed) continue;
                seen[other] = true;
                ids[used++] = other;
            }
        }
        part.count = (uint32_t)(ids + used - part.ids);
        PUSH(scratch, parts.parts, parts.count, parts.capacity, part);
    }
    return parts;
}

enum { GREEDY_ROUNDS = 10 };

/* What comes before any search. FOUND: nothing speaks against a placement. */
static PackStatus prepare(const PackProblem *problem, Effort *effort, Arena *scratch,
                          Neighbours *neighbours, Places *places) {
    *places = (Places){RAW_ARRAY(scratch, uint32_t, problem->count),
                       NEW_ARRAY(scratch, uint8_t, problem->count)};
    for (uint32_t i = 0; i < problem->count; i++) {
        places->offset[i] = problem->items[i].offset;
        if (problem->items[i].fixed) places->band[i] = problem->items[i].band;
    }
    if (!pack_neighbours(problem, effort, scratch, neighbours)) return PACK_GAVE_UP;
    return fixed_agree(problem, neighbours) ? PACK_FOUND : PACK_IMPOSSIBLE;
}

/* Parts that greedy orders leave open are searched, small ones first, each with most of what is
 * left: where one finds no places the others need none. */
static PackStatus search_parts(const PackProblem *problem, const Neighbours *neighbours, Parts open,
                               bool join, Effort *effort, Arena *scratch, Places *places) {
    SortKey *order = RAW_ARRAY(scratch, SortKey, open.count);
    for (uint32_t p = 0; p < open.count; p++)
        order[p] = (SortKey){open.parts[p].count, p};
    sort_keys(order, open.count, scratch);
    PackStatus status = PACK_FOUND;
    for (size_t p = 0; p < open.count && status == PACK_FOUND; p++) {
        Part part = open.parts[order[p].id];
        Effort share = *effort;
        uint64_t left = effort->limit > effort->used ? effort->limit - effort->used : 0;
        share.limit = effort->used + (p + 1 < open.count ? left / 4 * 3 : left);
        if (!join || !pack_by_joining(problem, neighbours, part, &share, places))
            status = pack_exact(problem, neighbours, part, &share, scratch, places);
        effort->used = share.used;
        effort->random = share.random;
    }
    return status;
}

PackStatus pack_solve(const PackProblem *problem, bool join, Effort *effort, Arena *scratch,
                      Places *places) {
    if (!each_fits(problem) || pack_overfull(problem, effort, scratch)) return PACK_IMPOSSIBLE;
    Neighbours neighbours;
    PackStatus status = prepare(problem, effort, scratch, &neighbours, places);
    if (status != PACK_FOUND) return status;
    Parts parts = find_parts(problem, &neighbours, scratch);
    size_t open = 0;
    for (size_t p = 0; p < parts.count; p++) {
        Part part = parts.parts[p];
        if (pack_greedy(problem, &neighbours, part, GREEDY_ROUNDS, effort, scratch, places))
            continue;
        if (pack_clique_too_high(problem, &neighbours, part, effort, scratch))
            return PACK_IMPOSSIBLE;
        parts.parts[open++] = part;
    }
    parts.count = open;
    return search_parts(problem, &neighbours, parts, join, effort, scratch, places);
}

static PackStatus solve_and_set(PackProblem *problem, Effort *effort, Arena *scratch) {
    Places places;
    PackStatus status = pack_solve(problem, true, effort, scratch, &places);
    if (status == PACK_FOUND)
        for (uint32_t i = 0; i < problem->count; i++) {
            problem->items[i].offset = places.offset[i];
            problem->items[i].band = places.band[i];
        }
    return status;
}

PackStatus pack(PackProblem *problem, PackOptions options, Arena *scratch, uint64_t *used) {
    Effort effort = {.limit = options.steps, .random = options.seed, .deadline = options.deadline};
    PackStatus status = solve_and_set(problem, &effort, scratch);
    if (used) *used = effort.used;
    return status;
}

/* Greedy tries, part by part; false if not even those can be paid or fixed items clash. */
static bool place_some(const PackProblem *problem, Effort *effort, Arena *scratch, Places *places) {
    Neighbours neighbours;
    if (prepare(problem, effort, scratch, &neighbours, places) != PACK_FOUND) return false;
    Parts parts = find_parts(problem, &neighbours, scratch);
    for (size_t p = 0; p < parts.count; p++)
        pack_greedy_partial(problem, &neighbours, parts.parts[p], 4 * GREEDY_ROUNDS, effort,
                            scratch, places);
    return true;
}

/* The placed items and number `more`, with room for all. */
typedef struct {
    PackProblem problem;
    uint32_t *ids; /* [problem.count] where they come from */
} Subset;

static void choose_subset(const PackProblem *problem, const bool *left_out, uint32_t more,
                          Subset *subset) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < problem->count; i++) {
        if (left_out[i] && i != more) continue;
        subset->problem.items[count] = problem->items[i];
        subset->ids[count++] = i;
    }
    subset->problem.count = count;
    subset->problem.size = problem->size;
}

/* Doubles that are not negative compare as their bits do. */
static uint64_t weight_key(const PackItem *item) {
    uint64_t bits;
    memcpy(&bits, &item->weight, sizeof bits);
    return bits;
}

/* Tries to take in what is left out, heaviest first, moving all others as it must. */
static void take_in(PackProblem *problem, Effort *effort, Arena *scratch, bool *left_out) {
    uint32_t count = 0;
    SortKey *keys = RAW_ARRAY(scratch, SortKey, problem->count);
    for (uint32_t i = 0; i < problem->count; i++)
        if (left_out[i]) keys[count++] = (SortKey){UINT64_MAX - weight_key(&problem->items[i]), i};
    sort_keys(keys, count, scratch);
    Subset subset = {{RAW_ARRAY(scratch, PackItem, problem->count), 0, 0},
                     RAW_ARRAY(scratch, uint32_t, problem->count)};
    for (uint32_t k = 0; k < count && effort_spend(effort, 0); k++) {
        choose_subset(problem, left_out, keys[k].id, &subset);
        Effort share = *effort;
        share.limit = effort->used + (effort->limit - effort->used) / (count - k);
        Arena arena; /* each search is large and short-lived */
        arena_init(&arena);
        PackStatus status = solve_and_set(&subset.problem, &share, &arena);
        arena_free(&arena);
        effort->used = share.used + problem->count;
        effort->random = share.random;
        if (status != PACK_FOUND) continue;
        left_out[keys[k].id] = false;
        for (uint32_t i = 0; i < subset.problem.count; i++)
            problem->items[subset.ids[i]] = subset.problem.items[i];
    }
}

bool pack_partial(PackProblem *problem, PackOptions options, Arena *scratch, bool *left_out,
                  uint64_t *used) {
    Effort effort = {.limit = options.steps, .random = options.seed, .deadline = options.deadline};
    Places places;
    bool ok = place_some(problem, &effort, scratch, &places);
    for (uint32_t i = 0; i < problem->count; i++) {
        left_out[i] = !places.band[i];
        problem->items[i].offset = places.offset[i];
        if (places.band[i]) problem->items[i].band = places.band[i];
    }
    if (ok) take_in(problem, &effort, scratch, left_out);
    for (uint32_t i = 0; i < problem->count; i++)
        ok &= !left_out[i] || isfinite(problem->items[i].weight);
    if (used) *used = effort.used;
    return ok;
}

/* The clock is looked at once in so many steps: some hundredth of a second. */
enum { STEPS_BETWEEN_LOOKS = 4000000 };

bool pack_is_late(Effort *effort) {
    if (effort->used - effort->looked < STEPS_BETWEEN_LOOKS) return false;
    effort->looked = effort->used;
    if (!clock_is_past(effort->deadline)) return false;
    effort->limit = effort->used;
    return true;
}

uint64_t pack_default_steps(int effort) {
    if (effort <= 0) return 0;
    if (effort == 1) return 20000000;
    uint64_t steps = 1000000000;
    for (int level = 2; level < effort; level++)
        if (__builtin_mul_overflow(steps, 10, &steps)) return UINT64_MAX;
    return steps;
}
