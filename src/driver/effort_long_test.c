/* Properties that hold at any effort, whatever the options: on random programs. */
#include "driver/allocate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/count.h"
#include "test/random.h"
#include "test/straight.h"
#include "verify/verify.h"

static const char *const ALLOCATORS[] = {"loop", "flat"};
enum { EFFORTS = 4, ALLOCATOR_COUNT = 2, METRICS = 3 };

static Allocation run(const Module *module, const Options *options, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    return allocate(module->funcs, &module->target, options, arena, &diags);
}

/* ---- more effort ---- */

/* Failing is worse than any cost, and the last resort worse than any other result. */
static bool is_worse(const Allocation *one, const Allocation *other) {
    if (one->status != other->status) return one->status != ALLOCATED;
    if (one->status != ALLOCATED) return false;
    if (one->report.last_resort != other->report.last_resort) return one->report.last_resort;
    return one->report.spill_cycles > other->report.spill_cycles;
}

static void check_efforts(const Module *module, uint64_t seed, Options options, Arena *arena) {
    Allocation before = {.status = NOT_ALLOCATED};
    for (options.effort = 0; options.effort < EFFORTS; options.effort++) {
        Allocation now = run(module, &options, arena);
        if (options.effort > 0 && is_worse(&now, &before))
            fail_msg("seed %llu, %s: effort %d costs %lld, one less %lld", (unsigned long long)seed,
                     ALLOCATORS[options.allocator], options.effort,
                     (long long)now.report.spill_cycles, (long long)before.report.spill_cycles);
        before = now;
    }
}

static void more_effort_is_never_worse(void **state) {
    (void)state;
    enum { PART = 12 };
    for (uint64_t seed = 0; seed < test_count() / PART; seed++)
        for (int a = 0; a < ALLOCATOR_COUNT; a++) {
            Arena arena;
            arena_init(&arena);
            Options options = options_default();
            options.allocator = (AllocatorName)a;
            RandomShape shape = {seed % 4 ? ROOM_SPILLING : ROOM_TIGHT, CODE_ANY, SIZE_SMALL};
            const Module *module = random_module(&arena, seed, shape);
            check_efforts(module, seed, options, &arena);
            arena_free(&arena);
        }
}

