/* Conditions of iterations: that they cover what they must, nothing twice, and are as few as can
 * be. */
#include "spill/conditions/conditions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "test/chance.h"
#include "test/count.h"

enum { MOST_CELLS = 64, TEST_FEATURES = 4 };

/* A grid of iterations: its indexes, then features derived from them. */
typedef struct {
    Arena arena;
    Samples samples;
    int64_t values[MOST_CELLS * TEST_FEATURES];
    uint8_t labels[MOST_CELLS];
    int64_t weights[MOST_CELLS];
} Grid;

static void grid_begin(Grid *grid, uint32_t nfeatures) {
    memset(grid, 0, sizeof *grid);
    arena_init(&grid->arena);
    grid->samples = (Samples){nfeatures, 0, grid->values, grid->labels, grid->weights};
}

/* Appends a sample of weight 1; values past the grid's features are ignored. */
static void grid_add(Grid *grid, SampleLabel label, int64_t x, int64_t y, int64_t z) {
    int64_t values[] = {x, y, z};
    uint32_t n = grid->samples.nfeatures, at = grid->samples.count++;
    assert_true(at < MOST_CELLS);
    for (uint32_t f = 0; f < n; f++)
        grid->values[at * n + f] = values[f];
    grid->labels[at] = (uint8_t)label;
    grid->weights[at] = 1;
}

/* ---- what every result must be ---- */

static bool literal_holds(Literal literal, int64_t value) {
    switch (literal.comparison) {
    case CMP_EQ:
        return value == literal.bound;
    case CMP_NE:
        return value != literal.bound;
    case CMP_LT:
        return value < literal.bound;
    case CMP_GE:
        return value >= literal.bound;
    default:
        fail_msg("a comparison that is never written");
        return false;
    }
}

/* Whether it holds without its literal `without` (UINT32_MAX: with all). */
static bool conjunction_covers(const Conjunction *conjunction, const int64_t *values,
                               uint32_t without) {
    for (uint32_t i = 0; i < conjunction->count; i++) {
        Literal literal = conjunction->literals[i];
        if (i != without && !literal_holds(literal, values[literal.feature])) return false;
    }
    return true;
}

static uint32_t times_covered(const Samples *samples, const Conditions *conditions, uint32_t at) {
    uint32_t times = 0;
    for (uint32_t c = 0; c < conditions->count; c++)
        times += conjunction_covers(&conditions->items[c],
                                    samples->values + (size_t)at * samples->nfeatures, UINT32_MAX);
    return times;
}

/* Each wanted sample once, no other twice, unwanted ones as is said. */
static void check_cover(const Samples *samples, const Conditions *conditions) {
    int64_t extra = 0;
    bool unwanted = false;
    for (uint32_t i = 0; i < samples->count; i++) {
        uint32_t times = times_covered(samples, conditions, i);
        assert_true(times <= 1);
        if (samples->labels[i] == SAMPLE_WANTED) assert_int_equal(times, 1);
        if (samples->labels[i] != SAMPLE_UNWANTED || times == 0) continue;
        unwanted = true;
        extra += samples->weights ? samples->weights[i] : 1;
    }
    assert_int_equal(conditions->extra, extra);
    assert_int_equal(conditions->exact, !unwanted);
}

/* Without any one literal something is covered that must not be: one that is unwanted and was not
 * covered, or one that another conjunction covers. */
static bool literal_is_needed(const Samples *samples, const Conditions *conditions, uint32_t item,
                              uint32_t literal) {
    for (uint32_t i = 0; i < samples->count; i++) {
        const int64_t *values = samples->values + (size_t)i * samples->nfeatures;
        const Conjunction *conjunction = &conditions->items[item];
        if (conjunction_covers(conjunction, values, UINT32_MAX)) continue;
        if (!conjunction_covers(conjunction, values, literal)) continue;
        if (samples->labels[i] == SAMPLE_UNWANTED || times_covered(samples, conditions, i) > 0)
            return true;
    }
    return false;
}

