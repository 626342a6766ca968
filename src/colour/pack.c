/* Placement search: the parts of the problem, and who tries what for how long. */
#include "colour/pack.h"

#include "colour/pack_internal.h"

/* False: the fixed items are in each other's way or outside, or some item is too high. */
static bool fixed_agree(const PackProblem *problem, const Neighbours *neighbours) {
    for (uint32_t i = 0; i < problem->count; i++) {
        const PackItem *item = &problem->items[i];
        if (!item->fixed) continue;
        for (uint32_t k = neighbours->start[i]; k < neighbours->start[i + 1]; k++) {
            const PackItem *other = &problem->items[neighbours->list[k]];
            if (other->fixed && item->offset < other->offset + other->height &&
                other->offset < item->offset + item->height)
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

#include <stdlib.h>
static PackStatus solve(const PackProblem *problem, Effort *effort, Arena *scratch,
                        Places *places) {
    if (!each_fits(problem)) return PACK_IMPOSSIBLE;
    Pressure pressure = pack_pressure(problem, effort, scratch);
    if (pressure.impossible) return PACK_IMPOSSIBLE;
    Neighbours neighbours;
    if (!pack_neighbours(problem, effort, scratch, &neighbours)) return PACK_GAVE_UP;
    if (!fixed_agree(problem, &neighbours)) return PACK_IMPOSSIBLE;
    for (uint32_t i = 0; i < problem->count; i++) {
        places->offset[i] = problem->items[i].offset;
        places->band[i] = problem->items[i].fixed ? problem->items[i].band : 0;
    }
    Parts parts = find_parts(problem, &neighbours, scratch);
    PackStatus status = PACK_FOUND;
    for (size_t p = 0; p < parts.count; p++) {
        Part part = parts.parts[p];
        if (pack_greedy(problem, &neighbours, part, getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 10, effort, scratch, places)) continue;
        if (pack_clique_too_high(problem, &neighbours, part, effort, scratch))
            return PACK_IMPOSSIBLE;
        PackStatus found = pack_exact(problem, &neighbours, part, effort, scratch, places);
        if (found == PACK_IMPOSSIBLE) return found;
        if (found == PACK_GAVE_UP) status = found;
    }
    return status;
}

PackStatus pack(PackProblem *problem, PackOptions options, Arena *scratch, uint64_t *used) {
    Effort effort = {.limit = options.steps, .random = options.seed};
    Places places = {RAW_ARRAY(scratch, uint32_t, problem->count),
                     RAW_ARRAY(scratch, uint8_t, problem->count)};
    PackStatus status = solve(problem, &effort, scratch, &places);
    if (status == PACK_FOUND)
        for (uint32_t i = 0; i < problem->count; i++) {
            problem->items[i].offset = places.offset[i];
            problem->items[i].band = places.band[i];
        }
    if (used) *used = effort.used;
    return status;
}
