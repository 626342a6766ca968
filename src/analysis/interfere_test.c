/* The graph against all pairs, the pressure against placements. */
#include "analysis/interfere.h"
#include "analysis/pressure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "place/first_fit.h"
#include "test/count.h"
#include "test/nodes.h"
#include "test/random.h"

/* Where every node has one interval each pair is stored once, else twice. Returns whether so. */
static bool check_stored(const Nodes *nodes, const Graph *graph) {
    uint64_t listed = 0;
    bool once = true;
    for (uint32_t n = 0; n < nodes->count; n++) {
        listed += graph->of[n].end - graph->of[n].from;
        once &= nodes->items[n].range.count == 1;
    }
    assert_int_equal(listed, once ? graph->edges : 2 * graph->edges);
    return once && listed > 0;
}

static bool compare_graphs(const Nodes *nodes, uint64_t seed, Arena *arena) {
    Graph found = build(nodes, arena), plain = plain_graph(nodes, arena);
    assert_int_equal(found.edges, plain.edges);
    assert_int_equal(found.max_degree, plain.max_degree);
    for (uint32_t n = 0; n < nodes->count; n++) {
        assert_int_equal(degree_of(&found, n), degree_of(&plain, n));
        bool *seen = NEW_ARRAY(arena, bool, nodes->count);
        uint32_t m, walked = 0;
        for (NeighbourWalk walk = neighbours_of(&found, n); next_neighbour(&walk, &m); walked++) {
            if (seen[m] || m == n || !live_overlap(nodes->items[n].range, nodes->items[m].range))
                fail_msg("seed %llu: nodes %u and %u", (unsigned long long)seed, n, m);
            seen[m] = true;
        }
        assert_int_equal(walked, degree_of(&found, n));
    }
    return check_stored(nodes, &found);
}

static void graph_joins_what_shares_a_point(void **state) {
    (void)state;
    uint64_t once = 0, twice = 0;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        ColourProblem problem = random_nodes(seed, &arena);
        twice += !compare_graphs(&problem.nodes, seed, &arena);
        const Func *func = random_module(&arena, seed, (RandomShape){0})->funcs;
        Live live = live_range(func, &arena);
        Nodes nodes = renumber(func, &live, NULL, &arena);
        once += compare_graphs(&nodes, seed, &arena);
        arena_free(&arena);
    }
    assert_true(once > test_count() / 20);
    assert_true(twice > test_count() / 20);
}

/* Nodes that each meet the next one `times` times. */
static Nodes chain(uint32_t count, uint32_t times, Arena *arena) {
    uint32_t turn = 2 * count + 2;
    Nodes nodes = {.items = NEW_ARRAY(arena, Node, count), .count = count, .npoints = turn * times};
    for (uint32_t n = 0; n < count; n++) {
        Interval *items = RAW_ARRAY(arena, Interval, times);
        for (uint32_t i = 0; i < times; i++)
            items[i] = (Interval){turn * i + n, turn * i + n + 1};
        nodes.items[n].range = (LiveRange){items, times};
    }
    return nodes;
}

/* Pairs stand once, however often they meet, where each is noted and where nodes are too many. */
static void pairs_that_meet_often(void **state) {
    (void)state;
    static const struct {
        uint32_t count, times;
    } cases[] = {{2, 1}, {2, 50000}, {100, 300}, {20000, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena;
        arena_init(&arena);
        Nodes nodes = chain(cases[i].count, cases[i].times, &arena);
        Graph graph = build(&nodes, &arena);
        assert_int_equal(graph.edges, cases[i].count - 1);
        for (uint32_t n = 0; n < nodes.count; n++)
            assert_int_equal(degree_of(&graph, n), (n > 0) + (n + 1 < nodes.count));
        arena_free(&arena);
    }
}

/* ---- pressure ---- */

static bool lives_at(LiveRange range, uint32_t point) {
    for (uint32_t i = 0; i < range.count; i++)
        if (range.items[i].first <= point && point <= range.items[i].last) return true;
    return false;
}

/* Granules in use in the fullest quadrant where the blocks alive at a point lie by some first fit:
 * an upper bound of what they need. */
static uint32_t fullest(const Nodes *nodes, uint32_t point, uint64_t seed, Arena *arena) {
    enum { ENDLESS = 1 << 20 };
    uint32_t count = 0, used[QUADRANTS] = {0}, most = 0, blocks = 0;
    for (uint32_t n = 0; n < nodes->count; n++)
        blocks += nodes->items[n].blocks;
    Rect *taken = NEW_ARRAY(arena, Rect, (size_t)blocks + 1);
    for (uint32_t i = 0; i < nodes->count; i++) {
        const Node *node = &nodes->items[(i + seed) % nodes->count];
        for (uint32_t b = 0; b < node->blocks; b++) {
            if (!lives_at(node_block_range(node, b), point)) continue;
            Rect rect;
            if (node->fixed) {
                rect = node->rects[b];
            } else {
                Shape shape = {.height = node->height, .align = 1, .class = node->class};
                assert_true(first_fit(taken, count, shape, ENDLESS, &rect));
            }
            insert_by_low(taken, count++, rect);
            for (int q = 0; q < QUADRANTS; q++)
                if (rect.mask & (1 << q)) used[q] += rect.high - rect.low;
        }
    }
    for (int q = 0; q < QUADRANTS; q++)
        if (used[q] > most) most = used[q];
    return most;
}

/* Fixed nodes may overlap in random problems, where their sum is still what they were counted as.
 */
static void pressure_is_a_lower_bound(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        ColourProblem problem = random_nodes(seed, &arena);
        Pressure pressure = find_pressure(&problem.nodes, &arena);
        uint32_t peak = 0;
        for (uint32_t p = 0; p < problem.nodes.npoints; p++) {
            if (pressure.need[p] > fullest(&problem.nodes, p, seed, &arena))
                fail_msg("seed %llu: point %u needs less", (unsigned long long)seed, p);
            if (pressure.need[p] > peak) peak = pressure.need[p];
        }
        assert_int_equal(pressure.peak, peak);
        assert_int_equal(pressure.need[pressure.peak_point], peak);
        arena_free(&arena);
    }
}

/* Where every node takes all quadrants it is the plain sum. */
static void pressure_of_full_bands_is_the_sum(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        ColourProblem problem = random_nodes(seed, &arena);
        for (uint32_t n = 0; n < problem.nodes.count; n++) {
            problem.nodes.items[n].class = CLASS_FULL;
            problem.nodes.items[n].fixed = false;
        }
        Pressure pressure = find_pressure(&problem.nodes, &arena);
        for (uint32_t p = 0; p < problem.nodes.npoints; p++) {
            uint32_t sum = 0;
            for (uint32_t n = 0; n < problem.nodes.count; n++) {
                const Node *node = &problem.nodes.items[n];
                for (uint32_t b = 0; b < node->blocks; b++)
                    if (lives_at(node_block_range(node, b), p)) sum += node->height;
            }
            assert_int_equal(pressure.need[p], sum);
        }
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graph_joins_what_shares_a_point),
        cmocka_unit_test(pairs_that_meet_often),
        cmocka_unit_test(pressure_is_a_lower_bound),
        cmocka_unit_test(pressure_of_full_bands_is_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
