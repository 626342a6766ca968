#include "place/select.h"

#include <assert.h>

#include "place/first_fit.h"
#include "support/checked.h"

/* Granules [low, high) with the quadrants that are free there. */
typedef struct {
    uint32_t low, high;
    uint8_t free;
} FreeSpan;

/* Where searches begin and end. */
typedef struct {
    uint32_t low, high;
} Window;

/* The places of a node: none, one block that lives as long as the node, or any others. */
typedef enum { NONE, ONE, SEVERAL } Found;

/* Rising marks between what packs from the bottom and what packs from the top. */
typedef struct {
    uint32_t low, middle, top;
} Watermarks;

typedef struct {
    const Nodes *nodes;
    const Graph *graph;
    uint32_t size;
    Watermarks marks;
    Placement *placement;
    Arena *arena;   /* of the result */
    Arena scratch;  /* of one node */
    Arena cuts;     /* of one look at what is free */
    Rect *firsts;   /* [nodes] first rectangle of each placed node, packed for speed */
    uint8_t *found; /* [nodes] Found */
    Rect *taken;    /* neighbours' rectangles, sorted by low */
    uint32_t ntaken;
    size_t room;     /* of taken */
    FreeSpan *spans; /* the byte axis, cut where what is free changes */
    uint32_t nspans;
} Select;

/* ---- free space ---- */

/* Sorts by low: short lists in place, long ones by radix, as many bytes as the axis needs. */
static void sort_taken(Select *pass) {
    enum { SHORT = 24 };
    Rect *from = pass->taken;
    uint32_t count = pass->ntaken;
    if (count <= SHORT) {
        for (uint32_t i = 1; i < count; i++) {
            Rect moved = from[i];
            uint32_t at = i;
            for (; at > 0 && from[at - 1].low > moved.low; at--)
                from[at] = from[at - 1];
            from[at] = moved;
        }
        return;
    }
    Rect *to = RAW_ARRAY(&pass->scratch, Rect, pass->room);
    for (uint32_t shift = 0; shift < 32 && pass->size >> shift > 0; shift += 8) {
        uint32_t next[257] = {0};
        for (uint32_t i = 0; i < count; i++)
            next[(from[i].low >> shift & 0xFF) + 1]++;
        for (uint32_t digit = 0; digit < 256; digit++)
            next[digit + 1] += next[digit];
        for (uint32_t i = 0; i < count; i++)
            to[next[from[i].low >> shift & 0xFF]++] = from[i];
        Rect *spare = from;
        from = to;
        to = spare;
    }
    pass->taken = from;
}

/* Adds the rectangles of a neighbour that conflict with the block; returns how many there are then.
 */
static uint32_t take_several(Select *pass, uint32_t count, uint32_t n, uint32_t block, uint32_t m) {
    if (pass->found[m] == NONE) return count;
    const Node *node = &pass->nodes->items[n], *other = &pass->nodes->items[m];
    size_t room = pass->room + other->blocks;
    pass->taken = arena_extend(&pass->scratch, pass->taken, pass->room, room, sizeof(Rect));
    pass->room = room;
    for (uint32_t b = 0; b < other->blocks; b++)
        if (blocks_meet(node, block, other, b)) pass->taken[count++] = pass->placement->rects[m][b];
    return count;
}

/* Collects the rectangles that conflict with the block, sorted by low, with room for its own
 * node's.
 */
static void gather_taken(Select *pass, uint32_t n, uint32_t block) {
    const Node *node = &pass->nodes->items[n];
    const Graph *graph = pass->graph;
    pass->room = (size_t)degree_of(graph, n) + node->blocks;
    pass->taken = RAW_ARRAY(&pass->scratch, Rect, pass->room);
    uint32_t m, count = 0;
    for (NeighbourWalk walk = neighbours_of(graph, n); next_neighbour(&walk, &m);) {
        if (pass->found[m] == SEVERAL || node->block_ranges) {
            count = take_several(pass, count, n, block, m);
            continue;
        }
        /* No branch on whether it has a place: that cannot be foretold. */
        pass->taken[count] = pass->firsts[m];
        count += pass->found[m];
    }
    pass->ntaken = count;
    sort_taken(pass);
}