static Conditions find(Grid *grid, uint32_t most, bool may_exceed) {
    Arena scratch;
    arena_init(&scratch);
    Conditions found = find_conditions(&grid->samples, most, may_exceed, &grid->arena, &scratch);
    arena_free(&scratch);
    assert_true(found.count <= most);
    if (found.count == 0 && !found.exact) {
        assert_false(may_exceed);
        return found;
    }
    check_cover(&grid->samples, &found);
    for (uint32_t c = 0; c < found.count; c++)
        for (uint32_t l = 0; l < found.items[c].count; l++)
            assert_true(literal_is_needed(&grid->samples, &found, c, l));
    return found;
}

/* ---- simple shapes ---- */

static void assert_literal(Literal literal, uint32_t feature, Comparison comparison,
                           int64_t bound) {
    assert_int_equal(literal.feature, feature);
    assert_int_equal(literal.comparison, comparison);
    assert_int_equal(literal.bound, bound);
}

/* Numbers 0 to 9, wanted where the bit is set. */
static Conditions find_line(Grid *grid, uint32_t bits) {
    grid_begin(grid, 1);
    for (int64_t x = 0; x < 10; x++)
        grid_add(grid, bits >> x & 1 ? SAMPLE_WANTED : SAMPLE_UNWANTED, x, 0, 0);
    return find(grid, 3, false);
}

static void assert_line(uint32_t bits, Comparison comparison, int64_t bound) {
    Grid grid;
    Conditions found = find_line(&grid, bits);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.items[0].count, 1);
    assert_literal(found.items[0].literals[0], 0, comparison, bound);
    arena_free(&grid.arena);
}

static void one_literal_where_one_is_enough(void **state) {
    (void)state;
    assert_line(0x3E0, CMP_GE, 5);
    assert_line(0x01F, CMP_LT, 5);
    assert_line(0x010, CMP_EQ, 4);
    assert_line(0x001, CMP_EQ, 0);
    assert_line(0x200, CMP_EQ, 9);
    assert_line(0x3DF, CMP_NE, 5);
    assert_line(0x3FE, CMP_GE, 1);
    assert_line(0x1FF, CMP_LT, 9);
}

static void two_thresholds_and_holes(void **state) {
    (void)state;
    Grid grid;
    Conditions found = find_line(&grid, 0x078);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.items[0].count, 2);
    assert_literal(found.items[0].literals[0], 0, CMP_GE, 3);
    assert_literal(found.items[0].literals[1], 0, CMP_LT, 7);
    arena_free(&grid.arena);
    found = find_line(&grid, 0x3B7); /* without 3 and 6 */
    assert_int_equal(found.count, 1);
    assert_literal(found.items[0].literals[0], 0, CMP_NE, 3);
    assert_literal(found.items[0].literals[1], 0, CMP_NE, 6);
    arena_free(&grid.arena);
}

static void all_or_none(void **state) {
    (void)state;
    Grid grid;
    Conditions found = find_line(&grid, 0x3FF);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.items[0].count, 0);
    arena_free(&grid.arena);
    found = find_line(&grid, 0);
    assert_int_equal(found.count, 0);
    assert_true(found.exact);
    arena_free(&grid.arena);
}

/* Outside of loops there is no feature. */
static void no_feature(void **state) {
    (void)state;
    Grid grid;
    grid_begin(&grid, 0);
    grid_add(&grid, SAMPLE_WANTED, 0, 0, 0);
    assert_int_equal(find(&grid, 1, false).count, 1);
    grid_add(&grid, SAMPLE_UNWANTED, 0, 0, 0);
    assert_false(find(&grid, 3, false).exact);
    assert_int_equal(find(&grid, 3, true).extra, 1);
    arena_free(&grid.arena);
}

static void earlier_features_are_preferred(void **state) {
    (void)state;
    Grid grid;
    grid_begin(&grid, 3);
    for (int64_t x = 0; x < 10; x++)
        grid_add(&grid, x >= 5 ? SAMPLE_WANTED : SAMPLE_UNWANTED, 7, x, 2 * x);
    Conditions found = find(&grid, 3, false);
    assert_int_equal(found.items[0].count, 1);
    assert_literal(found.items[0].literals[0], 1, CMP_GE, 5);
    arena_free(&grid.arena);
}

