/* Peaks against a run of the same program, step by step, with every byte counted. */
#include "driver/peak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "driver/allocate.h"
#include "driver/peak_room.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"
#include "test/run.h"

/* What the run does with each block at each step that happens. */
typedef struct {
    const Func *func;
    const Target *target;
    Arena *arena;
    uint32_t *first; /* [ntensors + 1] first block of each tensor, numbered through */
    uint32_t *owner; /* [blocks] */
    uint32_t nblocks, nsteps;
    uint32_t *inst;     /* [nsteps] */
    int64_t **indices;  /* [nsteps] [nloops] */
    bool *named, *live; /* [nsteps * nblocks] */
} Watched;

typedef struct {
    bool named, reads, whole, part; /* part: of what is there, the rest is left as it was */
} Touch;

static bool *bit_of(const Watched *watched, bool *bits, uint32_t step, uint32_t block) {
    return &bits[(size_t)step * watched->nblocks + block];
}

static void number_blocks(Watched *watched) {
    const Func *func = watched->func;
    watched->first = NEW_ARRAY(watched->arena, uint32_t, (size_t)func->ntensors + 1);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        bool sb = func->tensors[t].space == SPACE_SB;
        watched->first[t + 1] = watched->first[t] + (sb ? (uint32_t)func->tensors[t].blocks : 0);
    }
    watched->nblocks = watched->first[func->ntensors];
    watched->owner = NEW_ARRAY(watched->arena, uint32_t, watched->nblocks);
    for (uint32_t t = 0; t < func->ntensors; t++)
        for (uint32_t b = watched->first[t]; b < watched->first[t + 1]; b++)
            watched->owner[b] = t;
}

static Touch touch_of(const Watched *watched, const Stepper *run, uint32_t block, bool held) {
    uint32_t tensor = watched->owner[block];
    int64_t number = block - watched->first[tensor], first, last;
    const Inst *inst = &run->func->insts[run->point];
    Touch touch = {0};
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        const Operand *operand = &inst->operands[o];
        if (operand->tensor != tensor) continue;
        run_blocks(run, operand, &first, &last);
        if (number < first || number > last) continue;
        touch.named = true;
        touch.reads |= o >= inst->ndst || inst->accumulate;
        bool whole = operand_is_whole(run->func, operand);
        touch.whole |= o < inst->ndst && whole;
        touch.part |= o < inst->ndst && held && !whole;
    }
    touch.part &= !touch.whole; /* there is no rest */
    return touch;
}

static void watch_block(Watched *watched, uint32_t block) {
    const Tensor *tensor = &watched->func->tensors[watched->owner[block]];
    bool held = tensor->input;
    uint32_t pending = 0, step = 0; /* pending: since when it has held what it holds */
    Stepper run = run_begin(watched->func, watched->arena);
    if (held && watched->nsteps > 0) *bit_of(watched, watched->live, 0, block) = true;
    while (run_next(&run)) {
        if (!run_happens(&run)) continue;
        Touch touch = touch_of(watched, &run, block, held);
        if (touch.named) {
            if (!touch.reads && !touch.part) pending = step;
            for (uint32_t s = touch.reads ? pending : step; s <= step; s++)
                *bit_of(watched, watched->live, s, block) = true;
            *bit_of(watched, watched->named, step, block) = true;
            held = true;
        }
        step++;
    }
    for (uint32_t s = pending; tensor->output && held && s < watched->nsteps; s++)
        *bit_of(watched, watched->live, s, block) = true;
}

static Watched watch(const Func *func, const Target *target, Arena *arena) {
    Watched watched = {.func = func, .target = target, .arena = arena};
    watched.inst = NEW_ARRAY(arena, uint32_t, (size_t)run_steps(func) + 1);
    watched.indices = NEW_ARRAY(arena, int64_t *, (size_t)run_steps(func) + 1);
    Stepper run = run_begin(func, arena);
    while (run_next(&run)) {
        if (!run_happens(&run)) continue;
        watched.inst[watched.nsteps] = run.point;
        watched.indices[watched.nsteps] = NEW_ARRAY(arena, int64_t, func->nloops);
        if (func->nloops > 0)
            memcpy(watched.indices[watched.nsteps], run.indices,
                   func->nloops * sizeof *run.indices);
        watched.nsteps++;
    }
    number_blocks(&watched);
    size_t bits = (size_t)watched.nsteps * watched.nblocks;
    watched.named = NEW_ARRAY(arena, bool, bits);
    watched.live = NEW_ARRAY(arena, bool, bits);
    for (uint32_t b = 0; b < watched.nblocks; b++)
        watch_block(&watched, b);
    return watched;
}

