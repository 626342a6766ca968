/* The free map against an array of granules. */
#include "place/free_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/chance.h"
#include "test/count.h"

enum { MOST_SIZE = 40 };

typedef struct {
    FreeMap map;
    uint8_t free[MOST_SIZE];
    uint32_t size;
} Pair;

static const uint8_t MASKS[] = {0x1, 0x2, 0x4, 0x8, 0x3, 0xC, 0xF};

static bool fits(const Pair *pair, Rect rect) {
    bool free = rect.high <= pair->size;
    for (uint32_t g = rect.low; free && g < rect.high; g++)
        free = (pair->free[g] & rect.mask) == rect.mask;
    return free;
}

static void set(Pair *pair, Rect rect, bool give) {
    for (uint32_t g = rect.low; g < rect.high; g++)
        pair->free[g] = give ? pair->free[g] | rect.mask : pair->free[g] & (uint8_t)~rect.mask;
    if (give)
        free_map_give(&pair->map, rect);
    else
        free_map_take(&pair->map, rect);
}

static Rect random_rect(Chance *chance, uint32_t size) {
    uint32_t low = (uint32_t)chance_below(chance, size);
    return (Rect){low, low + 1 + (uint32_t)chance_below(chance, size - low),
                  MASKS[chance_below(chance, BAND_MASKS)]};
}

/* What is found is free and aligned; no place at that end of the axis is better where the alignment
 * is one; and where a run is long enough for any alignment, something is found. */
static void check_search(const Pair *pair, Chance *chance, uint32_t *found) {
    uint32_t align = 1 << chance_below(chance, 3);
    bool highest = chance_below(chance, 2);
    Rect asked = random_rect(chance, pair->size), got = asked;
    uint32_t height = asked.high - asked.low;
    bool good = free_map_find(&pair->map, align, highest, &got);
    if (good) assert_true(fits(pair, got) && got.low % align == 0 && got.mask == asked.mask);
    if (good) assert_int_equal(got.high - got.low, height);
    for (uint32_t low = 0; low + height <= pair->size; low++) {
        if (align == 1 && fits(pair, (Rect){low, low + height, asked.mask}))
            assert_true(good && (highest ? got.low >= low : got.low <= low));
        if (fits(pair, (Rect){low, low + height + align - 1, asked.mask})) assert_true(good);
    }
    *found += good;
}

static void same_as_an_array(void **state) {
    (void)state;
    uint32_t found = 0;
    for (uint64_t seed = 0; seed < 4 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Chance chance = {seed};
        Pair pair = {.size = (uint32_t)chance_between(&chance, 1, MOST_SIZE)};
        pair.map = free_map_make(pair.size, &arena);
        for (uint32_t g = 0; g < pair.size; g++)
            pair.free[g] = 0xF;
        for (int i = 0; i < 100; i++) {
            set(&pair, random_rect(&chance, pair.size), chance_below(&chance, 5) < 3);
            check_search(&pair, &chance, &found);
        }
        arena_free(&arena);
    }
    assert_true(found > 40 * test_count());
}

/* An axis of 8 GiB has as many parts as changes on it need, and none after those are gone. */
static void size_does_not_matter(void **state) {
    (void)state;
    enum { SIZE = 1 << 30, CHANGES = 100, MOST_OF_ONE = 4 * 30 };
    Arena arena;
    arena_init(&arena);
    FreeMap map = free_map_make(SIZE, &arena);
    for (uint32_t i = 0; i < CHANGES; i++)
        free_map_take(&map, (Rect){i * 10000019, i * 10000019 + 1, 0xF});
    assert_true(map.count <= CHANGES * MOST_OF_ONE);
    for (uint32_t i = 0; i < CHANGES; i++)
        free_map_give(&map, (Rect){i * 10000019, i * 10000019 + 1, 0xF});
    assert_int_equal(map.parts[0].children, 0);
    assert_int_equal(map.parts[0].free, 0xF);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_an_array),
                                       cmocka_unit_test(size_does_not_matter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
