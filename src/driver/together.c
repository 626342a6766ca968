#include "driver/together.h"

#include "place/coalesce.h"

enum { MOST_TRIES = 4 };

/* Everything the tries of one round share. */
typedef struct {
    const Options *options;
    uint32_t size;
    bool spilled;
    const Rewritten *rewritten;
    Handing handing;
    Partners partners;
    bool *apart; /* [ninsts of the input] */
    Axis axis;
    Arena *arena;
    Round *round;
} Together;

static bool *gather_apart(const Together *together) {
    bool *apart = NEW_ARRAY(together->arena, bool, together->partners.count);
    for (uint32_t i = 0; i < together->partners.count; i++) {
        uint32_t inst = together->rewritten->origin_inst[together->partners.items[i].inst];
        apart[i] = inst != INSERTED && together->apart[inst];
    }
    return apart;
}

/* Remembers the copies of each group that found no place; false if none did. */
static bool take_apart(const Together *together, const Merged *merged, const Placement *placement) {
    bool any = false;
    bool *failed = NEW_ARRAY(together->arena, bool, merged->nodes.count);
    for (uint32_t i = 0; i < placement->nfailed; i++)
        failed[placement->failed[i]] = true;
    for (uint32_t i = 0; i < together->partners.count; i++) {
        Partner partner = together->partners.items[i];
        uint32_t inst = together->rewritten->origin_inst[partner.inst];
        uint32_t node = merged->into[partner.dst];
        if (node != merged->into[partner.src] || !failed[node] || inst == INSERTED) continue;
        any |= !together->apart[inst];
        together->apart[inst] = true;
    }
    return any;
}

/* The places of the merged nodes become those of all their parts. */
static void spread(const Together *together, const Merged *merged, Graph graph, const Round *view) {
    Round *round = together->round;
    round->graph = graph;
    round->stack = view->stack;
    round->placement = (Placement){.rects = RAW_ARRAY(together->arena, Rect *, round->nodes.count),
                                   .failed = NULL};
    for (uint32_t n = 0; n < round->nodes.count; n++)
        round->placement.rects[n] = view->placement.rects[merged->into[n]];
    round->placed = true;
    round->coalesced = merged->merges;
}

/* One try. Returns what it merged; view->placed says whether all found places. */
static Merged try_together(const Together *together, const Graph *graph, const Options *options,
                           Round *view) {
    const Round *round = together->round;
    Merged merged = coalesce(&together->handing, &together->partners, gather_apart(together), graph,
                             &together->axis, together->arena);
    *view = (Round){.func = round->func, .live = round->live, .nodes = merged.nodes};
    if (merged.merges == 0) return merged;
    view->pressure = find_pressure(&merged.nodes, together->arena);
    if (view->pressure.peak <= together->size)
        colour_round(options, together->size, together->spilled, together->arena, view);
    return merged;
}

/* Where all fits without: only what is no harder together than apart, and no long search. */
static bool try_some(const Together *together) {
    Options options = *together->options;
    if (options.effort > 1) options.effort = 1;
    Graph graph = build(&together->round->nodes, together->arena);
    for (int i = 0; i < MOST_TRIES; i++) {
        Round view;
        Merged merged = try_together(together, &graph, &options, &view);
        if (view.placed) spread(together, &merged, graph, &view);
        if (view.placed || merged.merges == 0) return view.placed;
        if (!view.placement.rects || !take_apart(together, &merged, &view.placement)) return false;
    }
    return false;
}

/* Where it does not: all. */
static bool try_all(const Together *together) {
    Round view;
    Merged merged = try_together(together, NULL, together->options, &view);
    if (view.placed)
        spread(together, &merged, build(&together->round->nodes, together->arena), &view);
    return view.placed;
}

bool colour_together(const Options *options, uint32_t size, bool spilled,
                     const Rewritten *rewritten, bool *apart, Arena *arena, Round *round) {
    Together together = {.options = options,
                         .size = size,
                         .spilled = spilled,
                         .rewritten = rewritten,
                         .handing = find_handing(round->func, &round->nodes, arena),
                         .apart = apart,
                         .axis = axis_make(size),
                         .arena = arena,
                         .round = round};
    together.partners = find_partners(&together.handing, arena);
    round->groups = together.partners.groups;
    if (together.partners.count == 0) return false;
    return round->pressure.peak <= size ? try_some(&together) : try_all(&together);
}
