/* First fit against a search of every place. */
#include "place/first_fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/chance.h"
#include "test/count.h"

enum { MOST_TAKEN = 8 };

typedef struct {
    Rect taken[MOST_TAKEN + 1];
    uint32_t count, size;
    Shape shape;
} Case;

static Case make_case(uint64_t seed) {
    static const uint8_t MASKS[] = {0x1, 0x2, 0x4, 0x8, 0x3, 0xC, 0xF};
    Chance chance = {seed};
    Case made = {.count = (uint32_t)chance_below(&chance, MOST_TAKEN + 1),
                 .size = (uint32_t)chance_between(&chance, 4, 30),
                 .shape = {.height = (uint32_t)chance_between(&chance, 1, 8),
                           .align = (uint32_t)chance_between(&chance, 1, 4),
                           .class = (ShapeClass)chance_below(&chance, CLASS_COUNT)}};
    for (uint32_t i = 0; i < made.count; i++) {
        uint32_t low = (uint32_t)chance_below(&chance, 24);
        Rect rect = {low, low + (uint32_t)chance_between(&chance, 1, 10),
                     MASKS[chance_below(&chance, sizeof MASKS)]};
        insert_by_low(made.taken, i, rect);
    }
    return made;
}

/* The first place, by offset and then by band, that overlaps nothing. */
static bool plain_search(const Case *made, Rect *rect) {
    Bands bands = class_bands(made->shape.class);
    for (uint32_t low = 0; low + made->shape.height <= made->size; low += made->shape.align)
        for (int b = 0; b < bands.count; b++) {
            *rect = (Rect){low, low + made->shape.height, bands.masks[b]};
            bool free = true;
            for (uint32_t i = 0; i < made->count; i++)
                free &= !(made->taken[i].mask & rect->mask) || made->taken[i].low >= rect->high ||
                        made->taken[i].high <= rect->low;
            if (free) return true;
        }
    return false;
}

static void same_as_plain_search(void **state) {
    (void)state;
    uint32_t found = 0, none = 0;
    for (uint64_t seed = 0; seed < 20 * test_count(); seed++) {
        Case made = make_case(seed);
        Rect rect, plain = {0};
        bool fits = first_fit(made.taken, made.count, made.shape, made.size, &rect);
        assert_int_equal(fits, plain_search(&made, &plain));
        if (fits)
            assert_true(rect.low == plain.low && rect.high == plain.high &&
                        rect.mask == plain.mask);
        found += fits;
        none += !fits;
    }
    assert_true(found > test_count() && none > test_count());
}

/* All at once are placed as one after the other. */
static void many_as_one_by_one(void **state) {
    (void)state;
    enum { MOST_BLOCKS_HERE = 6 };
    uint32_t complete = 0;
    for (uint64_t seed = 0; seed < 20 * test_count(); seed++) {
        Case made = make_case(seed);
        Rect taken[MOST_TAKEN + MOST_BLOCKS_HERE], rects[MOST_BLOCKS_HERE];
        RectList before = {made.taken, made.count}, all = {rects, MOST_BLOCKS_HERE};
        uint32_t count = made.count, placed = 0;
        for (uint32_t i = 0; i < count; i++)
            taken[i] = made.taken[i];
        bool good = first_fit_all(&before, made.shape, made.size, &all);
        Rect rect;
        for (; placed < all.count && first_fit(taken, count, made.shape, made.size, &rect);
             placed++) {
            insert_by_low(taken, count++, rect);
            assert_true(rects_same(rect, rects[placed]) && rect.high == rects[placed].high);
        }
        assert_int_equal(good, placed == all.count);
        complete += good;
    }
    assert_true(complete > test_count());
}

/* Both ways to sort; equal ones keep their order. */
static void lists_are_sorted(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Chance chance = {seed};
        Rect sorted[MOST_TAKEN], inserted[MOST_TAKEN];
        for (uint32_t i = 0; i < MOST_TAKEN; i++) {
            sorted[i] = (Rect){(uint32_t)chance_below(&chance, 5), 9, (uint8_t)i};
            insert_by_low(inserted, i, sorted[i]);
        }
        sort_by_low(sorted, MOST_TAKEN, &arena);
        for (uint32_t i = 0; i < MOST_TAKEN; i++) {
            assert_true(sorted[i].low == inserted[i].low && sorted[i].mask == inserted[i].mask);
            if (i == 0) continue;
            assert_true(sorted[i - 1].low < sorted[i].low || (sorted[i - 1].low == sorted[i].low &&
                                                              sorted[i - 1].mask < sorted[i].mask));
        }
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_plain_search),
                                       cmocka_unit_test(many_as_one_by_one),
                                       cmocka_unit_test(lists_are_sorted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
