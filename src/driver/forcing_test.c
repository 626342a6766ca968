/* Forcing points against a look at every point. */
#include "driver/forcing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/rng.h"
#include "test/count.h"

enum { MOST_POINTS = 24, PARTS = 3 };

typedef struct {
    uint64_t seed;
    Arena arena;
    uint32_t count; /* instructions before */
    uint32_t need[MOST_POINTS];
    uint32_t moved[MOST_POINTS]; /* UINT32_MAX: dropped */
    Rewritten code;
    Live live;
} Case;

static uint32_t below(Case *one, uint32_t bound) {
    return (uint32_t)(rng_next(&one->seed) % bound);
}

/* Some instructions are dropped, others inserted. */
static void make_code(Case *one) {
    one->count = 1 + below(one, MOST_POINTS);
    one->code.origin_inst = NEW_ARRAY(&one->arena, uint32_t, 2 * MOST_POINTS + 1);
    one->code.func = NEW(&one->arena, Func);
    uint32_t *ninsts = &one->code.func->ninsts;
    for (uint32_t p = 0; p < one->count; p++) {
        one->need[p] = below(one, 6);
        one->moved[p] = UINT32_MAX;
        if (below(one, 3) == 0) one->code.origin_inst[(*ninsts)++] = INSERTED;
        if (below(one, 5) == 0) continue;
        one->moved[p] = *ninsts;
        one->code.origin_inst[(*ninsts)++] = p;
    }
    one->code.origin_inst[(*ninsts)++] = INSERTED;
}

static LiveRange make_range(Case *one, uint32_t npoints) {
    Interval *items = NEW_ARRAY(&one->arena, Interval, MOST_POINTS + 1);
    uint32_t count = 0;
    for (uint32_t p = below(one, 4); p < npoints && count < MOST_POINTS; p += 2 + below(one, 5)) {
        uint32_t last = p + below(one, 6);
        if (last >= npoints) last = npoints - 1;
        items[count++] = (Interval){p, last};
        p = last;
    }
    return (LiveRange){items, count};
}

static bool is_on_chip(const Case *one, uint32_t point) {
    for (uint32_t i = 0; i < PARTS; i++)
        if (live_at(one->live.whole[i], point)) return true;
    return false;
}

static uint32_t look_at_all(const Case *one, LiveRange range) {
    uint32_t away = UINT32_MAX, any = UINT32_MAX;
    for (uint32_t i = 0; i < range.count; i++)
        for (uint32_t p = range.items[i].first; p <= range.items[i].last; p++) {
            if (any == UINT32_MAX || one->need[p] > one->need[any]) any = p;
            if (one->moved[p] == UINT32_MAX || is_on_chip(one, one->moved[p])) continue;
            if (away == UINT32_MAX || one->need[p] > one->need[away]) away = p;
        }
    return away != UINT32_MAX ? away : any;
}

static void test_random_ranges(void **unused) {
    (void)unused;
    static const uint32_t ALL[PARTS] = {0, 1, 2};
    for (uint64_t seed = 1; seed <= 100 * test_count(); seed++) {
        Case one = {.seed = seed};
        arena_init(&one.arena);
        make_code(&one);
        one.live.whole = NEW_ARRAY(&one.arena, LiveRange, PARTS);
        for (uint32_t i = 0; i < PARTS; i++)
            if (below(&one, 2)) one.live.whole[i] = make_range(&one, one.code.func->ninsts);
        LiveRange range = make_range(&one, one.count);
        Forcing forcing = forcing_make(&one.code, &one.live, one.need, one.count, &one.arena);
        assert_int_equal(forcing_point(&forcing, range, ALL, PARTS), look_at_all(&one, range));
        arena_free(&one.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