/* ---- what is needed ---- */

/* Granules that are taken in each quadrant, one by one. */
static int64_t taken_at(const Watched *watched, uint32_t step, int64_t *free) {
    uint32_t size = target_granules(watched->target), touched = target_touched(watched->target);
    bool *bits = NEW_ARRAY(watched->arena, bool, (size_t)touched *QUADRANTS);
    for (uint32_t b = 0; b < watched->nblocks; b++) {
        const Tensor *tensor = &watched->func->tensors[watched->owner[b]];
        if (!*bit_of(watched, watched->live, step, b)) continue;
        Rect rect = tensor_rect(tensor, tensor->at[b - watched->first[watched->owner[b]]]);
        for (uint32_t q = 0; q < QUADRANTS; q++)
            for (uint32_t g = rect.low; rect.mask & (1 << q) && g < rect.high; g++)
                bits[g * QUADRANTS + q] = true;
    }
    int64_t most = 0;
    *free = 0;
    for (uint32_t q = 0; q < QUADRANTS; q++) {
        int64_t sum = 0;
        for (uint32_t g = 0; g < touched; g++) {
            sum += bits[g * QUADRANTS + q];
            *free += g < size && !bits[g * QUADRANTS + q];
        }
        if (sum > most) most = sum;
    }
    return most;
}

/* Granules that what lives there needs where it has no places: the definition, term by term. Those
 * with a place count where they lie, once where two are one rectangle. */
static int64_t needed_at(const Watched *watched, uint32_t step) {
    int64_t quadrant[QUADRANTS] = {0}, half[2] = {0}, area = 0, full = 0, tallest = 0;
    Rect *seen = NEW_ARRAY(watched->arena, Rect, watched->nblocks);
    uint32_t nseen = 0;
    for (uint32_t b = 0; b < watched->nblocks; b++) {
        const Tensor *tensor = &watched->func->tensors[watched->owner[b]];
        if (!*bit_of(watched, watched->live, step, b)) continue;
        ShapeClass class = shape_class(tensor->partitions, tensor->base);
        Bands bands = class_bands(class);
        uint8_t mask = bands.count == 1 ? bands.masks[0] : 0;
        int64_t height = tensor_height(tensor);
        if (tensor->fixed) {
            Rect rect = tensor_rect(tensor, tensor->at[b - watched->first[watched->owner[b]]]);
            bool again = false;
            for (uint32_t s = 0; s < nseen; s++)
                again |= seen[s].low == rect.low && seen[s].high == rect.high &&
                         seen[s].mask == rect.mask;
            if (again) continue;
            seen[nseen++] = rect;
            mask = rect.mask;
            height = rect.high - rect.low;
        }
        area += height * class_quadrants(class);
        for (int q = 0; q < QUADRANTS; q++)
            if (mask & (1 << q)) {
                quadrant[q] += height;
                half[q / 2] += height;
            }
        if (class == CLASS_FULL)
            full += height;
        else if (height > tallest)
            tallest = height;
    }
    int64_t need = (area + 3) / 4;
    for (int q = 0; q < QUADRANTS; q++) {
        if (quadrant[q] > need) need = quadrant[q];
        if ((half[q / 2] + 1) / 2 > need) need = (half[q / 2] + 1) / 2;
    }
    return need > full + tallest ? need : full + tallest;
}

/* ---- comparing ---- */

static void assert_moment(const Watched *watched, Moment moment, uint32_t step) {
    if (step == UINT32_MAX) {
        assert_int_equal(moment.point, UINT32_MAX);
        return;
    }
    assert_int_equal(moment.point, watched->inst[step]);
    uint32_t loop = watched->func->insts[moment.point].loop;
    for (; loop != NO_LOOP; loop = watched->func->loops[loop].parent)
        assert_int_equal(moment.indices[watched->func->loops[loop].depth],
                         watched->indices[step][loop]);
}

