#include "place/evict.h"

#include <assert.h>
#include <math.h>

#include "place/first_fit.h"
#include "support/sort.h"

/* The weight of a node without a place that must not be spilled: more than all others together. */
static const double MUST_NOT_SPILL = 1e15;

/* A placed neighbour of the node at hand. */
typedef struct {
    Rect rect;
    uint32_t node;
    uint32_t reach; /* the highest granule where this one or any before it ends */
    double price;   /* of evicting it: its height, times one more than its evictions so far */
} Obstacle;

/* A place that changed since the best state. */
typedef struct {
    uint32_t node;
    Rect before;
} Change;

typedef struct {
    const Nodes *nodes;
    const Graph *graph;
    uint32_t size;
    bool any;               /* see EvictLimits */
    double left_out, least; /* weight of the nodes without a place: now, and in the best state */
    Change *changes;        /* since the best state; undone at the end */
    size_t nchanges, change_capacity;
    Rect *rects;      /* [nodes] of single blocks; mask 0 where unplaced */
    Rect *const *all; /* [nodes] places of nodes with several blocks, which do not move */
    uint32_t *moves;  /* [nodes] how often each was evicted */
    uint32_t *queue;  /* nodes to place, a ring of nodes + 1 */
    uint32_t head, waiting, capacity;
    uint64_t steps;      /* left */
    Obstacle *obstacles; /* of the node at hand, sorted by low */
    Rect *taken;         /* the same, rectangles alone */
    Obstacle *unsorted;  /* and in order of neighbours */
    uint32_t nobstacles;
    uint32_t reaching; /* the answer of the last first_reaching() */
    size_t room;
    Arena scratch;
    Arena sorting;
} Evict;

static void push(Evict *pass, uint32_t n) {
    pass->queue[(pass->head + pass->waiting++) % pass->capacity] = n;
}

static uint32_t pop(Evict *pass) {
    uint32_t n = pass->queue[pass->head];
    pass->head = (pass->head + 1) % pass->capacity;
    pass->waiting--;
    return n;
}

static double weight(const Evict *pass, uint32_t n) {
    double cost = pass->nodes->items[n].cost;
    return cost < MUST_NOT_SPILL ? cost + 1 : MUST_NOT_SPILL;
}

/* Every change of a place goes through here, so that the best state can be restored. */
static void set_rect(Evict *pass, uint32_t n, Rect rect) {
    Change change = {n, pass->rects[n]};
    PUSH(&pass->scratch, pass->changes, pass->nchanges, pass->change_capacity, change);
    if (!change.before.mask && rect.mask) pass->left_out -= weight(pass, n);
    if (change.before.mask && !rect.mask) pass->left_out += weight(pass, n);
    pass->rects[n] = rect;
}

static void note_best(Evict *pass) {
    if (pass->left_out >= pass->least) return;
    pass->least = pass->left_out;
    pass->nchanges = 0;
}

static void restore_best(Evict *pass) {
    while (pass->nchanges > 0) {
        Change change = pass->changes[--pass->nchanges];
        pass->rects[change.node] = change.before;
    }
}

static void add_obstacle(Evict *pass, Rect rect, uint32_t node) {
    if (pass->nobstacles == pass->room) {
        size_t larger = pass->room ? pass->room * 2 : 256;
        pass->unsorted =
            arena_extend(&pass->scratch, pass->unsorted, pass->room, larger, sizeof(Obstacle));
        pass->obstacles = RAW_ARRAY(&pass->scratch, Obstacle, larger);
        pass->taken = RAW_ARRAY(&pass->scratch, Rect, larger);
        pass->room = larger;
    }
    pass->unsorted[pass->nobstacles++] = (Obstacle){.rect = rect, .node = node};
}

/* Sorts the obstacles by their first granule, and fills `taken` and how far each reaches. */
static void sort_obstacles(Evict *pass) {
    arena_reset(&pass->sorting);
    SortKey *order = RAW_ARRAY(&pass->sorting, SortKey, pass->nobstacles);
    for (uint32_t i = 0; i < pass->nobstacles; i++)
        order[i] = (SortKey){pass->unsorted[i].rect.low, i};
    sort_keys(order, pass->nobstacles, &pass->sorting);
    uint32_t reach = 0;
    for (uint32_t i = 0; i < pass->nobstacles; i++) {
        pass->obstacles[i] = pass->unsorted[order[i].id];
        pass->taken[i] = pass->obstacles[i].rect;
        if (pass->taken[i].high > reach) reach = pass->taken[i].high;
        pass->obstacles[i].reach = reach;
    }
}