/* Free intervals of one quadrant, as spans with just its bit. */
static uint32_t free_in_quadrant(const Select *pass, int quadrant, FreeSpan *out) {
    uint32_t count = 0, top = 0;
    uint8_t bit = (uint8_t)(1 << quadrant);
    for (uint32_t i = 0; i < pass->ntaken; i++) {
        if (!(pass->taken[i].mask & bit)) continue;
        if (pass->taken[i].low > top) out[count++] = (FreeSpan){top, pass->taken[i].low, bit};
        if (pass->taken[i].high > top) top = pass->taken[i].high;
    }
    if (top < pass->size) out[count++] = (FreeSpan){top, pass->size, bit};
    return count;
}

static void add_full_span(Select *pass, uint32_t low, uint32_t high) {
    uint32_t end = pass->nspans > 0 ? pass->spans[pass->nspans - 1].high : 0;
    if (low >= high) return;
    if (low > end) pass->spans[pass->nspans++] = (FreeSpan){end, low, 0};
    pass->spans[pass->nspans++] = (FreeSpan){low, high, 0xF};
}

/* What is free in all quadrants at once: all that a node of full height asks. */
static void find_full_spans(Select *pass) {
    pass->spans = RAW_ARRAY(&pass->cuts, FreeSpan, 2 * ((size_t)pass->ntaken + 1));
    pass->nspans = 0;
    uint32_t top = 0;
    for (uint32_t i = 0; i < pass->ntaken; i++) {
        add_full_span(pass, top, pass->taken[i].low);
        if (pass->taken[i].high > top) top = pass->taken[i].high;
    }
    add_full_span(pass, top, pass->size);
}

/* Cuts the byte axis where the set of free quadrants changes. */
static void find_spans(Select *pass, ShapeClass class) {
    arena_reset(&pass->cuts);
    if (class == CLASS_FULL) {
        find_full_spans(pass);
        return;
    }
    FreeSpan *lists[QUADRANTS];
    uint32_t counts[QUADRANTS], at[QUADRANTS] = {0};
    for (int q = 0; q < QUADRANTS; q++) {
        lists[q] = RAW_ARRAY(&pass->cuts, FreeSpan, (size_t)pass->ntaken + 1);
        counts[q] = free_in_quadrant(pass, q, lists[q]);
    }
    pass->spans = RAW_ARRAY(&pass->cuts, FreeSpan, 8 * ((size_t)pass->ntaken + 1) + 1);
    pass->nspans = 0;
    for (uint32_t low = 0; low < pass->size;) {
        uint32_t high = pass->size;
        uint8_t free = 0;
        for (int q = 0; q < QUADRANTS; q++) {
            while (at[q] < counts[q] && lists[q][at[q]].high <= low)
                at[q]++;
            if (at[q] == counts[q]) continue;
            const FreeSpan *next = &lists[q][at[q]];
            bool inside = next->low <= low;
            uint32_t change = inside ? next->high : next->low;
            if (inside) free |= next->free;
            if (change < high) high = change;
        }
        pass->spans[pass->nspans++] = (FreeSpan){low, high, free};
        low = high;
    }
}

/* ---- pools and searches ---- */

/* A band, and which spans of it may be used: those where all of `need` and not all of `spare` is
 * free. */
typedef struct {
    uint8_t band, need, spare;
} Pool;

static bool in_pool(Pool pool, uint8_t free) {
    if ((free & pool.need) != pool.need) return false;
    return pool.spare == 0 || (free & pool.spare) != pool.spare;
}

static uint32_t align_offset(uint64_t offset, uint32_t align) {
    uint64_t aligned = align_up(offset, align);
    return aligned > UINT32_MAX ? UINT32_MAX : (uint32_t)aligned;
}

