/* The seed, where an audit found the program short of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "driver/allocate.h"
#include "driver/feasible.h"
#include "spill/chaitin.h"
#include "spill/headroom.h"
#include "test/make.h"

enum { EFFORTS = 3 };

/* Two tensors that must stay, each of 16 bytes, and where each may start. */
#define TWO_PINNED(align)                                                                          \
    "tensor %a : sb<128x16xu8> pin align " align "\n"                                              \
    "tensor %b : sb<128x16xu8> pin align " align "\n"                                              \
    "%a = f\n%b = f\ng %a, %b"

/* Three values of 32 bytes where 72 are usable: one has to go. */
#define THREE_VALUES                                                                               \
    "tensor %a : sb<128x32xu8>\ntensor %b : sb<128x32xu8>\ntensor %c : sb<128x32xu8>\n"            \
    "%a = f\n%b = f\n%c = f\ng %a\ng %b\ng %c\nh %b\nh %a"

static Allocation run(const Module *module, Options options, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    return allocate(module->funcs, &module->target, &options, arena, &diags);
}

static State *make_state(const Module *module, Facts *facts, Arena *arena) {
    Live live = live_range(module->funcs, arena);
    *facts = facts_make(module->funcs, &live, &module->target, arena, arena);
    State *state = state_make(facts, (Method){.name = "test", .place = PLACE_EVICT, .scale = 1});
    rewrite_state(state);
    analyse_state(state);
    return state;
}

/* The sums fit and the places do not: the first round finds nothing to cut. */
static void a_round_that_cuts_nothing_is_the_last(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    Facts facts;
    State *state = make_state(make_body(&arena, 64, TWO_PINNED("64")), &facts, &arena);
    assert_false(place_state(state));
    assert_int_equal(infeasible_instruction(&facts), UINT32_MAX);
    state->rounds = 1;
    assert_false(spill_by_chaitin(state));
    assert_false(spill_by_headroom(state));
    state_free(state);
    arena_free(&arena);
}

/* A value of one access has no gap: spilling it is no progress. */
static void one_access_is_no_progress(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    Facts facts;
    State *state = make_state(make_body(&arena, 24,
                                        "tensor %p : sb<128x16xu8> pin align 16\n"
                                        "tensor %x : sb<128x8xu8> align 64\n"
                                        "%p = f\n%x = f\ng %p"),
                              &facts, &arena);
    if (!place_state(state)) assert_false(spill_by_chaitin(state));
    state_free(state);
    arena_free(&arena);
}

/* 31 bytes are three whole granules, and two tensors of two need four. */
static void what_cannot_fit_is_told_at_once(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    Facts facts;
    const Module *module = make_body(&arena, 31, TWO_PINNED("8"));
    Live live = live_range(module->funcs, &arena);
    facts = facts_make(module->funcs, &live, &module->target, &arena, &arena);
    assert_int_equal(infeasible_instruction(&facts), 1);
    module = make_body(&arena, 32, TWO_PINNED("8"));
    facts = facts_make(module->funcs, &live, &module->target, &arena, &arena);
    assert_int_equal(infeasible_instruction(&facts), UINT32_MAX);
    arena_free(&arena);
}

/* Beside two outputs one aligned value fits where they do not lie lowest, and three do not. */
static void what_is_refused_has_no_places(void **unused) {
    (void)unused;
    static const char BODY[] = "tensor %a : sb<128x496xu8> output\n"
                               "tensor %b : sb<128x496xu8> output\n"
                               "tensor %c : sb<128x8xu8> align 64\n"
                               "tensor %d : sb<128x8xu8> align 64\n"
                               "tensor %e : sb<128x8xu8> align 64\n"
                               "%a = f\n%b = f\n%c = f\ng %c\n%c = f\n%d = f\n%e = f\n"
                               "h %c, %d, %e\n";
    Arena arena;
    arena_init(&arena);
    const Module *module = make_body(&arena, 1024, BODY);
    Live live = live_range(module->funcs, &arena);
    Facts facts = facts_make(module->funcs, &live, &module->target, &arena, &arena);
    assert_int_equal(infeasible_instruction(&facts), UINT32_MAX);
    assert_int_equal(impossible_instruction(&facts), 7);
    DiagQueue diags;
    diag_init(&diags, &arena);
    Options options = options_default();
    Allocation result = allocate(module->funcs, &module->target, &options, &arena, &diags);
    assert_int_equal(result.status, NOT_ALLOCATED);
    assert_int_equal(diags.items[0].span.begin, module->funcs->insts[7].span.begin);
    arena_free(&arena);
}

