#include "analysis/interfere.h"

#include <string.h>

#include "support/sort.h"

/* An interval of a node, in order of its first point. */
typedef struct {
    uint32_t first, last, node;
} Stretch;

static Stretch *spans_in_order(const Nodes *nodes, size_t *count, Arena *scratch) {
    size_t total = 0;
    for (uint32_t n = 0; n < nodes->count; n++)
        total += nodes->items[n].range.count;
    /* Counting sort by first point, stable in the node's number. */
    uint32_t *start = NEW_ARRAY(scratch, uint32_t, (size_t)nodes->npoints + 1);
    for (uint32_t n = 0; n < nodes->count; n++)
        for (uint32_t i = 0; i < nodes->items[n].range.count; i++)
            start[nodes->items[n].range.items[i].first + 1]++;
    for (uint32_t p = 0; p < nodes->npoints; p++)
        start[p + 1] += start[p];
    Stretch *spans = RAW_ARRAY(scratch, Stretch, total);
    for (uint32_t n = 0; n < nodes->count; n++)
        for (uint32_t i = 0; i < nodes->items[n].range.count; i++) {
            Interval interval = nodes->items[n].range.items[i];
            spans[start[interval.first]++] = (Stretch){interval.first, interval.last, n};
        }
    *count = total;
    return spans;
}

/* Calls for every pair of intervals that meet: adds to both ends' counts, or (`adjacent`) enters
 * each in the other's list. */
static void sweep(const Stretch *spans, size_t count, uint64_t *next, uint32_t *adjacent,
                  Stretch *active) {
    size_t nactive = 0;
    for (size_t i = 0; i < count; i++) {
        size_t kept = 0;
        for (size_t a = 0; a < nactive; a++) {
            if (active[a].last < spans[i].first) continue;
            active[kept++] = active[a];
            uint32_t one = spans[i].node, other = active[a].node;
            if (adjacent) {
                adjacent[next[one]] = other;
                adjacent[next[other]] = one;
            }
            next[one]++;
            next[other]++;
        }
        active[kept++] = spans[i];
        nactive = kept;
    }
}

/* Nodes with several intervals can meet several times: keeps the first of each pair. */
static void remove_doubles(Graph *graph, uint32_t count, Arena *scratch) {
    uint32_t *seen = RAW_ARRAY(scratch, uint32_t, count);
    memset(seen, 0xFF, count * sizeof *seen);
    uint64_t kept = 0;
    for (uint32_t n = 0; n < count; n++) {
        uint64_t from = graph->first[n], end = graph->first[n + 1];
        graph->first[n] = kept;
        for (uint64_t i = from; i < end; i++) {
            uint32_t other = graph->adjacent[i];
            if (seen[other] == n) continue;
            seen[other] = n;
            graph->adjacent[kept++] = other;
        }
    }
    graph->first[count] = kept;
}

Graph build(const Nodes *nodes, Arena *arena) {
    Graph graph = {.first = NEW_ARRAY(arena, uint64_t, (size_t)nodes->count + 2)};
    Arena scratch;
    arena_init(&scratch);
    size_t count;
    Stretch *spans = spans_in_order(nodes, &count, &scratch);
    Stretch *active = RAW_ARRAY(&scratch, Stretch, count);
    sweep(spans, count, graph.first + 2, NULL, active);
    uint64_t *next = graph.first + 1; /* while filling, next[n] is where n's list goes on */
    for (uint32_t n = 0; n < nodes->count; n++)
        next[n + 1] += next[n];
    graph.adjacent = RAW_ARRAY(arena, uint32_t, next[nodes->count]);
    sweep(spans, count, next, graph.adjacent, active);
    if (count > nodes->count) remove_doubles(&graph, nodes->count, &scratch);
    for (uint32_t n = 0; n < nodes->count; n++) {
        uint64_t degree = graph.first[n + 1] - graph.first[n];
        if (degree > graph.max_degree) graph.max_degree = (uint32_t)degree;
    }
    graph.edges = graph.first[nodes->count] / 2;
    arena_free(&scratch);
    return graph;
}

/* ---- pressure ---- */

/* Changes of the load at the points where intervals begin and behind their ends: of each quadrant
 * by what must stand there, and of the whole area. */
typedef struct {
    int64_t *quadrant[QUADRANTS]; /* [npoints + 1] */
    int64_t *half[2];             /* what must stand in one half, in granules times quadrants */
    int64_t *area;                /* granules times quadrants */
} Changes;

static void add_change(int64_t *changes, LiveRange range, int64_t amount) {
    for (uint32_t i = 0; i < range.count; i++) {
        changes[range.items[i].first] += amount;
        changes[range.items[i].last + 1] -= amount;
    }
}

static void add_block(Changes *changes, LiveRange range, ShapeClass class, uint8_t mask,
                      int64_t height) {
    Bands bands = class_bands(class);
    int width = __builtin_popcount(mask ? mask : bands.masks[0]);
    if (!mask && bands.count == 1) mask = bands.masks[0];
    for (int q = 0; q < QUADRANTS; q++)
        if (mask & (1 << q)) add_change(changes->quadrant[q], range, height);
    for (int h = 0; h < 2; h++) {
        int inside = __builtin_popcount(mask & (h ? 0xC : 0x3));
        if (inside) add_change(changes->half[h], range, height * inside);
    }
    add_change(changes->area, range, height * width);
}

static void gather_changes(const Nodes *nodes, Changes *changes) {
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        if (!node->fixed && !node->block_ranges) {
            add_block(changes, node->range, node->class, 0, (int64_t)node->height * node->blocks);
            continue;
        }
        for (uint32_t b = 0; b < node->blocks; b++) {
            int64_t height = node->fixed ? node->rects[b].high - node->rects[b].low : node->height;
            add_block(changes, node_block_range(node, b), node->class,
                      node->fixed ? node->rects[b].mask : 0, height);
        }
    }
}

Pressure find_pressure(const Nodes *nodes, Arena *arena) {
    Pressure pressure = {.need = NEW_ARRAY(arena, uint32_t, nodes->npoints)};
    Arena scratch;
    arena_init(&scratch);
    Changes changes;
    size_t length = (size_t)nodes->npoints + 1;
    for (int q = 0; q < QUADRANTS; q++)
        changes.quadrant[q] = NEW_ARRAY(&scratch, int64_t, length);
    for (int h = 0; h < 2; h++)
        changes.half[h] = NEW_ARRAY(&scratch, int64_t, length);
    changes.area = NEW_ARRAY(&scratch, int64_t, length);
    gather_changes(nodes, &changes);
    int64_t quadrant[QUADRANTS] = {0}, half[2] = {0}, area = 0;
    for (uint32_t p = 0; p < nodes->npoints; p++) {
        area += changes.area[p];
        int64_t need = (area + QUADRANTS - 1) / QUADRANTS;
        for (int q = 0; q < QUADRANTS; q++) {
            quadrant[q] += changes.quadrant[q][p];
            if (quadrant[q] > need) need = quadrant[q];
        }
        for (int h = 0; h < 2; h++) {
            half[h] += changes.half[h][p];
            if ((half[h] + 1) / 2 > need) need = (half[h] + 1) / 2;
        }
        pressure.need[p] = need > UINT32_MAX ? UINT32_MAX : (uint32_t)need;
        if (pressure.need[p] > pressure.peak) {
            pressure.peak = pressure.need[p];
            pressure.peak_point = p;
        }
    }
    arena_free(&scratch);
    return pressure;
}
