#include "place/place_coalesced.h"

#include <assert.h>

#include "place/coalesce.h"

enum { MOST_TRIES = 4 };

/* What the tries share. */
typedef struct {
    const PlaceProblem *problem;
    const Freeze *freeze;
    Handing handing;
    Partners partners;
    Arena *arena;
    Coalesced result;
} PlaceCoalesced;

/* [partners] those frozen. */
static bool *frozen_partners(const PlaceCoalesced *pass) {
    bool *frozen = NEW_ARRAY(pass->arena, bool, pass->partners.count);
    for (uint32_t i = 0; i < pass->partners.count; i++) {
        uint32_t index = pass->freeze->index[pass->partners.items[i].inst];
        frozen[i] = index != UINT32_MAX && pass->freeze->frozen[index];
    }
    return frozen;
}

/* Freezes the copies within merged nodes that found no place; false if there is none. */
static bool freeze_failed(const PlaceCoalesced *pass, const Merged *merged,
                          const Placement *placement) {
    bool any = false;
    bool *failed = NEW_ARRAY(pass->arena, bool, merged->nodes.count);
    for (uint32_t i = 0; i < placement->nfailed; i++)
        failed[placement->failed[i]] = true;
    for (uint32_t i = 0; i < pass->partners.count; i++) {
        Partner partner = pass->partners.items[i];
        uint32_t index = pass->freeze->index[partner.inst], node = merged->into[partner.dst];
        if (node != merged->into[partner.src] || !failed[node] || index == UINT32_MAX) continue;
        any |= !pass->freeze->frozen[index];
        pass->freeze->frozen[index] = true;
    }
    return any;
}

/* The places of the merged nodes become those of all their parts. */
static void share_places(PlaceCoalesced *pass, const Merged *merged, const Placed *found) {
    uint32_t count = pass->problem->nodes->count;
    Placement placement = {.rects = RAW_ARRAY(pass->arena, Rect *, count)};
    for (uint32_t n = 0; n < count; n++)
        placement.rects[n] = found->placement.rects[merged->into[n]];
    pass->result.places.stack = found->stack;
    pass->result.places.placement = placement;
    pass->result.places.placed = true;
    pass->result.merges = merged->merges;
}

/* One try. Nothing is placed where nothing was merged, or where it would be over capacity. */
static Placed try_merged(const PlaceCoalesced *pass, const Placer *placer, bool conservative,
                         Merged *merged) {
    CoalesceOptions options = {.size = pass->problem->size,
                               .frozen = frozen_partners(pass),
                               .conservative = conservative,
                               .graph = &pass->result.places.graph};
    *merged = coalesce(&pass->handing, &pass->partners, options, pass->arena);
    if (merged->merges == 0) return (Placed){0};
    Pressure pressure = find_pressure(&merged->nodes, pass->arena);
    if (pressure.peak > pass->problem->size) return (Placed){0};
    PlaceProblem problem = {&merged->nodes, &pressure, pass->problem->size};
    return place(&problem, placer, pass->arena);
}

/* Everything fits without: coalesce what stays easy, and do not search long. */
static void coalesce_some(PlaceCoalesced *pass, const Placer *placer) {
    Placer fast = *placer;
    fast.exact_steps = 0;
    for (int i = 0; i < MOST_TRIES; i++) {
        Merged merged;
        Placed found = try_merged(pass, &fast, true, &merged);
        if (found.placed) share_places(pass, &merged, &found);
        if (found.placed || !found.placement.rects ||
            !freeze_failed(pass, &merged, &found.placement))
            return;
    }
}

static void coalesce_all(PlaceCoalesced *pass, const Placer *placer) {
    Merged merged;
    Placed found = try_merged(pass, placer, false, &merged);
    if (found.placed) share_places(pass, &merged, &found);
}

Coalesced place_coalesced(const Func *func, const PlaceProblem *problem, const Placer *placer,
                          const Freeze *freeze, Arena *arena) {
    PlaceCoalesced pass = {.problem = problem,
                           .freeze = freeze,
                           .handing = find_handing(func, problem->nodes, arena),
                           .arena = arena};
    pass.partners = find_partners(&pass.handing, arena);
    pass.result.groups = pass.partners.groups;
    if (pass.partners.count == 0) return pass.result;
    bool fits = problem->pressure->peak <= problem->size;
    if (fits) pass.result.places.graph = build(problem->nodes, arena);
    if (fits)
        coalesce_some(&pass, placer);
    else
        coalesce_all(&pass, placer);
    if (pass.result.places.placed && !fits) pass.result.places.graph = build(problem->nodes, arena);
    return pass.result;
}
