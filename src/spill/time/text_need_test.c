/* Need at each instruction against a run of the same program, step by step. */
#include "spill/time/text_need.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/count.h"
#include "test/make.h"
#include "test/random.h"
#include "test/run.h"

/* The instructions that happen, in order. */
typedef struct {
    Stepper *items; /* [count] one step each, with its own indices */
    size_t count, capacity;
} Steps;

static Steps run_all(const Func *func, Arena *arena) {
    Steps steps = {0};
    Stepper run = run_begin(func, arena);
    while (run_next(&run)) {
        if (!run_happens(&run)) continue;
        Stepper step = run;
        step.indices = NEW_ARRAY(arena, int64_t, func->nloops);
        for (uint32_t l = 0; l < func->nloops; l++)
            step.indices[l] = run.indices[l];
        PUSH(arena, steps.items, steps.count, steps.capacity, step);
    }
    return steps;
}

/* What one step does with one block. */
static void use_block(const Stepper *step, uint32_t tensor, int64_t block, bool had, bool *named,
                      bool *needs) {
    const Inst *inst = &step->func->insts[step->point];
    *named = *needs = false;
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        int64_t first, last;
        if (inst->operands[o].tensor != tensor) continue;
        run_blocks(step, &inst->operands[o], &first, &last);
        if (block < first || block > last) continue;
        *named = true;
        *needs |= o >= inst->ndst || inst->accumulate ||
                  (had && !operand_is_whole(step->func, &inst->operands[o]));
    }
}

/* [steps] true where the block holds a value that is needed still, or is named. */
static bool *steps_alive(const Steps *steps, const Func *func, uint32_t tensor, int64_t block,
                         Arena *arena) {
    bool *alive = NEW_ARRAY(arena, bool, steps->count);
    bool had = func->tensors[tensor].input, named, needs;
    size_t latest = 0;
    if (had && steps->count) alive[0] = true;
    for (size_t s = 0; s < steps->count; s++) {
        use_block(&steps->items[s], tensor, block, had, &named, &needs);
        if (!named) continue;
        for (size_t between = latest; needs && between < s; between++)
            alive[between] = true;
        alive[s] = had = true;
        latest = s;
    }
    if (had && func->tensors[tensor].output)
        for (size_t s = latest; s < steps->count; s++)
            alive[s] = true;
    return alive;
}

/* Granules of each quadrant and half that blocks must take, and of all that they take. */
typedef struct {
    int64_t quadrant[QUADRANTS], half[2], area;
} Load;

static void add_to_load(Load *load, const Tensor *tensor, int64_t block) {
    Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
    uint8_t mask = bands.count == 1 ? bands.masks[0] : 0;
    int64_t height = tensor_height(tensor);
    if (tensor->fixed) {
        Rect rect = tensor_rect(tensor, tensor->at[block]);
        mask = rect.mask;
        height = rect.high - rect.low;
    }
    for (int q = 0; q < QUADRANTS; q++) {
        if (!(mask >> q & 1)) continue;
        load->quadrant[q] += height;
        load->half[q / 2] += height;
    }
    load->area += height * __builtin_popcount(mask ? mask : bands.masks[0]);
}

static uint32_t need_of(const Load *load) {
    int64_t need = (load->area + 3) / 4;
    for (int q = 0; q < QUADRANTS; q++) {
        if (load->quadrant[q] > need) need = load->quadrant[q];
        if ((load->half[q / 2] + 1) / 2 > need) need = (load->half[q / 2] + 1) / 2;
    }
    return (uint32_t)need;
}

static void compare(const Module *module, Arena *arena) {
    const Func *func = module->funcs;
    Live live = live_range(func, arena);
    TextNeed found = find_text_need(func, &live, &module->target, arena);
    Steps steps = run_all(func, arena);
    Load *loads = NEW_ARRAY(arena, Load, steps.count);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (func->tensors[t].space != SPACE_SB) continue;
        for (int64_t b = 0; b < func->tensors[t].blocks; b++) {
            const bool *alive = steps_alive(&steps, func, t, b, arena);
            for (size_t s = 0; s < steps.count; s++)
                if (alive[s]) add_to_load(&loads[s], &func->tensors[t], b);
        }
    }
    uint32_t *wanted = NEW_ARRAY(arena, uint32_t, func->ninsts), peak = 0;
    for (size_t s = 0; s < steps.count; s++) {
        uint32_t need = need_of(&loads[s]), *most = &wanted[steps.items[s].point];
        if (need > *most) *most = need;
        if (need > peak) peak = need;
    }
    assert_int_equal(found.peak, peak);
    if (found.in_time)
        for (uint32_t p = 0; p < func->ninsts; p++)
            assert_int_equal(found.need[p], wanted[p]);
    if (peak > 0) assert_int_equal(found.need[found.inst], peak);
}

/* Whether a write of a part needs the rest depends on what is read of it later: see peak_test. */
static bool writes_parts(const Func *func) {
    for (uint32_t p = 0; p < func->ninsts; p++)
        for (uint32_t o = 0; o < func->insts[p].ndst; o++)
            if (!operand_is_whole(func, &func->insts[p].operands[o])) return true;
    return false;
}

/* Straight code counts by the text, where an instruction that never runs takes room too. */
static void as_in_a_run(void **unused) {
    (void)unused;
    uint64_t in_loops = 0;
    for (uint64_t seed = 1; seed <= 2 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.size = SIZE_SMALL, .code = seed % 2 ? CODE_ANY : CODE_BLOCK_LOOPS};
        const Module *module = random_module(&arena, seed, shape);
        bool compared = module->funcs->nloops > 0 && !writes_parts(module->funcs);
        in_loops += compared;
        if (compared) compare(module, &arena);
        arena_free(&arena);
    }
    assert_true(in_loops > test_count() / 2);
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
    const Func *func = module->funcs;
    Live live = live_range(func, &arena);
    TextNeed need = find_text_need(func, &live, &module->target, &arena);
    static const uint32_t wanted[] = {32, 40, 32};
    for (uint32_t p = 0; p < 3; p++)
        assert_int_equal(need.need[p], wanted[p]);
    assert_int_equal(need.inst, 1);
    assert_int_equal(need.indices[1], 0);
    assert_int_equal(need.blocks[0], 4);
    assert_int_equal(need.blocks[1], 1);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_in_a_run),
                                       cmocka_unit_test(iterations_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
