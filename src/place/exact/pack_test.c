/* Placement: against all placements of tiny problems, and on problems cut from a full buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "place/exact/internal.h"

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

static bool clashes_with_fixed(const PackProblem *problem, uint32_t i) {
    for (uint32_t k = 0; k < problem->count; k++)
        if (k != i && problem->items[k].fixed && in_the_way(&problem->items[i], &problem->items[k]))
            return true;
    return false;
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

/* The exact search alone, all items that are not fixed as one part. */
static PackStatus search_only(PackProblem *problem, Arena *arena) {
    Budget budget = {.limit = DEFAULT_STEPS};
    PackGraph neighbours;
    assert_true(pack_neighbours(problem, &budget, arena, &neighbours));
    uint32_t ids[6];
    PackPlaces places = {NEW_ARRAY(arena, uint32_t, 6), NEW_ARRAY(arena, uint8_t, 6)};
    PackPart part = {problem, &neighbours, ids, 0, problem->size};
    for (uint32_t i = 0; i < problem->count; i++)
        if (!problem->items[i].fixed) ids[part.count++] = i;
    if (!part.count) return PACK_FOUND;
    PackStatus status = pack_search(&part, &budget, arena, &places);
    for (uint32_t k = 0; k < part.count && status == PACK_FOUND; k++) {
        problem->items[ids[k]].offset = places.offset[ids[k]];
        problem->items[ids[k]].band = places.band[ids[k]];
    }
    return status;
}

static bool fixed_are_right(const PackProblem *problem) {
    for (uint32_t i = 0; i < problem->count; i++)
        if (problem->items[i].fixed &&
            (clashes_with_fixed(problem, i) ||
             problem->items[i].offset + problem->items[i].height > problem->size))
            return false;
    return true;
}

static void test_agrees_with_all_placements(void **state) {
    (void)state;
    uint64_t random = 1;
    uint32_t counts[2] = {0};
    for (uint32_t run = 0; run < 8000; run++) {
        Tiny tiny;
        make_tiny(&tiny, &random);
        Arena arena;
        arena_init(&arena);
        PackItem copy[6];
        memcpy(copy, tiny.items, sizeof copy);
        PackProblem all = {copy, tiny.problem.count, tiny.problem.size};
        PackStatus truth = any_placement(&all) ? PACK_FOUND : PACK_IMPOSSIBLE;
        PackOptions options = {.steps = DEFAULT_STEPS, .seed = run};
        assert_int_equal(pack(&tiny.problem, options, &arena, NULL), truth);
        if (truth == PACK_FOUND) check_placement(&tiny.problem);
        if (fixed_are_right(&tiny.problem)) {
            assert_int_equal(search_only(&tiny.problem, &arena), truth);
            if (truth == PACK_FOUND) check_placement(&tiny.problem);
        }
        counts[truth == PACK_FOUND]++;
        arena_free(&arena);
    }
    assert_true(counts[0] > 1000 && counts[1] > 1000);
}

/* ---- Problems cut from a full buffer: they fit, with nothing to spare. ---- */

typedef struct {
    uint32_t first, end, low, high;
    uint8_t band;
    uint32_t family; /* pieces of one item, or UINT32_MAX */
} Piece;

typedef struct {
    uint32_t count; /* pieces wanted */
    uint32_t points, size;
    bool bands, holes;
} Cut;

static void cut_band(Piece *a, Piece *b) {
    uint8_t part = a->band == 0xF ? 0x3 : (uint8_t)(a->band & -a->band);
    b->band = (uint8_t)(a->band & ~part);
    a->band = part;
}

