#include "place/weigh.h"

#include <string.h>

typedef struct {
    const Nodes *nodes;
    const Graph *graph;
    const Axis *axis;
    Weights weights;
} Weigh;

/* ---- one neighbour after another ---- */

static void weigh_edges(Weigh *pass, uint32_t n) {
    const Node *node = &pass->nodes->items[n];
    int64_t cap = own_capacity(pass->axis, node), relief = 0;
    uint32_t degree = 0;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(pass->graph, n); next_neighbour(&walk, &m);) {
        const Node *other = &pass->nodes->items[m];
        cap -= impact_of_all(pass->axis, node, other);
        if (other->fixed) continue;
        relief += node->blocks * impact(pass->axis, other, node);
        degree++;
    }
    pass->weights.caps[n] = cap;
    pass->weights.reliefs[n] = relief;
    pass->weights.degrees[n] = degree;
}

/* ---- sums of nodes that begin, less those of nodes that ended ---- */

/* Of the nodes of one class. Modulo 2^64: sums over all nodes may wrap, their differences do not.
 */
typedef struct {
    uint64_t nodes, heights;
    uint64_t blocks, block_heights; /* each node as often as it has blocks */
} ClassSum;

typedef struct {
    ClassSum of[CLASS_COUNT];
} ClassSums;

static void add_node(ClassSums *sums, const Node *node) {
    ClassSum *sum = &sums->of[node->class];
    sum->nodes++;
    sum->heights += node->height;
    sum->blocks += node->blocks;
    sum->block_heights += (uint64_t)node->blocks * node->height;
}

/* Adds the weight of `sign` times the nodes in the sums to those of n. */
static void weigh_sums(Weigh *pass, uint32_t n, const ClassSums *sums, int sign) {
    const Node *node = &pass->nodes->items[n];
    uint64_t taken = 0, given = 0, degree = 0, above = (uint64_t)node->height - 1;
    for (int class = 0; class < CLASS_COUNT; class ++) {
        const ClassSum *sum = &sums->of[class];
        const ImpactTable *table = &pass->axis->table;
        taken += table->bands[class][node->class] * (sum->block_heights + sum->blocks * above);
        given += table->bands[node->class][class] * (sum->heights + sum->nodes * above);
        degree += sum->nodes;
    }
    pass->weights.caps[n] -= sign * (int64_t)taken;
    pass->weights.reliefs[n] += sign * (int64_t)(node->blocks * given);
    pass->weights.degrees[n] += (uint32_t)(sign * (int64_t)degree);
}

/* A node is none of its own neighbours. */
static void weigh_alone(Weigh *pass, uint32_t n) {
    const Node *node = &pass->nodes->items[n];
    ClassSums own = {0};
    add_node(&own, node);
    pass->weights.caps[n] = own_capacity(pass->axis, node);
    weigh_sums(pass, n, &own, -1);
}

/* Nodes by their last point: [npoints] the first, then each one's successor. */
typedef struct {
    uint32_t *head, *next;
} ByEnd;

static ByEnd list_by_end(const Nodes *nodes, Arena *scratch) {
    ByEnd list = {RAW_ARRAY(scratch, uint32_t, nodes->npoints),
                  RAW_ARRAY(scratch, uint32_t, nodes->count)};
    memset(list.head, 0xFF, nodes->npoints * sizeof *list.head);
    for (uint32_t n = 0; n < nodes->count; n++) {
        uint32_t last = nodes->items[n].range.items[0].last;
        list.next[n] = list.head[last];
        list.head[last] = n;
    }
    return list;
}

static void sweep(Weigh *pass) {
    const Nodes *nodes = pass->nodes;
    const uint32_t *by_start = pass->graph->by_start;
    ClassSums begun = {0}, ended = {0};
    Arena scratch;
    arena_init(&scratch);
    ByEnd by_end = list_by_end(nodes, &scratch);
    for (uint32_t p = 0, i = 0; p < nodes->npoints; p++) {
        for (; i < nodes->count && nodes->items[by_start[i]].range.items[0].first == p; i++) {
            weigh_alone(pass, by_start[i]);
            weigh_sums(pass, by_start[i], &ended, -1);
            add_node(&begun, &nodes->items[by_start[i]]);
        }
        for (uint32_t n = by_end.head[p]; n != NO_NODE; n = by_end.next[n]) {
            weigh_sums(pass, n, &begun, 1);
            add_node(&ended, &nodes->items[n]);
        }
    }
    arena_free(&scratch);
}

/* True if sums will do: impact is linear in height where nothing is aligned, and fixed nodes touch
 * what they touch. */
static bool is_linear(const Nodes *nodes, const Graph *graph) {
    if (!graph->by_start) return false;
    for (uint32_t n = 0; n < nodes->count; n++)
        if (nodes->items[n].fixed || nodes->items[n].align > 1) return false;
    return true;
}

Weights weigh(const Nodes *nodes, const Graph *graph, const Axis *axis, Arena *arena) {
    Weigh pass = {.nodes = nodes,
                  .graph = graph,
                  .axis = axis,
                  .weights = {.caps = NEW_ARRAY(arena, int64_t, nodes->count),
                              .reliefs = NEW_ARRAY(arena, int64_t, nodes->count),
                              .degrees = NEW_ARRAY(arena, uint32_t, nodes->count)}};
    bool linear = is_linear(nodes, graph);
    if (linear) sweep(&pass);
    for (uint32_t n = 0; n < nodes->count && !linear; n++)
        if (!nodes->items[n].fixed) weigh_edges(&pass, n);
    return pass.weights;
}
