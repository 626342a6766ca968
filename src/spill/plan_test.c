/* Plans: what their accesses are, and that closing them does what is said and no more. */
#include "spill/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "test/count.h"
#include "test/cuts.h"
#include "test/random.h"

typedef struct {
    Arena arena;
    const Func *func;
    Plan plan;
    Chance chance;
    uint64_t seed;
} Case;

static Case make_case(uint64_t seed) {
    Case made = {.chance = {seed}, .seed = seed};
    arena_init(&made.arena);
    made.func = random_module(&made.arena, seed, (RandomShape){0})->funcs;
    made.plan = plan_make(made.func, &made.arena);
    return made;
}

/* ---- what there is to cut ---- */

static void check_access(const Case *made, uint32_t tensor, const PlanAccess *access) {
    const Inst *inst = &made->func->insts[access->inst];
    bool reads = false, writes = false;
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        if (inst->operands[o].tensor != tensor) continue;
        writes |= o < inst->ndst;
        reads |= o >= inst->ndst || inst->accumulate;
    }
    assert_int_equal(access->reads, reads);
    assert_int_equal(access->writes, writes);
    assert_true(reads || writes);
    assert_int_equal(access->loop, inst->loop);
}

static bool names(const Inst *inst, uint32_t tensor) {
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
        if (inst->operands[o].tensor == tensor) return true;
    return false;
}

static void check_tensor(const Case *made, uint32_t tensor) {
    uint32_t next = made->plan.first[tensor];
    if (made->func->tensors[tensor].input) assert_true(made->plan.accesses[next++].inst == ENTRY);
    for (uint32_t p = 0; p < made->func->ninsts; p++) {
        if (!names(&made->func->insts[p], tensor)) continue;
        assert_true(next < made->plan.first[tensor + 1]);
        assert_int_equal(made->plan.accesses[next].inst, p);
        check_access(made, tensor, &made->plan.accesses[next++]);
    }
    assert_int_equal(next, made->plan.first[tensor + 1]);
}

static void accesses_are_all_and_in_order(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Case made = make_case(seed);
        for (uint32_t t = 0; t < made.func->ntensors; t++) {
            if (made.func->tensors[t].space == SPACE_SB)
                check_tensor(&made, t);
            else
                assert_int_equal(made.plan.first[t], made.plan.first[t + 1]);
        }
        arena_free(&made.arena);
    }
}

/* ---- closing ---- */

/* Cuts a loop if it is not cut yet; true if it was not. */
static bool cut_loop(Plan *plan, uint32_t tensor, uint32_t loop) {
    if (loop == NO_LOOP || plan_loop(plan, tensor, loop)->cut) return false;
    plan_loop(plan, tensor, loop)->cut = true;
    return true;
}

static bool apply_rules(Plan *plan, uint32_t t) {
    const Func *func = plan->func;
    bool changed = false;
    for (uint32_t l = plan->first_loop[t]; l < plan->first_loop[t + 1]; l++)
        if (plan->loops[l].cut)
            changed |= cut_loop(plan, t, func->loops[plan->loops[l].loop].parent);
    for (uint32_t a = plan->first[t] + 1; a < plan->first[t + 1]; a++) {
        uint32_t before = plan->accesses[a - 1].loop, after = plan->accesses[a].loop;
        if (plan->accesses[a].cut) changed |= cut_loop(plan, t, loop_common(func, before, after));
        for (uint32_t l = plan->first_loop[t]; l < plan->first_loop[t + 1]; l++) {
            uint32_t loop = plan->loops[l].loop;
            bool crosses = loop_encloses(func, loop, before) != loop_encloses(func, loop, after);
            if (!plan->loops[l].cut || !crosses || plan->accesses[a].cut) continue;
            plan->accesses[a].cut = true;
            changed = true;
        }
    }
    return changed;
}

/* The rules said in the header, again and again until nothing changes. */
static void plain_close(Plan *plan, uint32_t tensor) {
    while (apply_rules(plan, tensor)) {
    }
}

static Plan copy_plan(const Plan *plan, Arena *arena) {
    Plan copy = *plan;
    uint32_t n = plan->func->ntensors;
    copy.accesses = RAW_ARRAY(arena, PlanAccess, plan->first[n]);
    copy.loops = RAW_ARRAY(arena, PlanLoop, plan->first_loop[n]);
    if (plan->first[n]) memcpy(copy.accesses, plan->accesses, plan->first[n] * sizeof(PlanAccess));
    if (plan->first_loop[n])
        memcpy(copy.loops, plan->loops, plan->first_loop[n] * sizeof(PlanLoop));
    return copy;
}

static void compare_plans(const Case *made, const Plan *twin) {
    const Plan *plan = &made->plan;
    for (uint32_t a = 0; a < plan->first[made->func->ntensors]; a++)
        if (plan->accesses[a].cut != twin->accesses[a].cut)
            fail_msg("seed %llu: the gap before access %u", (unsigned long long)made->seed, a);
    for (uint32_t l = 0; l < plan->first_loop[made->func->ntensors]; l++)
        if (plan->loops[l].cut != twin->loops[l].cut)
            fail_msg("seed %llu: loop %u", (unsigned long long)made->seed, l);
}

static void close_all(Plan *plan) {
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        plan_close(plan, t);
}

static void closing_equals_the_plain_rules(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Case made = make_case(seed);
        random_cuts(&made.plan, &made.chance);
        Plan twin = copy_plan(&made.plan, &made.arena);
        close_all(&made.plan);
        for (uint32_t t = 0; t < made.func->ntensors; t++)
            plain_close(&twin, t);
        compare_plans(&made, &twin);
        close_all(&made.plan);
        compare_plans(&made, &twin);
        arena_free(&made.arena);
    }
}

/* Only permanent cuts stay. */
static void resetting_keeps_permanent_cuts(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Case made = make_case(seed);
        random_cuts(&made.plan, &made.chance);
        close_all(&made.plan);
        plan_reset(&made.plan);
        for (uint32_t t = 0; t < made.func->ntensors; t++) {
            bool any = false;
            for (uint32_t a = made.plan.first[t]; a < made.plan.first[t + 1]; a++) {
                assert_int_equal(made.plan.accesses[a].cut, made.plan.accesses[a].permanent);
                any |= made.plan.accesses[a].cut;
            }
            for (uint32_t l = made.plan.first_loop[t]; l < made.plan.first_loop[t + 1]; l++) {
                assert_int_equal(made.plan.loops[l].cut, made.plan.loops[l].permanent);
                any |= made.plan.loops[l].cut;
            }
            assert_int_equal(made.plan.spilled[t], any);
        }
        arena_free(&made.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_are_all_and_in_order),
        cmocka_unit_test(closing_equals_the_plain_rules),
        cmocka_unit_test(resetting_keeps_permanent_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
