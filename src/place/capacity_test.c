/* The geometric K against counting. */
#include "place/capacity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/chance.h"
#include "test/count.h"

/* As the seed prints it; inferred there, derived here. */
static const uint8_t SEED_TABLE[CLASS_COUNT][CLASS_COUNT] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 0, 0, 0, 1, 1, 0, 1}, {1, 0, 1, 0, 0, 1, 1, 0, 1},
    {1, 0, 0, 1, 0, 1, 0, 1, 1}, {1, 0, 0, 0, 1, 1, 0, 1, 1}, {2, 1, 1, 1, 1, 1, 1, 1, 1},
    {2, 1, 1, 0, 0, 1, 1, 0, 1}, {2, 0, 0, 1, 1, 1, 0, 1, 1}, {4, 1, 1, 1, 1, 2, 1, 1, 1}};

static void table_equals_the_seeds(void **state) {
    (void)state;
    Axis axis = axis_make(100);
    ImpactTable table = impact_table();
    for (int m = 0; m < CLASS_COUNT; m++)
        for (int n = 0; n < CLASS_COUNT; n++) {
            assert_int_equal(table.bands[m][n], SEED_TABLE[m][n]);
            assert_int_equal(axis.table.bands[m][n], SEED_TABLE[m][n]);
        }
}

static Node random_shape(Chance *chance) {
    return (Node){.blocks = (uint32_t)chance_between(chance, 1, 3),
                  .height = (uint32_t)chance_between(chance, 1, 9),
                  .align = 1U << chance_below(chance, 3),
                  .class = (ShapeClass)chance_below(chance, CLASS_COUNT)};
}

/* Places of n that meet a rectangle (none: all places). */
static int64_t count_places(const Node *n, uint32_t size, const Rect *rect) {
    Bands bands = class_bands(n->class);
    int64_t count = 0;
    for (int b = 0; b < bands.count; b++)
        for (uint32_t low = 0; low + n->height <= size; low += n->align)
            count += !rect || ((bands.masks[b] & rect->mask) && low < rect->high &&
                               rect->low < low + n->height);
    return count;
}

static void placements_are_counted(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Chance chance = {seed};
        Node node = random_shape(&chance);
        Axis axis = axis_make((uint32_t)chance_below(&chance, 40));
        assert_int_equal(placements(&axis, &node), count_places(&node, axis.size, NULL));
    }
}

/* The worst place of one rectangle of m: how many places of n it spoils. */
static int64_t worst_place(const Node *n, const Node *m, uint32_t size) {
    Bands bands = class_bands(m->class);
    int64_t most = 0;
    for (int b = 0; b < bands.count; b++)
        for (uint32_t low = 0; low + m->height <= size; low++) {
            Rect rect = {low, low + m->height, bands.masks[b]};
            int64_t spoiled = count_places(n, size, &rect);
            if (spoiled > most) most = spoiled;
        }
    return most;
}

/* Away from the ends of the axis, and with m at any granule, the formula is what is lost at worst,
 * not an estimate. */
static void impact_is_the_worst_place(void **state) {
    (void)state;
    enum { SIZE = 64 };
    Axis axis = axis_make(SIZE);
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Chance chance = {seed};
        Node n = random_shape(&chance), m = random_shape(&chance);
        m.align = 1;
        int64_t worst = worst_place(&n, &m, SIZE);
        assert_int_equal(impact(&axis, &n, &m), worst);
        assert_int_equal(impact_of_all(&axis, &n, &m), m.blocks * worst);
    }
}

/* Fixed rectangles count where they lie. */
static void fixed_ones_count_where_they_lie(void **state) {
    (void)state;
    enum { SIZE = 64 };
    Axis axis = axis_make(SIZE);
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Chance chance = {seed};
        Node n = random_shape(&chance), m = random_shape(&chance);
        Rect rects[3];
        Bands bands = class_bands(m.class);
        int64_t sum = 0;
        for (uint32_t b = 0; b < m.blocks; b++) {
            uint32_t low = (uint32_t)chance_between(&chance, 0, SIZE - m.height);
            rects[b] = (Rect){low, low + m.height, bands.masks[chance_below(&chance, bands.count)]};
            sum += count_places(&n, SIZE, &rects[b]);
        }
        m.fixed = true;
        m.rects = rects;
        assert_true(impact_of_all(&axis, &n, &m) >= sum);
        m.class = CLASS_FULL; /* a bound that ignores where they lie would be at least this much */
        m.fixed = false;
        assert_true(sum <= impact_of_all(&axis, &n, &m));
    }
}

/* A node's own blocks, laid lowest first, always find room while its own capacity is above 0. */
static void own_blocks_fit(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Chance chance = {seed};
        Node node = random_shape(&chance);
        Axis axis = axis_make((uint32_t)chance_below(&chance, 30));
        int64_t pitch = (node.height + node.align - 1) / node.align * node.align;
        int64_t high = axis.size < node.height ? 0 : (axis.size - node.height) / pitch + 1;
        int64_t fit = class_bands(node.class).count * high;
        if (own_capacity(&axis, &node) > 0) assert_true(fit >= node.blocks);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_equals_the_seeds),
        cmocka_unit_test(placements_are_counted),
        cmocka_unit_test(impact_is_the_worst_place),
        cmocka_unit_test(fixed_ones_count_where_they_lie),
        cmocka_unit_test(own_blocks_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
