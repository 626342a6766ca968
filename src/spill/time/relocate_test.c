/* What places keep, against a look at every access. */
#include "spill/time/relocate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "spill/time/cells.h"
#include "spill/time/classes.h"
#include "spill/time/gaps.h"
#include "spill/time/sources.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"

enum { AMPLE = 1000000, STEPS = 200000 };

/* False where find_gaps() refuses the program. */
static bool facts_of(const Module *module, uint32_t full, TimeFacts *facts, Arena *arena) {
    TimeOptions options = {
        .full = full, .most_points = AMPLE, .most_accesses = AMPLE, .remat = true};
    return find_time_facts(module->funcs, &module->target, options, arena, facts);
}

static bool range_has(LiveRange range, uint32_t point) {
    for (uint32_t i = 0; i < range.count; i++)
        if (range.items[i].first <= point && point <= range.items[i].last) return true;
    return false;
}

/* True if an access of a cell on a granule of the gap's own cell lies in the gap. */
static bool is_broken(const TimeFacts *facts, const Rect *rects, const TimeGap *gap) {
    const Cells *cells = &facts->cells;
    for (uint32_t c = 0; c < cells->ncells; c++) {
        if (c == gap->cell || !rects_meet(rects[c], rects[gap->cell])) continue;
        for (uint32_t a = cells->first[c]; a < cells->first[c + 1]; a++)
            if (range_has(gap->points, cells->accesses[a].point) ||
                range_has(gap->tail, cells->accesses[a].point))
                return true;
    }
    return false;
}

static void check_kept(const TimeFacts *facts, const CellPlaces *places) {
    for (uint32_t g = 0; g < facts->gaps.count; g++) {
        const TimeGap *gap = &facts->gaps.gaps[g];
        bool resident = facts->gaps.resident[facts->cells.tensor[gap->cell]];
        if (!resident)
            assert_int_equal(places->kept[g], !is_broken(facts, places->rects, gap));
        else if (places->legal)
            assert_true(places->kept[g] && !is_broken(facts, places->rects, gap));
    }
}

static bool in_its_bands(const Tensor *tensor, Rect rect) {
    Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
    for (int b = 0; b < bands.count; b++)
        if (bands.masks[b] == rect.mask) return true;
    return false;
}

static void check_rects(const TimeFacts *facts, const CellPlaces *places) {
    const Cells *cells = &facts->cells;
    for (uint32_t c = 0; c < cells->ncells; c++) {
        const Tensor *tensor = &facts->func->tensors[cells->tensor[c]];
        Rect rect = places->rects[c];
        assert_int_equal(rect.mask != 0, cells->first[c] < cells->first[c + 1]);
        if (!rect.mask) continue;
        if (tensor->fixed) {
            assert_true(rects_same(rect, tensor_rect(tensor, tensor->at[cell_block(cells, c)])));
            continue;
        }
        assert_int_equal(rect.high - rect.low, tensor_height(tensor));
        assert_int_equal(rect.low % tensor_align(tensor), 0);
        assert_true(rect.high <= facts->size);
        assert_true(in_its_bands(tensor, rect));
    }
}

/* Cells that one point accesses lie apart. */
static void check_legal(const TimeFacts *facts, const CellPlaces *places) {
    const Cells *cells = &facts->cells;
    for (uint32_t c = 0; c < cells->ncells; c++)
        for (uint32_t d = 0; d < c; d++) {
            if (!rects_meet(places->rects[c], places->rects[d])) continue;
            uint32_t b = cells->first[d];
            for (uint32_t a = cells->first[c]; a < cells->first[c + 1]; a++) {
                while (b < cells->first[d + 1] &&
                       cells->accesses[b].point < cells->accesses[a].point)
                    b++;
                assert_true(b == cells->first[d + 1] ||
                            cells->accesses[b].point != cells->accesses[a].point);
            }
        }
}

static bool try_module(const Module *module, uint32_t full, uint64_t seed, Arena *arena) {
    TimeFacts facts;
    if (!facts_of(module, full, &facts, arena)) return false;
    KeepProblem problem = {.facts = &facts,
                           .headroom = NEW_ARRAY(arena, uint32_t, facts.timeline.npoints),
                           .steps = STEPS,
                           .seed = seed};
    uint64_t steps = STEPS;
    const Rect *none = NEW_ARRAY(arena, Rect, facts.cells.ncells);
    CellPlaces places = relocate(&problem, none, &steps, arena);
    assert_true(steps <= STEPS);
    check_kept(&facts, &places);
    if (places.legal) check_rects(&facts, &places);
    if (places.legal) check_legal(&facts, &places);
    return places.legal;
}

static void kept_is_what_nothing_breaks(void **unused) {
    (void)unused;
    uint32_t legal = 0, count = 0;
    for (uint64_t seed = 1; seed <= 2 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.room = ROOM_SPILLING,
                             .size = SIZE_SMALL,
                             .code = seed % 2 ? CODE_ANY : CODE_BLOCK_LOOPS};
        const Module *module = random_module(&arena, seed, shape);
        legal += try_module(module, seed % 4 < 2 ? 0 : AMPLE, seed, &arena);
        count++;
        arena_free(&arena);
    }
    print_message("%u of %u legal\n", legal, count);
    assert_true(4 * legal >= count);
}

/* `loop i { %b[i] = f %a[i] }`: n + 1 blocks keep all; with two less, one gap at least is broken.
 */
static void one_block_more(void **unused) {
    (void)unused;
    for (int64_t usable = 56; usable <= 72; usable += 16) {
        Arena arena;
        arena_init(&arena);
        const Module *module =
            make_body(&arena, usable,
                      "tensor %a : sb<8*128x8xu8>\ntensor %b : sb<8*128x8xu8>\n"
                      "loop i = 0..8 { %a[i] = f }\nloop i = 0..8 { %b[i] = f %a[i] }\n"
                      "loop i = 0..8 { g %b[i] }");
        TimeFacts facts;
        assert_true(facts_of(module, AMPLE, &facts, &arena));
        KeepProblem problem = {.facts = &facts,
                               .headroom = NEW_ARRAY(&arena, uint32_t, facts.timeline.npoints),
                               .seed = 1};
        uint64_t steps = 50 * STEPS;
        const Rect *none = NEW_ARRAY(&arena, Rect, facts.cells.ncells);
        CellPlaces places = relocate(&problem, none, &steps, &arena);
        assert_true(places.legal);
        check_kept(&facts, &places);
        check_rects(&facts, &places);
        check_legal(&facts, &places);
        assert_int_equal(places.cost == 0, usable == 72);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kept_is_what_nothing_breaks),
                                       cmocka_unit_test(one_block_more)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