/* Cuts one piece at random in two, or in three where the outer two are one item with a hole. */
static uint32_t cut_one(Piece *pieces, uint32_t count, const Cut *cut, uint64_t *random) {
    Piece *piece = &pieces[below(random, count)], *rest = &pieces[count];
    uint32_t points = piece->end - piece->first, height = piece->high - piece->low;
    if (piece->family != UINT32_MAX) return count;
    *rest = *piece;
    uint32_t kind = below(random, 10);
    if (cut->bands && kind < 3 && (piece->band & (piece->band - 1))) {
        cut_band(piece, rest);
        return count + 1;
    }
    if (cut->holes && kind == 3 && points >= 5) {
        uint32_t from = piece->first + 1 + below(random, points - 3);
        uint32_t to = from + 1 + below(random, piece->end - from - 1);
        piece->end = rest->first = from;
        rest[1] = *rest;
        rest->end = rest[1].first = to;
        piece->family = rest[1].family = count;
        return count + 2;
    }
    if (kind & 1) {
        if (points < 2) return count;
        piece->end = rest->first = piece->first + 1 + below(random, points - 1);
    } else {
        if (height < 2) return count;
        piece->high = rest->low = piece->low + 1 + below(random, height - 1);
    }
    return count + 1;
}

static PackItem item_of(const Piece *pieces, uint32_t count, uint32_t i, Arena *arena) {
    static const ShapeClass CLASSES[] = {CLASS_ANY_QUADRANT, CLASS_ANY_HALF, CLASS_FULL};
    Interval *intervals = NEW_ARRAY(arena, Interval, 2);
    uint32_t parts = 0;
    for (uint32_t k = 0; k < count; k++)
        if (k == i || (pieces[i].family != UINT32_MAX && pieces[k].family == pieces[i].family))
            intervals[parts++] = (Interval){pieces[k].first, pieces[k].end - 1};
    if (parts == 2 && intervals[0].first > intervals[1].first) {
        Interval swap = intervals[0];
        intervals[0] = intervals[1];
        intervals[1] = swap;
    }
    return (PackItem){.class = CLASSES[__builtin_popcount(pieces[i].band) / 2],
                      .height = pieces[i].high - pieces[i].low,
                      .align = 1,
                      .range = {intervals, parts}};
}

static PackProblem cut_problem(const Cut *cut, uint64_t seed, Arena *arena) {
    Piece *pieces = NEW_ARRAY(arena, Piece, (size_t)cut->count + 2);
    uint32_t count = 1;
    pieces[0] = (Piece){0, cut->points, 0, cut->size, 0xF, UINT32_MAX};
    while (count < cut->count)
        count = cut_one(pieces, count, cut, &seed);
    PackProblem problem = {NEW_ARRAY(arena, PackItem, count), 0, cut->size};
    for (uint32_t i = 0; i < count; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i; k++)
            again |= pieces[i].family != UINT32_MAX && pieces[k].family == pieces[i].family;
        if (!again) problem.items[problem.count++] = item_of(pieces, count, i, arena);
    }
    for (uint32_t i = problem.count; i > 1; i--) {
        uint32_t k = below(&seed, i);
        PackItem swap = problem.items[i - 1];
        problem.items[i - 1] = problem.items[k];
        problem.items[k] = swap;
    }
    return problem;
}

/* How many of `runs` such problems are placed. None may be called impossible. */
static uint32_t count_placed(Cut cut, uint32_t runs) {
    uint32_t placed = 0;
    for (uint32_t seed = 0; seed < runs; seed++) {
        Arena arena;
        arena_init(&arena);
        PackProblem problem = cut_problem(&cut, seed, &arena);
        PackStatus status = pack(&problem, (PackOptions){.steps = 20000000}, &arena, NULL);
        assert_int_not_equal(status, PACK_IMPOSSIBLE);
        if (status == PACK_FOUND) check_placement(&problem);
        placed += status == PACK_FOUND;
        arena_free(&arena);
    }
    return placed;
}

