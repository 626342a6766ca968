/* Spill code counted against methods that need no search. */
#include "driver/levels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "driver/allocate.h"
#include "test/straight.h"

enum { MOST_ROUNDS = 5, MOST_TILES = 512 };

static Report run(const Module *module, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    Allocation result = allocate(module->funcs, &module->target, &options, arena, &diags);
    assert_int_equal(result.status, ALLOCATED);
    assert_false(result.report.last_resort);
    assert_true(result.report.iterations <= MOST_ROUNDS);
    return result.report;
}

static int64_t dma_of(const Module *module, uint32_t tensor) {
    const Tensor *info = &module->funcs->tensors[tensor];
    return latency_dram(&module->target, info->partitions, info->bytes);
}

/* ---- furthest next use, on tiles of one size ---- */

typedef struct {
    const Func *func;
    bool here[MOST_TILES], stored[MOST_TILES], clean[MOST_TILES];
    uint32_t count, room; /* tiles that are here */
    int64_t moves;        /* reloads and stores */
} Cache;

static bool names(const Func *func, uint32_t inst, uint32_t tensor) {
    const Inst *info = &func->insts[inst];
    for (uint32_t o = 0; o < info->ndst + info->nsrc; o++)
        if (info->operands[o].tensor == tensor) return true;
    return false;
}

static uint32_t next_use(const Func *func, uint32_t inst, uint32_t tensor) {
    while (inst < func->ninsts && !names(func, inst, tensor))
        inst++;
    return inst;
}

/* Drops what is used last from instruction `inst` on, but not what it names itself. */
static void drop_furthest(Cache *cache, uint32_t inst) {
    uint32_t victim = UINT32_MAX, furthest = 0;
    for (uint32_t t = 0; t < cache->func->ntensors; t++) {
        uint32_t next = cache->here[t] ? next_use(cache->func, inst, t) : 0;
        if (!cache->here[t] || next == inst || next < furthest) continue;
        victim = t;
        furthest = next;
    }
    assert_true(victim != UINT32_MAX);
    cache->here[victim] = false;
    cache->count--;
    bool needed = furthest < cache->func->ninsts;
    if (!needed || cache->clean[victim] || cache->stored[victim]) return;
    cache->stored[victim] = true;
    cache->moves++;
}

/* DMAs that the code needs with `room` tiles if always the one goes whose next use is furthest. */
static int64_t furthest_next_use(const Module *module, uint32_t room) {
    const Func *func = module->funcs;
    Cache cache = {.func = func, .room = room};
    assert_true(func->ntensors <= MOST_TILES);
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = inst->ndst + inst->nsrc; o-- > 0;) {
            uint32_t t = inst->operands[o].tensor;
            if (func->tensors[t].space != SPACE_SB || cache.here[t]) continue;
            if (cache.count == cache.room) drop_furthest(&cache, i);
            cache.here[t] = true;
            cache.count++;
            cache.moves += o >= inst->ndst;
            if (o < inst->ndst) cache.clean[t] = inst->kind == OP_LOAD;
        }
    }
    return cache.moves;
}

static uint32_t first_tile(const Module *module) {
    uint32_t t = 0;
    while (module->funcs->tensors[t].space != SPACE_SB)
        t++;
    return t;
}

static void never_above_furthest(const Module *module, uint32_t room, Arena *arena) {
    int64_t moves = furthest_next_use(module, room);
    Report report = run(module, arena);
    assert_true(moves > 0 && report.spill_cycles > 0);
    assert_true(report.spill_cycles <= moves * dma_of(module, first_tile(module)));
}

static void cyclic_streams(void **state) {
    (void)state;
    for (uint32_t room = 4; room < 16; room += 4)
        for (int dirty = 0; dirty < 2; dirty++) {
            Arena arena;
            arena_init(&arena);
            never_above_furthest(cyclic_stream(&arena, 16, 10, room, dirty), room, &arena);
            arena_free(&arena);
        }
}

static void forward_then_backward(void **state) {
    (void)state;
    for (uint32_t room = 4; room < 100; room += 31) {
        Arena arena;
        arena_init(&arena);
        never_above_furthest(forward_backward(&arena, 200, room), room, &arena);
        arena_free(&arena);
    }
}

/* ---- sizes that vary ---- */

/* A store for each value, a reload for each read. */
static int64_t spill_everywhere(const Module *module) {
    const Func *func = module->funcs;
    int64_t cycles = 0;
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            uint32_t t = inst->operands[o].tensor;
            if (func->tensors[t].space != SPACE_SB) continue;
            if (o >= inst->ndst || inst->kind != OP_LOAD) cycles += dma_of(module, t);
        }
    }
    return cycles;
}

/* At half of the peak most gaps are kept: less than a third of what spilling everywhere costs. */
static void straight_at_half(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        Arena arena;
        arena_init(&arena);
        Module *module = straight_code(&arena, 300, 60, 50, seed);
        Report report = run(module, &arena);
        assert_true(report.spill_cycles > 0);
        assert_true(report.spill_cycles * 3 < spill_everywhere(module));
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cyclic_streams),
                                       cmocka_unit_test(forward_then_backward),
                                       cmocka_unit_test(straight_at_half)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
