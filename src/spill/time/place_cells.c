#include "spill/time/place_cells.h"

#include <math.h>

#include "support/sort.h"

typedef struct {
    const Timeline *timeline;
    const Cells *cells;
    const TimeGaps *gaps;
    const bool *kept;
    Arena *arena;
    Interval *items; /* of the cell at hand, not yet in order */
    size_t count, capacity;
} RangePass;

static void add_interval(RangePass *pass, uint32_t first, uint32_t last) {
    Interval interval = {first, last};
    PUSH(pass->arena, pass->items, pass->count, pass->capacity, interval);
}

/* The intervals in order, joined where they touch. */
static LiveRange join_intervals(RangePass *pass) {
    SortKey *keys = RAW_ARRAY(pass->arena, SortKey, pass->count);
    for (uint32_t i = 0; i < pass->count; i++)
        keys[i] = (SortKey){pass->items[i].first, i};
    sort_keys(keys, pass->count, pass->arena);
    Interval *items = RAW_ARRAY(pass->arena, Interval, pass->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < pass->count; i++) {
        Interval next = pass->items[keys[i].id];
        if (count && items[count - 1].last + 1 >= next.first) {
            if (next.last > items[count - 1].last) items[count - 1].last = next.last;
        } else {
            items[count++] = next;
        }
    }
    return (LiveRange){items, count};
}

static LiveRange range_of_cell(RangePass *pass, uint32_t cell, double *cost) {
    const Cells *cells = pass->cells;
    const Tensor *tensor = &pass->timeline->func->tensors[cells->tensor[cell]];
    pass->count = 0;
    *cost = 0;
    for (uint32_t a = cells->first[cell]; a < cells->first[cell + 1]; a++) {
        add_interval(pass, cells->accesses[a].point, cells->accesses[a].point);
        uint32_t g = pass->gaps->of[a];
        if (g == UINT32_MAX || !pass->kept[g]) continue;
        const TimeGap *gap = &pass->gaps->gaps[g];
        *cost += (double)gap->load;
        for (uint32_t i = 0; i < gap->points.count; i++)
            add_interval(pass, gap->points.items[i].first, gap->points.items[i].last);
        if (gap->tail.count) add_interval(pass, gap->tail.items->first, gap->tail.items->last);
    }
    uint32_t last = pass->timeline->npoints - 1;
    uint32_t end = cells->first[cell + 1] - 1; /* its last access */
    if (tensor->output) add_interval(pass, cells->accesses[end].point, last);
    return join_intervals(pass);
}

static Node node_of_cell(RangePass *pass, uint32_t cell) {
    const Tensor *tensor = &pass->timeline->func->tensors[pass->cells->tensor[cell]];
    double cost;
    LiveRange range = range_of_cell(pass, cell, &cost);
    Node node = {.tensor = pass->cells->tensor[cell],
                 .blocks = 1,
                 .height = tensor_height(tensor),
                 .align = tensor_align(tensor),
                 .class = shape_class(tensor->partitions, tensor->base),
                 .fixed = tensor->fixed,
                 .range = range,
                 .cost = pass->gaps->resident[pass->cells->tensor[cell]] ? INFINITY : cost};
    if (!tensor->fixed) return node;
    Rect *rect = NEW(pass->arena, Rect);
    *rect = tensor_rect(tensor, tensor->at[cell_block(pass->cells, cell)]);
    node.rects = rect;
    node.height = rect->high - rect->low;
    return node;
}

Nodes cell_nodes(const TimeFacts *facts, const bool *kept, Arena *arena) {
    const Cells *cells = &facts->cells;
    RangePass pass = {&facts->timeline, cells, &facts->gaps, kept, arena, NULL, 0, 0};
    Nodes nodes = {.items = RAW_ARRAY(arena, Node, cells->ncells),
                   .of = RAW_ARRAY(arena, uint32_t, cells->ncells),
                   .npoints = facts->timeline.npoints};
    for (uint32_t c = 0; c < cells->ncells; c++) {
        nodes.of[c] = NO_NODE;
        if (cells->first[c] == cells->first[c + 1]) continue;
        nodes.of[c] = nodes.count;
        nodes.items[nodes.count++] = node_of_cell(&pass, c);
    }
    return nodes;
}

PlacedCells place_cells(const TimeFacts *facts, const bool *kept, const Placer *placer,
                        Arena *arena) {
    PlacedCells placed = {.nodes = cell_nodes(facts, kept, arena)};
    placed.pressure = find_pressure(&placed.nodes, arena);
    PlaceProblem problem = {&placed.nodes, &placed.pressure, facts->size};
    placed.places = place(&problem, placer, arena);
    return placed;
}
