/* Bounds: of small functions worked out by hand, and never above what is reached. */
#include "bound/bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#include "bound/round.h"
#include "driver/allocate.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"

static const BoundSearch LONG = {INT64_MAX, 1000000};

/* A DMA of one block of 128 partitions and n bytes takes 100 + 8 * n cycles. */
static void check_bound(int64_t usable, const char *body, int64_t cycles) {
    Arena arena;
    arena_init(&arena);
    Module *module = make_body(&arena, usable, body);
    Bound bound = find_bound(module->funcs, &module->target, LONG, &arena);
    assert_true(bound.known);
    assert_int_equal(bound.cycles, cycles);
    arena_free(&arena);
}

static void test_gaps(void **unused) {
    (void)unused;
    const char *beside = "tensor %a : sb<128x8xu8>\ntensor %b : sb<128x8xu8>\n"
                         "tensor %c : sb<128x8xu8>\n%a = f\n%b = f\n%c = g %b\nuse %a, %c\n";
    check_bound(24, beside, 0);
    check_bound(16, beside, 2 * 164);
    /* Three values of two granules each, and five granules of room: one goes, not half of one. */
    check_bound(48,
                "tensor %a : sb<128x16xu8>\ntensor %b : sb<128x16xu8>\n"
                "tensor %c : sb<128x16xu8>\ntensor %d : sb<128x8xu8>\n"
                "%a = f\n%b = f\n%c = f\n%d = f\nuse %a\nuse %b\nuse %c\n",
                2 * 228);
    /* An input is stored at entry. */
    check_bound(16,
                "tensor %a : sb<128x8xu8> input\ntensor %b : sb<128x16xu8>\n"
                "%b = f\nuse %b\nuse %a\n",
                2 * 164);
    /* What must stay has no price. */
    check_bound(16,
                "tensor %a : sb<128x8xu8> pin\ntensor %b : sb<128x8xu8>\n"
                "tensor %c : sb<128x8xu8>\n%a = f\n%b = f\n%c = f\nuse %c, %a\nuse %b\n",
                2 * 164);
}

static void test_dram(void **unused) {
    (void)unused;
    /* The load goes where %a is read anyway. */
    check_bound(16,
                "tensor %X : dram<128x8xu8> input\ntensor %a : sb<128x8xu8>\n"
                "tensor %b : sb<128x16xu8>\n%a = load %X\n%b = f\nuse %b\nuse %a\n",
                0);
    /* After its first read it is loaded again, without a store. */
    check_bound(16,
                "tensor %X : dram<128x8xu8> input\ntensor %a : sb<128x8xu8>\n"
                "tensor %b : sb<128x16xu8>\n%a = load %X\nuse %a\n%b = f\nuse %b\nuse %a\n",
                164);
    /* So it is after a save. */
    check_bound(16,
                "tensor %Y : dram<128x8xu8> output\ntensor %a : sb<128x8xu8>\n"
                "tensor %b : sb<128x16xu8>\n%a = f\n%Y = save %a\n%b = f\nuse %b\nuse %a\n",
                164);
    /* A load that nothing reads goes. */
    check_bound(16,
                "tensor %X : dram<128x8xu8> input\ntensor %a : sb<128x8xu8>\n"
                "%a = load %X\n%a = f\nuse %a\n",
                -164);
}

static void test_copies(void **unused) {
    (void)unused;
    const char *names = "tensor %a : sb<128x8xu8>\ntensor %b : sb<128x8xu8>\n"
                        "tensor %d : sb<128x8xu8>\n";
    char body[512];
    /* Both ends of a copy take room once while they are equal, */
    snprintf(body, sizeof body, "%s%%a = f\n%%b = f\n%%d = copy %%a\nuse %%d\nuse %%b, %%a\n",
             names);
    check_bound(16, body, 0);
    /* and twice after one of them has changed. */
    snprintf(body, sizeof body,
             "%s%%a = f\n%%b = f\n%%d = copy %%a\n%%d += g\nuse %%d\nuse %%b, %%a\n", names);
    check_bound(16, body, 2 * 164);
}

