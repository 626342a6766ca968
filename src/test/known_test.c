/* The problems with known answers have the answers that they claim. */
#include "test/known.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ir/geometry.h"
#include "test/observe.h"

static bool share_bytes(const Tensor *a, const Tensor *b) {
    if (!(band_mask(a->at->partition, a->partitions) & band_mask(b->at->partition, b->partitions)))
        return false;
    return a->at->byte < b->at->byte + b->bytes && b->at->byte < a->at->byte + a->bytes;
}

/* Granules times quadrants of what is live at a point; no two of which may lie on each other. */
static int64_t filled_at(const Func *func, const Observed *observed, uint32_t point) {
    int64_t sum = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (!observed_live(observed, t, 0, point)) continue;
        const Tensor *tensor = &func->tensors[t];
        assert_true(start_is_legal(tensor->at->partition, tensor->partitions));
        sum += tensor->bytes / GRANULE *
               __builtin_popcount(band_mask(tensor->at->partition, tensor->partitions));
        for (uint32_t u = 0; u < t; u++)
            if (observed_live(observed, u, 0, point))
                assert_false(share_bytes(tensor, &func->tensors[u]));
    }
    return sum;
}

static void check_cuts(KnownCuts cuts) {
    Arena arena;
    arena_init(&arena);
    const Func *func = known_cuts(&arena, cuts)->funcs;
    Observed observed = observe(func, &arena);
    assert_true(func->ntensors >= cuts.count);
    for (uint32_t point = 0; point < func->ninsts; point++)
        assert_int_equal(filled_at(func, &observed, point), cuts.granules * QUADRANTS);
    arena_free(&arena);
}

static void cuts_fill_the_buffer(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < 24; seed++)
        check_cuts((KnownCuts){.count = seed % 8 == 0 ? 200 : 50,
                               .granules = 256,
                               .times = 64,
                               .bands = seed & 1,
                               .pinwheels = seed & 2,
                               .holes = seed & 4 ? 30 : 0,
                               .placed = true,
                               .seed = seed});
}

/* Holes: some tensor is live, then is not, then is again. */
static void holes_are_made(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    KnownCuts cuts = {.count = 50, .granules = 256, .times = 64, .holes = 50, .seed = 1};
    const Func *func = known_cuts(&arena, cuts)->funcs;
    Observed observed = observe(func, &arena);
    uint32_t starts = 0;
    for (uint32_t t = 0; t < func->ntensors; t++)
        for (uint32_t point = 0; point < func->ninsts; point++)
            starts += observed_live(&observed, t, 0, point) &&
                      (point == 0 || !observed_live(&observed, t, 0, point - 1));
    assert_true(starts > func->ntensors);
    arena_free(&arena);
}

static void a_planted_graph_has_edges_only(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    const Func *func = known_colours(&arena, 40, 5, 50, 3)->funcs;
    Observed observed = observe(func, &arena);
    for (uint32_t point = 0; point < func->ninsts; point++) {
        uint32_t live = 0;
        for (uint32_t t = 0; t < func->ntensors; t++)
            live += observed_live(&observed, t, 0, point);
        assert_int_equal(live, func->insts[point].ndst + func->insts[point].nsrc);
    }
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_fill_the_buffer),
        cmocka_unit_test(holes_are_made),
        cmocka_unit_test(a_planted_graph_has_edges_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
