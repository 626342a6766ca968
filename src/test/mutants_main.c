/* Mutants by the thousand: mutants [--programs=N] [--seed=N] [--times=N] [KERNEL.lf...].
 *
 * Allocates random programs and the kernels, made small, changes the results in each way of
 * test/mutate.h, and prints of each kind how many the referee refuses, how many it rightly accepts,
 * and on how many it and a run byte by byte differ. Ends with 1 if there are any of these. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/allocate.h"
#include "test/bytes.h"
#include "test/mutate.h"
#include "test/random.h"
#include "test/shrink.h"
#include "text/parse.h"

enum { MOST_WORK = 2 * 1000 * 1000, MOST_KERNEL_WORK = 800 * 1000 };

typedef struct {
    uint64_t programs, seed, times;  /* times: mutants of each kind of a result */
    uint64_t results, large, unlike; /* unlike: judged differently though unchanged */
    uint64_t counts[MUTATIONS][MUTANT_VERDICTS];
} Trial;

static void try_all(Trial *trial, const Mutant *base, const char *where) {
    trial->results++;
    for (uint32_t k = 0; k < MUTATIONS; k++)
        for (uint64_t i = 0; i < trial->times; i++)
            trial->counts[k][mutant_try(&MUTATION_TABLE[k], base, where)]++;
}

static void try_result(Trial *trial, const Module *module, const Func *result, uint64_t seed,
                       const char *where) {
    Arena arena;
    arena_init(&arena);
    Chance chance = {seed};
    Mutant base = mutant_base(&module->funcs[0], result, &module->target, &chance, &arena);
    bool accepted = referee_accepts(&base);
    if (bytes_work(result) > MOST_WORK) {
        trial->large++;
    } else if (accepted != bytes_accept(&base)) {
        mutant_print(&base, "unchanged", where, accepted ? "alone accepts it" : "rejects it");
        trial->unlike++;
    } else if (accepted) {
        try_all(trial, &base, where);
    }
    arena_free(&arena);
}

/* The last resort, the first rows of the table, or all of it. */
typedef enum { WAY_EVERYWHERE, WAY_FIRST, WAY_TABLE, WAYS } Way;

/* NULL where there is no allocation. */
static const Func *allocated(const Module *module, Way way, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    options.verify = false;
    options.effort = way == WAY_TABLE;
    if (way == WAY_EVERYWHERE) options.table.count = 0;
    Allocation result = allocate(&module->funcs[0], &module->target, &options, arena, &diags);
    return result.status == ALLOCATED ? result.func : NULL;
}

static void try_random(Trial *trial, uint64_t seed) {
    static const RandomRoom rooms[] = {ROOM_SPILLING, ROOM_SPILLING, ROOM_TIGHT, ROOM_SPILLING,
                                       ROOM_AMPLE};
    Arena arena;
    char where[32];
    arena_init(&arena);
    snprintf(where, sizeof where, "program %llu", (unsigned long long)seed);
    RandomShape shape = {.room = rooms[seed % 5],
                         .size = SIZE_SMALL,
                         .code = seed % 7 == 0 ? CODE_BLOCK_LOOPS : CODE_ANY};
    Module *module = random_module(&arena, seed, shape);
    const Func *result = allocated(module, seed % WAYS, &arena);
    if (result) try_result(trial, module, result, seed, where);
    arena_free(&arena);
}

/* --- Kernels --- */

static Module *read_module(Arena *arena, const char *path) {
    Source *source = NEW(arena, Source);
    DiagQueue diags;
    diag_init(&diags, arena);
    Module *module = NEW(arena, Module);
    bool read = source_read(source, arena, path) == SOURCE_READ;
    return read && parse_lf(source, arena, &diags, module) ? module : NULL;
}

/* The longest rows, at most 24 bytes, and the most trips with which the kernel runs in few enough
 * steps. */