/* Straight code at 60 % of its peak: the seed alone leaves much to be had. */
static void more_effort_pays(void **state) {
    (void)state;
    enum { SEEDS = 3 };
    int64_t cycles[2] = {0, 0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (int effort = 0; effort < 2; effort++) {
            Arena arena;
            arena_init(&arena);
            const Module *module = even_straight_code(&arena, 60, 12, 60, seed);
            Options options = options_default();
            options.effort = effort;
            Allocation result = run(module, &options, &arena);
            assert_int_equal(result.status, ALLOCATED);
            cycles[effort] += result.report.spill_cycles;
            arena_free(&arena);
        }
    assert_true(cycles[1] < cycles[0]);
}

/* ---- every option ---- */

typedef struct {
    const char *name;
    void (*set)(Options *options);
} Switch;

static void set_nothing(Options *options) {
    (void)options;
}
static void set_no_coalesce(Options *options) {
    options->coalesce = false;
}
static void set_no_split(Options *options) {
    options->split = false;
}
static void set_no_remat(Options *options) {
    options->remat = false;
}
static void set_no_reload_elim(Options *options) {
    options->reload_elim = false;
}
static void set_few_reloads(Options *options) {
    options->max_reloads = 2;
}
static void set_dma_optlevel(Options *options) {
    options->dma_optlevel = 5;
}
static void set_seed(Options *options) {
    options->seed = 12345;
}
static void set_spilled(Options *options) {
    options->emit = EMIT_SPILLED;
}
static void set_all_off(Options *options) {
    options->coalesce = options->split = options->remat = options->reload_elim = false;
}

static const Switch SWITCHES[] = {
    {"default", set_nothing},
    {"--no-coalesce", set_no_coalesce},
    {"--no-split", set_no_split},
    {"--no-remat", set_no_remat},
    {"--no-reload-elim", set_no_reload_elim},
    {"--max-reloads=2", set_few_reloads},
    {"--dma-optlevel=5", set_dma_optlevel},
    {"--seed=12345", set_seed},
    {"--emit=spilled", set_spilled},
    {"all off", set_all_off},
};
enum { SWITCH_COUNT = sizeof SWITCHES / sizeof *SWITCHES };

/* Runs the program and has the referee look at the result. Only too small a State Buffer excuses
 * that there is none. Returns whether something was spilled. */
static bool check_verified(const Module *module, const Options *options, const char *what,
                           uint64_t seed, Arena *arena) {
    Allocation result = run(module, options, arena);
    const char *allocator = ALLOCATORS[options->allocator];
    if (result.status == NOT_ALLOCATED &&
        target_usable(&module->target) < random_enough(module->funcs))
        return false;
    if (result.status != ALLOCATED)
        fail_msg("seed %llu, effort %d, %s, metric %d, %s: status %d", (unsigned long long)seed,
                 options->effort, allocator, options->metric, what, result.status);
    DiagQueue diags;
    diag_init(&diags, arena);
    VerifyOptions judge = {.placed = options->emit != EMIT_SPILLED};
    if (!verify(module->funcs, result.func, &module->target, judge, &diags))
        fail_msg("seed %llu, effort %d, %s, metric %d, %s: %s", (unsigned long long)seed,
                 options->effort, allocator, options->metric, what, diags.items[0].text.text);
    return result.report.spill_cycles > 0;
}

/* One of the rows: an option of each kind. The result is not checked by allocate() itself, so that
 * the referee here is needed. */
static bool check_row(int effort, int allocator, int metric, const Switch *with, uint64_t seed) {
    Arena arena;
    arena_init(&arena);
    Options options = options_default();
    options.effort = effort;
    options.allocator = (AllocatorName)allocator;
    options.metric = metric;
    options.verify = false;
    with->set(&options);
    RandomShape shape = {seed % 3 ? ROOM_SPILLING : ROOM_TIGHT, CODE_ANY,
                         effort < 2 ? SIZE_ANY : SIZE_SMALL};
    const Module *module = random_module(&arena, seed + 5000000, shape);
    bool spilled = check_verified(module, &options, with->name, seed, &arena);
    arena_free(&arena);
    return spilled;
}

/* Every effort with every allocator and switch, each on a program of its own. Levels 0 and 1 take
 * every metric in turn; above, where runs are longer, each switch has one of them. */
static void every_option_is_verified(void **state) {
    (void)state;
    uint64_t rows = 0;
    uint32_t spilled = 0;
    for (int effort = 0; effort < EFFORTS; effort++)
        for (int allocator = 0; allocator < ALLOCATOR_COUNT; allocator++)
            for (int s = 0; s < SWITCH_COUNT; s++)
                for (int metric = 0; metric < METRICS; metric++) {
                    if (effort >= 2 && (effort + allocator + s) % METRICS != metric) continue;
                    spilled += check_row(effort, allocator, metric, &SWITCHES[s], rows++);
                }
    assert_true(spilled > rows / 4);
}

/* ---- coalescing ---- */

/* Cycles that copies which do nothing would have cost. */
static int64_t saved_by_copies(const Func *func, const Target *target) {
    int64_t saved = 0;
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        if (!meta_find(inst->meta, "elided")) continue;
        const Tensor *tensor = &func->tensors[inst->operands[0].tensor];
        saved += latency_sb(target, tensor->bytes) * tensor->blocks * loop_trips(func, inst->loop);
    }
    return saved;
}

/* Partners that share a place never cost more in spills than their copies would have. */
static void coalescing_pays(void **state) {
    (void)state;
    uint32_t elided = 0;
    for (uint64_t seed = 0; seed < test_count() / 5; seed++)
        for (int effort = 0; effort < (seed % 3 ? 1 : 3); effort += 2) {
            Arena arena;
            arena_init(&arena);
            RandomShape shape = {ROOM_SPILLING, CODE_ANY, SIZE_SMALL};
            const Module *module = random_module(&arena, seed + 6000000, shape);
            Options options = options_default();
            options.effort = effort;
            Allocation with = run(module, &options, &arena);
            options.coalesce = false;
            Allocation without = run(module, &options, &arena);
            if (without.status == ALLOCATED) {
                assert_int_equal(with.status, ALLOCATED);
                int64_t saved = saved_by_copies(with.func, &module->target);
                elided += saved > 0;
                if (with.report.spill_cycles > without.report.spill_cycles + saved)
                    fail_msg("seed %llu, effort %d: %lld cycles with, %lld without, %lld saved",
                             (unsigned long long)seed, effort, (long long)with.report.spill_cycles,
                             (long long)without.report.spill_cycles, (long long)saved);
            }
            arena_free(&arena);
        }
    assert_true(elided > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_effort_is_never_worse), cmocka_unit_test(more_effort_pays),
        cmocka_unit_test(every_option_is_verified), cmocka_unit_test(coalescing_pays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
