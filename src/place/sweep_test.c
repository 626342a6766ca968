/* The sweep: legal places, few repairs, and no lists of pairs. */
#include "place/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analysis/pressure.h"
#include "spill/state.h"
#include "test/count.h"
#include "test/make.h"
#include "test/nodes.h"
#include "test/straight.h"

static void places_are_legal(void **state) {
    (void)state;
    uint32_t placed = 0, beside_fixed = 0;
    for (uint64_t seed = 0; seed < 20 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        ColourProblem problem = random_nodes(seed, &arena);
        Placement placement;
        if (sweep(&problem.nodes, problem.size, &placement, &arena)) {
            bool fixed = false;
            for (uint32_t n = 0; n < problem.nodes.count; n++) {
                const Node *node = &problem.nodes.items[n];
                fixed |= node->fixed;
                for (uint32_t b = 0; !node->fixed && b < node->blocks; b++) {
                    Rect rect = placement.rects[n][b];
                    assert_true(rect.high - rect.low == node->height);
                    assert_true(rect.high <= problem.size && rect.low % node->align == 0);
                }
            }
            assert_true(placement_is_legal(&problem.nodes, &problem.graph, &placement));
            placed++;
            beside_fixed += fixed;
        }
        arena_free(&arena);
    }
    assert_true(placed > 2 * test_count() && beside_fixed > 0);
}

static Nodes nodes_of(const Module *module, Arena *arena) {
    Live live = live_range(module->funcs, arena);
    return renumber(module->funcs, &live, NULL, arena);
}

/* Straight code with an eighth more room than its peak nearly always fits: what finds no place as
 * it begins gets one by repair. */
static void an_eighth_of_room_is_enough(void **state) {
    (void)state;
    enum { PROGRAMS = 8, LEAST = 6 };
    uint32_t placed = 0;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        Arena arena;
        arena_init(&arena);
        Module *module = straight_code(&arena, 5000, 100, 100, seed);
        Nodes nodes = nodes_of(module, &arena);
        Graph graph = build(&nodes, &arena);
        Placement placement;
        if (sweep(&nodes, target_granules(&module->target), &placement, &arena)) {
            assert_true(placement_is_legal(&nodes, &graph, &placement));
            placed++;
        }
        arena_free(&arena);
    }
    assert_true(placed >= LEAST);
}

/* So many values made and then read in their order, each of eight bytes. */
static Module *all_at_once(uint32_t count, Arena *arena) {
    Builder builder = make_begin(arena, "f");
    build_reserve(&builder, count, 2 * count);
    for (uint32_t i = 0; i < count; i++)
        build_tensor(&builder, make_tensor(arena, "t", i, SPACE_SB, 128, 8));
    for (uint32_t i = 0; i < count; i++)
        make_simple(&builder, "make", i, UINT32_MAX);
    for (uint32_t i = 0; i < count; i++)
        make_simple(&builder, "use", UINT32_MAX, i);
    return make_module(&builder, 8 * (int64_t)count);
}

/* 100,000 values that fill the axis are five billion pairs; memory grows with their number. */
static void memory_is_linear_in_what_is_live(void **unused) {
    (void)unused;
    enum { COUNT = 100000, MOST_OF_EACH = 200 /* bytes */ };
    Arena arena;
    arena_init(&arena);
    Module *module = all_at_once(COUNT, &arena);
    Live live = live_range(module->funcs, &arena);
    Facts facts = facts_make(module->funcs, &live, &module->target, &arena, &arena);
    State *state = state_make(&facts, (Method){.name = "test", .place = PLACE_EVICT, .scale = 1});
    rewrite_state(state);
    analyse_state(state);
    assert_true(place_state(state));
    assert_false(state->now.graph.built);
    assert_true(state->round_memory.bytes < (size_t)COUNT * MOST_OF_EACH);
    assert_true(placement_is_legal(&state->now.nodes, &state->now.graph, &state->now.placement));
    state_free(state);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_legal),
        cmocka_unit_test(an_eighth_of_room_is_enough),
        cmocka_unit_test(memory_is_linear_in_what_is_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
