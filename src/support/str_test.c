/* Tests of text, maps, sorting, searching, numbers and memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/checked.h"
#include "support/rng.h"
#include "support/search.h"
#include "support/sort.h"
#include "support/str.h"

static void comparison(void **state) {
    (void)state;
    assert_true(str_equal(STR("ab"), str_from("ab")));
    assert_false(str_equal(STR("ab"), STR("abc")));
    assert_true(str_equal(STR(""), (Str){NULL, 0}));
    assert_true(str_compare(STR("a"), STR("b")) < 0);
    assert_true(str_compare(STR("ab"), STR("a")) > 0);
    assert_true(str_compare(STR("\xC3"), STR("a")) > 0);
    assert_int_equal(str_compare(STR(""), STR("")), 0);
}

static void nearest(void **state) {
    (void)state;
    static const Str NAMES[] = {{"input", 5}, {"output", 6}, {"pin", 3}, {"x", 1}, {"align", 5}};
    static const struct {
        const char *name, *wanted;
    } CASES[] = {{"inptu", "input"}, {"inpt", "input"}, {"ouput", "output"}, {"pni", "pin"},
                 {"zzzzz", ""},      {"y", ""},         {"align", "align"},  {"outputss", "output"},
                 {"algn", "align"},  {"", ""},          {"pinned", ""}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        Str found = str_nearest(str_from(CASES[i].name), NAMES, 5);
        assert_true(str_is(found, CASES[i].wanted));
    }
}

static void map(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    StrMap map;
    strmap_init(&map, &arena);
    assert_int_equal(strmap_get(&map, STR("a")), UINT32_MAX);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(strmap_add(&map, str_format(&arena, "n%u", i), i), i);
    for (uint32_t i = 0; i < 10000; i++) {
        assert_int_equal(strmap_get(&map, str_format(&arena, "n%u", i)), i);
        assert_int_equal(strmap_add(&map, str_format(&arena, "n%u", i), i + 1), i);
    }
    assert_int_equal(map.count, 10000);
    assert_int_equal(strmap_get(&map, STR("n10000")), UINT32_MAX);
    arena_free(&arena);
}

/* Sorts random keys of so many bits, ids ascending or not, and looks at the order and the ids. */
static void check_sorting(size_t count, unsigned bits, bool ascending, Arena *arena) {
    SortKey *keys = RAW_ARRAY(arena, SortKey, count + 1);
    bool *seen = NEW_ARRAY(arena, bool, count + 1);
    uint64_t random = 1;
    for (uint32_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        keys[i] = (SortKey){random >> (64 - bits), ascending ? i : (uint32_t)count - 1 - i};
    }
    sort_keys(keys, count, arena);
    for (size_t i = 0; i < count; i++) {
        assert_false(seen[keys[i].id]);
        seen[keys[i].id] = true;
        assert_true(i == 0 || keys[i - 1].key < keys[i].key ||
                    (keys[i - 1].key == keys[i].key && keys[i - 1].id < keys[i].id));
    }
}

/* Few bits by digits, many by comparisons. */
static void sorting(void **state) {
    (void)state;
    static const unsigned BITS[] = {1, 6, 8, 9, 16, 24, 64};
    Arena arena;
    arena_init(&arena);
    for (size_t count = 0; count <= 1000; count += count < 60 ? 1 : 97)
        for (size_t i = 0; i < sizeof BITS / sizeof *BITS; i++) {
            check_sorting(count, BITS[i], true, &arena);
            check_sorting(count, BITS[i], false, &arena);
        }
    arena_free(&arena);
}

static void saturation(void **state) {
    (void)state;
    assert_int_equal(saturating_add(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(saturating_add(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(saturating_add(-5, 3), -2);
    assert_int_equal(saturating_sub(INT64_MIN, 1), INT64_MIN);
    assert_int_equal(saturating_sub(INT64_MAX, -1), INT64_MAX);
    assert_int_equal(saturating_sub(0, INT64_MIN), INT64_MAX);
    assert_int_equal(saturating_mul(INT64_MAX, -2), INT64_MIN);
    assert_int_equal(saturating_mul(INT64_MIN, -1), INT64_MAX);
    assert_int_equal(ceil_div(7, 8), 1);
    assert_int_equal(ceil_div(8, 8), 1);
    assert_int_equal(ceil_div(0, 8), 0);
    assert_int_equal(round_up(0, 8), 0);
    assert_int_equal(round_up(8, 8), 8);
    assert_int_equal(round_up(9, 8), 16);
    assert_int_equal(round_up(INT64_MAX, 8), INT64_MAX - 7);
}

/* Every place where the first can be, in arrays of every small length. */
static void first_found(void **state) {
    (void)state;
    for (uint32_t count = 0; count < 20; count++)
        for (uint32_t first = 0; first <= count; first++) {
            uint32_t at, tried = 0;
            FIND_FIRST(at, 0, count, (tried++, at >= first));
            assert_int_equal(at, first);
            assert_true(tried <= 5);
        }
    size_t none;
    FIND_FIRST(none, 7, 7, true);
    assert_int_equal(none, 7);
}

/* The first numbers of SplitMix64 from 0, as its author's program prints them. */
static void random_numbers(void **state) {
    (void)state;
    uint64_t a = 0, b = 1;
    assert_true(rng_next(&a) == UINT64_C(0xE220A8397B1DCDAF));
    assert_true(rng_next(&a) == UINT64_C(0x6E789E6AA1B965F4));
    uint32_t counts[7] = {0};
    for (uint32_t i = 0; i < 70000; i++) {
        uint32_t drawn = rng_below(&b, 7);
        assert_true(drawn < 7);
        counts[drawn]++;
    }
    for (uint32_t i = 0; i < 7; i++)
        assert_in_range(counts[i], 9500, 10500);
}

/* Memory that grows in place or moves; large chunks among small ones. */
static void arenas(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    uint32_t *items = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t i = 0; i < 3000000; i++) {
        PUSH(&arena, items, count, capacity, i);
        if (i % 1000 == 0) NEW(&arena, char);
    }
    for (uint32_t i = 0; i < 3000000; i++)
        assert_int_equal(items[i], i);
    uint64_t *zeros = NEW_ARRAY(&arena, uint64_t, 100000);
    zeros = arena_grow(&arena, zeros, 100000, 200000, sizeof *zeros);
    for (size_t i = 0; i < 200000; i++)
        assert_int_equal(zeros[i], 0);
    assert_string_equal(arena_copy(&arena, "abc", 2), "ab");
    arena_free(&arena);
    assert_int_equal(arena.bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparison),  cmocka_unit_test(nearest),        cmocka_unit_test(map),
        cmocka_unit_test(sorting),     cmocka_unit_test(saturation),     cmocka_unit_test(arenas),
        cmocka_unit_test(first_found), cmocka_unit_test(random_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