static bool make_small(Module *module, Arena *arena) {
    static const struct {
        int64_t bytes, trips;
    } sizes[] = {{24, 16}, {16, 8}, {12, 6}, {8, 5}, {4, 4}};
    Func was = module->funcs[0];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Tensor *tensors = RAW_ARRAY(arena, Tensor, was.ntensors);
        for (uint32_t t = 0; t < was.ntensors; t++)
            tensors[t] = was.tensors[t];
        module->funcs[0] = was;
        module->funcs[0].tensors = tensors;
        if (!shrink_rows(&module->funcs[0], sizes[i].bytes, arena)) continue;
        shrink_loops(&module->funcs[0], sizes[i].trips, arena);
        if (bytes_work(&module->funcs[0]) <= MOST_KERNEL_WORK) return true;
    }
    return false;
}

static void try_kernel(Trial *trial, Module *module, const char *path) {
    int64_t rooms[4];
    uint32_t count = shrink_rooms(&module->funcs[0], &module->target, rooms);
    for (uint32_t i = 0; i < count * WAYS; i++) {
        Arena arena;
        char where[256];
        arena_init(&arena);
        Way way = i % WAYS;
        snprintf(where, sizeof where, "%s in %lld bytes, way %d", path, (long long)rooms[i / WAYS],
                 way);
        module->target.sb_bytes = rooms[i / WAYS] + module->target.sb_reserved;
        const Func *result = allocated(module, way, &arena);
        if (result) try_result(trial, module, result, trial->seed + i, where);
        arena_free(&arena);
    }
}

static bool try_file(Trial *trial, const char *path) {
    Arena arena;
    arena_init(&arena);
    Module *module = read_module(&arena, path);
    if (!module)
        fprintf(stderr, "mutants: cannot read %s\n", path);
    else if (!make_small(module, &arena))
        printf("%s: too large, or its regions do not divide\n", path);
    else
        try_kernel(trial, module, path);
    arena_free(&arena);
    return module != NULL;
}

/* --- The table --- */

static bool report(const Trial *trial) {
    static const MutantVerdict columns[] = {MUTANT_REFUSED, MUTANT_FORM,  MUTANT_IDLE,
                                            MUTANT_UNREAD,  MUTANT_WRONG, MUTANT_STRICT};
    uint64_t sums[MUTANT_VERDICTS + 1] = {0};
    static const char *const heads[] = {"made",   "refused", "form",  "idle",
                                        "unread", "WRONG",   "STRICT"};
    printf("%-22s", "kind");
    for (uint32_t c = 0; c < 7; c++)
        printf(" %8s", heads[c]);
    putchar('\n');
    for (uint32_t k = 0; k <= MUTATIONS; k++) {
        uint64_t row[MUTANT_VERDICTS + 1] = {0};
        for (uint32_t c = 0; c < 6; c++) {
            row[c + 1] = k < MUTATIONS ? trial->counts[k][columns[c]] : sums[c + 1];
            row[0] += row[c + 1];
            if (k < MUTATIONS) sums[c + 1] += row[c + 1];
        }
        printf("%-22s", k < MUTATIONS ? MUTATION_TABLE[k].name : "all");
        for (uint32_t c = 0; c < 7; c++)
            printf(" %8llu", (unsigned long long)row[c]);
        putchar('\n');
    }
    printf("%llu results, %llu judged differently though unchanged, %llu too large to run\n",
           (unsigned long long)trial->results, (unsigned long long)trial->unlike,
           (unsigned long long)trial->large);
    return sums[5] + sums[6] + trial->unlike == 0;
}

int main(int argc, char **argv) {
    Trial trial = {.programs = 1000, .seed = 1, .times = 3};
    const struct {
        const char *name;
        uint64_t *value;
    } keys[] = {
        {"--programs=", &trial.programs}, {"--seed=", &trial.seed}, {"--times=", &trial.times}};
    bool read = true;
    for (int i = 1; i < argc; i++) {
        bool is_key = false;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (strncmp(argv[i], keys[k].name, strlen(keys[k].name)) == 0) {
                *keys[k].value = strtoull(argv[i] + strlen(keys[k].name), NULL, 10);
                is_key = true;
            }
        if (!is_key) read &= try_file(&trial, argv[i]);
    }
    for (uint64_t i = 0; i < trial.programs; i++)
        try_random(&trial, trial.seed + i);
    return report(&trial) && read ? 0 : 1;
}
