/* Webs of time: what they join, what they leave apart, and that nothing is lost. */
#include "spill/time/webs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "spill/time/cells.h"
#include "spill/time/gaps.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"

enum { AMPLE = 1000000 };

static bool facts_of(const Module *module, uint32_t full, TimeFacts *facts, Arena *arena) {
    TimeOptions options = {
        .full = full, .most_points = AMPLE, .most_accesses = AMPLE, .remat = true};
    return find_time_facts(module->funcs, &module->target, options, arena, facts);
}

/* Each access stands once among those of the webs, at its point, with its gap and its value, in a
 * cell of its own block of a web of its own tensor. */
static void check_nothing_lost(const TimeFacts *facts, const Webs *webs, Arena *arena) {
    const Cells *from = &facts->cells, *to = &webs->facts.cells;
    uint32_t count = from->first[from->ncells];
    assert_int_equal(to->first[to->ncells], count);
    uint32_t *cell_of = RAW_ARRAY(arena, uint32_t, count);
    bool *seen = NEW_ARRAY(arena, bool, count);
    for (uint32_t c = 0; c < from->ncells; c++)
        for (uint32_t a = from->first[c]; a < from->first[c + 1]; a++)
            cell_of[a] = c;
    for (uint32_t c = 0; c < to->ncells; c++)
        for (uint32_t a = to->first[c]; a < to->first[c + 1]; a++) {
            uint32_t was = webs->access[a];
            assert_false(seen[was]);
            seen[was] = true;
            assert_int_equal(to->accesses[a].point, from->accesses[was].point);
            assert_int_equal(webs->parent[to->tensor[c]], from->tensor[cell_of[was]]);
            assert_int_equal(cell_block(to, c), cell_block(from, cell_of[was]));
            assert_int_equal(webs->facts.gaps.of[a], facts->gaps.of[was]);
            assert_int_equal(webs->facts.gaps.value_of[a], facts->gaps.value_of[was]);
            if (a > to->first[c]) assert_true(was > webs->access[a - 1]);
        }
}

/* Kept gaps begin and end in one web; what must stay is one web. */
static void check_joined(const TimeFacts *facts, const Webs *webs, const bool *kept) {
    for (uint32_t g = 0; g < facts->gaps.count; g++)
        if (kept[g]) assert_false(webs->facts.gaps.gaps[g].apart);
    for (uint32_t t = facts->func->ntensors; t < webs->facts.func->ntensors; t++)
        assert_false(facts->gaps.resident[webs->parent[t]]);
}

static void random_programs(void **unused) {
    (void)unused;
    uint32_t split = 0, apart = 0;
    for (uint64_t seed = 1; seed <= 4 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {ROOM_SPILLING, seed % 2 ? CODE_ANY : CODE_BLOCK_LOOPS, SIZE_SMALL};
        TimeFacts facts;
        if (facts_of(random_module(&arena, seed, shape), seed % 4 < 2 ? 0 : AMPLE, &facts,
                     &arena)) {
            bool *kept = NEW_ARRAY(&arena, bool, facts.gaps.count);
            for (uint32_t g = 0; g < facts.gaps.count; g++)
                kept[g] = facts.gaps.resident[facts.cells.tensor[facts.gaps.gaps[g].cell]] ||
                          (g * 7 + seed) % 3 == 0;
            Webs webs = find_webs(&facts, kept, &arena);
            check_nothing_lost(&facts, &webs, &arena);
            check_joined(&facts, &webs, kept);
            split += webs.facts.func->ntensors > facts.func->ntensors;
            for (uint32_t g = 0; g < facts.gaps.count; g++)
                apart += webs.facts.gaps.gaps[g].apart;
        }
        arena_free(&arena);
    }
    print_message("%u programs split, %u gaps apart\n", split, apart);
    assert_true(split > test_count() && apart > 0);
}

/* Webs of `%a`, all of its gaps kept or all cut. */
static uint32_t count_webs(const char *body, bool keep) {
    Arena arena;
    arena_init(&arena);
    TimeFacts facts;
    assert_true(facts_of(make_body(&arena, 4096, body), AMPLE, &facts, &arena));
    bool *kept = NEW_ARRAY(&arena, bool, facts.gaps.count);
    for (uint32_t g = 0; g < facts.gaps.count; g++)
        kept[g] = keep;
    Webs webs = find_webs(&facts, kept, &arena);
    uint32_t count = 0;
    for (uint32_t t = 0; t < webs.facts.func->ntensors; t++)
        count += webs.parent[t] == 0;
    arena_free(&arena);
    return count;
}

/* Blocks that are written again whole are new values, iteration by iteration: the first loop's
 * writes go with the second's reads, the second's writes with the third's reads. */
static void renames_between_loops(void **unused) {
    (void)unused;
    const char *body = "tensor %a : sb<4*128x8xu8>\ntensor %t : sb<128x8xu8>\n"
                       "loop i = 0..4 { %a[i] = f }\n"
                       "loop i = 0..4 {\n%t = g %a[i]\n%a[i] = h %t\n}\n"
                       "loop i = 0..4 { use %a[i] }";
    assert_int_equal(count_webs(body, true), 2);
    assert_int_equal(count_webs(body, false), 4);
}

/* An accumulation keeps a value: cut, it is reloaded there, and its place is its own. */
static void accumulation_joins(void **unused) {
    (void)unused;
    const char *body = "tensor %a : sb<4*128x8xu8>\n"
                       "loop i = 0..4 { %a[i] = f }\nloop i = 0..4 { %a[i] += g }\n"
                       "loop i = 0..4 { use %a[i] }";
    assert_int_equal(count_webs(body, true), 1);
    assert_int_equal(count_webs(body, false), 3);
}

static void what_stays_is_one(void **unused) {
    (void)unused;
    const char *body = "tensor %a : sb<4*128x8xu8> pin\n"
                       "loop i = 0..4 { %a[i] = f }\nloop i = 0..4 { use %a[i] }";
    assert_int_equal(count_webs(body, false), 1);
}

/* What is laid out is given up where the deadline has passed. */
static void stops_at_deadline(void **unused) {
    (void)unused;
    Arena arena;
    TimeFacts facts;
    arena_init(&arena);
    Module *module = make_body(&arena, 64,
                               "tensor %a : sb<8*128x8xu8>\n"
                               "loop i = 0..8 { %a[i] = make }\nloop i = 0..8 { use %a[i] }");
    TimeOptions options = {.full = AMPLE, .most_points = AMPLE, .most_accesses = AMPLE};
    assert_true(find_time_facts(module->funcs, &module->target, options, &arena, &facts));
    assert_int_equal(facts.timeline.npoints, 16);
    options.deadline = 1e-9;
    assert_false(find_cell_facts(module->funcs, &module->target, options, &arena, &facts));
    assert_false(find_time_facts(module->funcs, &module->target, options, &arena, &facts));
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs), cmocka_unit_test(renames_between_loops),
        cmocka_unit_test(accumulation_joins), cmocka_unit_test(what_stays_is_one),
        cmocka_unit_test(stops_at_deadline)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
