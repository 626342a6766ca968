/* Placement: against all placements of tiny problems, and on problems cut from a full buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "colour/pack.h"
#include "ir/target.h"

enum { DEFAULT_STEPS = 400000000 };

static uint32_t below(uint64_t *state, uint32_t bound) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % bound);
}

/* ---- Is a placement right? Written apart from the search, over all pairs. ---- */

static bool share_point(LiveRange a, LiveRange b) {
    for (uint32_t i = 0; i < a.count; i++)
        for (uint32_t k = 0; k < b.count; k++)
            if (a.items[i].first <= b.items[k].last && b.items[k].first <= a.items[i].last)
                return true;
    return false;
}

static bool in_the_way(const PackItem *a, const PackItem *b) {
    return (a->band & b->band) && a->offset < b->offset + b->height &&
           b->offset < a->offset + a->height && share_point(a->range, b->range);
}

static bool band_is_legal(const PackItem *item) {
    Bands bands = class_bands(item->class);
    for (uint32_t b = 0; b < bands.count; b++)
        if (bands.masks[b] == item->band) return true;
    return false;
}

static void check_placement(const PackProblem *problem) {
    for (uint32_t i = 0; i < problem->count; i++) {
        const PackItem *item = &problem->items[i];
        assert_true((uint64_t)item->offset + item->height <= problem->size);
        if (!item->fixed) {
            assert_int_equal(item->offset % item->align, 0);
            assert_true(band_is_legal(item));
        }
        for (uint32_t k = 0; k < i; k++)
            assert_false(in_the_way(item, &problem->items[k]));
    }
}

/* ---- Every placement of a tiny problem ---- */

/* The next place of an item after the one it has: up, then the next band. False: none is left. */
static bool next_place(const PackProblem *problem, PackItem *item, uint32_t *band) {
    Bands bands = class_bands(item->class);
    item->offset += item->align;
    if (item->offset + item->height > problem->size) {
        item->offset = 0;
        if (++*band == bands.count) return false;
        item->band = bands.masks[*band];
    }
    return true;
}

static bool clashes(const PackProblem *problem, uint32_t i) {
    for (uint32_t k = 0; k < problem->count; k++)
        if ((k < i || problem->items[k].fixed) && k != i &&
            in_the_way(&problem->items[i], &problem->items[k]))
            return true;
    return false;
}

/* Whether there is a placement at all. Moves the items. */
static bool any_placement(PackProblem *problem) {
    enum { MOST = 8 };
    uint32_t band[MOST] = {0};
    uint32_t i = 0;
    bool enter = true;
    for (;;) {
        if (i == problem->count) return true;
        PackItem *item = &problem->items[i];
        bool ok;
        if (enter) {
            if (!item->fixed) {
                band[i] = 0;
                item->offset = 0;
                item->band = class_bands(item->class).masks[0];
            }
            ok = item->offset + item->height <= problem->size;
        } else {
            ok = !item->fixed && next_place(problem, item, &band[i]);
        }
        while (ok && clashes(problem, i))
            ok = !item->fixed && next_place(problem, item, &band[i]);
        enter = ok;
        if (ok) {
            i++;
        } else {
            if (i == 0) return false;
            i--;
        }
    }
}

typedef struct {
    PackItem items[6];
    Interval intervals[6][3];
    PackProblem problem;
} Tiny;

static void make_tiny(Tiny *tiny, uint64_t *random) {
    static const ShapeClass KINDS[4][4] = {
        {CLASS_FULL, CLASS_FULL, CLASS_FULL, CLASS_FULL},
        {CLASS_FULL, CLASS_ANY_HALF, CLASS_ANY_HALF, CLASS_LOWER_HALF},
        {CLASS_ANY_QUADRANT, CLASS_ANY_QUADRANT, CLASS_QUADRANT_2, CLASS_ANY_HALF},
        {CLASS_ANY_QUADRANT, CLASS_ANY_HALF, CLASS_UPPER_HALF, CLASS_FULL},
    };
    const ShapeClass *kinds = KINDS[below(random, 4)];
    bool aligned = below(random, 3) == 0;
    bool fixed = below(random, 3) == 0;
    uint32_t count = 2 + below(random, 5), size = 2 + below(random, 6);
    tiny->problem = (PackProblem){tiny->items, count, size};
    for (uint32_t i = 0; i < count; i++) {
        PackItem *item = &tiny->items[i];
        *item = (PackItem){.class = kinds[below(random, 4)], .align = 1};
        item->height = 1 + below(random, (size + 1) / 2 + (below(random, 4) == 0));
        if (aligned) item->align = 1 + below(random, 3);
        uint32_t point = below(random, 6), parts = 1 + below(random, 3);
        for (uint32_t k = 0; k < parts; k++) {
            uint32_t last = point + below(random, 3);
            tiny->intervals[i][k] = (Interval){point, last};
            point = last + 2 + below(random, 2);
        }
        item->range = (LiveRange){tiny->intervals[i], parts};
        if (fixed && below(random, 3) == 0) {
            Bands bands = class_bands(item->class);
            item->fixed = true;
            item->band = bands.masks[below(random, bands.count)];
            item->offset = below(random, size);
        }
    }
}

static void test_agrees_with_all_placements(void **state) {
    (void)state;
    uint64_t random = 1;
    uint32_t found = 0, impossible = 0;
    for (uint32_t run = 0; run < 6000; run++) {
        Tiny tiny;
        make_tiny(&tiny, &random);
        Arena arena;
        arena_init(&arena);
        PackStatus status = pack(&tiny.problem, (PackOptions){.steps = DEFAULT_STEPS, .seed = run},
                                 &arena, NULL);
        if (status == PACK_FOUND) check_placement(&tiny.problem);
        PackItem copy[6];
        for (uint32_t i = 0; i < 6; i++)
            copy[i] = tiny.items[i];
        PackProblem all = {copy, tiny.problem.count, tiny.problem.size};
        assert_int_equal(status, any_placement(&all) ? PACK_FOUND : PACK_IMPOSSIBLE);
        found += status == PACK_FOUND;
        impossible += status == PACK_IMPOSSIBLE;
        arena_free(&arena);
    }
    assert_true(found > 1000 && impossible > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_all_placements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
