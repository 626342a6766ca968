/* The timeline against a run of the same program, step by step. */
#include "analysis/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/count.h"
#include "test/make.h"
#include "test/random.h"
#include "test/run.h"

enum { AMPLE = 1000000 };

static Timeline laid_out(const Func *func, uint32_t full, Arena *arena) {
    Timeline timeline;
    assert_true(lay_out(func, full, AMPLE, arena, &timeline));
    return timeline;
}

/* True if the frames of a point stand for where the loops around it stand in this step. */
static bool stands_for(const Timeline *timeline, uint32_t point, const Stepper *run) {
    const TimePoint *at = &timeline->points[point];
    uint32_t loop = timeline->func->insts[at->inst].loop;
    if (at->inst != run->point) return false;
    for (uint32_t f = at->frame; f != NO_FRAME; f = timeline->frames[f].parent) {
        const Frame *frame = &timeline->frames[f];
        assert_int_equal(frame->loop, loop);
        int64_t index = run->indices[loop];
        if (index < frame->low || index > frame->high) return false;
        loop = timeline->func->loops[loop].parent;
    }
    assert_int_equal(loop, NO_LOOP);
    return true;
}

/* Laid out in full, points are the steps that happen, one by one. */
static void full_is_the_run(const Func *func, Arena *arena) {
    Timeline timeline = laid_out(func, AMPLE, arena);
    Stepper run = run_begin(func, arena);
    uint32_t point = 0;
    assert_int_equal(timeline.nruns, 0);
    while (run_next(&run)) {
        if (!run_happens(&run)) continue;
        assert_true(point < timeline.npoints);
        assert_true(stands_for(&timeline, point, &run));
        assert_int_equal(point_trips(&timeline, point), 1);
        point++;
    }
    assert_int_equal(point, timeline.npoints);
}

/* The point that stands for this step: exactly one does. */
static uint32_t point_of(const Timeline *timeline, const Stepper *run) {
    uint32_t found = UINT32_MAX;
    for (uint32_t p = 0; p < timeline->npoints; p++) {
        if (!stands_for(timeline, p, run)) continue;
        assert_int_equal(found, UINT32_MAX);
        found = p;
    }
    return found;
}

/* True if the frames of the point are at their first iterations. */
static bool begins(const Timeline *timeline, uint32_t point, const Stepper *run) {
    int64_t first[RANDOM_POINTS] = {0};
    uint32_t frame = timeline->points[point].frame;
    frame_first(timeline, frame, first);
    for (; frame != NO_FRAME; frame = timeline->frames[frame].parent) {
        uint32_t loop = timeline->frames[frame].loop;
        if (first[loop] != run->indices[loop]) return false;
    }
    return true;
}

/* Where like iterations are laid out once, each step that happens has one point, no other has any;
 * a point stands for as many steps as it says; they first come in the order of points. */
static void rolled_stands_for_the_run(const Func *func, Arena *arena) {
    Timeline timeline = laid_out(func, 0, arena);
    int64_t *steps = NEW_ARRAY(arena, int64_t, (size_t)timeline.npoints + 1);
    Stepper run = run_begin(func, arena);
    uint32_t next = 0;
    while (run_next(&run)) {
        uint32_t point = point_of(&timeline, &run);
        assert_int_equal(point != UINT32_MAX, run_happens(&run));
        if (point == UINT32_MAX) continue;
        steps[point]++;
        if (!begins(&timeline, point, &run)) continue;
        assert_int_equal(point, next);
        next++;
    }
    assert_int_equal(next, timeline.npoints);
    for (uint32_t p = 0; p < timeline.npoints; p++)
        assert_int_equal(steps[p], point_trips(&timeline, p));
}

/* Operands name the same sb blocks in all iterations of a run: what it stands for is alike. */
static void runs_are_alike(const Func *func, Arena *arena) {
    Timeline timeline = laid_out(func, 0, arena);
    int64_t first[RANDOM_POINTS] = {0}, last[RANDOM_POINTS] = {0};
    for (uint32_t p = 0; p < timeline.npoints; p++) {
        const Inst *inst = &func->insts[timeline.points[p].inst];
        frame_first(&timeline, timeline.points[p].frame, first);
        frame_last(&timeline, timeline.points[p].frame, last);
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            const Blocks *blocks = inst->operands[o].blocks;
            bool sb = func->tensors[inst->operands[o].tensor].space == SPACE_SB;
            if (!sb || !blocks || blocks->kind == BLOCKS_ALL) continue;
            assert_int_equal(affine_value(blocks->low, first), affine_value(blocks->low, last));
        }
    }
}

