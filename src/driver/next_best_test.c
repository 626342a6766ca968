/* The next best choice where many tensors leave over one instruction: who it is, and how much is
 * looked at for that. */
#include "driver/next_best.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/make.h"

enum { USABLE = 8000, NEEDED = 2000, AMPLE = 1 << 20 };

/* n tensors of one granule or more that are made, idle over `h`, and read. */
static Module *idle_tensors(Arena *arena, uint32_t n, int64_t bytes, int64_t more) {
    Builder builder = make_begin(arena, "idle");
    for (uint32_t i = 0; i < n; i++)
        build_tensor(&builder, make_tensor(arena, "t", i, SPACE_SB, 128, bytes + more * i));
    for (uint32_t i = 0; i < n; i++)
        make_simple(&builder, "f", i, UINT32_MAX);
    make_simple(&builder, "h", UINT32_MAX, UINT32_MAX);
    for (uint32_t i = 0; i < n; i++)
        make_simple(&builder, "g", UINT32_MAX, i);
    return make_module(&builder, USABLE);
}

typedef struct {
    uint32_t first; /* that stays */
    uint64_t asked;
} Stays;

static bool count_stays(const void *context, uint32_t tensor, int64_t block, uint32_t inst) {
    Stays *stays = *(Stays *const *)context;
    (void)block;
    (void)inst;
    stays->asked++;
    return tensor >= stays->first;
}

/* All below `stays->first` leave over `h`. */
static LeaveChoice *choose_all(const Module *module, Stays *stays, Arena *arena) {
    const Func *func = module->funcs;
    uint32_t n = func->ntensors;
    TimeOptions options = {.full = AMPLE, .most_points = AMPLE, .most_accesses = AMPLE};
    TimeFacts facts;
    assert_true(find_cell_facts(func, &module->target, options, arena, &facts));
    uint32_t *needs = NEW_ARRAY(arena, uint32_t, facts.timeline.npoints);
    for (uint32_t p = 0; p < facts.timeline.npoints; p++)
        needs[p] = facts.timeline.points[p].inst == n ? NEEDED : 0;
    LeaveChoice *choices = NEW_ARRAY(arena, LeaveChoice, stays->first);
    for (uint32_t c = 0; c < stays->first; c++)
        choices[c] = (LeaveChoice){.tensor = c, .inst = n};
    LeaveQuestion question = {&facts, needs, count_stays, &stays};
    find_next_best(&question, choices, stays->first, arena);
    return choices;
}

/* Each of 1,000 tensors is looked at a few times, not once for each other one. */
static void test_alike_ones_share_offers(void **unused) {
    (void)unused;
    enum { COUNT = 1000 };
    Arena arena;
    arena_init(&arena);
    Stays stays = {COUNT / 2, 0};
    LeaveChoice *choices = choose_all(idle_tensors(&arena, COUNT, GRANULE, 0), &stays, &arena);
    for (uint32_t c = 0; c < COUNT / 2; c++) {
        assert_true(choices[c].known);
        assert_int_equal(choices[c].next, COUNT / 2);
        assert_int_equal(choices[c].blocks, 1);
        assert_int_equal(choices[c].cycles, choices[c].here);
    }
    assert_true(stays.asked <= 3 * COUNT);
    arena_free(&arena);
}

/* Of tensors of rising size only a larger one can stand in, and the smallest of those is cheapest.
 */
static void test_wants_of_its_own(void **unused) {
    (void)unused;
    enum { COUNT = 10 };
    Arena arena;
    arena_init(&arena);
    Stays stays = {COUNT - 2, 0};
    LeaveChoice *choices =
        choose_all(idle_tensors(&arena, COUNT, GRANULE, GRANULE), &stays, &arena);
    for (uint32_t c = 0; c < COUNT - 2; c++) {
        assert_int_equal(choices[c].next, COUNT - 2);
        assert_true(choices[c].cycles > choices[c].here);
    }
    stays.first = COUNT; /* nobody stays */
    choices = choose_all(idle_tensors(&arena, COUNT, GRANULE, 0), &stays, &arena);
    for (uint32_t c = 0; c < COUNT; c++)
        assert_int_equal(choices[c].next, UINT32_MAX);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alike_ones_share_offers),
        cmocka_unit_test(test_wants_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
