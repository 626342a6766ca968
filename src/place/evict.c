#include "place/evict.h"

#include <math.h>
#include <string.h>

#include "place/first_fit.h"
#include "support/sort.h"

/* What leaving out a node that must not be spilled weighs: more than all others together. */
static const double MUST_STAY = 1e15;

/* A neighbour in the way. */
typedef struct {
    Rect rect;
    uint32_t node;
    uint32_t reach; /* the highest granule that this one or any before it ends at */
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
    double left_out, least; /* cost of the nodes without a place now, and in the best state */
    Change *changes;        /* since the best state; undone at the end */
    size_t nchanges, change_capacity;
    Rect *rects;      /* [nodes] of single blocks; mask 0 where unplaced */
    Rect *const *all; /* [nodes] places of nodes with several blocks, which do not move */
    uint32_t *moves;  /* [nodes] how often each was put out */
    uint32_t *queue;  /* nodes that want a place, a ring of nodes + 1 */
    uint32_t head, waiting, capacity;
    uint64_t steps;      /* left */
    Obstacle *obstacles; /* of the node at hand, sorted by low */
    Rect *taken;         /* the same, rectangles alone */
    uint32_t nobstacles;
    size_t room;
    Arena scratch;
} Repair;

static void push(Repair *pass, uint32_t n) {
    pass->queue[(pass->head + pass->waiting++) % pass->capacity] = n;
}

static uint32_t pop(Repair *pass) {
    uint32_t n = pass->queue[pass->head];
    pass->head = (pass->head + 1) % pass->capacity;
    pass->waiting--;
    return n;
}

static double weight(const Repair *pass, uint32_t n) {
    double cost = pass->nodes->items[n].cost;
    return cost < MUST_STAY ? cost + 1 : MUST_STAY;
}

/* Every change of a place goes through here, so that the best state can be had back. */
static void set_rect(Repair *pass, uint32_t n, Rect rect) {
    Change change = {n, pass->rects[n]};
    PUSH(&pass->scratch, pass->changes, pass->nchanges, pass->change_capacity, change);
    if (!change.before.mask && rect.mask) pass->left_out -= weight(pass, n);
    if (change.before.mask && !rect.mask) pass->left_out += weight(pass, n);
    pass->rects[n] = rect;
}

static void note_best(Repair *pass) {
    if (pass->left_out >= pass->least) return;
    pass->least = pass->left_out;
    pass->nchanges = 0;
}

static void go_back_to_best(Repair *pass) {
    while (pass->nchanges > 0) {
        Change change = pass->changes[--pass->nchanges];
        pass->rects[change.node] = change.before;
    }
}

static void add_obstacle(Repair *pass, Rect rect, uint32_t node) {
    if (pass->nobstacles == pass->room) {
        size_t larger = pass->room ? pass->room * 2 : 256;
        pass->obstacles =
            arena_grow(&pass->scratch, pass->obstacles, pass->room, larger, sizeof(Obstacle));
        pass->taken = arena_grow(&pass->scratch, pass->taken, pass->room, larger, sizeof(Rect));
        pass->room = larger;
    }
    pass->obstacles[pass->nobstacles++] = (Obstacle){rect, node, 0};
}

/* The placed neighbours of n, sorted by their first granule. */
static void gather(Repair *pass, uint32_t n) {
    pass->nobstacles = 0;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(pass->graph, n); next_neighbour(&walk, &m);) {
        const Node *other = &pass->nodes->items[m];
        if (other->blocks == 1) {
            if (pass->rects[m].mask) add_obstacle(pass, pass->rects[m], m);
            continue;
        }
        for (uint32_t b = 0; pass->all[m] && b < other->blocks; b++)
            if (blocks_meet(&pass->nodes->items[n], 0, other, b))
                add_obstacle(pass, pass->all[m][b], m);
    }
    uint64_t used = (uint64_t)degree_of(pass->graph, n) + 1;
    pass->steps = pass->steps > used ? pass->steps - used : 0;
    Arena sorting;
    arena_init(&sorting);
    SortKey *order = RAW_ARRAY(&sorting, SortKey, pass->nobstacles);
    Obstacle *copy = RAW_ARRAY(&sorting, Obstacle, pass->nobstacles);
    for (uint32_t i = 0; i < pass->nobstacles; i++) {
        order[i] = (SortKey){pass->obstacles[i].rect.low, i};
        copy[i] = pass->obstacles[i];
    }
    sort_keys(order, pass->nobstacles, &sorting);
    for (uint32_t i = 0; i < pass->nobstacles; i++) {
        pass->obstacles[i] = copy[order[i].id];
        pass->taken[i] = pass->obstacles[i].rect;
        uint32_t before = i > 0 ? pass->obstacles[i - 1].reach : 0;
        pass->obstacles[i].reach = before > pass->taken[i].high ? before : pass->taken[i].high;
    }
    arena_free(&sorting);
}

