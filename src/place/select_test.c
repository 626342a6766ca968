/* Select against a plain search of every granule, node by node as the stack is popped. */
#include "place/select.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/count.h"
#include "test/nodes.h"

typedef struct {
    ColourProblem problem;
    NodeStack stack;
    Placement placement;
    uint64_t seed;
} Case;

static Case make_case(uint64_t seed, Arena *arena) {
    Case made = {.problem = random_nodes(seed, arena), .seed = seed};
    Axis axis = axis_make(made.problem.size);
    made.stack = simplify(&made.problem.nodes, &made.problem.graph, &axis, (int)(seed % 3), arena);
    made.placement =
        select_places(&made.problem.nodes, &made.problem.graph, &axis, &made.stack, arena);
    return made;
}

static bool meet(const Node *a, uint32_t i, const Node *b, uint32_t j) {
    return live_overlap(node_block_range(a, i), node_block_range(b, j));
}

static bool collide(Rect a, Rect b) {
    return (a.mask & b.mask) && a.low < b.high && b.low < a.high;
}

/* ---- what is placed is legal ---- */

static void check_rect(const Case *made, const Node *node, Rect rect) {
    Bands bands = class_bands(node->class);
    bool legal = false;
    for (int b = 0; b < bands.count; b++)
        legal |= bands.masks[b] == rect.mask;
    assert_true(legal);
    assert_int_equal(rect.high - rect.low, node->height);
    assert_int_equal(rect.low % node->align, 0);
    assert_true(rect.high <= made->problem.size);
}

/* Fixed ones are not select's fault. */
static void check_pair(const Case *made, uint32_t n, uint32_t m) {
    const Node *a = &made->problem.nodes.items[n], *b = &made->problem.nodes.items[m];
    Rect *const *rects = made->placement.rects;
    if (!rects[n] || !rects[m] || (a->fixed && b->fixed)) return;
    for (uint32_t i = 0; i < a->blocks; i++)
        for (uint32_t j = 0; j < b->blocks; j++)
            if ((n != m || i != j) && meet(a, i, b, j) && collide(rects[n][i], rects[m][j]))
                fail_msg("seed %llu: nodes %u and %u collide", (unsigned long long)made->seed, n,
                         m);
}

static void places_are_legal(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Case made = make_case(seed, &arena);
        for (uint32_t n = 0; n < made.problem.nodes.count; n++) {
            const Node *node = &made.problem.nodes.items[n];
            for (uint32_t b = 0; made.placement.rects[n] && !node->fixed && b < node->blocks; b++)
                check_rect(&made, node, made.placement.rects[n][b]);
            for (uint32_t m = 0; m <= n; m++)
                check_pair(&made, n, m);
        }
        arena_free(&arena);
    }
}

/* ---- a node pushed as colourable is placed ---- */

static void colourable_nodes_are_placed(void **state) {
    (void)state;
    uint32_t colourable = 0, failures = 0;
    for (uint64_t seed = 0; seed < 4 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Case made = make_case(seed, &arena);
        failures += made.placement.nfailed;
        for (uint32_t i = 0; made.stack.items[i] != SENTINEL; i++, colourable++)
            if (!made.placement.rects[made.stack.items[i]])
                fail_msg("seed %llu: node %u found no place", (unsigned long long)seed,
                         made.stack.items[i]);
        arena_free(&arena);
    }
    /* Both must be common, or the test says nothing. */
    assert_true(colourable > test_count());
    assert_true(failures > test_count());
}

/* ---- the plain twin ---- */

/* The lowest place in any band beside all that is placed, and the node's own first blocks. */
static bool plain_lowest(const Case *made, const bool *placed, uint32_t n, uint32_t block,
                         const Rect *own, Rect *found) {
    const Nodes *nodes = &made->problem.nodes;
    const Node *node = &nodes->items[n];
    Bands bands = class_bands(node->class);
    for (uint32_t low = 0; low + node->height <= made->problem.size; low += node->align)
        for (int i = 0; i < bands.count; i++) {
            Rect rect = {low, low + node->height, bands.masks[i]};
            bool free = true;
            for (uint32_t m = 0; m < nodes->count; m++)
                for (uint32_t j = 0; placed[m] && j < nodes->items[m].blocks; j++)
                    free &= !meet(node, block, &nodes->items[m], j) ||
                            !collide(rect, made->placement.rects[m][j]);
            for (uint32_t j = 0; j < block; j++)
                free &= !meet(node, block, node, j) || !collide(rect, own[j]);
            if (!free) continue;
            *found = rect;
            return true;
        }
    return false;
}