static void spend(Evict *pass, uint64_t steps) {
    pass->steps = pass->steps > steps ? pass->steps - steps : 0;
}

/* The placed neighbours of n become the obstacles. */
static void gather(Evict *pass, uint32_t n) {
    pass->nobstacles = 0;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(pass->graph, n); next_neighbour(&walk, &m);) {
        if (pass->rects[m].mask) add_obstacle(pass, pass->rects[m], m);
        const Node *other = &pass->nodes->items[m];
        if (pass->rects[m].mask || other->blocks == 1) continue;
        for (uint32_t b = 0; pass->all[m] && b < other->blocks; b++)
            if (blocks_meet(&pass->nodes->items[n], 0, other, b))
                add_obstacle(pass, pass->all[m][b], m);
    }
    spend(pass, (uint64_t)degree_of(pass->graph, n) + 1);
    sort_obstacles(pass);
}

/* The first obstacle that can reach granule `low`: none before it ends above. Offsets that are
 * asked for one after another lie close together. */
static uint32_t first_reaching(Evict *pass, uint32_t low) {
    uint32_t at = pass->reaching;
    while (at < pass->nobstacles && pass->obstacles[at].reach <= low)
        at++;
    while (at > 0 && pass->obstacles[at - 1].reach > low)
        at--;
    return pass->reaching = at;
}

/* What evicting each obstacle costs. */
static void price_obstacles(Evict *pass, bool may_evict_all) {
    for (uint32_t i = 0; i < pass->nobstacles; i++) {
        Obstacle *obstacle = &pass->obstacles[i];
        const Node *other = &pass->nodes->items[obstacle->node];
        bool stays = other->fixed || other->blocks > 1 || (isinf(other->cost) && !may_evict_all);
        obstacle->price =
            stays ? INFINITY : (double)other->height * (1 + pass->moves[obstacle->node]);
    }
}

/* The price of evicting all that overlaps a rectangle. Stops at `limit`. */
static double eviction_price(Evict *pass, Rect rect, double limit) {
    double price = 0;
    for (uint32_t i = first_reaching(pass, rect.low);
         i < pass->nobstacles && pass->obstacles[i].rect.low < rect.high; i++) {
        pass->steps -= pass->steps > 0;
        if (!rects_meet(pass->obstacles[i].rect, rect)) continue;
        price += pass->obstacles[i].price;
        if (price >= limit) return price;
    }
    return price;
}

/* Candidate i for the offset of a node: on top of an obstacle, below one, at the top of the axis,
 * at the bottom. False if it is outside. */
static bool candidate_offset(const Evict *pass, const Node *node, uint32_t i, uint32_t *low) {
    uint32_t count = pass->nobstacles, high = pass->size;
    *low = 0;
    if (i < count) {
        *low = (uint32_t)align_up(pass->obstacles[i].rect.high, node->align);
    } else if (i <= 2 * count) {
        if (i < 2 * count) high = pass->obstacles[i - count].rect.low;
        if (high < node->height) return false;
        *low = (high - node->height) / node->align * node->align;
    }
    return *low + node->height <= pass->size;
}

/* The cheapest rectangle among those that touch a neighbour or an end of the axis. */
static bool cheapest_rect(Evict *pass, const Node *node, Rect *best) {
    Bands bands = class_bands(node->class);
    double least = INFINITY;
    price_obstacles(pass, pass->any || isinf(node->cost));
    pass->reaching = 0;
    for (int b = 0; b < bands.count; b++)
        for (uint32_t i = 0; i <= 2 * pass->nobstacles + 1; i++) {
            uint32_t low;
            if (!candidate_offset(pass, node, i, &low)) continue;
            Rect rect = {low, low + node->height, bands.masks[b]};
            double price = eviction_price(pass, rect, least);
            if (price >= least) continue;
            least = price;
            *best = rect;
        }
    spend(pass, (uint64_t)bands.count * pass->nobstacles * 2);
    return !isinf(least);
}