static void high_water_is_that_of_the_fullest_quadrant(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    const Module *module = make_body(&arena, 1024, "tensor %a : sb<32x64xu8>\n%a = f\ng %a");
    assert_int_equal(run(module, options_default(), &arena).report.high_water_before, 64);
    module = make_body(&arena, 1024,
                       "tensor %a : sb<32x64xu8>\ntensor %b : sb<128x8xu8>\n"
                       "%a = f\n%b = f\ng %a, %b");
    assert_int_equal(run(module, options_default(), &arena).report.high_water_before, 72);
    arena_free(&arena);
}

/* The three values, one of them spilled, at an effort. */
static Allocation spill_one(Options options, int effort, Arena *arena) {
    options.effort = effort;
    Allocation result = run(make_body(arena, 72, THREE_VALUES), options, arena);
    assert_int_equal(result.status, ALLOCATED);
    assert_true(result.report.spilled_tensors > 0 && result.report.reloads > 0);
    return result;
}

static void the_score_is_that_of_the_last_failure(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    Allocation result = spill_one(options_default(), 0, &arena);
    assert_true(result.report.score > 0 && isfinite(result.report.score));
    arena_free(&arena);
}

/* Reads of spilled tensors and reloads, each counted in the result. */
static void without_reload_elimination_no_read_shares(void **unused) {
    (void)unused;
    Options options = options_default();
    options.reload_elim = false;
    Arena arena;
    arena_init(&arena);
    for (int effort = 0; effort < EFFORTS; effort++) {
        Allocation result = spill_one(options, effort, &arena);
        assert_int_equal(result.report.reloads, result.report.spilled_reads);
        assert_int_equal(result.report.reloads_removed, 0);
    }
    arena_free(&arena);
}

static uint32_t count_lines(Str log, const char *words) {
    uint32_t count = 0;
    size_t length = strlen(words);
    for (uint32_t i = 0; i + length <= log.length; i++)
        count += memcmp(log.text + i, words, length) == 0;
    return count;
}

/* Every round has its lines, at every effort. */
static void each_round_is_told(void **unused) {
    (void)unused;
    static const char *const LINES[] = {
        "renumber locations:",  "find partners:", "build interference graph:",
        "SB high-water mark =", "simplify: lo =", "SB score ="};
    Options options = options_default();
    options.verbose = true;
    Arena arena;
    arena_init(&arena);
    for (int effort = 0; effort < EFFORTS; effort++) {
        Allocation result = spill_one(options, effort, &arena);
        assert_true(result.report.iterations > 0);
        for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++)
            assert_int_equal(count_lines(result.log, LINES[i]), result.report.iterations);
        assert_int_equal(count_lines(result.log, "strategy: "), 1);
    }
    arena_free(&arena);
}

/* So has every strategy that ran: alone at effort 0, and the first where values must be spilled. */
static void each_strategy_is_told(void **unused) {
    (void)unused;
    Options options = options_default();
    options.verbose = true;
    Arena arena;
    arena_init(&arena);
    Allocation result = spill_one(options, 0, &arena);
    Str line = str_format(&arena, "f:   tried seed: %u rounds, %" PRId64 " cycles\n",
                          result.report.iterations, result.report.spill_cycles);
    assert_int_equal(count_lines(result.log, line.text), 1);
    assert_int_equal(count_lines(result.log, "tried "), 1);
    result = spill_one(options, 1, &arena);
    assert_int_equal(count_lines(result.log, "tried fit: 1 round, no place found\n"), 1);
    assert_true(count_lines(result.log, "tried ") > 1);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_that_cuts_nothing_is_the_last),
        cmocka_unit_test(one_access_is_no_progress),
        cmocka_unit_test(what_cannot_fit_is_told_at_once),
        cmocka_unit_test(what_is_refused_has_no_places),
        cmocka_unit_test(high_water_is_that_of_the_fullest_quadrant),
        cmocka_unit_test(the_score_is_that_of_the_last_failure),
        cmocka_unit_test(without_reload_elimination_no_read_shares),
        cmocka_unit_test(each_round_is_told),
        cmocka_unit_test(each_strategy_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