/* The last step up to which a block lives on, or the first from which on it has lived. */
static uint32_t walk_live(const Watched *watched, uint32_t block, uint32_t step, int by) {
    for (;;) {
        uint32_t next = step + (uint32_t)by;
        if (next >= watched->nsteps || !*bit_of(watched, watched->live, next, block)) return step;
        step = next;
    }
}

static void compare_tensor(const Watched *watched, const PeakTensor *one, uint32_t step) {
    uint32_t first = step, last = step, next = UINT32_MAX;
    int64_t blocks = 0;
    bool used = false;
    for (uint32_t b = watched->first[one->tensor]; b < watched->first[one->tensor + 1]; b++) {
        if (!*bit_of(watched, watched->live, step, b)) continue;
        blocks++;
        used |= *bit_of(watched, watched->named, step, b);
        uint32_t begin = walk_live(watched, b, step, -1), end = walk_live(watched, b, step, 1);
        if (begin < first) first = begin;
        if (end > last) last = end;
        for (uint32_t s = step + 1; s <= end; s++)
            if (*bit_of(watched, watched->named, s, b)) {
                if (s < next) next = s;
                break;
            }
    }
    assert_int_equal(one->blocks, blocks);
    assert_int_equal(one->bytes, blocks * watched->func->tensors[one->tensor].bytes);
    assert_int_equal(one->used, used);
    assert_moment(watched, one->first, first);
    assert_moment(watched, one->last, last);
    assert_moment(watched, one->next, next);
}

static Rect rect_of(const Watched *watched, uint32_t block) {
    const Tensor *tensor = &watched->func->tensors[watched->owner[block]];
    if (!tensor->at) return (Rect){0, 0, 0}; /* it never lives, or has no place yet */
    return tensor_rect(tensor, tensor->at[block - watched->first[watched->owner[block]]]);
}

/* The block of the tensors listed up to `listed` that has the block's place at the step; of its own
 * tensor those before it. UINT32_MAX: none. */
static uint32_t same_place(const Watched *watched, const Peak *peak, uint32_t listed,
                           uint32_t block, uint32_t step) {
    Rect rect = rect_of(watched, block);
    for (uint32_t i = 0; i <= listed && rect.mask; i++) {
        uint32_t t = peak->tensors[i].tensor;
        uint32_t end = i < listed ? watched->first[t + 1] : block;
        for (uint32_t b = watched->first[t]; b < end; b++) {
            Rect other = rect_of(watched, b);
            if (*bit_of(watched, watched->live, step, b) && rects_same(rect, other) &&
                rect.high == other.high)
                return b;
        }
    }
    return UINT32_MAX;
}

static void compare_shared(const Watched *watched, const Peak *peak, uint32_t step) {
    for (uint32_t i = 0; i < peak->count; i++) {
        const PeakTensor *one = &peak->tensors[i];
        int64_t blocks = 0;
        bool named = false;
        for (uint32_t b = watched->first[one->tensor]; b < watched->first[one->tensor + 1]; b++) {
            if (!*bit_of(watched, watched->live, step, b)) continue;
            uint32_t other = same_place(watched, peak, i, b, step);
            if (other == UINT32_MAX) continue;
            blocks++;
            named |= watched->owner[other] == one->shares;
        }
        assert_int_equal(one->shared, blocks * watched->func->tensors[one->tensor].bytes);
        assert_true(named == (blocks > 0));
    }
}