static void ends_of_int64(void **state) {
    (void)state;
    Grid grid;
    grid_begin(&grid, 1);
    grid_add(&grid, SAMPLE_UNWANTED, INT64_MIN, 0, 0);
    grid_add(&grid, SAMPLE_WANTED, INT64_MIN + 1, 0, 0);
    grid_add(&grid, SAMPLE_WANTED, 5, 0, 0);
    grid_add(&grid, SAMPLE_UNWANTED, INT64_MAX - 1, 0, 0);
    Conditions found = find(&grid, 1, false);
    assert_literal(found.items[0].literals[0], 0, CMP_GE, INT64_MIN + 1);
    assert_literal(found.items[0].literals[1], 0, CMP_LT, 6);
    arena_free(&grid.arena);
}

/* ---- shapes of two indexes ---- */

/* 7 by 7, `.` unwanted, `#` wanted, `?` no matter; with x + y as a third feature if asked. */
static Conditions find_picture(Grid *grid, const char *picture, bool sum, uint32_t most) {
    grid_begin(grid, sum ? 3 : 2);
    for (int64_t y = 0; y < 7; y++)
        for (int64_t x = 0; x < 7; x++) {
            char c = picture[7 * y + x];
            grid_add(grid,
                     c == '#'   ? SAMPLE_WANTED
                     : c == '?' ? SAMPLE_EITHER
                                : SAMPLE_UNWANTED,
                     x, y, x + y);
        }
    return find(grid, most, false);
}

static uint32_t literals_of(const Conditions *conditions) {
    uint32_t literals = 0;
    for (uint32_t c = 0; c < conditions->count; c++)
        literals += conditions->items[c].count;
    return literals;
}

static void assert_picture(const char *picture, bool sum, uint32_t conjunctions,
                           uint32_t literals) {
    Grid grid;
    Conditions found = find_picture(&grid, picture, sum, 4);
    assert_true(found.exact);
    assert_int_equal(found.count, conjunctions);
    assert_int_equal(literals_of(&found), literals);
    arena_free(&grid.arena);
}

static void pictures(void **state) {
    (void)state;
    const char *corner = "......."
                         "......."
                         "..#####"
                         "..#####"
                         "..#####"
                         "..#####"
                         "..#####";
    const char *ell = "##....."
                      "##....."
                      "##....."
                      "##....."
                      "#######"
                      "#######"
                      "#######";
    const char *without_point = "#######"
                                "#######"
                                "#######"
                                "####.##"
                                "#######"
                                "#######"
                                "#######";
    const char *ring = "#######"
                       "#######"
                       "##...##"
                       "##...##"
                       "##...##"
                       "##...##"
                       "#######";
    const char *cross = "...#..."
                        "...#..."
                        "...#..."
                        "#######"
                        "...#..."
                        "...#..."
                        "...#...";
    const char *diagonal = "....###"
                           "...####"
                           "..#####"
                           ".######"
                           "#######"
                           "#######"
                           "#######";
    const char *band = "...##.."
                       "..##..."
                       ".##...."
                       "##....."
                       "#......"
                       "......."
                       ".......";
    assert_picture(corner, false, 1, 2);
    assert_picture(ell, false, 2, 3);
    assert_picture(without_point, false, 2, 3);
    assert_picture(ring, false, 2, 9); /* x none of 2, 3, 4; or one of them, and y none of 2 to 5 */
    assert_picture(cross, false, 2, 3);
    assert_picture(diagonal, true, 1, 1);
    assert_picture(band, true, 1, 2);
}

static void what_does_not_matter_is_used(void **state) {
    (void)state;
    assert_picture("##?????"
                   "##?????"
                   "##????."
                   "??###.."
                   "??###.."
                   "?????.."
                   "?????..",
                   false, 1, 1);
}

/* Where nothing exact is small enough there is no result. */
static void too_much_for_few(void **state) {
    (void)state;
    Grid grid;
    Conditions found = find_picture(&grid,
                                    "#......"
                                    ".#....."
                                    "..#...."
                                    "...#..."
                                    "....#.."
                                    "......."
                                    ".......",
                                    false, 4);
    assert_false(found.exact);
    assert_int_equal(found.count, 0);
    arena_free(&grid.arena);
}

/* ---- unwanted ones may be covered ---- */

