#include "analysis/interfere.h"

#include <assert.h>
#include <string.h>

#include "support/checked.h"

/* An interval of a node. */
typedef struct {
    uint32_t first, last, node;
} NodeInterval;

/* All intervals in order of their first point, then of their node. */
typedef struct {
    NodeInterval *items; /* [count] */
    size_t count;
    uint32_t *begun; /* [npoints + 1] how many begin at a point or before it */
} NodeIntervals;

static NodeIntervals stretches_in_order(const Nodes *nodes, Arena *scratch) {
    NodeIntervals all = {.begun = NEW_ARRAY(scratch, uint32_t, (size_t)nodes->npoints + 1)};
    for (uint32_t n = 0; n < nodes->count; n++)
        all.count += nodes->items[n].range.count;
    /* Counting sort by first point, stable in the node's number. */
    uint32_t *next = all.begun;
    for (uint32_t n = 0; n < nodes->count; n++)
        for (uint32_t i = 0; i < nodes->items[n].range.count; i++)
            next[nodes->items[n].range.items[i].first + 1]++;
    for (uint32_t p = 0; p < nodes->npoints; p++)
        next[p + 1] += next[p];
    all.items = RAW_ARRAY(scratch, NodeInterval, all.count);
    for (uint32_t n = 0; n < nodes->count; n++)
        for (uint32_t i = 0; i < nodes->items[n].range.count; i++) {
            Interval interval = nodes->items[n].range.items[i];
            all.items[next[interval.first]++] = (NodeInterval){interval.first, interval.last, n};
        }
    return all;
}

/* ---- nodes of one interval ---- */

/* Takes those that ended before `first` out of the active ones; returns how many are left. */
static size_t drop_ended(NodeInterval *active, size_t count, uint32_t first) {
    size_t kept = 0;
    for (size_t a = 0; a < count; a++) {
        active[kept] = active[a];
        kept += active[a].last >= first;
    }
    return kept;
}

/* What is active where a node begins is listed; what begins in it is a run. */
static void list_earlier(Graph *graph, const Nodes *nodes, const NodeIntervals *all, Arena *arena,
                         Arena *scratch) {
    NodeInterval *active = RAW_ARRAY(scratch, NodeInterval, all->count + 1);
    graph->by_start = RAW_ARRAY(arena, uint32_t, nodes->count);
    for (uint32_t i = 0; i < all->count; i++) {
        const NodeInterval *one = &all->items[i];
        graph->by_start[i] = one->node;
        graph->of[one->node].run = i + 1;
        graph->of[one->node].run_end = all->begun[one->last];
        graph->edges += all->begun[one->last] - (i + 1);
    }
    graph->listed = RAW_ARRAY(arena, uint32_t, graph->edges);
    uint64_t at = 0;
    size_t nactive = 0;
    for (size_t i = 0; i < all->count; i++) {
        NodeInterval one = all->items[i];
        nactive = drop_ended(active, nactive, one.first);
        graph->of[one.node].from = at;
        for (size_t a = 0; a < nactive; a++)
            graph->listed[at++] = active[a].node;
        graph->of[one.node].end = at;
        active[nactive++] = one;
    }
}

static bool has_single_intervals(const Nodes *nodes) {
    for (uint32_t n = 0; n < nodes->count; n++)
        if (nodes->items[n].range.count != 1) return false;
    return true;
}

/* ---- nodes of several ---- */

/* Pairs of nodes that have met, where a bit for each takes no more than the intervals do: in loops
 * laid out these meet a thousand times as often. */
typedef struct {
    uint64_t *bits; /* [count * count], NULL: nothing is noted */
    uint32_t count;
} Met;

static bool meet_again(const Met *met, uint32_t a, uint32_t b) {
    if (!met->bits) return false;
    uint64_t at = a < b ? (uint64_t)a * met->count + b : (uint64_t)b * met->count + a;
    uint64_t bit = UINT64_C(1) << at % 64, word = met->bits[at / 64];
    met->bits[at / 64] = word | bit;
    return word & bit;
}

