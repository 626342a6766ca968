#include "test/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/allocate.h"
#include "output/compare.h"
#include "output/json.h"
#include "test/random.h"
#include "text/check.h"
#include "text/json_read.h"
#include "text/parse.h"
#include "text/print.h"
#include "verify/verify.h"

static void require(bool good, const char *what) {
    if (good) return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

/* ---- reading and writing ---- */

typedef struct {
    Source source;
    DiagQueue diags;
    Module module;
    bool read; /* it is a module, and passes the static checks */
} Reading;

static void report(Reading *reading) {
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere) return;
    diag_print(&reading->diags, &reading->source, (DiagStyle){.color = true}, nowhere);
    fclose(nowhere);
}

static Reading read_bytes(Str text, Arena *arena) {
    Reading reading = {0};
    source_from_text(&reading.source, arena, "fuzz", text.text, text.length);
    diag_init(&reading.diags, arena);
    bool json = source_is_json(&reading.source);
    reading.read = json ? parse_json(&reading.source, arena, &reading.diags, &reading.module)
                        : parse_lf(&reading.source, arena, &reading.diags, &reading.module);
    if (reading.read) reading.read = check_module(&reading.module, &reading.diags);
    if (json) json_name_paths(&reading.source, &reading.diags);
    report(&reading);
    return reading;
}

static Str print_text(const Module *module, Arena *arena) {
    Writer out;
    writer_to_memory(&out);
    print_module(module, &out);
    return writer_take(&out, arena);
}

static Str print_as_json(const Module *module, Arena *arena) {
    Writer out;
    JsonFunc *items = NEW_ARRAY(arena, JsonFunc, module->nfuncs);
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        Live *live = NEW(arena, Live);
        *live = live_range(&module->funcs[i], arena);
        items[i] = (JsonFunc){.func = &module->funcs[i], .live = live};
    }
    writer_to_memory(&out);
    write_json(&module->target, items, module->nfuncs, &out);
    return writer_take(&out, arena);
}

static bool has_json(const Module *module) {
    uint32_t loop;
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (!json_can_write(&module->funcs[i], &loop)) return false;
    return true;
}

/* Text that was printed is read as what it was printed from, and so is JSON. Returns what was read
 * again. */
static Reading read_again(const Module *module, Arena *arena) {
    Str text = print_text(module, arena);
    Reading again = read_bytes(text, arena);
    require(again.read, "what was printed cannot be read");
    require(str_equal(text, print_text(&again.module, arena)), "another text, printed again");
    if (has_json(module)) {
        Reading json = read_bytes(print_as_json(module, arena), arena);
        require(json.read, "JSON that was written cannot be read");
        require(str_equal(text, print_text(&json.module, arena)), "another text through JSON");
    }
    require(!compare_modules(module, &again.module, arena).differ, "another module, compared");
    return again;
}

static void try_text(const uint8_t *bytes, size_t count) {
    Arena arena;
    arena_init(&arena);
    Reading reading = read_bytes((Str){(const char *)bytes, (uint32_t)count}, &arena);
    if (reading.read) read_again(&reading.module, &arena);
    arena_free(&arena);
}

void fuzz_text(const uint8_t *bytes, size_t count) {
    try_text(bytes, count);
}

/* What does not begin as JSON is fuzz_text()'s. */
void fuzz_json(const uint8_t *bytes, size_t count) {
    if (count > 0 && bytes[0] == '{') try_text(bytes, count);
}

/* ---- programs ---- */

typedef struct {
    const uint8_t *bytes;
    size_t count, next;
} Choices;

/* A number below `bound`; 0 where no bytes are left. */
static int choose(Choices *choices, int bound) {
    return choices->next < choices->count ? choices->bytes[choices->next++] % bound : 0;
}

static uint64_t choose_seed(Choices *choices) {
    uint64_t seed = 0;
    for (size_t i = 0; i < sizeof seed; i++)
        seed = seed << 8 | (uint64_t)choose(choices, 256);
    return seed;
}

static Options choose_options(Choices *choices) {
    Options options = options_default();
    options.effort = choose(choices, 3);
    options.metric = choose(choices, 3);
    options.allocator = (AllocatorName)choose(choices, 2);
    options.emit = choose(choices, 4) == 1 ? EMIT_SPILLED : EMIT_PLACED;
    options.seed = (uint64_t)choose(choices, 256);
    options.dma_optlevel = choose(choices, 7);
    options.coalesce = choose(choices, 4) != 1;
    options.split = choose(choices, 4) != 1;
    options.remat = choose(choices, 4) != 1;
    options.reload_elim = choose(choices, 4) != 1;
    options.no_spill = choose(choices, 8) == 1;
    options.verbose = options.peaks = options.advise = choose(choices, 2) == 1;
    options.explain_spilled = options.peaks && choose(choices, 2) == 1;
    options.verify = false; /* this does */
    return options;
}

/* Allocates and judges; false where nothing was allocated. */
static bool allocate_and_judge(const Module *module, const Options *options, Module *result,
                               Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Allocation found = allocate(module->funcs, &module->target, options, arena, &diags);
    require(found.status != WRONG_INPUT, "a program that is valid is refused");
    require(found.status != WRONG_RESULT, "a result that fails its check");
    if (found.status != ALLOCATED) return false;
    Func *func = NEW(arena, Func);
    *func = *found.func;
    *result = (Module){.target = module->target, .has_target = true, .funcs = func, .nfuncs = 1};
    VerifyOptions how = {.placed = options->emit == EMIT_PLACED};
    require(verify(module->funcs, func, &module->target, how, &diags), "a wrong result");
    Reading again = read_again(result, arena);
    require(verify(module->funcs, again.module.funcs, &module->target, how, &diags),
            "a wrong result, read again");
    return true;
}

/* Once more, close to what was found. */
static void allocate_again(const Module *module, Options options, const Module *first,
                           Arena *arena) {
    Module second;
    options.previous = first;
    require(allocate_and_judge(module, &options, &second, arena), "not allocated a second time");
    compare_modules(first, &second, arena);
}

void fuzz_program(const uint8_t *bytes, size_t count) {
    Choices choices = {bytes, count, 0};
    Arena arena;
    Module result;
    arena_init(&arena);
    uint64_t seed = choose_seed(&choices);
    RandomShape shape = {.room = (RandomRoom)choose(&choices, ROOM_COUNT),
                         .code = (RandomCode)choose(&choices, CODE_COUNT),
                         .size = (RandomSize)choose(&choices, SIZE_LARGE)};
    const Module *module = random_module(&arena, seed, shape);
    Options options = choose_options(&choices);
    bool allocated = allocate_and_judge(module, &options, &result, &arena);
    require(allocated || shape.room != ROOM_AMPLE, "what surely fits is refused");
    if (allocated && options.emit == EMIT_PLACED) allocate_again(module, options, &result, &arena);
    arena_free(&arena);
}

FuzzTarget *fuzz_find(const char *name) {
    static const struct {
        const char *name;
        FuzzTarget *target;
    } TARGETS[] = {{"text", fuzz_text}, {"json", fuzz_json}, {"program", fuzz_program}};
    for (size_t i = 0; i < sizeof TARGETS / sizeof *TARGETS; i++)
        if (strcmp(name, TARGETS[i].name) == 0) return TARGETS[i].target;
    return NULL;
}