static void the_least_extra_of_one(void **state) {
    (void)state;
    Grid grid;
    grid_begin(&grid, 1);
    for (int64_t x = 0; x < 10; x++) {
        grid_add(&grid, x >= 3 && x != 5 && x < 9 ? SAMPLE_WANTED : SAMPLE_UNWANTED, x, 0, 0);
        grid.weights[x] = x == 5 ? 100 : 7;
    }
    grid_add(&grid, SAMPLE_UNWANTED, 6, 0, 0); /* as one that is wanted */
    grid.weights[10] = 9;
    Conditions found = find(&grid, 1, true);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.extra, 9);
    assert_int_equal(found.items[0].count, 3);
    arena_free(&grid.arena);
}

/* Three runs of numbers, two conjunctions: the gap that costs less is covered. */
static void the_least_extra_of_two(void **state) {
    (void)state;
    for (uint32_t cheap = 0; cheap < 2; cheap++) {
        Grid grid;
        grid_begin(&grid, 1);
        for (int64_t x = 0; x < 60; x++) {
            bool first = x >= 5 && x < 25, second = x >= 35 && x < 55;
            grid_add(&grid, first || second ? SAMPLE_UNWANTED : SAMPLE_WANTED, x, 0, 0);
            grid.weights[x] = first == (cheap == 0) ? 2 : 3;
        }
        Conditions found = find(&grid, 2, true);
        assert_int_equal(found.count, 2);
        assert_int_equal(found.extra, 40);
        assert_true(find(&grid, 3, true).exact);
        arena_free(&grid.arena);
    }
}

/* What costs nothing needs no literal. */
static void weight_0_is_no_reason(void **state) {
    (void)state;
    Grid grid;
    grid_begin(&grid, 1);
    for (int64_t x = 0; x < 10; x++) {
        grid_add(&grid, x >= 3 && x < 7 ? SAMPLE_WANTED : SAMPLE_UNWANTED, x, 0, 0);
        grid.weights[x] = x < 3;
    }
    Arena scratch;
    arena_init(&scratch);
    Conditions found = find_conditions(&grid.samples, 1, true, &grid.arena, &scratch);
    assert_int_equal(found.items[0].count, 1);
    assert_literal(found.items[0].literals[0], 0, CMP_GE, 3);
    assert_false(found.exact);
    assert_int_equal(found.extra, 0);
    arena_free(&scratch);
    arena_free(&grid.arena);
}

/* ---- by brute force ---- */

/* Sets of cells of a grid that a conjunction can pick: products of any values of each index, for
 * `!=` makes any set of few values. */
typedef struct {
    uint64_t sets[1 << 12];
    uint32_t count;
} Products;

/* Shape: 6 by 6, or 4 by 4 by 4. */
static uint32_t side_of_shape(uint32_t dimensions) {
    return dimensions == 2 ? 6 : 4;
}

static void add_product(Products *products, const Grid *grid, const uint32_t *masks,
                        uint64_t wanted) {
    uint64_t set = 0;
    uint32_t n = grid->samples.nfeatures;
    for (uint32_t i = 0; i < grid->samples.count; i++) {
        bool inside = true;
        for (uint32_t f = 0; f < n; f++)
            inside &= masks[f] >> grid->values[i * n + f] & 1;
        if (inside) set |= UINT64_C(1) << i;
    }
    if (!(set & ~wanted)) products->sets[products->count++] = set;
}

static void list_products(Products *products, const Grid *grid, uint64_t wanted) {
    uint32_t n = grid->samples.nfeatures, all = 1U << side_of_shape(n);
    products->count = 0;
    for (uint32_t x = 1; x < all; x++)
        for (uint32_t y = 1; y < all; y++)
            for (uint32_t z = 1; z < (n == 3 ? all : 2); z++)
                add_product(products, grid, (uint32_t[]){x, y, z}, wanted);
}

/* Whether so many disjoint products are all of `open`. As deep as there are products. */
static bool can_partition(const Products *products, uint64_t open, uint32_t most) {
    if (!open) return true;
    if (!most) return false;
    uint64_t first = open & -open;
    for (uint32_t i = 0; i < products->count; i++) {
        uint64_t set = products->sets[i];
        if ((set & first) && !(set & ~open) && can_partition(products, open & ~set, most - 1))
            return true;
    }
    return false;
}

