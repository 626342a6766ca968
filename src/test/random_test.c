/* The random programs themselves: their features, and what any of them must survive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "test/count.h"
#include "test/random.h"
#include "test/run.h"
#include "text/check.h"
#include "text/parse.h"
#include "text/print.h"

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

/* Prints what was complained about and fails. */
static void fail_with(uint64_t seed, const char *what, const Source *source, DiagQueue *diags) {
    fprintf(stderr, "%.*s", (int)source->length, source->text);
    diag_print(diags, source, (DiagStyle){false, false}, stderr);
    fail_msg("seed %llu: %s", (unsigned long long)seed, what);
}

static void one_is_valid_and_fixed(uint64_t seed, RandomShape shape) {
    Arena arena;
    arena_init(&arena);
    const Module *module = random_module(&arena, seed, shape);
    assert_true(module->funcs->ninsts <= RANDOM_POINTS);
    assert_true(run_steps(module->funcs) <= RANDOM_STEPS);
    Str text = text_of(module, &arena);
    Source source;
    source_from_text(&source, &arena, "random", text.text, text.length);
    DiagQueue diags;
    diag_init(&diags, &arena);
    Module read;
    if (!parse_lf(&source, &arena, &diags, &read)) fail_with(seed, "no parse", &source, &diags);
    if (!check_module(&read, &diags)) fail_with(seed, "checks failed", &source, &diags);
    if (!str_equal(text, text_of(&read, &arena))) fail_with(seed, "another text", &source, &diags);
    arena_free(&arena);
}

static void text_is_valid_and_a_fixpoint(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        RandomShape shape = {ROOM_ANY, (RandomCode)(seed % 8 < CODE_COUNT ? seed % 8 : 0),
                             SIZE_ANY};
        one_is_valid_and_fixed(seed, shape);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_feature_is_frequent),
        cmocka_unit_test(text_is_valid_and_a_fixpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
