/* The sweep against all pairs. */
#include "place/overlap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/chance.h"
#include "test/count.h"

enum { MOST_PLACED = 24 };

typedef struct {
    bool asked[MOST_PLACED][MOST_PLACED];
    uint32_t questions;
    bool answer;
} Asked;

static bool note(void *context, const PlacedInterval *earlier, const PlacedInterval *later) {
    Asked *asked = context;
    asked->asked[earlier->owner][later->owner] = true;
    asked->questions++;
    return asked->answer;
}

static uint32_t make_placed(uint64_t seed, PlacedInterval *placed) {
    static const uint8_t MASKS[] = {0x1, 0x2, 0x4, 0x8, 0x3, 0xC, 0xF};
    Chance chance = {seed};
    uint32_t count = (uint32_t)chance_between(&chance, 1, MOST_PLACED);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t low = (uint32_t)chance_between(&chance, 0, 30);
        uint32_t first = (uint32_t)chance_between(&chance, 0, 40);
        placed[i] = (PlacedInterval){{first, first + (uint32_t)chance_between(&chance, 0, 6)},
                                     {low, low + (uint32_t)chance_between(&chance, 1, 5),
                                      MASKS[chance_between(&chance, 0, 6)]},
                                     i};
    }
    return count;
}

static bool overlap(const PlacedInterval *a, const PlacedInterval *b) {
    return a->interval.first <= b->interval.last && b->interval.first <= a->interval.last &&
           a->rect.low < b->rect.high && b->rect.low < a->rect.high &&
           (a->rect.mask & b->rect.mask);
}

/* The judge is asked if and only if some pair overlaps, and only about pairs that do. */
static void same_as_all_pairs(void **state) {
    (void)state;
    uint32_t clashes = 0, clear = 0;
    for (uint64_t seed = 0; seed < 10 * test_count(); seed++) {
        PlacedInterval placed[MOST_PLACED];
        uint32_t count = make_placed(seed, placed);
        Asked asked = {.answer = false};
        bool allowed = check_overlaps(placed, count, note, &asked);
        bool any = false;
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t j = 0; j < count; j++) {
                any |= i != j && overlap(&placed[i], &placed[j]);
                if (asked.asked[i][j]) assert_true(overlap(&placed[i], &placed[j]));
                if (asked.asked[i][j])
                    assert_true(placed[i].interval.first <= placed[j].interval.first);
            }
        assert_int_equal(allowed, !any);
        clashes += any;
        clear += !any;
    }
    assert_true(clashes > test_count() && clear > test_count() / 10);
}

/* Where overlaps are allowed the judge is asked about each that is there at the first point. */
static void all_holders_are_asked_about(void **state) {
    (void)state;
    PlacedInterval placed[] = {{{0, 5}, {0, 2, 0x1}, 0},
                               {{1, 5}, {2, 4, 0x1}, 1},
                               {{2, 4}, {4, 6, 0x2}, 2},
                               {{4, 9}, {1, 5, 0x3}, 3}};
    Asked asked = {.answer = true};
    assert_true(check_overlaps(placed, 4, note, &asked));
    assert_int_equal(asked.questions, 3);
    assert_true(asked.asked[0][3] && asked.asked[1][3] && asked.asked[2][3]);
}

/* Of two that share a place, the one that ends later holds it. */
static void the_later_end_holds(void **state) {
    (void)state;
    PlacedInterval placed[] = {
        {{0, 9}, {0, 4, 0xF}, 0}, {{0, 0}, {0, 4, 0xF}, 1}, {{5, 6}, {3, 5, 0x8}, 2}};
    Asked asked = {.answer = true};
    assert_true(check_overlaps(placed, 3, note, &asked));
    assert_true(asked.asked[0][1] && asked.asked[0][2] && !asked.asked[1][2]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_all_pairs),
        cmocka_unit_test(all_holders_are_asked_about),
        cmocka_unit_test(the_later_end_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