static uint64_t random_boxes(Grid *grid, Chance *chance, uint32_t dimensions) {
    uint64_t wanted = 0;
    int64_t side = side_of_shape(dimensions), boxes = chance_between(chance, 1, 3);
    grid_begin(grid, dimensions);
    for (int64_t at = 0; at < (dimensions == 2 ? 36 : 64); at++)
        grid_add(grid, SAMPLE_UNWANTED, at % side, at / side % side, at / side / side);
    for (int64_t b = 0; b < boxes; b++) {
        int64_t low[3], high[3];
        for (uint32_t f = 0; f < dimensions; f++) {
            bool all = chance_percent(chance, 33);
            low[f] = all ? 0 : chance_between(chance, 0, side - 1);
            high[f] = all ? side - 1 : chance_between(chance, low[f], side - 1);
        }
        for (uint32_t i = 0; i < grid->samples.count; i++) {
            bool inside = true;
            for (uint32_t f = 0; f < dimensions; f++) {
                int64_t value = grid->values[i * dimensions + f];
                inside &= value >= low[f] && value <= high[f];
            }
            if (inside) wanted |= UINT64_C(1) << i;
        }
    }
    for (uint32_t i = 0; i < grid->samples.count; i++)
        grid->labels[i] = wanted >> i & 1 ? SAMPLE_WANTED : SAMPLE_UNWANTED;
    return wanted;
}

/* Random unions of one to three boxes: conjunctions above the least number, over all. */
static uint32_t count_above_least(uint32_t dimensions, uint64_t cases) {
    Chance chance = {dimensions};
    uint32_t above = 0;
    Products *products = test_malloc(sizeof *products);
    for (uint64_t i = 0; i < cases; i++) {
        Grid grid;
        uint64_t wanted = random_boxes(&grid, &chance, dimensions);
        Conditions found = find(&grid, MOST_CONJUNCTIONS, false);
        assert_true(found.exact);
        list_products(products, &grid, wanted);
        uint32_t least = 1;
        while (least < found.count && !can_partition(products, wanted, least))
            least++;
        above += found.count - least;
        assert_true(found.count - least <= 1);
        arena_free(&grid.arena);
    }
    test_free(products);
    return above;
}

/* Of 1000 cases none in two dimensions, some five in three: partitions that no tree makes. */
static void as_few_as_brute_force(void **state) {
    (void)state;
    uint64_t cases = 2 * test_count();
    assert_int_equal(count_above_least(2, cases), 0);
    assert_true(count_above_least(3, cases) <= cases / 50 + 1);
}

/* ---- by chance ---- */

/* find() checks what it returns. */
static void whatever_the_labels(void **state) {
    (void)state;
    Chance chance = {7};
    for (uint64_t i = 0; i < 4 * test_count(); i++) {
        Grid grid;
        uint32_t dimensions = 2 + chance_percent(&chance, 50);
        random_boxes(&grid, &chance, dimensions);
        for (uint32_t s = 0; s < grid.samples.count; s++) {
            if (chance_percent(&chance, 20)) grid.labels[s] = (uint8_t)chance_below(&chance, 3);
            grid.weights[s] = chance_between(&chance, 1, 5);
        }
        uint32_t most = 1 + (uint32_t)chance_below(&chance, 4);
        Conditions exact = find(&grid, most, false), relaxed = find(&grid, most, true);
        assert_int_equal(exact.exact, relaxed.exact);
        arena_free(&grid.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_literal_where_one_is_enough),
        cmocka_unit_test(two_thresholds_and_holes),
        cmocka_unit_test(all_or_none),
        cmocka_unit_test(no_feature),
        cmocka_unit_test(earlier_features_are_preferred),
        cmocka_unit_test(ends_of_int64),
        cmocka_unit_test(pictures),
        cmocka_unit_test(what_does_not_matter_is_used),
        cmocka_unit_test(too_much_for_few),
        cmocka_unit_test(the_least_extra_of_one),
        cmocka_unit_test(the_least_extra_of_two),
        cmocka_unit_test(weight_0_is_no_reason),
        cmocka_unit_test(as_few_as_brute_force),
        cmocka_unit_test(whatever_the_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