/* The first obstacle that can reach granule `low`: none before it ends above. */
static uint32_t first_reaching(const Repair *pass, uint32_t low) {
    uint32_t from = 0, end = pass->nobstacles;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (pass->obstacles[middle].reach <= low)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* What it costs to put out all that a rectangle meets: heights, dearer each time that a node moved.
 */
static double eviction_price(Repair *pass, Rect rect, bool must_stay, double limit) {
    double price = 0;
    for (uint32_t i = first_reaching(pass, rect.low);
         i < pass->nobstacles && pass->obstacles[i].rect.low < rect.high; i++) {
        pass->steps -= pass->steps > 0;
        if (!rects_meet(pass->obstacles[i].rect, rect)) continue;
        const Node *other = &pass->nodes->items[pass->obstacles[i].node];
        if (other->fixed || other->blocks > 1 || (isinf(other->cost) && !must_stay))
            return INFINITY;
        price += (double)other->height * (1 + pass->moves[pass->obstacles[i].node]);
        if (price >= limit) return price;
    }
    return price;
}

/* The cheapest rectangle among those that rest on a neighbour, hang below one, or touch an end. */
static bool cheapest_rect(Repair *pass, const Node *node, Rect *best) {
    Bands bands = class_bands(node->class);
    double least = INFINITY;
    for (int b = 0; b < bands.count; b++) {
        for (uint32_t i = 0; i <= 2 * pass->nobstacles + 1; i++) {
            uint32_t low = 0;
            if (i < pass->nobstacles) {
                low = pass->obstacles[i].rect.high;
                low = (low + node->align - 1) / node->align * node->align;
            } else if (i < 2 * pass->nobstacles) {
                uint32_t high = pass->obstacles[i - pass->nobstacles].rect.low;
                if (high < node->height) continue;
                low = (high - node->height) / node->align * node->align;
            } else if (i == 2 * pass->nobstacles) {
                low = (pass->size - node->height) / node->align * node->align;
            }
            Rect rect = {low, low + node->height, bands.masks[b]};
            if (rect.high > pass->size) continue;
            double price = eviction_price(pass, rect, isinf(node->cost), least);
            if (price < least) {
                least = price;
                *best = rect;
            }
        }
    }
    uint64_t used = (uint64_t)bands.count * pass->nobstacles * 2;
    pass->steps = pass->steps > used ? pass->steps - used : 0;
    return !isinf(least);
}

static bool settle(Repair *pass, uint32_t n) {
    const Node *node = &pass->nodes->items[n];
    gather(pass, n);
    Fit fit;
    if (fit_lowest(pass->taken, pass->nobstacles, node->class, node->height, node->align,
                   pass->size, &fit)) {
        set_rect(pass, n, (Rect){fit.offset, fit.offset + node->height, fit.band});
        return true;
    }
    Rect rect;
    if (!cheapest_rect(pass, node, &rect)) return false;
    for (uint32_t i = 0; i < pass->nobstacles; i++) {
        if (!rects_meet(pass->obstacles[i].rect, rect)) continue;
        uint32_t m = pass->obstacles[i].node;
        set_rect(pass, m, (Rect){0, 0, 0});
        pass->moves[m]++;
        push(pass, m);
    }
    set_rect(pass, n, rect);
    return true;
}

static bool can_repair(const Nodes *nodes, const Placement *placement, uint32_t size) {
    for (uint32_t i = 0; i < placement->nfailed; i++) {
        const Node *node = &nodes->items[placement->failed[i]];
        if (node->blocks > 1 || node->height > size) return false;
    }
    return true;
}

/* What waits still has no place. */
static void take_over(Repair *pass, Placement *placement, Arena *arena) {
    placement->nfailed = 0;
    placement->score = 0;
    for (uint32_t n = 0; n < pass->nodes->count; n++) {
        const Node *node = &pass->nodes->items[n];
        if (node->blocks > 1 || node->fixed) continue;
        if (!pass->rects[n].mask) {
            placement->rects[n] = NULL;
            placement->failed[placement->nfailed++] = n;
            placement->score += node->cost;
            continue;
        }
        if (!placement->rects[n]) placement->rects[n] = NEW(arena, Rect);
        placement->rects[n][0] = pass->rects[n];
    }
}

bool repair(const Nodes *nodes, const Graph *graph, const Axis *axis, uint64_t steps,
            Placement *placement, Arena *arena) {
    if (!can_repair(nodes, placement, axis->size)) return false;
    Arena own;
    arena_init(&own);
    Repair pass = {.nodes = nodes,
                   .graph = graph,
                   .size = axis->size,
                   .rects = NEW_ARRAY(&own, Rect, nodes->count),
                   .all = placement->rects,
                   .moves = NEW_ARRAY(&own, uint32_t, nodes->count),
                   .queue = RAW_ARRAY(&own, uint32_t, (size_t)nodes->count + 1),
                   .capacity = nodes->count + 1,
                   .steps = steps};
    for (uint32_t n = 0; n < nodes->count; n++)
        if (placement->rects[n] && nodes->items[n].blocks == 1)
            pass.rects[n] = placement->rects[n][0];
    for (uint32_t i = 0; i < placement->nfailed; i++) {
        push(&pass, placement->failed[i]);
        pass.left_out += weight(&pass, placement->failed[i]);
    }
    double before = pass.least = pass.left_out;
    for (uint32_t stuck = 0; pass.waiting > stuck && pass.steps > 0;) {
        uint32_t n = pop(&pass);
        bool settled = settle(&pass, n);
        stuck = settled ? 0 : stuck + 1;
        if (!settled) push(&pass, n);
        note_best(&pass);
    }
    go_back_to_best(&pass);
    if (pass.least < before) take_over(&pass, placement, arena);
    arena_free(&pass.scratch);
    arena_free(&own);
    return placement->nfailed == 0;
}