/* The lowest place in the window. */
static bool search_bottom_up(const Select *pass, Pool pool, const Node *node, Window window,
                             Rect *rect) {
    for (uint32_t i = 0; i < pass->nspans; i++) {
        if (!in_pool(pool, pass->spans[i].free)) continue;
        uint32_t low = pass->spans[i].low;
        while (i + 1 < pass->nspans && in_pool(pool, pass->spans[i + 1].free))
            i++;
        uint32_t high = pass->spans[i].high;
        if (high > window.high) high = window.high;
        uint32_t offset = align_offset(low > window.low ? low : window.low, node->align);
        if ((uint64_t)offset + node->height <= high) {
            *rect = (Rect){offset, offset + node->height, pool.band};
            return true;
        }
        if (low >= window.high) return false;
    }
    return false;
}

/* The highest place in the window. */
static bool search_top_down(const Select *pass, Pool pool, const Node *node, Window window,
                            Rect *rect) {
    for (uint32_t i = pass->nspans; i-- > 0;) {
        if (!in_pool(pool, pass->spans[i].free)) continue;
        uint32_t high = pass->spans[i].high;
        while (i > 0 && in_pool(pool, pass->spans[i - 1].free))
            i--;
        uint32_t low = pass->spans[i].low;
        if (high > window.high) high = window.high;
        if (low < window.low) low = window.low;
        if (high < node->height) return false;
        uint32_t offset = (high - node->height) / node->align * node->align;
        if (high >= node->height && offset >= low) {
            *rect = (Rect){offset, offset + node->height, pool.band};
            return true;
        }
        if (high <= window.low) return false;
    }
    return false;
}

typedef bool SearchFn(const Select *, Pool, const Node *, Window, Rect *);

/* The half around a quadrant. */
static uint8_t half_of(uint8_t quadrant) {
    return quadrant & 0x3 ? 0x3 : 0xC;
}

/* Pools of the node's bands from the least waste to the most: where just its band is free, then
 * where the half is, then where all is. Returns how many. */
static uint32_t list_pools(const Node *node, Pool *pools) {
    Bands bands = class_bands(node->class);
    uint32_t count = 0;
    int width = __builtin_popcount(bands.masks[0]);
    for (int b = 0; width == 1 && b < bands.count; b++)
        pools[count++] = (Pool){bands.masks[b], bands.masks[b], half_of(bands.masks[b])};
    for (int b = 0; width == 1 && b < bands.count; b++)
        pools[count++] = (Pool){bands.masks[b], half_of(bands.masks[b]), 0xF};
    for (int b = 0; width == 2 && b < bands.count; b++)
        pools[count++] = (Pool){bands.masks[b], bands.masks[b], 0xF};
    for (int b = 0; b < bands.count; b++)
        pools[count++] = (Pool){bands.masks[b], 0xF, 0};
    return count;
}

enum { MOST_POOLS = 12 };

/* Nodes above this share of the axis pack from its very top: below a mark in the middle they would
 * leave gaps that nothing fits. */
enum { MIDDLING = 16 };

/* The cascade: each pool in the window, then in the whole axis, then all free bytes of each band.
 */
static bool find_rect(Select *pass, const Node *node, Rect *rect) {
    Pool pools[MOST_POOLS];
    uint32_t npools = list_pools(node, pools);
    bool small = node->height <= pass->marks.low;
    SearchFn *search = small ? search_bottom_up : search_top_down;
    uint32_t ceiling = node->height <= pass->size / MIDDLING ? pass->marks.middle : pass->marks.top;
    Window windows[2] = {{0, small ? pass->marks.middle : ceiling}, {0, pass->size}};
    for (int w = 0; w < 2; w++)
        for (uint32_t p = 0; p < npools; p++)
            if (search(pass, pools[p], node, windows[w], rect)) return true;
    Bands bands = class_bands(node->class);
    for (int b = 0; b < bands.count; b++) {
        Pool all = {bands.masks[b], bands.masks[b], 0};
        if (search_bottom_up(pass, all, node, windows[1], rect)) return true;
    }
    return false;
}

/* ---- nodes ---- */

/* Several blocks: first fit, so that they waste nothing between them. Those before a block of the
 * node lie in its way where they live when it does; neighbours are gathered once for blocks that
 * live alike. */
