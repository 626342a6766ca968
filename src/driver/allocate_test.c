/* The whole of an allocation on random programs. */
#include "driver/allocate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "test/count.h"
#include "test/random.h"
#include "text/check.h"
#include "text/parse.h"
#include "text/print.h"

/* More than this many rounds are never needed on small programs. */
enum { MOST_ROUNDS = 24 };

typedef struct {
    Report report;
    AllocStatus status;
    Str text; /* of the result where there is one, else of the messages */
} Outcome;

/* The program of a seed, with its target and levels as a seed gives them. */
static Module *make_program(uint64_t seed, Arena *arena) {
    RandomRoom room = seed % 4 == 0 ? ROOM_ANY : ROOM_SPILLING;
    return random_module(arena, seed, (RandomShape){room, CODE_ANY, SIZE_ANY});
}

static bool is_within(LiveRange range, LiveRange around) {
    for (uint32_t i = 0; i < range.count; i++)
        for (uint32_t p = range.items[i].first; p <= range.items[i].last; p++)
            if (!live_at(around, p)) return false;
    return true;
}

/* The ranges that come with a result are those of its function, though they may have been found
 * before it had its places; or lie within them, where they are those that blocks have in time. */
static void check_live(const Allocation *result, Arena *arena) {
    Live own = live_range(result->func, arena);
    bool in_time = strcmp(result->report.strategy, "time") == 0;
    for (uint32_t t = 0; t < result->func->ntensors; t++) {
        LiveRange found = result->live.whole[t], wanted = own.whole[t];
        assert_true(is_within(found, wanted));
        assert_true(in_time || is_within(wanted, found));
    }
}

static Outcome run(const Func *func, const Target *target, int effort, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    options.effort = effort;
    options.verbose = true;
    Allocation result = allocate(func, target, &options, arena, &diags);
    Writer writer;
    writer_to_memory(&writer);
    if (result.status == ALLOCATED) {
        print_func(result.func, &writer);
        check_live(&result, arena);
    }
    for (size_t i = 0; i < diags.count; i++)
        write_str(&writer, diags.items[i].text);
    write_str(&writer, result.log);
    Str text = {arena_copy(arena, writer.buffer, writer.length), (uint32_t)writer.length};
    writer_free(&writer);
    return (Outcome){result.report, result.status, text};
}

/* At every effort: an answer within the rounds; a result that passed the referee. */
static void rounds_are_bounded(void **state) {
    (void)state;
    uint32_t spilled = 0, last = 0, placed = 0;
    for (uint64_t seed = 0; seed < test_count() / 2; seed++) {
        Arena arena;
        arena_init(&arena);
        Module *module = make_program(seed, &arena);
        Outcome outcome = run(module->funcs, &module->target, (int)(seed % 3), &arena);
        if (outcome.status == WRONG_RESULT)
            fail_msg("seed %llu: %.*s", (unsigned long long)seed, (int)outcome.text.length,
                     outcome.text.text);
        assert_true(outcome.report.iterations <= MOST_ROUNDS);
        placed += outcome.status == ALLOCATED;
        spilled += outcome.status == ALLOCATED && outcome.report.spilled_tensors > 0;
        last += outcome.status == ALLOCATED && outcome.report.last_resort;
        arena_free(&arena);
    }
    assert_true(spilled > test_count() / 8);
    if (last * 100 > placed)
        fail_msg("%u of %u results are the last resort's: more than 1 %%", last, placed);
}

/* Enough room for spill-everywhere is enough. */
static void what_spill_everywhere_can_run_is_allocated(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count() / 4; seed++) {
        Arena arena;
        arena_init(&arena);
        Module *module = make_program(seed, &arena);
        Target target = module->target;
        int64_t enough = random_enough(module->funcs);
        if (target_usable(&target) < enough) target.sb_bytes = enough + target.sb_reserved;
        Outcome outcome = run(module->funcs, &target, (int)(seed % 3), &arena);
        if (outcome.status != ALLOCATED)
            fail_msg("seed %llu: %.*s", (unsigned long long)seed, (int)outcome.text.length,
                     outcome.text.text);
        arena_free(&arena);
    }
}

/* Two functions, in either order and each alone: the same bytes. */
static void functions_do_not_touch_each_other(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count() / 10; seed++) {
        Arena arena;
        arena_init(&arena);
        int effort = (int)(seed % 3);
        Module *one = make_program(2 * seed, &arena), *two = make_program(2 * seed + 1, &arena);
        Outcome first = run(one->funcs, &one->target, effort, &arena);
        Outcome second = run(two->funcs, &one->target, effort, &arena);
        Outcome second_again = run(two->funcs, &one->target, effort, &arena);
        Outcome first_again = run(one->funcs, &one->target, effort, &arena);
        assert_int_equal(first.status, first_again.status);
        assert_int_equal(second.status, second_again.status);
        assert_true(str_equal(first.text, first_again.text));
        assert_true(str_equal(second.text, second_again.text));
        arena_free(&arena);
    }
}

/* The same program made anew elsewhere in memory. */
static void the_same_bytes_twice(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count() / 10; seed++) {
        Arena arenas[2];
        Outcome outcomes[2];
        for (int i = 0; i < 2; i++) {
            arena_init(&arenas[i]);
            if (i == 1) NEW_ARRAY(&arenas[i], char, 100000 + seed);
            Module *module = make_program(seed, &arenas[i]);
            outcomes[i] = run(module->funcs, &module->target, (int)(seed % 3), &arenas[i]);
        }
        assert_int_equal(outcomes[0].status, outcomes[1].status);
        assert_true(str_equal(outcomes[0].text, outcomes[1].text));
        arena_free(&arenas[0]);
        arena_free(&arenas[1]);
    }
}

/* Too many iterations for the static checks: the run finds it, and it is the input's fault. */
static void an_index_that_a_run_finds_is_a_wrong_input(void **state) {
    (void)state;
    const char *text = "func @f {\n  tensor %b : sb<8*128x64xbf16>\n  %b = memset\n"
                       "  loop i = 0..4000 {\n    loop j = 0..4000 {\n"
                       "      foo %b[i - 3991] if 2*i + j >= 11990\n    }\n  }\n}\n";
    Arena arena;
    arena_init(&arena);
    DiagQueue diags;
    diag_init(&diags, &arena);
    Source source;
    source_from_text(&source, &arena, "text", text, (uint32_t)strlen(text));
    Module module;
    assert_true(parse_lf(&source, &arena, &diags, &module));
    assert_true(check_module(&module, &diags));
    Options options = options_default();
    Allocation result = allocate(module.funcs, &module.target, &options, &arena, &diags);
    assert_int_equal(result.status, WRONG_INPUT);
    assert_true(
        str_is(diags.items[0].text, "index outside %b: block 8 of 8 at i = 3999, j = 3992"));
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_are_bounded),
        cmocka_unit_test(what_spill_everywhere_can_run_is_allocated),
        cmocka_unit_test(functions_do_not_touch_each_other),
        cmocka_unit_test(the_same_bytes_twice),
        cmocka_unit_test(an_index_that_a_run_finds_is_a_wrong_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