/* One block: any place will do, but there is one just where the twin finds one. Several: laid
 * lowest first, so that they lie where the twin lays them. */
static void check_node(const Case *made, const bool *placed, uint32_t n, Arena *arena) {
    const Node *node = &made->problem.nodes.items[n];
    Rect *own = NEW_ARRAY(arena, Rect, node->blocks);
    bool fits = true;
    for (uint32_t b = 0; fits && b < node->blocks; b++)
        fits = plain_lowest(made, placed, n, b, own, &own[b]);
    const Rect *rects = made->placement.rects[n];
    if (fits != (rects != NULL))
        fail_msg("seed %llu: node %u: %s", (unsigned long long)made->seed, n,
                 fits ? "there is a place" : "there is no place");
    for (uint32_t b = 0; fits && node->blocks > 1 && b < node->blocks; b++) {
        assert_int_equal(rects[b].low, own[b].low);
        assert_int_equal(rects[b].mask, own[b].mask);
    }
}

static void places_are_found_where_there_are_any(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Case made = make_case(seed, &arena);
        bool *placed = NEW_ARRAY(&arena, bool, made.problem.nodes.count);
        for (uint32_t n = 0; n < made.problem.nodes.count; n++)
            placed[n] = made.problem.nodes.items[n].fixed;
        uint32_t failed = 0;
        double score = 0;
        for (uint32_t i = made.stack.count; i-- > 0;) {
            uint32_t n = made.stack.items[i];
            if (n == SENTINEL) continue;
            check_node(&made, placed, n, &arena);
            placed[n] = made.placement.rects[n] != NULL;
            if (placed[n]) continue;
            assert_int_equal(made.placement.failed[failed++], n);
            score += made.problem.nodes.items[n].cost;
        }
        assert_int_equal(failed, made.placement.nfailed);
        assert_true(score == made.placement.score);
        arena_free(&arena);
    }
}

/* ---- pools ---- */

/* The place of one node beside fixed rectangles that live as long. */
static Rect beside(const Rect *rects, uint32_t count, ShapeClass class, uint32_t height) {
    static const Interval always = {0, 1};
    Arena arena;
    arena_init(&arena);
    Nodes nodes = {NEW_ARRAY(&arena, Node, (size_t)count + 1), count + 1, NULL, 2};
    for (uint32_t n = 0; n <= count; n++)
        nodes.items[n] = (Node){.tensor = n, .blocks = 1, .align = 1, .range = {&always, 1}};
    for (uint32_t n = 0; n < count; n++) {
        nodes.items[n].fixed = true;
        nodes.items[n].height = rects[n].high - rects[n].low;
        nodes.items[n].rects = &rects[n];
        nodes.items[n].cost = INFINITY;
    }
    nodes.items[count].class = class;
    nodes.items[count].height = height;
    Graph graph = plain_graph(&nodes, &arena);
    Axis axis = axis_make(96);
    NodeStack stack = simplify(&nodes, &graph, &axis, 0, &arena);
    Placement placement = select_places(&nodes, &graph, &axis, &stack, &arena);
    assert_int_equal(placement.nfailed, 0);
    Rect found = placement.rects[count][0];
    arena_free(&arena);
    return found;
}

/* A quadrant goes where only a quadrant is free, then where a half is, then where all is; a half
 * where only that half is free. */
static void pools_waste_least(void **state) {
    (void)state;
    /* Bytes 0-19: all free. 20-39: the upper half. 40-59: quadrant 1. 60 on: nothing. */
    Rect rects[] = {{20, 60, 0x1}, {20, 40, 0x2}, {40, 60, 0xC}, {60, 96, 0xF}};
    Rect quadrant = beside(rects, 4, CLASS_ANY_QUADRANT, 8);
    assert_true(quadrant.mask == 0x2 && quadrant.low >= 40 && quadrant.high <= 60);
    Rect half = beside(rects, 4, CLASS_ANY_HALF, 8);
    assert_true(half.mask == 0xC && half.low >= 20 && half.high <= 40);
    Rect full = beside(rects, 4, CLASS_FULL, 8);
    assert_true(full.mask == 0xF && full.high <= 20);
    rects[2].mask = 0xE; /* quadrant 1 is taken as well */
    Rect second = beside(rects, 4, CLASS_ANY_QUADRANT, 8);
    assert_true((second.mask & 0xC) && second.low >= 20 && second.high <= 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_legal),
        cmocka_unit_test(colourable_nodes_are_placed),
        cmocka_unit_test(places_are_found_where_there_are_any),
        cmocka_unit_test(pools_waste_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