/* Calls for every pair of intervals that meet: adds to both ends' counts (`end`), or enters each in
 * the other's list and moves its end; pairs that are noted as met once only. */
static void sweep_points(const NodeIntervals *all, Adjacent *of, uint32_t *listed,
                         NodeInterval *active, const Met *met) {
    size_t nactive = 0;
    for (size_t i = 0; i < all->count; i++) {
        NodeInterval stretch = all->items[i];
        nactive = drop_ended(active, nactive, stretch.first);
        uint32_t one = stretch.node;
        for (size_t a = 0; a < nactive; a++) {
            uint32_t other = active[a].node;
            if (meet_again(met, one, other)) continue;
            if (listed) {
                listed[of[one].end] = other;
                listed[of[other].end] = one;
            }
            of[one].end++;
            of[other].end++;
        }
        active[nactive++] = stretch;
    }
}

/* Nodes with several intervals can meet several times: keeps the first of each pair. */
static void remove_doubles(Graph *graph, uint32_t count, Arena *scratch) {
    uint32_t *seen = RAW_ARRAY(scratch, uint32_t, count);
    memset(seen, 0xFF, count * sizeof *seen);
    uint64_t kept = 0;
    for (uint32_t n = 0; n < count; n++) {
        Adjacent *of = &graph->of[n];
        uint64_t from = of->from, end = of->end;
        of->from = kept;
        for (uint64_t i = from; i < end; i++) {
            uint32_t other = graph->listed[i];
            if (seen[other] == n) continue;
            seen[other] = n;
            graph->listed[kept++] = other;
        }
        of->end = kept;
    }
    graph->edges = kept / 2;
}

static void list_all(Graph *graph, uint32_t count, const NodeIntervals *all, Arena *arena,
                     Arena *scratch) {
    NodeInterval *active = RAW_ARRAY(scratch, NodeInterval, all->count + 1);
    Met met = {NULL, count};
    size_t words = ceil_div((int64_t)count * count, 64);
    if (all->count > count && words <= 8 * all->count)
        met.bits = NEW_ARRAY(scratch, uint64_t, words);
    sweep_points(all, graph->of, NULL, active, &met);
    uint64_t total = 0;
    for (uint32_t n = 0; n < count; n++) {
        uint64_t degree = graph->of[n].end;
        graph->of[n].from = graph->of[n].end = total;
        total += degree;
    }
    graph->listed = RAW_ARRAY(arena, uint32_t, total);
    if (met.bits) memset(met.bits, 0, words * sizeof *met.bits);
    sweep_points(all, graph->of, graph->listed, active, &met);
    remove_doubles(graph, count, scratch);
}

/* For the assert: ranges are ascending intervals of the function's points that do not overlap. */
static inline bool ranges_are_sound(const Nodes *nodes) {
    for (uint32_t n = 0; n < nodes->count; n++) {
        LiveRange range = nodes->items[n].range;
        for (uint32_t i = 0; i < range.count; i++) {
            bool after = i == 0 || range.items[i - 1].last < range.items[i].first;
            if (!after || range.items[i].last < range.items[i].first ||
                range.items[i].last >= nodes->npoints)
                return false;
        }
    }
    return true;
}

Graph build(const Nodes *nodes, Arena *arena) {
    assert(ranges_are_sound(nodes));
    Graph graph = {.built = true, .of = NEW_ARRAY(arena, Adjacent, (size_t)nodes->count + 1)};
    Arena scratch;
    arena_init(&scratch);
    NodeIntervals all = stretches_in_order(nodes, &scratch);
    if (has_single_intervals(nodes))
        list_earlier(&graph, nodes, &all, arena, &scratch);
    else
        list_all(&graph, nodes->count, &all, arena, &scratch);
    for (uint32_t n = 0; n < nodes->count; n++)
        if (degree_of(&graph, n) > graph.max_degree) graph.max_degree = degree_of(&graph, n);
    arena_free(&scratch);
    return graph;
}