/* Everything but room. Returns the step of the peak. */
static uint32_t compare_peak(const Watched *watched, const Peak *peak) {
    int64_t most = 0, free;
    int64_t *wanted = NEW_ARRAY(watched->arena, int64_t, watched->func->ninsts);
    uint32_t worst = 0;
    for (uint32_t s = 0; s < watched->nsteps; s++) {
        int64_t need = peak->placed ? taken_at(watched, s, &free) : needed_at(watched, s);
        if (need > wanted[watched->inst[s]]) wanted[watched->inst[s]] = need;
        if (need <= most) continue;
        most = need;
        worst = s;
    }
    for (uint32_t p = 0; p < watched->func->ninsts; p++)
        assert_int_equal(peak->need[p], wanted[p]);
    assert_int_equal(peak->needed, most * GRANULE);
    assert_int_equal(peak->usable, target_usable(watched->target));
    assert_moment(watched, peak->at, worst);
    uint32_t tensors = 0;
    for (uint32_t t = 0; t < watched->func->ntensors; t++) {
        bool lives = false;
        for (uint32_t b = watched->first[t]; b < watched->first[t + 1]; b++)
            lives |= *bit_of(watched, watched->live, worst, b);
        tensors += lives;
    }
    assert_int_equal(peak->count, tensors);
    for (uint32_t i = 0; i < peak->count; i++) {
        compare_tensor(watched, &peak->tensors[i], worst);
        if (i > 0) assert_true(peak->tensors[i].bytes <= peak->tensors[i - 1].bytes);
    }
    compare_shared(watched, peak, worst);
    return worst;
}

/* True if the rectangle is free at the step. */
static bool is_free(const Watched *watched, uint32_t step, Rect rect) {
    for (uint32_t b = 0; b < watched->nblocks; b++) {
        const Tensor *tensor = &watched->func->tensors[watched->owner[b]];
        if (!*bit_of(watched, watched->live, step, b)) continue;
        if (rects_meet(rect,
                       tensor_rect(tensor, tensor->at[b - watched->first[watched->owner[b]]])))
            return false;
    }
    return true;
}

/* The free rectangle is free, and none of larger area is: each that rests on something is tried. */
static void compare_room(const Watched *watched, const Peak *peak, uint32_t step) {
    static const uint8_t BANDS[] = {0xF, 0x3, 0xC, 0x1, 0x2, 0x4, 0x8};
    uint32_t size = target_granules(watched->target);
    int64_t free, best = 0;
    taken_at(watched, step, &free);
    assert_int_equal(peak->free, free * GRANULE * QUADRANT_PARTITIONS);
    for (size_t i = 0; i < sizeof BANDS; i++)
        for (uint32_t low = 0; low < size; low++) {
            uint32_t high = low;
            while (high < size && is_free(watched, step, (Rect){high, high + 1, BANDS[i]}))
                high++;
            int64_t area = rect_area((Rect){low, high, BANDS[i]});
            if (area > best) best = area;
            if (high > low) low = high - 1;
        }
    assert_int_equal(rect_area(peak->largest), best);
    assert_int_equal(peak->fragmented, peak->free - best);
    if (best > 0) assert_true(is_free(watched, step, peak->largest));
}

/* True where it was compared: where iterations are not told apart, nothing can be. */
static bool compare_input(const Module *module, Arena *arena) {
    const Func *func = module->funcs;
    Live live = live_range(func, arena);
    PeakOf of = {.func = func, .live = &live, .target = &module->target};
    const Peak *peak = find_peak(&of, arena);
    if (!peak || (func->nloops > 0 && !peak->in_time)) return false;
    Watched watched = watch(func, &module->target, arena);
    compare_peak(&watched, peak);
    return true;
}

/* True where blocks lie over each other in part at some step, as an input that nothing reads may
 * over what is written first: find_peak() counts both. */
static bool overlaps_in_part(const Watched *watched) {
    for (uint32_t a = 0; a < watched->nblocks; a++)
        for (uint32_t b = 0; b < a; b++) {
            Rect one = rect_of(watched, a), other = rect_of(watched, b);
            bool same = rects_same(one, other) && one.high == other.high;
            if (!rects_meet(one, other) || same) continue;
            for (uint32_t s = 0; s < watched->nsteps; s++)
                if (*bit_of(watched, watched->live, s, a) && *bit_of(watched, watched->live, s, b))
                    return true;
        }
    return false;
}

