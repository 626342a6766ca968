#include "place/sweep_repair.h"

#include "place/evict.h"

enum { MOST_MOVED = 400, MOST_NEAR = 4000, STEPS_OF_EACH = 200000 };

/* What lives near the block that found no place, as nodes of one block each. */
typedef struct {
    SweepPass *pass;
    uint32_t from; /* what begins before this point stays */
    Nodes nodes;
    Interval *hulls; /* [nodes] points from `from` on */
    Rect *rects;     /* [nodes] */
    uint32_t *alike; /* [nodes] */
    Arena *scratch;
} Vicinity;

static Interval hull_of(const SweepPass *pass, const Alike *alike) {
    LiveRange range = alike_range(pass, alike);
    return (Interval){range.items[0].first, range.items[range.count - 1].last};
}

static void add_block(Vicinity *near, uint32_t id, uint32_t block) {
    const SweepPass *pass = near->pass;
    const Alike *alike = &pass->alike[id];
    const Node *node = &pass->nodes->items[alike->node];
    Interval hull = hull_of(pass, alike);
    uint32_t n = near->nodes.count++;
    near->alike[n] = id;
    near->rects[n] = pass->placement->rects[alike->node][alike->block + block];
    near->hulls[n] =
        (Interval){hull.first > near->from ? hull.first - near->from : 0, hull.last - near->from};
    bool stays = alike->count > 1 || hull.first < near->from;
    near->nodes.items[n] = (Node){.tensor = n,
                                  .blocks = 1,
                                  .height = node->height,
                                  .align = node->align,
                                  .class = node->class,
                                  .fixed = stays,
                                  .range = {&near->hulls[n], 1},
                                  .rects = &near->rects[n],
                                  .cost = node->height};
}

/* Fixed nodes are there throughout. */
static bool add_fixed(Vicinity *near) {
    const Nodes *nodes = near->pass->nodes;
    for (uint32_t f = 0; f < nodes->count; f++)
        for (uint32_t b = 0; nodes->items[f].fixed && b < nodes->items[f].blocks; b++) {
            uint32_t n = near->nodes.count;
            if (n == MOST_NEAR) return false;
            near->rects[n] = nodes->items[f].rects[b];
            near->hulls[n] = (Interval){0, near->nodes.npoints - 1};
            near->nodes.items[near->nodes.count++] =
                (Node){.tensor = n,
                       .blocks = 1,
                       .height = near->rects[n].high - near->rects[n].low,
                       .align = 1,
                       .class = CLASS_FULL,
                       .fixed = true,
                       .range = {&near->hulls[n], 1},
                       .rects = &near->rects[n]};
        }
    return true;
}

/* False where too many live there. The block itself comes last. */
static bool gather(Vicinity *near, uint32_t id) {
    SweepPass *pass = near->pass;
    near->nodes.items = RAW_ARRAY(near->scratch, Node, MOST_NEAR + 1);
    near->hulls = RAW_ARRAY(near->scratch, Interval, MOST_NEAR + 1);
    near->rects = RAW_ARRAY(near->scratch, Rect, MOST_NEAR + 1);
    near->alike = RAW_ARRAY(near->scratch, uint32_t, MOST_NEAR + 1);
    uint32_t last = hull_of(pass, &pass->alike[id]).last;
    near->nodes.npoints = (last > pass->reach ? last : pass->reach) - near->from + 1;
    for (uint32_t p = near->from; p <= pass->reach; p++)
        for (uint32_t e = pass->ending[p]; e != NOT_ALIKE; e = pass->alike[e].next)
            for (uint32_t b = 0; b < pass->alike[e].count; b++) {
                if (near->nodes.count == MOST_NEAR) return false;
                add_block(near, e, b);
            }
    if (!add_fixed(near)) return false;
    add_block(near, id, 0);
    return true;
}

/* New places become those of the pass; what is live at the point at hand moves in the map. */
static void take_over(const Vicinity *near, const Placement *found, uint32_t point) {
    SweepPass *pass = near->pass;
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t n = 0; n < near->nodes.count; n++) {
            if (near->nodes.items[n].fixed) continue;
            const Alike *alike = &pass->alike[near->alike[n]];
            Rect *rect = &pass->placement->rects[alike->node][alike->block];
            bool old = n + 1 < near->nodes.count, live = hull_of(pass, alike).last >= point;
            if (old && rects_same(*rect, found->rects[n][0])) continue;
            if (turn == 0 && old && live) free_map_give(&pass->map, *rect);
            if (turn == 0) continue;
            *rect = found->rects[n][0];
            if (live) free_map_take(&pass->map, *rect);
        }
}

bool sweep_repair(SweepPass *pass, size_t at) {
    uint32_t id = pass->order[at].id;
    if (pass->alike[id].count > 1 || pass->repairs == 0) return false;
    pass->repairs--;
    const Alike *oldest = &pass->alike[pass->order[at > MOST_MOVED ? at - MOST_MOVED : 0].id];
    Arena scratch;
    arena_init(&scratch);
    Vicinity near = {.pass = pass, .from = hull_of(pass, oldest).first, .scratch = &scratch};
    bool placed = gather(&near, id);
    if (placed) {
        Graph graph = build(&near.nodes, &scratch);
        uint32_t last = near.nodes.count - 1;
        Placement found = {.rects = RAW_ARRAY(&scratch, Rect *, near.nodes.count),
                           .failed = RAW_ARRAY(&scratch, uint32_t, near.nodes.count)};
        for (uint32_t n = 0; n < last; n++)
            found.rects[n] = &near.rects[n];
        found.rects[last] = NULL;
        placement_fail(&found, &near.nodes, last);
        placed = evict(&near.nodes, &graph, (EvictLimits){pass->size, STEPS_OF_EACH, false}, &found,
                       &scratch);
        if (placed) take_over(&near, &found, hull_of(pass, &pass->alike[id]).first);
    }
    arena_free(&scratch);
    return placed;
}
