/* Maps of ranges against plain arrays: random changes, many and few extents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/chance.h"
#include "test/count.h"
#include "verify/extents.h"

enum { KEYS = 3000, CHANGES = 600 };

typedef struct {
    Arena arena;
    PlanePool planes;
    ExtentPool pool;
    Extents map;
    uint64_t values[KEYS]; /* NO_VALUE: nothing lies there */
} Twins;

static void begin(Twins *twins) {
    *twins = (Twins){0};
    arena_init(&twins->arena);
    plane_pool_init(&twins->planes, &twins->arena);
    extent_pool_init(&twins->pool, &twins->arena, &twins->planes);
}

static void assign(Twins *twins, int64_t low, int64_t high, uint64_t value) {
    extents_assign(&twins->map, &twins->pool, low, high, (Contents){value, 0});
    for (int64_t key = low; key < high; key++)
        twins->values[key] = value;
}

/* Each key, by stretches and by the cursor. */
static void compare(const Twins *twins) {
    int64_t end;
    for (int64_t key = 0; key < KEYS; key = end) {
        uint64_t value = extents_stretch(&twins->map, key, KEYS, &end).value;
        assert_in_range(end, key + 1, KEYS);
        for (int64_t k = key; k < end; k++)
            assert_int_equal(twins->values[k], value);
    }
    ExtentCursor at = extents_seek(&twins->map, 0);
    int64_t key = 0;
    for (const Extent *e; (e = extents_at(at)); extents_next(&at)) {
        assert_in_range(e->low, key, KEYS);
        for (; key < e->low; key++)
            assert_int_equal(twins->values[key], NO_VALUE);
        assert_in_range(e->high, key + 1, KEYS);
        for (; key < e->high; key++)
            assert_int_equal(twins->values[key], e->contents.value);
    }
    for (; key < KEYS; key++)
        assert_int_equal(twins->values[key], NO_VALUE);
}

/* Ranges of one length at most, so that extents stay many where that is small. */
static void change_often(uint64_t seed, int64_t longest) {
    Twins twins;
    Chance chance = {seed};
    begin(&twins);
    for (uint64_t i = 1; i <= CHANGES; i++) {
        int64_t length = chance_between(&chance, 1, longest);
        int64_t low = chance_between(&chance, 0, KEYS - length);
        assign(&twins, low, low + length, i);
        if (i % 50 == 0) compare(&twins);
    }
    extents_clear(&twins.map, &twins.pool);
    assert_null(extents_at(extents_seek(&twins.map, 0)));
    arena_free(&twins.arena);
}

static void random_changes(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5 + test_count() / 10; seed++) {
        change_often(seed, 3);
        change_often(seed, 40);
        change_often(seed, KEYS);
    }
}

/* Fills a map in order or backwards, leaving gaps or none, and covers it again in pieces, of which
 * some take several chunks whole. */
static void covers_chunks(void **state) {
    (void)state;
    static const int64_t lengths[] = {1, 7, 64, 65, 128, 500, 1499};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int way = 0; way < 4; way++) {
            Twins twins;
            begin(&twins);
            int64_t step = way % 2 ? 1 : 2;
            for (int64_t i = 0; i < KEYS; i += step) {
                int64_t key = way < 2 ? i : KEYS - 1 - i;
                assign(&twins, key, key + 1, (uint64_t)i + 1);
            }
            compare(&twins);
            for (int64_t low = 1; low + lengths[l] <= KEYS; low += 2 * lengths[l])
                assign(&twins, low, low + lengths[l], (uint64_t)(KEYS + low));
            compare(&twins);
            assign(&twins, 0, KEYS, 1);
            compare(&twins);
            arena_free(&twins.arena);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_changes),
                                       cmocka_unit_test(covers_chunks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
