/* Changes real results of random programs in one way each, and compares the referee's verdict with
 * that of a plain byte-by-byte run: what changes behaviour must be rejected, what does not must be
 * accepted. Changes of the program itself must be rejected always. `make mutants` tries more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/allocate.h"
#include "test/bytes.h"
#include "test/count.h"
#include "test/make.h"
#include "test/mutate.h"
#include "test/random.h"
#include "text/parse.h"

enum { FIRST = 1, MUTANTS = 2, MOST_WORK = 400 * 1000 };

/* Mutants of each kind, and those that are rightly refused. */
typedef struct {
    uint32_t made[MUTATIONS], refused[MUTATIONS];
} Tally;

static void try_all(Tally *tally, const Mutant *base, uint64_t seed) {
    char where[32];
    snprintf(where, sizeof where, "program %llu", (unsigned long long)seed);
    for (uint32_t k = 0; k < MUTATIONS; k++)
        for (uint32_t i = 0; i < MUTANTS; i++) {
            MutantVerdict verdict = mutant_try(&MUTATION_TABLE[k], base, where);
            assert_true(verdict != MUTANT_WRONG && verdict != MUTANT_STRICT);
            tally->made[k] += verdict != MUTANT_NONE;
            tally->refused[k] += verdict == MUTANT_REFUSED;
        }
}

/* NULL where there is no allocation. */
static const Func *allocated(const Module *module, bool everywhere, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    options.verify = false;
    options.effort = 0;
    if (everywhere) options.table.count = 0;
    Allocation result = allocate(&module->funcs[0], &module->target, &options, arena, &diags);
    return result.status == ALLOCATED ? result.func : NULL;
}

static void try_program(Tally *tally, uint64_t seed, uint32_t *tried) {
    Arena arena;
    arena_init(&arena);
    RandomShape shape = {.room = seed % 4 < 3 ? ROOM_SPILLING : ROOM_TIGHT, .size = SIZE_SMALL};
    Module *module = random_module(&arena, seed, shape);
    const Func *result = allocated(module, seed % 2 == 0, &arena);
    Chance chance = {seed};
    if (result && bytes_work(result) < MOST_WORK) {
        Mutant base = mutant_base(&module->funcs[0], result, &module->target, &chance, &arena);
        ++*tried;
        assert_int_equal(referee_accepts(&base), bytes_accept(&base));
        if (referee_accepts(&base)) try_all(tally, &base, seed);
    }
    arena_free(&arena);
}

static void mutants(void **state) {
    uint32_t tried = 0;
    for (uint64_t seed = FIRST; seed < FIRST + 28 + test_count() / 4; seed++)
        try_program(*state, seed, &tried);
    print_message("%u programs\n", tried);
    assert_in_range(tried, 15, UINT32_MAX);
}

/* --- Results made by hand --- */

static Module *read_module(Arena *arena, const char *path) {
    Source source;
    DiagQueue diags;
    diag_init(&diags, arena);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    enum { MOST = 1 << 16 };
    char *text = RAW_ARRAY(arena, char, MOST);
    size_t length = fread(text, 1, MOST, file);
    fclose(file);
    assert_in_range(length, 1, MOST - 1);
    source_from_text(&source, arena, path, text, (uint32_t)length);
    Module *module = NEW(arena, Module);
    assert_true(parse_lf(&source, arena, &diags, module));
    return module;
}

/* As the original is before allocation: its tensors are not fixed. */
static void try_result(Tally *tally, const char *name, uint64_t seed) {
    Arena arena;
    char path[256];
    arena_init(&arena);
    snprintf(path, sizeof path, "testdata/results/right/%s.lf", name);
    Module *original = read_module(&arena, path);
    snprintf(path, sizeof path, "testdata/results/right/%s.placed.lf", name);
    Module *placed = read_module(&arena, path);
    Chance chance = {seed};
    Mutant base =
        mutant_base(&original->funcs[0], &placed->funcs[0], &placed->target, &chance, &arena);
    assert_true(bytes_accept(&base));
    assert_true(referee_accepts(&base));
    try_all(tally, &base, seed);
    arena_free(&arena);
}

static void mutants_in_place(void **state) {
    static const char *const names[] = {
        "accumulated_in_place", "remainder_in_the_home",   "two_sets_of_blocks",
        "narrowed_prefetch",    "condition_on_a_prefetch",
    };
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (uint64_t seed = FIRST; seed < FIRST + 4; seed++)
            try_result(*state, names[n], seed);
}

/* --- Results of spilling in time --- */

