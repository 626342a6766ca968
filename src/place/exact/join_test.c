/* Joining: what joins, what must not, and that places come back right. */
#include "place/exact/join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_ITEMS = 8, SIZE = 16 };

/* An item in a line: class, height, alignment, and up to two intervals ({1, 0}: none). */
typedef struct {
    ShapeClass class;
    uint32_t height, align;
    Interval range[2];
} Row;

typedef struct {
    const char *what;
    Row rows[MOST_ITEMS];
    uint32_t count, left; /* items; pieces after joining */
} Case;

#define NONE                                                                                       \
    { 1, 0 }

static const Case CASES[] = {
    {"on each other",
     {{CLASS_FULL, 3, 1, {{0, 4}, NONE}}, {CLASS_FULL, 5, 1, {{0, 4}, NONE}}},
     2,
     1},
    {"not at the same time",
     {{CLASS_FULL, 3, 1, {{0, 4}, NONE}},
      {CLASS_FULL, 5, 1, {{0, 3}, NONE}},
      {CLASS_FULL, 1, 1, {{4, 5}, NONE}}},
     3,
     3},
    {"one after the other",
     {{CLASS_FULL, 3, 1, {{0, 4}, NONE}}, {CLASS_FULL, 3, 1, {{5, 9}, NONE}}},
     2,
     1},
    {"with nothing between",
     {{CLASS_FULL, 3, 1, {{0, 4}, NONE}}, {CLASS_FULL, 3, 1, {{7, 9}, NONE}}},
     2,
     1},
    {"not as high", {{CLASS_FULL, 3, 1, {{0, 4}, NONE}}, {CLASS_FULL, 4, 1, {{5, 9}, NONE}}}, 2, 2},
    {"in a hole", {{CLASS_FULL, 3, 1, {{0, 2}, {6, 9}}}, {CLASS_FULL, 3, 1, {{3, 5}, NONE}}}, 2, 1},
    {"quadrants side by side",
     {{CLASS_ANY_QUADRANT, 3, 1, {{0, 2}, NONE}},
      {CLASS_ANY_QUADRANT, 3, 1, {{0, 2}, NONE}},
      {CLASS_ANY_QUADRANT, 3, 1, {{0, 2}, NONE}},
      {CLASS_ANY_QUADRANT, 3, 1, {{0, 2}, NONE}}},
     4,
     1},
    {"other classes",
     {{CLASS_ANY_QUADRANT, 3, 1, {{0, 2}, NONE}}, {CLASS_ANY_HALF, 3, 1, {{0, 2}, NONE}}},
     2,
     2},
    {"the aligned one below",
     {{CLASS_FULL, 3, 1, {{0, 4}, NONE}}, {CLASS_FULL, 4, 4, {{0, 4}, NONE}}},
     2,
     1},
    {"alignment in the way",
     {{CLASS_FULL, 3, 2, {{0, 4}, NONE}}, {CLASS_FULL, 5, 4, {{0, 4}, NONE}}},
     2,
     2},
    {"too high together",
     {{CLASS_FULL, 9, 1, {{0, 4}, NONE}}, {CLASS_FULL, 8, 1, {{0, 4}, NONE}}},
     2,
     2},
    {"a wheel",
     {{CLASS_FULL, 2, 1, {{0, 6}, NONE}},
      {CLASS_FULL, 7, 1, {{0, 3}, NONE}},
      {CLASS_FULL, 4, 1, {{4, 6}, NONE}},
      {CLASS_FULL, 3, 1, {{4, 9}, NONE}},
      {CLASS_FULL, 6, 1, {{7, 9}, NONE}}},
     5,
     1},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

static void make_problem(const Case *row, Interval ranges[][2], PackItem *items,
                         PackProblem *problem, uint32_t *ids) {
    *problem = (PackProblem){items, row->count, SIZE};
    for (uint32_t i = 0; i < row->count; i++) {
        const Row *from = &row->rows[i];
        memcpy(ranges[i], from->range, sizeof from->range);
        uint32_t runs = from->range[1].first <= from->range[1].last ? 2 : 1;
        items[i] = (PackItem){.class = from->class,
                              .height = from->height,
                              .align = from->align,
                              .range = {ranges[i], runs}};
        ids[i] = i;
    }
}

static bool meet(LiveRange a, LiveRange b) {
    for (uint32_t i = 0; i < a.count; i++)
        for (uint32_t k = 0; k < b.count; k++)
            if (a.items[i].first <= b.items[k].last && b.items[k].first <= a.items[i].last)
                return true;
    return false;
}

static bool band_is_legal(ShapeClass class, uint8_t band) {
    Bands bands = class_bands(class);
    bool legal = false;
    for (uint32_t b = 0; b < bands.count; b++)
        legal |= bands.masks[b] == band;
    return legal;
}

static void check_places(const PackProblem *problem, const PackPlaces *places) {
    for (uint32_t i = 0; i < problem->count; i++) {
        const PackItem *a = &problem->items[i];
        uint32_t low = places->offset[i], high = low + a->height;
        assert_true(high <= problem->size && low % a->align == 0);
        assert_true(band_is_legal(a->class, places->band[i]));
        for (uint32_t k = 0; k < i; k++) {
            const PackItem *b = &problem->items[k];
            bool apart = low >= places->offset[k] + b->height || places->offset[k] >= high;
            assert_true(apart || !(places->band[i] & places->band[k]) || !meet(a->range, b->range));
        }
    }
}

/* Where all is joined into one, that is put at the bottom and taken apart. */
static void what_joins(void **state) {
    (void)state;
    for (uint32_t c = 0; c < CASE_COUNT; c++) {
        Arena arena;
        arena_init(&arena);
        PackItem items[MOST_ITEMS];
        Interval ranges[MOST_ITEMS][2];
        uint32_t ids[MOST_ITEMS], offset[MOST_ITEMS];
        uint8_t band[MOST_ITEMS];
        PackProblem problem;
        make_problem(&CASES[c], ranges, items, &problem, ids);
        Budget budget = {.limit = 1000000};
        Joined joined;
        PackPart part = {.problem = &problem, .ids = ids, .count = problem.count, .capacity = SIZE};
        pack_join(&part, (JoinRule){100, 0}, &budget, &arena, &joined);
        if (joined.problem.count != CASES[c].left)
            fail_msg("%s: %u pieces", CASES[c].what, joined.problem.count);
        if (joined.problem.count == 1) {
            joined.problem.items[0].band = class_bands(joined.problem.items[0].class).masks[0];
            PackPlaces places = {offset, band};
            pack_unjoin(&joined, &arena, &places);
            check_places(&problem, &places);
        }
        arena_free(&arena);
    }
}

/* Undone and joined again it comes to the same, and the places are still right. */
static void joined_again(void **state) {
    (void)state;
    for (uint32_t c = 0; c < CASE_COUNT; c++) {
        Arena arena;
        arena_init(&arena);
        PackItem items[MOST_ITEMS];
        Interval ranges[MOST_ITEMS][2];
        uint32_t ids[MOST_ITEMS], offset[MOST_ITEMS];
        uint8_t band[MOST_ITEMS];
        PackProblem problem;
        make_problem(&CASES[c], ranges, items, &problem, ids);
        Budget budget = {.limit = 1000000};
        Joined before, joined;
        PackPart part = {.problem = &problem, .ids = ids, .count = problem.count, .capacity = SIZE};
        pack_join(&part, (JoinRule){100, 0}, &budget, &arena, &before);
        for (int i = 0; i < 10; i++) {
            pack_join_again(&before, 50, &budget, &arena, &joined);
            assert_int_equal(joined.problem.count, CASES[c].left);
            before = joined;
        }
        if (joined.problem.count == 1) {
            joined.problem.items[0].band = class_bands(joined.problem.items[0].class).masks[0];
            PackPlaces places = {offset, band};
            pack_unjoin(&joined, &arena, &places);
            check_places(&problem, &places);
        }
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_joins),
                                       cmocka_unit_test(joined_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
