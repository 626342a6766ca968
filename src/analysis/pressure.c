#include "analysis/pressure.h"

#include "support/sort.h"

/* LoadChanges of the load at the points where intervals begin and behind their ends: of each
 * quadrant by what must stand there, and of the whole area. */
typedef struct {
    int64_t *quadrant[QUADRANTS]; /* [npoints + 1] */
    int64_t *half[2];             /* what must stand in one half, in granules times quadrants */
    int64_t *area;                /* granules times quadrants */
} LoadChanges;

static void add_change(int64_t *changes, LiveRange range, int64_t amount) {
    for (uint32_t i = 0; i < range.count; i++) {
        changes[range.items[i].first] += amount;
        changes[range.items[i].last + 1] -= amount;
    }
}

static void add_block(LoadChanges *changes, LiveRange range, ShapeClass class, uint8_t mask,
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

static void gather_changes(const Nodes *nodes, LoadChanges *changes) {
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
    LoadChanges changes;
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

/* ---- the fullest quadrant ---- */

/* The first point from `point` on that has no height yet; points that have one are skipped. */
static uint32_t next_bare(uint32_t *skip, uint32_t point) {
    uint32_t end = point;
    while (skip[end] != end)
        end = skip[end];
    while (skip[point] != end) {
        uint32_t next = skip[point];
        skip[point] = end;
        point = next;
    }
    return end;
}

/* Gives the points of a range the height, where no taller node came before. */
static void raise_points(uint32_t *tallest, uint32_t *skip, LiveRange range, uint32_t height) {
    for (uint32_t i = 0; i < range.count; i++)
        for (uint32_t p = next_bare(skip, range.items[i].first); p <= range.items[i].last;
             p = next_bare(skip, p)) {
            tallest[p] = height;
            skip[p] = p + 1;
        }
}

/* [npoints] the tallest node of less than full height at each point: the tallest go first. */
static uint32_t *find_tallest(const Nodes *nodes, Arena *scratch) {
    uint32_t *tallest = NEW_ARRAY(scratch, uint32_t, nodes->npoints);
    uint32_t *skip = RAW_ARRAY(scratch, uint32_t, (size_t)nodes->npoints + 1);
    SortKey *order = RAW_ARRAY(scratch, SortKey, nodes->count);
    for (uint32_t p = 0; p <= nodes->npoints; p++)
        skip[p] = p;
    for (uint32_t n = 0; n < nodes->count; n++)
        order[n] = (SortKey){UINT32_MAX - nodes->items[n].height, n};
    sort_keys(order, nodes->count, scratch);
    for (uint32_t i = 0; i < nodes->count; i++) {
        const Node *node = &nodes->items[order[i].id];
        if (node->class != CLASS_FULL) raise_points(tallest, skip, node->range, node->height);
    }
    return tallest;
}

/* [npoints + 1] granules of the nodes of full height at each point. */
static int64_t *sum_full(const Nodes *nodes, Arena *scratch) {
    int64_t *full = NEW_ARRAY(scratch, int64_t, (size_t)nodes->npoints + 1);
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        for (uint32_t b = 0; node->class == CLASS_FULL && b < node->blocks; b++)
            add_change(full, node_block_range(node, b), node->height);
    }
    for (uint32_t p = 0; p < nodes->npoints; p++)
        full[p + 1] += full[p];
    return full;
}

uint32_t *quadrant_needs(const Nodes *nodes, const Pressure *pressure, Arena *arena) {
    uint32_t *needs = RAW_ARRAY(arena, uint32_t, nodes->npoints);
    Arena scratch;
    arena_init(&scratch);
    const uint32_t *tallest = find_tallest(nodes, &scratch);
    const int64_t *full = sum_full(nodes, &scratch);
    for (uint32_t p = 0; p < nodes->npoints; p++) {
        int64_t need = full[p] + tallest[p];
        if (need < pressure->need[p]) need = pressure->need[p];
        needs[p] = need < UINT32_MAX ? (uint32_t)need : UINT32_MAX;
    }
    arena_free(&scratch);
    return needs;
}

uint32_t fullest_quadrant(const Nodes *nodes, const Pressure *pressure) {
    Arena scratch;
    arena_init(&scratch);
    const uint32_t *needs = quadrant_needs(nodes, pressure, &scratch);
    uint32_t most = 0;
    for (uint32_t p = 0; p < nodes->npoints; p++)
        if (needs[p] > most) most = needs[p];
    arena_free(&scratch);
    return most;
}