/* Kernels of loops over blocks, and bytes of a partition in which they do not fit. */
static const struct {
    int64_t usable;
    const char *body;
} LOOPS[] = {
    {40, /* two passes over what was made, and what is made from it */
     "tensor %Y : dram<6*128x1xu8> output\ntensor %a : sb<6*128x1xu8>\ntensor %b : sb<128x1xu8>\n"
     "loop i = 0..6 { %a[i] = make }\n"
     "loop i = 0..6 { %b = f %a[i]\n%Y[i] = save %b }\n"
     "loop i = 0..6 { %b = g %a[5 - i]\n%Y[i] += save %b }"},
    {40, /* a stencil: three blocks at a time, of what was changed in place */
     "tensor %X : dram<8*128x1xu8> input\ntensor %Y : dram<6*128x1xu8> output\n"
     "tensor %t : sb<8*128x1xu8>\ntensor %u : sb<128x1xu8>\n"
     "loop i = 0..8 { %t[i] = load %X[i]\n%t[i] += act }\n"
     "loop i = 0..6 { %u = st %t[i], %t[i + 1], %t[i + 2]\n%Y[i] = save %u }"},
    {48, /* weights outside, accumulators inside */
     "tensor %X : dram<16*128x1xu8> input\ntensor %Y : dram<4*128x1xu8> output\n"
     "tensor %W : dram<4*128x1xu8> input\ntensor %a : sb<4*128x1xu8>\n"
     "tensor %w : sb<4*128x1xu8>\ntensor %t : sb<128x1xu8>\n"
     "loop k = 0..4 { %a[k] = memset }\nloop i = 0..4 { %w[i] = load %W[i] }\n"
     "loop i = 0..4 { loop k = 0..4 { %t = load %X[4*i+k]\n%a[k] += matmul %t, %w[i] } }\n"
     "loop k = 0..4 { %Y[k] = save %a[k] }"},
    {48, /* remainders and conditions */
     "tensor %Y : dram<8*128x1xu8> output\ntensor %a : sb<8*128x1xu8>\ntensor %b : sb<128x1xu8>\n"
     "loop i = 0..8 { %a[i] = make }\n"
     "loop r = 0..3 { loop i = 0..8 {\n%b = f %a[i + 2*r mod 8] if i >= r\n"
     "%a[i] += g if i < 6\n%Y[i] = save %b if i >= r } }\n"
     "loop i = 0..8 { use %a[i] if i + 1 mod 3 == 0 }"},
    {48, /* two that are stored */
     "tensor %Y : dram<4*128x1xu8> output\ntensor %a : sb<4*128x1xu8>\n"
     "tensor %b : sb<4*128x1xu8>\ntensor %c : sb<128x1xu8>\n"
     "loop i = 0..4 { %a[i] = make\n%b[i] = make }\n"
     "loop r = 0..2 { loop i = 0..4 { %c = f %a[i], %b[3 - i]\n%Y[i] += save %c } }"},
};
enum { LOOPS_COUNT = sizeof LOOPS / sizeof *LOOPS };

/* What spilling in time makes of the program; NULL where nothing was inserted, or not by that. */
static const Func *spilled_in_time(const Module *module, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    options.verify = false;
    options.effort = 1;
    Allocation result = allocate(&module->funcs[0], &module->target, &options, arena, &diags);
    bool inserted = result.report.saves + result.report.reloads > 0;
    bool in_time =
        result.status == ALLOCATED && inserted && strcmp(result.report.strategy, "time") == 0;
    return in_time ? result.func : NULL;
}

static void try_in_time(Tally *tally, const Module *module, uint64_t seed, Arena *arena,
                        uint32_t *tried) {
    const Func *result = spilled_in_time(module, arena);
    if (!result || bytes_work(result) > MOST_WORK) return;
    Chance chance = {seed};
    Mutant base = mutant_base(&module->funcs[0], result, &module->target, &chance, arena);
    assert_true(referee_accepts(&base));
    assert_true(bytes_accept(&base));
    ++*tried;
    try_all(tally, &base, seed);
}

static void mutants_in_time(void **state) {
    uint32_t tried = 0;
    for (uint64_t seed = FIRST; seed < FIRST + 15 + test_count() / 4; seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.room = ROOM_SPILLING,
                             .size = SIZE_SMALL,
                             .code = seed % 2 ? CODE_BLOCK_LOOPS : CODE_ANY};
        Module *module = seed < FIRST + 3 * LOOPS_COUNT
                             ? make_body(&arena, LOOPS[seed % LOOPS_COUNT].usable,
                                         LOOPS[seed % LOOPS_COUNT].body)
                             : random_module(&arena, seed, shape);
        try_in_time(*state, module, seed, &arena, &tried);
        arena_free(&arena);
    }
    print_message("%u programs\n", tried);
    assert_in_range(tried, 3 * LOOPS_COUNT, UINT32_MAX);
}

/* Each kind was wrong at least once. */
static void kinds(void **state) {
    const Tally *tally = *state;
    for (uint32_t k = 0; k < MUTATIONS; k++) {
        print_message("%-24s %5u mutants, %5u wrong, all caught\n", MUTATION_TABLE[k].name,
                      tally->made[k], tally->refused[k]);
        assert_in_range(tally->refused[k], 1, UINT32_MAX);
    }
}

int main(void) {
    Tally tally = {0};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(mutants, &tally),
                                       cmocka_unit_test_prestate(mutants_in_place, &tally),
                                       cmocka_unit_test_prestate(mutants_in_time, &tally),
                                       cmocka_unit_test_prestate(kinds, &tally)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