static bool compare_result(const Module *module, Arena *arena) {
    Options options = options_default();
    DiagQueue diags;
    diag_init(&diags, arena);
    options.peaks = true;
    Allocation result = allocate(module->funcs, &module->target, &options, arena, &diags);
    const Peak *peak = result.report.peak_after;
    if (result.status != ALLOCATED || !peak || (result.func->nloops > 0 && !peak->in_time))
        return false;
    Watched watched = watch(result.func, &module->target, arena);
    if (overlaps_in_part(&watched)) return false;
    compare_room(&watched, peak, compare_peak(&watched, peak));
    assert_true(peak->needed <= (int64_t)target_touched(&module->target) * GRANULE);
    bool spilled = result.report.spilled_tensors > 0;
    assert_true(spilled == (result.report.peak_before != peak));
    return true;
}

static void compare_random(bool (*compare)(const Module *, Arena *), RandomShape shape) {
    uint64_t compared = 0, count = test_count();
    for (uint64_t seed = 0; seed < count; seed++) {
        Arena arena;
        arena_init(&arena);
        compared += compare(random_module(&arena, seed, shape), &arena);
        arena_free(&arena);
    }
    assert_true(compared > count / 2);
}

static void inputs_as_they_run(void **unused) {
    (void)unused;
    compare_random(compare_input, (RandomShape){0});
    compare_random(compare_input, (RandomShape){.code = CODE_STRAIGHT});
}

static void results_as_they_run(void **unused) {
    (void)unused;
    compare_random(compare_result, (RandomShape){.room = ROOM_SPILLING});
    compare_random(compare_result, (RandomShape){.room = ROOM_TIGHT});
}

/* Too long to be laid out: an instruction needs what any iteration of it does. */
static void long_loops_by_text(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    const Module *module = make_body(&arena, 1024,
                                     "tensor %a : sb<2*128x16xu8>\ntensor %b : sb<64x8xu8>\n"
                                     "%a = f\nloop i = 0..3000000 {\n%b = g %a[i mod 2]\n"
                                     "h %b\n}");
    Live live = live_range(module->funcs, &arena);
    PeakOf of = {.func = module->funcs, .live = &live, .target = &module->target};
    const Peak *peak = find_peak(&of, &arena);
    assert_non_null(peak);
    assert_false(peak->in_time);
    assert_int_equal(peak->at.point, 1);
    assert_null(peak->at.indices);
    assert_int_equal(peak->needed, 40);
    assert_int_equal(peak->count, 2);
    assert_int_equal(peak->tensors[0].blocks, 2);
    assert_int_equal(peak->tensors[0].bytes, 32);
    assert_true(peak->tensors[0].used && peak->tensors[1].used);
    assert_int_equal(peak->tensors[0].first.point, 0);
    assert_int_equal(peak->tensors[0].last.point, 2);
    assert_int_equal(peak->tensors[0].next.point, UINT32_MAX);
    assert_int_equal(peak->tensors[1].next.point, 2);
    arena_free(&arena);
}

/* A block dies when the next is born: the text alone would count all of both tensors. */
static void iterations_apart(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    const Module *module =
        make_body(&arena, 4096,
                  "tensor %a : sb<4*128x64xu8>\ntensor %b : sb<4*128x64xu8>\n"
                  "loop i = 0..4 { %a[i] = f }\n"
                  "loop i = 0..4 {\n%b[i] = g %a[i]\n}\nloop i = 0..4 { use %b[i] }");
    Live live = live_range(module->funcs, &arena);
    PeakOf of = {.func = module->funcs, .live = &live, .target = &module->target};
    const Peak *peak = find_peak(&of, &arena);
    static const uint32_t wanted[] = {32, 40, 32};
    for (uint32_t p = 0; p < 3; p++)
        assert_int_equal(peak->need[p], wanted[p]);
    assert_int_equal(peak->at.point, 1);
    assert_int_equal(peak->at.indices[0], 0);
    assert_int_equal(peak->tensors[0].blocks, 4);
    assert_int_equal(peak->tensors[1].blocks, 1);
    arena_free(&arena);
}

static void nothing_lives(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    const Module *module = make_body(&arena, 1024, "barrier");
    Live live = live_range(module->funcs, &arena);
    PeakOf of = {.func = module->funcs, .live = &live, .target = &module->target};
    assert_null(find_peak(&of, &arena));
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_as_they_run), cmocka_unit_test(results_as_they_run),
        cmocka_unit_test(long_loops_by_text), cmocka_unit_test(iterations_apart),
        cmocka_unit_test(nothing_lives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