static void evict_all(Evict *pass, Rect rect) {
    for (uint32_t i = 0; i < pass->nobstacles; i++) {
        if (!rects_meet(pass->obstacles[i].rect, rect)) continue;
        uint32_t m = pass->obstacles[i].node;
        set_rect(pass, m, (Rect){0, 0, 0});
        pass->moves[m]++;
        push(pass, m);
    }
}

/* Places n where it is free, else where eviction is cheapest. False if nothing there may move. */
static bool assign(Evict *pass, uint32_t n) {
    const Node *node = &pass->nodes->items[n];
    gather(pass, n);
    Rect rect;
    if (!first_fit(pass->taken, pass->nobstacles, shape_of(node), pass->size, &rect)) {
        if (!cheapest_rect(pass, node, &rect)) return false;
        evict_all(pass, rect);
    }
    set_rect(pass, n, rect);
    return true;
}

static bool can_evict(const Nodes *nodes, const Placement *placement, uint32_t size) {
    for (uint32_t i = 0; i < placement->nfailed; i++) {
        const Node *node = &nodes->items[placement->failed[i]];
        if (node->blocks > 1 || node->height > size) return false;
    }
    return true;
}

/* Hands the best state over: what waits has no place. */
static void hand_over(Evict *pass, Placement *placement, Arena *arena) {
    placement->nfailed = 0;
    placement->score = 0;
    for (uint32_t n = 0; n < pass->nodes->count; n++) {
        const Node *node = &pass->nodes->items[n];
        if (node->blocks > 1 || node->fixed) continue;
        if (!pass->rects[n].mask) {
            placement->rects[n] = NULL;
            placement_fail(placement, pass->nodes, n);
            continue;
        }
        if (!placement->rects[n]) placement->rects[n] = NEW(arena, Rect);
        placement->rects[n][0] = pass->rects[n];
    }
}

/* For the assert: the failed nodes have no place, and all others have. */
static inline bool agrees_with_failed(const Nodes *nodes, const Placement *placement) {
    uint32_t unplaced = 0;
    for (uint32_t n = 0; n < nodes->count; n++)
        unplaced += placement->rects[n] == NULL;
    for (uint32_t i = 0; i < placement->nfailed; i++)
        if (placement->rects[placement->failed[i]]) return false;
    return unplaced == placement->nfailed;
}

static void start(Evict *pass, const Placement *placement, Arena *own) {
    uint32_t count = pass->nodes->count;
    pass->rects = NEW_ARRAY(own, Rect, count);
    pass->all = placement->rects;
    pass->moves = NEW_ARRAY(own, uint32_t, count);
    pass->queue = RAW_ARRAY(own, uint32_t, (size_t)count + 1);
    pass->capacity = count + 1;
    for (uint32_t n = 0; n < count; n++)
        if (placement->rects[n] && pass->nodes->items[n].blocks == 1)
            pass->rects[n] = placement->rects[n][0];
    for (uint32_t i = 0; i < placement->nfailed; i++) {
        push(pass, placement->failed[i]);
        pass->left_out += weight(pass, placement->failed[i]);
    }
    pass->least = pass->left_out;
}

bool evict(const Nodes *nodes, const Graph *graph, EvictLimits limits, Placement *placement,
           Arena *arena) {
    assert(agrees_with_failed(nodes, placement));
    if (!can_evict(nodes, placement, limits.size)) return false;
    Arena own;
    arena_init(&own);
    Evict pass = {.nodes = nodes,
                  .graph = graph,
                  .size = limits.size,
                  .any = limits.any,
                  .steps = limits.steps};
    start(&pass, placement, &own);
    double before = pass.least;
    for (uint32_t stuck = 0; pass.waiting > stuck && pass.steps > 0;) {
        uint32_t n = pop(&pass);
        bool assigned = assign(&pass, n);
        stuck = assigned ? 0 : stuck + 1;
        if (!assigned) push(&pass, n);
        note_best(&pass);
    }
    restore_best(&pass);
    if (pass.least < before) hand_over(&pass, placement, arena);
    arena_free(&pass.scratch);
    arena_free(&pass.sorting);
    arena_free(&own);
    return placement->nfailed == 0;
}
