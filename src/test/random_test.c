/* The random programs themselves: their features, and what any of them must survive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "driver/allocate.h"
#include "test/chance.h"
#include "test/count.h"
#include "test/random.h"
#include "test/run.h"
#include "text/check.h"
#include "text/parse.h"
#include "text/print.h"
#include "verify/verify.h"

enum { SHARE_PROGRAMS = 2000, LEAST_SHARE = 10 /* percent */ };

static void each_feature_is_frequent(void **state) {
    (void)state;
    uint32_t counts[FEATURE_COUNT] = {0};
    Arena arena;
    arena_init(&arena);
    for (uint64_t seed = 0; seed < SHARE_PROGRAMS; seed++) {
        const Module *module = random_module(&arena, seed, (RandomShape){0});
        uint64_t features = random_features(module->funcs, &arena);
        for (uint32_t f = 0; f < FEATURE_COUNT; f++)
            counts[f] += (uint32_t)(features >> f & 1);
        arena_free(&arena);
    }
    for (uint32_t f = 0; f < FEATURE_COUNT; f++) {
        print_message("# %5.1f %% %s\n", 100.0 * counts[f] / SHARE_PROGRAMS,
                      feature_name((Feature)f));
        assert_true(counts[f] * 100 >= LEAST_SHARE * SHARE_PROGRAMS);
    }
}

static Str text_of(const Module *module, Arena *arena) {
    Writer writer;
    writer_to_memory(&writer);
    print_module(module, &writer);
    Str text = {arena_copy(arena, writer.buffer, writer.length), (uint32_t)writer.length};
    writer_free(&writer);
    return text;
}

/* A text that was read. */
typedef struct {
    uint64_t seed;
    Arena *arena;
    Source source;
    DiagQueue diags;
    Module module;
} Read;

/* Prints the text and what was complained about, and fails. */
static void fail_with(Read *read, const char *what) {
    fprintf(stderr, "%.*s", (int)read->source.length, read->source.text);
    diag_print(&read->diags, &read->source, (DiagStyle){false, false}, stderr);
    fail_msg("seed %llu: %s", (unsigned long long)read->seed, what);
}

static Read read_text(Str text, uint64_t seed, Arena *arena) {
    Read read = {.seed = seed, .arena = arena};
    source_from_text(&read.source, arena, "random", text.text, text.length);
    diag_init(&read.diags, arena);
    if (!parse_lf(&read.source, arena, &read.diags, &read.module)) fail_with(&read, "no parse");
    if (!check_module(&read.module, &read.diags)) fail_with(&read, "the checks failed");
    if (!str_equal(text, text_of(&read.module, arena))) fail_with(&read, "read as another text");
    return read;
}

static RandomShape form_of(uint64_t seed) {
    RandomCode code = seed % 8 < CODE_COUNT ? (RandomCode)(seed % 8) : CODE_ANY;
    RandomRoom room = seed % 3 == 0 ? ROOM_SPILLING : ROOM_ANY;
    return (RandomShape){room, code, SIZE_ANY};
}

static Read read_random(uint64_t seed, Arena *arena) {
    const Module *module = random_module(arena, seed, form_of(seed));
    assert_true(module->funcs->ninsts <= RANDOM_POINTS);
    assert_true(run_steps(module->funcs) <= RANDOM_STEPS);
    return read_text(text_of(module, arena), seed, arena);
}

static void text_is_valid_and_a_fixpoint(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        read_random(seed, &arena);
        arena_free(&arena);
    }
}

/* The allocation of a random program, written and read again; an empty text if there is none. Only
 * too small a State Buffer excuses that. */
static Str allocated_text(Read *read, const Options *options) {
    Module *module = &read->module;
    Allocation allocation =
        allocate(module->funcs, &module->target, options, read->arena, &read->diags);
    if (allocation.status == NOT_ALLOCATED &&
        target_usable(&module->target) < random_enough(module->funcs))
        return STR("");
    if (allocation.status != ALLOCATED) fail_with(read, "not allocated");
    VerifyOptions judge = {.placed = options->emit != EMIT_SPILLED};
    if (!verify(module->funcs, allocation.func, &module->target, judge, &read->diags))
        fail_with(read, "the result is wrong");
    Module result = *module;
    Func func = *allocation.func;
    result.funcs = &func;
    return text_of(&result, read->arena);
}

/* What was written is valid, and allocated again it is the same. */
static void check_allocated(Read *read, const Options *options) {
    Str text = allocated_text(read, options);
    if (text.length == 0) return;
    Read again = read_text(text, read->seed, read->arena);
    if (options->emit == EMIT_SPILLED) return;
    if (!str_equal(text, allocated_text(&again, options))) fail_with(&again, "no fixpoint");
}

static void results_are_right(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    Options options = options_default();
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Read read = read_random(seed, &arena);
        check_allocated(&read, &options);
        arena_free(&arena);
    }
}

static Options random_options(uint64_t seed) {
    Chance chance = {~seed};
    Options options = options_default();
    options.allocator = chance_percent(&chance, 30) ? ALLOCATOR_FLAT : ALLOCATOR_LOOP;
    options.emit = chance_percent(&chance, 20) ? EMIT_SPILLED : EMIT_PLACED;
    options.metric = (int)chance_below(&chance, 3);
    options.effort = (int)chance_below(&chance, 4);
    options.max_reloads = chance_percent(&chance, 20) ? 2 : options.max_reloads;
    options.dma_optlevel = chance_percent(&chance, 50) ? 5 : 1;
    options.coalesce = chance_percent(&chance, 60);
    options.split = chance_percent(&chance, 60);
    options.remat = chance_percent(&chance, 60);
    options.reload_elim = chance_percent(&chance, 60);
    return options;
}

static void results_are_right_with_any_option(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Read read = read_random(seed + 1000000, &arena);
        Options options = random_options(seed);
        check_allocated(&read, &options);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_feature_is_frequent),
        cmocka_unit_test(text_is_valid_and_a_fixpoint),
        cmocka_unit_test(results_are_right),
        cmocka_unit_test(results_are_right_with_any_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