/* Runs lie in each other and hold the points that name them; their trips are those of a frame. */
static void runs_nest(const Func *func, Arena *arena) {
    Timeline timeline = laid_out(func, 0, arena);
    for (uint32_t r = 0; r < timeline.nruns; r++) {
        const Run *run = &timeline.runs[r];
        assert_true(run->trips >= 2);
        assert_true(run->first <= run->end && run->end <= timeline.npoints);
        if (run->parent == NO_RUN) continue;
        assert_true(run->parent < r);
        const Run *around = &timeline.runs[run->parent];
        assert_true(around->first <= run->first && run->end <= around->end);
    }
    for (uint32_t p = 0; p < timeline.npoints; p++) {
        uint32_t r = timeline.points[p].run;
        if (r != NO_RUN) assert_true(timeline.runs[r].first <= p && p < timeline.runs[r].end);
        for (uint32_t f = timeline.points[p].frame; f != NO_FRAME; f = timeline.frames[f].parent)
            assert_true(timeline.frames[f].parent == NO_FRAME || timeline.frames[f].parent < f);
    }
}

static void on_random_programs(void (*check)(const Func *func, Arena *arena)) {
    for (uint64_t seed = 1; seed <= 3 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.code = seed % 3 ? CODE_ANY : CODE_BLOCK_LOOPS};
        check(random_module(&arena, seed, shape)->funcs, &arena);
        arena_free(&arena);
    }
}

static void laid_out_in_full(void **unused) {
    (void)unused;
    on_random_programs(full_is_the_run);
}

static void laid_out_by_like_iterations(void **unused) {
    (void)unused;
    on_random_programs(rolled_stands_for_the_run);
    on_random_programs(runs_are_alike);
    on_random_programs(runs_nest);
}

/* Lays out a body of three loops at most; `want` is its points: instruction, low and high of the
 * innermost frame, trips. */
typedef struct {
    uint32_t inst;
    int64_t low, high, trips;
} Wanted;

static void expect(const char *body, uint32_t count, const Wanted *want) {
    Arena arena;
    arena_init(&arena);
    Timeline timeline = laid_out(make_body(&arena, 1024, body)->funcs, 0, &arena);
    assert_int_equal(timeline.npoints, count);
    for (uint32_t p = 0; p < count; p++) {
        const TimePoint *point = &timeline.points[p];
        assert_int_equal(point->inst, want[p].inst);
        assert_int_equal(timeline.frames[point->frame].low, want[p].low);
        assert_int_equal(timeline.frames[point->frame].high, want[p].high);
        assert_int_equal(point_trips(&timeline, p), want[p].trips);
    }
    arena_free(&arena);
}

#define ONE "tensor %a : sb<128x8xu8>\n"

static void like_iterations(void **unused) {
    (void)unused;
    static const Wanted plain[] = {{0, 0, 0, 1}, {0, 1, 99, 99}};
    expect(ONE "loop i = 0..100 { %a = f }", 2, plain);
    static const Wanted nest[] = {{0, 0, 0, 1}, {0, 1, 9, 9}, {0, 0, 0, 4}, {0, 1, 9, 36}};
    expect(ONE "loop i = 0..5 { loop k = 0..10 { %a = f } }", 4, nest);
    static const Wanted blocks[] = {{0, 0, 0, 1}, {0, 1, 1, 1}, {0, 2, 2, 1}};
    expect("tensor %b : sb<3*128x8xu8>\nloop i = 0..3 { %b[i] = f }", 3, blocks);
}

/* A loop of 2^40 trips has few points; one that picks blocks, or a remainder, has too many. */
static void limits(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    Timeline timeline;
    const Func *long_loop =
        make_body(&arena, 1024, ONE "loop i = 0..1099511627776 { %a = f if i > 7 }")->funcs;
    assert_true(lay_out(long_loop, 1000, 100, &arena, &timeline));
    assert_true(timeline.npoints <= 12);
    assert_int_equal(point_trips(&timeline, timeline.npoints - 1) > 1000000000, 1);
    const Func *remainder =
        make_body(&arena, 1024, ONE "loop i = 0..1099511627776 { %a = f if i mod 2 == 0 }")->funcs;
    assert_false(lay_out(remainder, 1000, 1000, &arena, &timeline));
    const Func *ten = make_body(&arena, 1024, ONE "%a = f\nloop i = 0..10 { %a = f }")->funcs;
    assert_true(lay_out(ten, 11, 11, &arena, &timeline));
    assert_int_equal(timeline.npoints, 11);
    assert_true(lay_out(ten, 10, 11, &arena, &timeline));
    assert_int_equal(timeline.npoints, 3);
    assert_true(lay_out(ten, 10, 3, &arena, &timeline));
    assert_false(lay_out(ten, 10, 2, &arena, &timeline));
    arena_free(&arena);
}

/* Loops without instructions, and bodies of which nothing happens, are passed over. */
static void nothing_to_lay_out(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    Timeline timeline;
    const char *body = ONE "loop i = 0..4 { loop j = 0..4 { } }\nloop k = 0..4 { %a = f if k > 9 }";
    assert_true(lay_out(make_body(&arena, 1024, body)->funcs, 1000, 1000, &arena, &timeline));
    assert_int_equal(timeline.npoints, 0);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(laid_out_in_full),
                                       cmocka_unit_test(laid_out_by_like_iterations),
                                       cmocka_unit_test(like_iterations), cmocka_unit_test(limits),
                                       cmocka_unit_test(nothing_to_lay_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
