/* The exact search as a whole: splits the problem into parts and shares the budget among them. */
#include "place/exact/pack.h"

#include "place/exact/internal.h"
#include "support/clock.h"
#include "support/sort.h"

/* False: fixed items overlap each other, or one is outside. */
static bool fixed_agree(const PackProblem *problem, const PackGraph *neighbours) {
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

/* The connected components of the overlaps, without fixed items. */
typedef struct {
    PackPart *parts;
    size_t count, capacity;
} PackParts;

static PackParts find_parts(const PackProblem *problem, const PackGraph *neighbours,
                            Arena *scratch) {
    uint32_t n = problem->count;
    PackParts parts = {0};
    uint32_t *ids = RAW_ARRAY(scratch, uint32_t, n);
    bool *seen = NEW_ARRAY(scratch, bool, n);
    uint32_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (seen[i] || problem->items[i].fixed) continue;
        PackPart part = {problem, neighbours, ids + used, 0, problem->size};
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
static PackStatus prepare(const PackProblem *problem, Budget *budget, Arena *scratch,
                          PackGraph *neighbours, PackPlaces *places) {
    *places = (PackPlaces){RAW_ARRAY(scratch, uint32_t, problem->count),
                           NEW_ARRAY(scratch, uint8_t, problem->count)};
    for (uint32_t i = 0; i < problem->count; i++) {
        places->offset[i] = problem->items[i].offset;
        if (problem->items[i].fixed) places->band[i] = problem->items[i].band;
    }
    if (!pack_neighbours(problem, budget, scratch, neighbours)) return PACK_GAVE_UP;
    return fixed_agree(problem, neighbours) ? PACK_FOUND : PACK_IMPOSSIBLE;
}

/* Parts that greedy orders leave open are searched, small ones first, each with most of what is
 * left: where one finds no places the others need none. */
static PackStatus search_parts(PackParts open, bool join, Budget *budget, Arena *scratch,
                               PackPlaces *places) {
    SortKey *order = RAW_ARRAY(scratch, SortKey, open.count);
    for (uint32_t p = 0; p < open.count; p++)
        order[p] = (SortKey){open.parts[p].count, p};
    sort_keys(order, open.count, scratch);
    PackStatus status = PACK_FOUND;
    for (size_t p = 0; p < open.count && status == PACK_FOUND; p++) {
        const PackPart *part = &open.parts[order[p].id];
        Budget share = *budget;
        uint64_t left = budget->limit > budget->used ? budget->limit - budget->used : 0;
        share.limit = budget->used + (p + 1 < open.count ? left / 4 * 3 : left);
        if (!join || !pack_recreate(part, &share, places))
            status = pack_search(part, &share, scratch, places);
        budget->used = share.used;
        budget->random = share.random;
    }
    return status;
}

PackStatus pack_solve(const PackProblem *problem, bool join, Budget *budget, Arena *scratch,
                      PackPlaces *places) {
    if (!each_fits(problem) || pack_overfull(problem, budget, scratch)) return PACK_IMPOSSIBLE;
    PackGraph neighbours;
    PackStatus status = prepare(problem, budget, scratch, &neighbours, places);
    if (status != PACK_FOUND) return status;
    PackParts parts = find_parts(problem, &neighbours, scratch);
    size_t open = 0;
    for (size_t p = 0; p < parts.count; p++) {
        PackPart part = parts.parts[p];
        if (pack_greedy(&part, GREEDY_ROUNDS, budget, scratch, places)) continue;
        if (pack_clique_too_high(&part, budget, scratch)) return PACK_IMPOSSIBLE;
        parts.parts[open++] = part;
    }
    parts.count = open;
    return search_parts(parts, join, budget, scratch, places);
}

PackStatus pack(PackProblem *problem, PackOptions options, Arena *scratch, uint64_t *used) {
    Budget budget = {.limit = options.steps, .random = options.seed, .deadline = options.deadline};
    PackPlaces places;
    PackStatus status = pack_solve(problem, true, &budget, scratch, &places);
    for (uint32_t i = 0; status == PACK_FOUND && i < problem->count; i++) {
        problem->items[i].offset = places.offset[i];
        problem->items[i].band = places.band[i];
    }
    if (used) *used = budget.used;
    return status;
}

/* Steps between two looks at the clock: about a hundredth of a second. */
enum { STEPS_BETWEEN_LOOKS = 4000000 };

bool pack_is_late(Budget *budget) {
    if (budget->used - budget->looked < STEPS_BETWEEN_LOOKS) return false;
    budget->looked = budget->used;
    if (!clock_is_past(budget->deadline)) return false;
    budget->limit = budget->used;
    return true;
}
