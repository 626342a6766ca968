#include "test/nodes.h"

#include <math.h>

enum { POINTS = 40 };

/* One or two intervals between two points. */
static LiveRange random_range(Chance *chance, uint32_t low, uint32_t high, Arena *arena) {
    Interval *items = NEW_ARRAY(arena, Interval, 2);
    uint32_t first = (uint32_t)chance_between(chance, low, high);
    uint32_t last = (uint32_t)chance_between(chance, first, high);
    items[0] = (Interval){first, last};
    if (last - first < 4 || !chance_percent(chance, 30)) return (LiveRange){items, 1};
    uint32_t hole = (uint32_t)chance_between(chance, first + 1, last - 1);
    items[0].last = hole - 1;
    items[1] = (Interval){hole + 1, last};
    return (LiveRange){items, 2};
}

/* All blocks' ranges together. */
static LiveRange join_ranges(const LiveRange *ranges, uint32_t count, Arena *arena) {
    bool live[POINTS + 1] = {false};
    for (uint32_t b = 0; b < count; b++)
        for (uint32_t i = 0; i < ranges[b].count; i++)
            for (uint32_t p = ranges[b].items[i].first; p <= ranges[b].items[i].last; p++)
                live[p] = true;
    Interval *items = NEW_ARRAY(arena, Interval, POINTS);
    uint32_t found = 0;
    for (uint32_t p = 0; p < POINTS; p++) {
        if (!live[p]) continue;
        uint32_t first = p;
        while (live[p + 1])
            p++;
        items[found++] = (Interval){first, p};
    }
    return (LiveRange){items, found};
}

static void fix_node(Node *node, uint32_t size, Chance *chance, Arena *arena) {
    Rect *rects = NEW_ARRAY(arena, Rect, node->blocks);
    Bands bands = class_bands(node->class);
    for (uint32_t b = 0; b < node->blocks; b++) {
        uint32_t low = (uint32_t)chance_below(chance, size - node->height + 1);
        uint8_t mask = bands.masks[chance_below(chance, bands.count)];
        rects[b] = (Rect){low, low + node->height, mask};
    }
    node->fixed = true;
    node->rects = rects;
    node->cost = INFINITY;
}

static Node random_node(uint32_t id, uint32_t size, Chance *chance, Arena *arena) {
    static const uint32_t aligns[] = {1, 1, 1, 2, 4};
    Node node = {.tensor = id,
                 .blocks = chance_percent(chance, 25) ? (uint32_t)chance_between(chance, 2, 4) : 1,
                 .height = (uint32_t)chance_between(chance, 1, chance_percent(chance, 20) ? 12 : 4),
                 .align = aligns[chance_below(chance, 5)],
                 .class = (ShapeClass)chance_below(chance, CLASS_COUNT),
                 .copy = chance_percent(chance, 20),
                 .cost = chance_percent(chance, 15) ? INFINITY
                                                    : (double)chance_between(chance, 0, 9) * 1000};
    uint32_t longest = chance_percent(chance, 30) ? POINTS - 1 : 8;
    uint32_t low = (uint32_t)chance_below(chance, POINTS - longest);
    node.range = random_range(chance, low, low + longest, arena);
    if (node.blocks > 1 && chance_percent(chance, 50)) {
        node.block_ranges = NEW_ARRAY(arena, LiveRange, node.blocks);
        for (uint32_t b = 0; b < node.blocks; b++)
            node.block_ranges[b] = random_range(chance, low, low + longest, arena);
        node.range = join_ranges(node.block_ranges, node.blocks, arena);
    }
    if (node.height <= size && chance_percent(chance, 10)) fix_node(&node, size, chance, arena);
    return node;
}

Graph plain_graph(const Nodes *nodes, Arena *arena) {
    Graph graph = {.built = true, .of = NEW_ARRAY(arena, Adjacent, (size_t)nodes->count + 1)};
    graph.listed = NEW_ARRAY(arena, uint32_t, (size_t)nodes->count * nodes->count);
    uint64_t count = 0;
    for (uint32_t n = 0; n < nodes->count; n++) {
        graph.of[n].from = count;
        for (uint32_t m = 0; m < nodes->count; m++)
            if (m != n && live_overlap(nodes->items[n].range, nodes->items[m].range))
                graph.listed[count++] = m;
        graph.of[n].end = count;
        if (degree_of(&graph, n) > graph.max_degree) graph.max_degree = degree_of(&graph, n);
    }
    graph.edges = count / 2;
    return graph;
}

ColourProblem random_nodes(uint64_t seed, Arena *arena) {
    static const uint32_t sizes[] = {200, 60, 30, 16, 5};
    Chance chance = {seed};
    ColourProblem problem = {.size = sizes[chance_below(&chance, 5)]};
    problem.nodes.count = (uint32_t)chance_between(&chance, 1, 40);
    problem.nodes.npoints = POINTS;
    problem.nodes.items = NEW_ARRAY(arena, Node, problem.nodes.count);
    for (uint32_t n = 0; n < problem.nodes.count; n++)
        problem.nodes.items[n] = random_node(n, problem.size, &chance, arena);
    problem.graph = plain_graph(&problem.nodes, arena);
    return problem;
}
