/* Weights by sums against weights by a walk over all neighbours. */
#include "place/weigh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/count.h"
#include "test/nodes.h"

/* Nodes of one interval, free and unaligned, so that sums will do. */
static void make_linear(Nodes *nodes) {
    for (uint32_t n = 0; n < nodes->count; n++) {
        Node *node = &nodes->items[n];
        node->align = 1;
        node->fixed = false;
        node->range.count = 1;
    }
}

static void compare(const ColourProblem *problem, Arena *arena) {
    const Nodes *nodes = &problem->nodes;
    Axis axis = axis_make(problem->size);
    Graph built = build(nodes, arena), plain = plain_graph(nodes, arena);
    assert_non_null(built.by_start);
    assert_null(plain.by_start);
    Weights sums = weigh(nodes, &built, &axis, arena);
    Weights walked = weigh(nodes, &plain, &axis, arena);
    for (uint32_t n = 0; n < nodes->count; n++) {
        assert_int_equal(sums.caps[n], walked.caps[n]);
        assert_int_equal(sums.reliefs[n], walked.reliefs[n]);
        assert_int_equal(sums.degrees[n], walked.degrees[n]);
    }
}

static void sums_equal_walks(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        ColourProblem problem = random_nodes(seed, &arena);
        make_linear(&problem.nodes);
        compare(&problem, &arena);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_equal_walks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
