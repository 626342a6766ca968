/* The sweep against all pairs. */
#include "place/overlap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/chance.h"
#include "test/count.h"

enum { MOST_STAYS = 24 };

typedef struct {
    bool asked[MOST_STAYS][MOST_STAYS];
    uint32_t questions;
    bool answer;
} Asked;

static bool note(void *context, const Stay *earlier, const Stay *later) {
    Asked *asked = context;
    asked->asked[earlier->owner][later->owner] = true;
    asked->questions++;
    return asked->answer;
}

static uint32_t make_stays(uint64_t seed, Stay *stays) {
    static const uint8_t MASKS[] = {0x1, 0x2, 0x4, 0x8, 0x3, 0xC, 0xF};
    Chance chance = {seed};
    uint32_t count = (uint32_t)chance_between(&chance, 1, MOST_STAYS);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t low = (uint32_t)chance_between(&chance, 0, 30);
        uint32_t first = (uint32_t)chance_between(&chance, 0, 40);
        stays[i] = (Stay){{first, first + (uint32_t)chance_between(&chance, 0, 6)},
                          {low, low + (uint32_t)chance_between(&chance, 1, 5),
                           MASKS[chance_between(&chance, 0, 6)]},
                          i};
    }
    return count;
}

static bool meet(const Stay *a, const Stay *b) {
    return a->interval.first <= b->interval.last && b->interval.first <= a->interval.last &&
           a->rect.low < b->rect.high && b->rect.low < a->rect.high &&
           (a->rect.mask & b->rect.mask);
}

/* Some pair meets if and only if the judge was asked, and only of pairs that meet. */
static void same_as_all_pairs(void **state) {
    (void)state;
    uint32_t clashes = 0, clear = 0;
    for (uint64_t seed = 0; seed < 10 * test_count(); seed++) {
        Stay stays[MOST_STAYS];
        uint32_t count = make_stays(seed, stays);
        Asked asked = {.answer = false};
        bool apart = stays_are_apart(stays, count, note, &asked);
        bool any = false;
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t j = 0; j < count; j++) {
                any |= i != j && meet(&stays[i], &stays[j]);
                if (asked.asked[i][j]) assert_true(meet(&stays[i], &stays[j]));
                if (asked.asked[i][j])
                    assert_true(stays[i].interval.first <= stays[j].interval.first);
            }
        assert_int_equal(apart, !any);
        clashes += any;
        clear += !any;
    }
    assert_true(clashes > test_count() && clear > test_count() / 10);
}

/* Who may share its place is asked about once for each that it meets at its first point. */
static void all_holders_are_asked_about(void **state) {
    (void)state;
    Stay stays[] = {{{0, 5}, {0, 2, 0x1}, 0},
                    {{1, 5}, {2, 4, 0x1}, 1},
                    {{2, 4}, {4, 6, 0x2}, 2},
                    {{4, 9}, {1, 5, 0x3}, 3}};
    Asked asked = {.answer = true};
    assert_true(stays_are_apart(stays, 4, note, &asked));
    assert_int_equal(asked.questions, 3);
    assert_true(asked.asked[0][3] && asked.asked[1][3] && asked.asked[2][3]);
}

/* A stay that ends before the one that it shares its place with leaves it to that one. */
static void the_longer_stay_goes_on(void **state) {
    (void)state;
    Stay stays[] = {{{0, 9}, {0, 4, 0xF}, 0}, {{0, 0}, {0, 4, 0xF}, 1}, {{5, 6}, {3, 5, 0x8}, 2}};
    Asked asked = {.answer = true};
    assert_true(stays_are_apart(stays, 3, note, &asked));
    assert_true(asked.asked[0][1] && asked.asked[0][2] && !asked.asked[1][2]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_all_pairs),
        cmocka_unit_test(all_holders_are_asked_about),
        cmocka_unit_test(the_longer_stay_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