static bool place_blocks(Select *pass, uint32_t n, Rect *rects) {
    const Node *node = &pass->nodes->items[n];
    for (uint32_t b = 0, end; b < node->blocks; b = end) {
        end = node_alike_end(node, b);
        arena_reset(&pass->scratch);
        gather_taken(pass, n, b);
        for (uint32_t own = 0; own < b; own++)
            if (blocks_meet(node, b, node, own))
                insert_by_low(pass->taken, pass->ntaken++, rects[own]);
        RectList taken = {pass->taken, pass->ntaken}, alike = {rects + b, end - b};
        if (!first_fit_all(&taken, shape_of(node), pass->size, &alike)) return false;
    }
    return true;
}

static bool place_node(Select *pass, uint32_t n, Rect *rects) {
    const Node *node = &pass->nodes->items[n];
    if (node->height > pass->size) return false;
    Bands bands = class_bands(node->class);
    if (!node->block_ranges &&
        (uint64_t)node->blocks * node->height > (uint64_t)pass->size * bands.count)
        return false;
    if (node->blocks > 1) return place_blocks(pass, n, rects);
    gather_taken(pass, n, 0);
    find_spans(pass, node->class);
    return find_rect(pass, node, &rects[0]);
}

/* Where small nodes outgrow their share, the mark rises. */
static void move_marks(Select *pass, const Node *node, const Rect *rects) {
    for (uint32_t b = 0; b < node->blocks; b++)
        if (node->height <= pass->marks.low && rects[b].high > pass->marks.middle)
            pass->marks.middle = rects[b].high;
}

/* A part of the axis, rounded up to whole granules as the seed rounds bytes. */
static uint32_t share(uint32_t size, uint32_t numerator, uint32_t denominator) {
    return (uint32_t)ceil_div((int64_t)size * numerator, denominator);
}

static void seed_marks(Select *pass) {
    pass->marks = (Watermarks){share(pass->size, 1, 48), share(pass->size, 3, 4), pass->size};
}

static void reseed_marks(Select *pass) {
    pass->marks = (Watermarks){share(pass->size, 1, 4), share(pass->size, 1, 2), pass->size};
}

static void note_found(Select *pass, uint32_t n, const Rect *rects) {
    const Node *node = &pass->nodes->items[n];
    pass->firsts[n] = rects[0];
    pass->found[n] = node->blocks == 1 && !node->block_ranges ? ONE : SEVERAL;
}

static void pop_node(Select *pass, uint32_t n) {
    const Node *node = &pass->nodes->items[n];
    Placement *placement = pass->placement;
    assert(!placement->rects[n]);
    Rect *rects = RAW_ARRAY(pass->arena, Rect, node->blocks);
    if (place_node(pass, n, rects)) {
        placement->rects[n] = rects;
        note_found(pass, n, rects);
        move_marks(pass, node, rects);
    } else {
        placement_fail(placement, pass->nodes, n);
    }
    arena_reset(&pass->scratch);
}

Placement select_places(const Nodes *nodes, const Graph *graph, const Axis *axis,
                        const NodeStack *stack, Arena *arena) {
    Placement placement = placement_of_fixed(nodes, arena);
    Select pass = {.nodes = nodes,
                   .graph = graph,
                   .size = axis->size,
                   .placement = &placement,
                   .arena = arena};
    Arena own;
    arena_init(&own);
    pass.firsts = NEW_ARRAY(&own, Rect, nodes->count);
    pass.found = NEW_ARRAY(&own, uint8_t, nodes->count);
    for (uint32_t n = 0; n < nodes->count; n++)
        if (nodes->items[n].fixed) note_found(&pass, n, placement.rects[n]);
    seed_marks(&pass);
    for (uint32_t i = stack->count; i-- > 0;) {
        if (stack->items[i] == SENTINEL)
            reseed_marks(&pass);
        else
            pop_node(&pass, stack->items[i]);
    }
    arena_free(&pass.scratch);
    arena_free(&pass.cuts);
    arena_free(&own);
    return placement;
}