static void test_regions(void **unused) {
    (void)unused;
    /* Half of %a makes way. DMAs of a part count as parts of one of all of %a: 228 / 2. */
    check_bound(16,
                "tensor %a : sb<128x16xu8>\ntensor %p : sb<128x8xu8>\n%a = f\n%p = f\nuse %p\n"
                "use %a(0..128, 0..8)\nuse %a(0..128, 8..16)\n",
                114 + 114);
    /* The half that nothing reads takes no room. */
    check_bound(16,
                "tensor %a : sb<128x16xu8>\ntensor %p : sb<128x8xu8>\n%a = f\n%p = f\nuse %p\n"
                "use %a(0..128, 0..8)\n",
                0);
}

static void test_quadrants(void **unused) {
    (void)unused;
    check_bound(8,
                "tensor %a : sb<32x8xu8>\ntensor %b : sb<32x8xu8>\n"
                "%a = f\n%b = f\nuse %b\nuse %a\n",
                0);
    check_bound(8,
                "tensor %a : sb<32x8xu8> base 0\ntensor %b : sb<32x8xu8> base 0\n"
                "%a = f\n%b = f\nuse %b\nuse %a\n",
                2 * 116);
    /* Both halves are taken; %c may stand in any quadrant of them. */
    check_bound(8,
                "tensor %a : sb<64x8xu8> base 0\ntensor %b : sb<64x8xu8> base 64\n"
                "tensor %c : sb<32x8xu8>\n%c = f\n%a, %b = f\nuse %a, %b\nuse %c\n",
                2 * 116);
}

static void test_sums(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    int64_t store[] = {0, 7};
    RowItem items[] = {{.load = 5}, {.load = MUST_KEEP}, {.load = 5, .value = 1}};
    RowProblem problem = {.items = items, .nitems = 3, .nvalues = 2, .store = store};
    const int64_t sums[][2] = {{-3, 0},  {0, 0},   {1, 5},   {6, 7},   {8, 10},           {11, 12},
                               {13, 14}, {16, 17}, {18, 19}, {23, 24}, {1000001, 1000001}};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        assert_int_equal(round_to_sums(&problem, sums[i][0], &arena), sums[i][1]);
    arena_free(&arena);
}

static void check_random(uint64_t seed, uint64_t counts[2]) {
    Arena arena;
    arena_init(&arena);
    Module *module = random_module(&arena, seed, (RandomShape){ROOM_SPILLING, CODE_ANY, SIZE_ANY});
    DiagQueue diags;
    diag_init(&diags, &arena);
    Options options = options_default();
    options.effort = 0;
    Allocation result = allocate(module->funcs, &module->target, &options, &arena, &diags);
    Bound bound = find_bound(module->funcs, &module->target, LONG, &arena);
    if (result.status == ALLOCATED) {
        assert_true(bound.known);
        assert_true(bound.cycles <= result.report.spill_cycles);
        assert_true(result.report.bound_cycles <= result.report.spill_cycles);
        counts[0] += report_is_proved(&result.report);
        counts[1] += bound.cycles > 0;
    }
    arena_free(&arena);
}

static void test_never_above(void **unused) {
    (void)unused;
    uint64_t counts[2] = {0, 0}; /* proved, positive bounds */
    for (uint64_t seed = 1; seed <= 100 || seed <= test_count(); seed++)
        check_random(seed, counts);
    assert_true(counts[0] > 0 && counts[1] > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaps),        cmocka_unit_test(test_dram),
        cmocka_unit_test(test_copies),      cmocka_unit_test(test_regions),
        cmocka_unit_test(test_quadrants),   cmocka_unit_test(test_sums),
        cmocka_unit_test(test_never_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
