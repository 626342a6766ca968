/* Prints generated programs as text: `generate KIND [--key=value]...`. For benchmarks and tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/known.h"
#include "test/random.h"
#include "test/straight.h"
#include "text/print.h"

typedef enum {
    KEY_SEED,
    KEY_N,
    KEY_LIVE,
    KEY_PERCENT,
    KEY_EVEN,
    KEY_ROUNDS,
    KEY_ROOM,
    KEY_DIRTY,
    KEY_TRIPS,
    KEY_COLOURS,
    KEY_DENSITY,
    KEY_BANDS,
    KEY_PINWHEELS,
    KEY_HOLES,
    KEY_PLACED,
    KEY_GRANULES,
    KEY_TIMES,
    KEY_CODE,
    KEY_SIZE,
    KEY_COUNT
} SettingKey;

typedef struct {
    uint64_t values[KEY_COUNT];
} Settings;

static const struct {
    const char *name;
    uint64_t usual;
    const char *help;
} KEYS[KEY_COUNT] = {
    [KEY_SEED] = {"seed", 1, "start of the random numbers"},
    [KEY_N] = {"n", 1000, "instructions, tensors, uses or loops"},
    [KEY_LIVE] = {"live", 100, "straight: values live at once"},
    [KEY_PERCENT] = {"percent", 100, "straight: room as a share of the peak demand"},
    [KEY_EVEN] = {"even", 0, "straight: 1 puts all tensors into 128 partitions"},
    [KEY_ROUNDS] = {"rounds", 10, "cyclic: how often all are read"},
    [KEY_ROOM] = {"room", 0,
                  "tensors that fit at once (0: cyclic 12, others 100); random: 1 ample, "
                  "2 tight, 3 spilling, 4 impossible"},
    [KEY_DIRTY] = {"dirty", 0, "cyclic: 1 makes the tensors on chip instead of loading them"},
    [KEY_TRIPS] = {"trips", 2, "nest: iterations of every hundredth loop"},
    [KEY_COLOURS] = {"colours", 20, "colours: how many there are"},
    [KEY_DENSITY] = {"density", 30, "colours: percent of the possible edges"},
    [KEY_BANDS] = {"bands", 0, "known: 1 mixes quadrants, halves and full height"},
    [KEY_PINWHEELS] = {"pinwheels", 1, "known: 0 makes straight cuts only"},
    [KEY_HOLES] = {"holes", 0, "known: percent of cuts that make a range with a hole"},
    [KEY_PLACED] = {"placed", 0, "known: 1 gives the answer, as fixed tensors"},
    [KEY_GRANULES] = {"granules", 1024, "known: height of the State Buffer in granules"},
    [KEY_TIMES] = {"times", 256, "known: time slots"},
    [KEY_CODE] = {"code", 0, "random: 1 straight code, 2 block loops"},
    [KEY_SIZE] = {"size", 0, "random: 1 small, 2 medium, 3 large"},
};

static uint32_t number(const Settings *settings, SettingKey key) {
    return (uint32_t)settings->values[key];
}

static uint32_t room(const Settings *settings, uint32_t usual) {
    uint32_t given = number(settings, KEY_ROOM);
    return given ? given : usual;
}

static Module *make_random(Arena *arena, const Settings *settings) {
    RandomShape shape = {(RandomRoom)(number(settings, KEY_ROOM) % ROOM_COUNT),
                         (RandomCode)(number(settings, KEY_CODE) % CODE_COUNT),
                         (RandomSize)(number(settings, KEY_SIZE) % SIZE_COUNT)};
    return random_module(arena, settings->values[KEY_SEED], shape);
}

static Module *make_straight(Arena *arena, const Settings *settings) {
    bool even = number(settings, KEY_EVEN) != 0;
    return (even ? even_straight_code
                 : straight_code)(arena, number(settings, KEY_N), number(settings, KEY_LIVE),
                                  number(settings, KEY_PERCENT), settings->values[KEY_SEED]);
}

static Module *make_cyclic(Arena *arena, const Settings *settings) {
    return cyclic_stream(arena, number(settings, KEY_N), number(settings, KEY_ROUNDS),
                         room(settings, 12), number(settings, KEY_DIRTY) != 0);
}

static Module *make_backward(Arena *arena, const Settings *settings) {
    return forward_backward(arena, number(settings, KEY_N), room(settings, 100));
}

static Module *make_all_live(Arena *arena, const Settings *settings) {
    return all_live(arena, number(settings, KEY_N), room(settings, 100));
}

static Module *make_nest(Arena *arena, const Settings *settings) {
    return deep_nest(arena, number(settings, KEY_N), number(settings, KEY_TRIPS),
                     room(settings, 100));
}

static Module *make_uses(Arena *arena, const Settings *settings) {
    return many_uses(arena, number(settings, KEY_N));
}

static Module *make_two_points(Arena *arena, const Settings *settings) {
    return two_points(arena, number(settings, KEY_N));
}

static Module *make_disjoint(Arena *arena, const Settings *settings) {
    return disjoint_ranges(arena, number(settings, KEY_N));
}

static Module *make_known(Arena *arena, const Settings *settings) {
    KnownCuts cuts = {.count = number(settings, KEY_N),
                      .granules = number(settings, KEY_GRANULES),
                      .times = number(settings, KEY_TIMES),
                      .bands = number(settings, KEY_BANDS) != 0,
                      .pinwheels = number(settings, KEY_PINWHEELS) != 0,
                      .holes = number(settings, KEY_HOLES),
                      .placed = number(settings, KEY_PLACED) != 0,
                      .seed = settings->values[KEY_SEED]};
    return known_cuts(arena, cuts);
}

static Module *make_colours(Arena *arena, const Settings *settings) {
    return known_colours(arena, number(settings, KEY_N), number(settings, KEY_COLOURS),
                         number(settings, KEY_DENSITY), settings->values[KEY_SEED]);
}

static const struct {
    const char *name;
    Module *(*make)(Arena *arena, const Settings *settings);
    const char *help;
} KINDS[] = {
    {"random", make_random, "a small valid program with anything in it"},
    {"straight", make_straight, "n instructions, about `live` values live at once"},
    {"cyclic", make_cyclic, "n equal tensors read in order again and again"},
    {"backward", make_backward, "n values made forward, read backward"},
    {"all-live", make_all_live, "n tensors all live at once"},
    {"nest", make_nest, "loops nested n deep"},
    {"uses", make_uses, "one tensor with n uses"},
    {"two-points", make_two_points, "n tensors that live for two points each"},
    {"disjoint", make_disjoint, "n tensors of which no two live together"},
    {"known", make_known, "n boxes cut from a full buffer"},
    {"colours", make_colours, "n tensors whose graph has a known colouring"},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static void help(void) {
    printf("Usage: generate KIND [--key=value]...\nPrints a generated program.\n\nKinds:\n");
    for (int i = 0; i < KIND_COUNT; i++)
        printf("  %-11s %s\n", KINDS[i].name, KINDS[i].help);
    printf("\nKeys, all whole numbers:\n");
    for (int i = 0; i < KEY_COUNT; i++)
        printf("  --%-10s %s (%llu)\n", KEYS[i].name, KEYS[i].help,
               (unsigned long long)KEYS[i].usual);
}

static int wrong(const char *what, const char *which) {
    fprintf(stderr, "generate: %s '%s' (try --help)\n", what, which);
    return 2;
}

static bool read_setting(Settings *settings, const char *text) {
    for (int key = 0; key < KEY_COUNT; key++) {
        size_t length = strlen(KEYS[key].name);
        if (strncmp(text, "--", 2) != 0 || strncmp(text + 2, KEYS[key].name, length) != 0) continue;
        if (text[2 + length] != '=') continue;
        const char *digits = text + 3 + length;
        if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0') return false;
        settings->values[key] = strtoull(digits, NULL, 10);
        return true;
    }
    return false;
}

static int print_made(const Module *module) {
    Writer writer;
    writer_to_file(&writer, fileno(stdout));
    print_module(module, &writer);
    bool written = writer_flush(&writer);
    writer_free(&writer);
    if (!written) fprintf(stderr, "generate: could not write the output\n");
    return written ? 0 : 3;
}

int main(int argc, char **argv) {
    if (argc < 2) return wrong("no kind given", "");
    if (strcmp(argv[1], "--help") == 0) {
        help();
        return 0;
    }
    Settings settings;
    for (int key = 0; key < KEY_COUNT; key++)
        settings.values[key] = KEYS[key].usual;
    for (int i = 2; i < argc; i++)
        if (!read_setting(&settings, argv[i])) return wrong("not a setting:", argv[i]);
    for (int i = 0; i < KIND_COUNT; i++) {
        if (strcmp(argv[1], KINDS[i].name) != 0) continue;
        Arena arena;
        arena_init(&arena);
        int status = print_made(KINDS[i].make(&arena, &settings));
        arena_free(&arena);
        return status;
    }
    return wrong("no such kind:", argv[1]);
}