static void test_places_what_was_cut(void **state) {
    (void)state;
    assert_int_equal(count_placed((Cut){50, 1000, 4096, false, false}, 10), 10);
    assert_int_equal(count_placed((Cut){50, 1000, 4096, false, true}, 10), 10);
    assert_int_equal(count_placed((Cut){20, 1000, 4096, true, false}, 10), 10);
    assert_int_equal(count_placed((Cut){20, 1000, 4096, true, true}, 10), 10);
}

/* A search that would go on gives up soon once its time is over. */
static void test_stops_at_deadline(void **state) {
    (void)state;
    enum { SOON = 50000000 };
    Arena arena;
    arena_init(&arena);
    PackProblem problem = cut_problem(&(Cut){1000, 1000, 4096, false, false}, 1, &arena);
    PackOptions options = {.steps = UINT64_MAX / 2, .seed = 1, .deadline = 1e-9};
    uint64_t used;
    assert_int_equal(pack(&problem, options, &arena, &used), PACK_GAVE_UP);
    assert_true(used < SOON);
    arena_free(&arena);
}

static void test_same_input_same_places(void **state) {
    (void)state;
    Cut cut = {40, 300, 512, true, true};
    Arena arena;
    arena_init(&arena);
    PackProblem a = cut_problem(&cut, 3, &arena), b = cut_problem(&cut, 3, &arena);
    uint64_t used_a, used_b;
    PackOptions options = {.steps = 20000000, .seed = 9};
    assert_int_equal(pack(&a, options, &arena, &used_a), pack(&b, options, &arena, &used_b));
    assert_true(used_a == used_b);
    for (uint32_t i = 0; i < a.count; i++)
        assert_true(a.items[i].offset == b.items[i].offset && a.items[i].band == b.items[i].band);
    arena_free(&arena);
}

/* An odd cycle of overlaps by holes in ranges: three colours, though two are live at any point. */
static void test_proves_by_holes(void **state) {
    (void)state;
    enum { N = 7 };
    Interval intervals[N][2];
    PackItem items[N];
    for (uint32_t i = 0; i < N; i++) {
        uint32_t before = 4 * ((i + N - 1) % N), after = 4 * i;
        uint32_t low = before < after ? before : after, high = before + after - low;
        intervals[i][0] = (Interval){low, low};
        intervals[i][1] = (Interval){high, high};
        items[i] =
            (PackItem){.class = CLASS_FULL, .height = 1, .align = 1, .range = {intervals[i], 2}};
    }
    Arena arena;
    arena_init(&arena);
    PackProblem problem = {items, N, 2};
    PackOptions options = {.steps = 1000000};
    assert_int_equal(pack(&problem, options, &arena, NULL), PACK_IMPOSSIBLE);
    problem.size = 3;
    assert_int_equal(pack(&problem, options, &arena, NULL), PACK_FOUND);
    check_placement(&problem);
    arena_free(&arena);
}

static void test_small_cases(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    PackProblem none = {NULL, 0, 0};
    assert_int_equal(pack(&none, (PackOptions){.steps = 1000}, &arena, NULL), PACK_FOUND);
    Interval interval = {0, 0};
    PackItem item = {.class = CLASS_ANY_HALF, .height = 3, .align = 1, .range = {&interval, 1}};
    PackProblem one = {&item, 1, 3};
    assert_int_equal(pack(&one, (PackOptions){.steps = 1000}, &arena, NULL), PACK_FOUND);
    assert_int_equal(item.offset, 0);
    assert_int_equal(item.band, 0x3);
    one.size = 2;
    assert_int_equal(pack(&one, (PackOptions){.steps = 1000}, &arena, NULL), PACK_IMPOSSIBLE);
    one.size = 3;
    assert_int_equal(pack(&one, (PackOptions){.steps = 0}, &arena, NULL), PACK_GAVE_UP);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_all_placements),
        cmocka_unit_test(test_places_what_was_cut),
        cmocka_unit_test(test_stops_at_deadline),
        cmocka_unit_test(test_same_input_same_places),
        cmocka_unit_test(test_proves_by_holes),
        cmocka_unit_test(test_small_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
