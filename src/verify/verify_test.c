/* Pairs of originals and results, right and wrong; wrong ones must be told in the expected words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "text/parse.h"
#include "verify/verify.h"

#define TARGET                                                                                     \
    "target tiny { sb_bytes = 64 sb_reserved = 0 sb_init = 1 dma_init = 1 dma_rate = 1 }\n"

/* What a test says about one run of the referee. */
typedef struct {
    const char *original, *result; /* bodies of functions; original NULL: the result by itself */
    const char *fault;             /* the first error in order of queueing, NULL: none */
    VerifyOptions options;
} Case;

static const Func *parse(Arena *arena, const char *body, Module *module) {
    Source source;
    DiagQueue diags;
    Str text = str_format(arena, "%sfunc @f {\n%s}\n", TARGET, body);
    source_from_text(&source, arena, "test.lf", text.text, text.length);
    diag_init(&diags, arena);
    if (!parse_lf(&source, arena, &diags, module)) {
        diag_print(&diags, &source, (DiagStyle){0}, stderr);
        fail_msg("the test's own text does not parse:\n%s", body);
    }
    return &module->funcs[0];
}

static void check(Case test) {
    Arena arena;
    arena_init(&arena);
    Module before, after;
    const Func *result = parse(&arena, test.result, &after);
    const Func *original = test.original ? parse(&arena, test.original, &before) : result;
    DiagQueue diags;
    diag_init(&diags, &arena);
    bool ok = verify(original, result, &after.target, test.options, &diags);
    const char *fault = diags.count ? diags.items[0].text.text : NULL;
    if (fault && !test.fault) fail_msg("a right result is rejected: %s\n%s", fault, test.result);
    if (!fault && test.fault)
        fail_msg("a wrong result is accepted, not: %s\n%s", test.fault, test.result);
    if (fault) assert_string_equal(fault, test.fault);
    assert_int_equal(ok, !fault);
    arena_free(&arena);
}

static const VerifyOptions PLACED = {0, true, false}, UNPLACED = {0, false, false};
static const VerifyOptions BY_ITSELF = {0, true, true};

/* Against an original. */
static void accept(const char *original, const char *result) {
    check((Case){original, result, NULL, PLACED});
}

static void reject(const char *original, const char *result, const char *fault) {
    check((Case){original, result, fault, PLACED});
}

/* The result with one piece of its text replaced: `from` must occur in it. */
static const char *changed(const char *text, const char *from, const char *to) {
    static char buffer[8192];
    const char *at = strstr(text, from);
    if (!at) fail_msg("the test changes text that is not there: %s", from);
    int length =
        snprintf(buffer, sizeof buffer, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_in_range(length, 1, sizeof buffer - 1);
    return buffer;
}

static void reject_changed(const char *original, const char *result, const char *from,
                           const char *to, const char *fault) {
    reject(original, changed(result, from, to), fault);
}

/* --- Placement --- */

#define TWO(a, b)                                                                                  \
    "  tensor %X : dram<128x32xu8> input\n"                                                        \
    "  tensor %Y : dram<128x32xu8> output\n"                                                       \
    "  tensor %a : sb<128x32xu8>" a "\n"                                                           \
    "  tensor %b : sb<128x32xu8>" b "\n"                                                           \
    "  %a = load %X\n"                                                                             \
    "  %b = f %a\n"                                                                                \
    "  %b += g %a\n"                                                                               \
    "  %Y = save %b\n"

static void placement(void **state) {
    (void)state;
    const char *original = TWO("", "");
    accept(original, TWO(" at 0:0", " at 0:32"));
    accept(original, TWO(" at 0:32", " at 0:0"));
    reject(original, TWO(" at 0:0", " at 0:8"), "`f` writes %b over its own operand %a");
    reject(original, TWO(" at 0:0", ""), "`f` uses %b, which has no place");
    reject(original, TWO(" at 0:0", " at 0:40"), "block 0 of %b at 0:40 leaves the State Buffer");
    reject(original, TWO(" at 0:0", " at 0:28"),
           "block 0 of %b at 0:28 is not aligned to 8 bytes, as what the original does not place "
           "must be");
    reject(TWO(" at 0:4", ""), TWO(" at 0:8", " at 0:0"),
           "block 0 of %a at 0:8 was fixed elsewhere");
    reject(TWO(" at 0:4", ""), TWO("", " at 0:0"), "%a lost its place");
    /* Bytes 28 to 59 take granules 3 to 7, so that nothing but them is left beside %b. */
    reject(TWO(" at 0:28", ""), TWO(" at 0:28", " at 0:0"),
           "`f` writes %b over its own operand %a");
    reject(TWO("", " align 32"), TWO(" at 0:32", " align 32 at 0:16"),
           "block 0 of %b at 0:16 is not aligned to 32 bytes, as what the original does not place "
           "must be");
    reject(TWO("", " align 32"), TWO(" at 0:0", " at 0:32"),
           "%b has another `align` than in the original");
}

/* What never runs needs no place; an output does. */
static void no_place(void **state) {
    (void)state;
    const char *idle = "  tensor %a : sb<8x8xu8>\n  %a = f if 1 == 2\n";
    accept(idle, idle);
    const char *output = "  tensor %a : sb<8x8xu8> input output\n";
    reject(output, output, "%a is an output but has no place");
}

/* 75 partitions reach into three quadrants; what lies in the fourth is not disturbed. */
static void quadrants(void **state) {
    (void)state;
    const char *original = "  tensor %a : sb<75x8xu8>\n"
                           "  tensor %b : sb<32x8xu8>\n"
                           "  %a = f\n"
                           "  %b = g %a\n"
                           "  %a += h %b\n";
    char result[1024];
    snprintf(result, sizeof result, "%s", changed(original, "75x8xu8>", "75x8xu8> at 0:0"));
    accept(original, changed(result, "32x8xu8>", "32x8xu8> at 96:0"));
    reject_changed(original, result, "32x8xu8>", "32x8xu8> at 64:0",
                   "`g` writes %b over its own operand %a");
}

/* The parser refuses such places, so they are put in behind it. */
static void illegal_band(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    Module before, after;
    const Func *original = parse(&arena, TWO("", ""), &before);
    const Func *result = parse(&arena, TWO(" at 0:0", " at 0:32"), &after);
    result->tensors[3].at = &(Place){64, 32};
    DiagQueue diags;
    diag_init(&diags, &arena);
    assert_false(verify(original, result, &after.target, PLACED, &diags));
    assert_string_equal(diags.items[0].text.text,
                        "block 0 of %b at 64:32 starts at no legal partition");
    arena_free(&arena);
}

#define SMALL(a, b, c)                                                                             \
    "  tensor %Y : dram<32x4xu8> output\n"                                                         \
    "  tensor %Z : dram<32x4xu8> output\n"                                                         \
    "  tensor %a : sb<32x4xu8>" a "\n"                                                             \
    "  tensor %b : sb<32x4xu8>" b "\n"                                                             \
    "  tensor %c : sb<32x8xu8>" c "\n"                                                             \
    "  %a = f\n"                                                                                   \
    "  %b = g\n"                                                                                   \
    "  %c = h\n"                                                                                   \
    "  %Y = save %a\n"                                                                             \
    "  %Z = save %b\n"

static void granules(void **state) {
    (void)state;
    /* Four bytes each, in one granule: in one quadrant they disturb each other. */
    reject(SMALL(" at 0:0", " at 0:4", ""), SMALL(" at 0:0", " at 0:4", " at 0:8"),
           "`save` reads %a, but bytes 0-3 in partitions 0-31 were overwritten by %b");
    accept(SMALL(" at 0:0", " at 32:4", ""), SMALL(" at 0:0", " at 32:4", " at 0:8"));
    accept(SMALL(" at 0:4", " at 0:8", ""), SMALL(" at 0:4", " at 0:8", " at 0:16"));
    reject(SMALL(" at 0:4", " at 0:8", ""), SMALL(" at 0:4", " at 0:8", " at 0:0"),
           "`save` reads %a, but bytes 0-3 in partitions 0-31 were overwritten by %c");
}

#define ODD                                                                                        \
    "  tensor %Y : dram<32x16xu8> output\n"                                                        \
    "  tensor %Z : dram<32x4xu8> output\n"                                                         \
    "  tensor %a : sb<32x16xu8> at 0:4\n"                                                          \
    "  tensor %b : sb<32x4xu8> at 0:20\n"                                                          \
    "  %a = f\n"                                                                                   \
    "  %b = g\n"                                                                                   \
    "  %Z = save %b\n"                                                                             \
    "  %a(0..32, 15..16) = h\n"                                                                    \
    "  %Y = save %a\n"

static void granule_taken_back(void **state) {
    (void)state;
    /* %a's last granule went to %b; %a writes one byte of it back, the three before are lost. */
    reject(ODD, ODD, "`save` reads %a, but bytes 12-14 in partitions 0-31 hold no value");
}

/* --- Spill code --- */

#define SPILL_ORIGINAL                                                                             \
    "  tensor %Y : dram<128x32xu8> output\n"                                                       \
    "  tensor %Z : dram<128x32xu8> output\n"                                                       \
    "  tensor %a : sb<128x32xu8>\n"                                                                \
    "  tensor %b : sb<128x32xu8>\n"                                                                \
    "  tensor %c : sb<128x32xu8>\n"                                                                \
    "  %a = f\n"                                                                                   \
    "  %b = g                     !engine=act\n"                                                   \
    "  %c = h %b\n"                                                                                \
    "  %Y = save %a\n"                                                                             \
    "  %Z = save %c\n"

#define SPILL_RESULT                                                                               \
    "  tensor %Y : dram<128x32xu8> output\n"                                                       \
    "  tensor %Z : dram<128x32xu8> output\n"                                                       \
    "  tensor %b : sb<128x32xu8> at 0:0\n"                                                         \
    "  tensor %c : sb<128x32xu8> at 0:32\n"                                                        \
    "  tensor %h1 : dram<128x32xu8> at 64 !of=a\n"                                                 \
    "  tensor %r1 : sb<128x32xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %r2 : sb<128x32xu8> at 0:0 !of=a\n"                                                  \
    "  %r1 = f\n"                                                                                  \
    "  %h1 = save %r1 !spill\n"                                                                    \
    "  %b = g !engine=act\n"                                                                       \
    "  %c = h %b\n"                                                                                \
    "  %r2 = load %h1 !reload\n"                                                                   \
    "  %Y = save %r2\n"                                                                            \
    "  %Z = save %c\n"

static void spill_code(void **state) {
    (void)state;
    accept(SPILL_ORIGINAL, SPILL_RESULT);
    struct {
        const char *from, *to, *fault;
    } wrong[] = {
        {"  %h1 = save %r1 !spill\n", "",
         "`save` reads %r2, but bytes 0-31 in partitions 0-127 hold no value"},
        {"  %r2 = load %h1 !reload\n", "",
         "`save` reads %r2, but bytes 0-31 in partitions 0-127 hold no value"},
        {"  %h1 = save %r1 !spill\n  %b = g !engine=act\n",
         "  %b = g !engine=act\n  %h1 = save %r1 !spill\n",
         "`save` reads %r2, but bytes 0-31 in partitions 0-127 hold no value"},
        {"  %c = h %b\n  %r2 = load %h1 !reload\n", "  %r2 = load %h1 !reload\n  %c = h %b\n",
         "`h` reads %b, but bytes 0-31 in partitions 0-127 were overwritten by %r2"},
        {"  %h1 = save %r1 !spill\n", "  %h1 = save %r1\n", "`save` is not in the original"},
        {"  %h1 = save %r1 !spill\n", "  %Z = save %r1 !spill\n",
         "`save` is inserted and stores to what is no home"},
        {"  %h1 = save %r1 !spill\n", "  %h1 = save %c !spill\n",
         "`save` stores another tensor than its home is for"},
        {"  %r2 = load %h1 !reload\n", "  %b = load %h1 !reload\n",
         "`save` reads %r2, but bytes 0-31 in partitions 0-127 hold no value"},
        {"  %r2 = load %h1 !reload\n", "  %r2 = copy %c !reload\n",
         "`copy` is not in the original"},
        {"  %c = h %b\n", "", "`h` of the original is missing before this"},
        {"  %Z = save %c\n", "",
         "`save` of the original is missing at the end of its loop or of the function"},
        {"  %c = h %b\n", "  %c = h %b\n  %c = h %b\n", "`h` is not in the original"},
        {"  %c = h %b\n", "  %c = k %b\n", "`k` stands where the original has `h`"},
        {"  %c = h %b\n", "  %c += h %b\n",
         "`h` has another operator (`=`, `+=`) than in the original"},
        {"  %c = h %b\n", "  %c = h %b !x\n", "`h` has other metadata than in the original"},
        {" !engine=act", "", "`g` has other metadata than in the original"},
        {"  %c = h %b\n", "  %c = h %c\n",
         "`h` has %c where the original has %b: it is another tensor"},
        {"  %c = h %b\n", "  %c = h %b(0..128, 0..16)\n",
         "`h` has %b where the original has %b: it names another region"},
        {"  %c = h %b\n", "  %c = h\n", "`h` has another number of operands than in the original"},
        {" at 64 !of=a", " at 32 !of=a", "%h1 at 32 is not aligned to 64 bytes"},
        {" at 64 !of=a", " !of=a", "`save` uses %h1, which has no place"},
        {"load %h1 !reload", "load %c !reload", "`load` reloads from what is not in DRAM"},
        {"  %Z = save %c\n", "  %Z = save %c\n  k %c\n", "`k` is not in the original"},
        {" at 64 !of=a", " at 64", "%h1 is not in the original and has no `!of`"},
        {" at 64 !of=a", " at 64 !of=q", "%h1 is not in the original, nor is what its `!of` names"},
        {"%r2 : sb<128x32xu8>", "%r2 : sb<128x16xu8>",
         "`save` has %r2 where the original has %a: it names another region"},
        {"%r2 : sb<128x32xu8>", "%r2 : sb<128x64xu8>",
         "%r2, `!of` %a, has another shape than what it stands for"},
        {"%h1 : dram<128x32xu8>", "%h1 : dram<128x16xu8>",
         "%h1, `!of` %a, has another shape than what it stands for"},
        {"%h1 : dram<128x32xu8>", "%h1 : dram<2*128x32xu8>",
         "%h1, `!of` %a, has more blocks than what it stands for"},
        {"%r2 : sb<128x32xu8> at 0:0", "%r2 : sb<2*128x32xu8> at 0:0, 0:32",
         "%r2, `!of` %a, has more blocks than what it stands for"},
        {"%r2 : sb<128x32xu8>", "%r2 : sb<128x16xu16>",
         "%r2, `!of` %a, has another shape than what it stands for"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        reject_changed(SPILL_ORIGINAL, SPILL_RESULT, wrong[i].from, wrong[i].to, wrong[i].fault);
}

/* --- Declarations --- */

#define DECLARED                                                                                   \
    "  tensor %X : dram<128x32xu8> input\n"                                                        \
    "  tensor %Y : dram<128x32xu8> output\n"                                                       \
    "  tensor %p : psum<32x8xu8>\n"                                                                \
    "  tensor %a : sb<128x32xu8>\n"                                                                \
    "  tensor %k : sb<32x8xu8> pin\n"                                                              \
    "  tensor %o : sb<32x8xu8> output\n"                                                           \
    "  tensor %f : sb<32x8xu8> at 0:0\n"                                                           \
    "  %a = load %X\n"                                                                             \
    "  %p = f %a\n"                                                                                \
    "  %k = g %p\n"                                                                                \
    "  %f = g %k\n"                                                                                \
    "  %o = g %f\n"                                                                                \
    "  %Y = save %a\n"

/* What a result may not change of a declaration, and what may not stand for what. */
static void declarations(void **state) {
    (void)state;
    struct {
        const char *from, *to, *fault;
    } wrong[] = {
        {"%p : psum<32x8xu8>", "%p : sb<32x8xu8>",
         "%p lies in another memory than in the original"},
        {"%a : sb<128x32xu8>", "%a : sb<2*128x32xu8>", "%a has another shape than in the original"},
        {"%a : sb<128x32xu8>", "%a : sb<128x16xu16>", "%a has another shape than in the original"},
        {"%a : sb<128x32xu8>", "%a : sb<128x4x8xu8>", "%a has another shape than in the original"},
        {"%a : sb<128x32xu8>", "%a : sb<128x32xu8> align 16",
         "%a has another `align` than in the original"},
        {"%k : sb<32x8xu8>", "%k : sb<32x8xu8> base 32",
         "%k has another `base` than in the original"},
        {" input", "", "%X differs in `input` than in the original"},
        {"%o : sb<32x8xu8> output", "%o : sb<32x8xu8>",
         "%o differs in `output` than in the original"},
        {" pin", "", "%k differs in `pin` than in the original"},
        {"%X : dram<128x32xu8> input", "%X : dram<128x32xu8> input at 64",
         "%X lies elsewhere in the spill area than in the original"},
        {"%a : sb<128x32xu8>", "%a : sb<128x32xu8> !x",
         "%a has other metadata than in the original"},
        {"  %a = load", "  tensor %c : sb<128x32xu8> !of=X\n  %a = load",
         "%c, `!of` %X, stands for a tensor that is not in the State Buffer"},
        {"  %a = load", "  tensor %c : sb<32x8xu8> !of=f\n  %a = load",
         "%c, `!of` %f, stands for a tensor that is fixed by its `at`"},
        {"  %a = load", "  tensor %c : sb<32x8xu8> !of=k\n  %a = load",
         "%c, `!of` %k, stands for a tensor that is pinned"},
        {"  %a = load", "  tensor %c : sb<32x8xu8> !of=o\n  %a = load",
         "%c, `!of` %o, stands for an output"},
        {"  %a = load", "  tensor %c : sb<128x32xu8> input !of=a\n  %a = load",
         "%c, `!of` %a, is added as an input or output"},
        {"  %a = load", "  tensor %c : sb<128x32xu8> output !of=a\n  %a = load",
         "%c, `!of` %a, is added as an input or output"},
        {"  %a = load", "  tensor %c : psum<128x32xu8> !of=a\n  %a = load",
         "%c, `!of` %a, stands for a tensor of another memory"},
        {"  %a = load", "  tensor %c : sb<128x32xu8> align 16 !of=a\n  %a = load",
         "%c, `!of` %a, has another `align` than what it stands for"},
        {"  %a = load", "  tensor %c : sb<128x32xu8> !of=3\n  %a = load",
         "%c is not in the original, nor is what its `!of` names"},
    };
    check((Case){DECLARED, DECLARED, NULL, UNPLACED});
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check((Case){DECLARED, changed(DECLARED, wrong[i].from, wrong[i].to), wrong[i].fault,
                     UNPLACED});
}

/* A result of another function, and one whose function has other metadata. */
static void headers(void **state) {
    (void)state;
    Arena arena;
    Module module;
    arena_init(&arena);
    const Func *original = parse(&arena, DECLARED, &module);
    Func renamed = *original, marked = *original;
    renamed.name = STR("g");
    marked.meta = meta_with(&arena, original->meta, (Meta){.key = STR("x"), .kind = META_FLAG});
    struct {
        const Func *result;
        const char *fault;
    } wrong[] = {{&renamed, "the original of @g is @f"},
                 {&marked, "@f has other metadata than the original"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        DiagQueue diags;
        diag_init(&diags, &arena);
        assert_false(verify(original, wrong[i].result, &module.target, UNPLACED, &diags));
        assert_string_equal(diags.items[0].text.text, wrong[i].fault);
    }
    arena_free(&arena);
}

/* A tensor that nothing uses may be gone; others may not. */
static void missing_tensors(void **state) {
    (void)state;
    static const char *const REST = "  tensor %a : sb<32x8xu8>\n  %a = f\n  g %a\n";
    static const char *const GONE[] = {"dram<32x8xu8>",     "psum<32x8xu8>",
                                       "sb<32x8xu8> pin",   "sb<32x8xu8> output",
                                       "sb<32x8xu8> input", "sb<32x8xu8> at 0:0"};
    Arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof GONE / sizeof *GONE; i++)
        check((Case){str_format(&arena, "  tensor %%z : %s\n%s", GONE[i], REST).text, REST,
                     "%z of the original is missing", UNPLACED});
    check((Case){str_format(&arena, "  tensor %%z : sb<32x8xu8>\n%s", REST).text, REST, NULL,
                 UNPLACED});
    arena_free(&arena);
}

/* Two values in turn, spilled to homes at %d and %d: both are needed at once. */
#define HOMES_ORIGINAL                                                                             \
    "  tensor %Y : dram<2*128x64xu8> output\n"                                                     \
    "  tensor %a : sb<128x64xu8>\n"                                                                \
    "  tensor %b : sb<128x64xu8>\n"                                                                \
    "  tensor %c : sb<128x64xu8>\n"                                                                \
    "  %a = f\n"                                                                                   \
    "  %b = g\n"                                                                                   \
    "  %c = h\n"                                                                                   \
    "  %Y[0] = save %a\n"                                                                          \
    "  %Y[1] = save %b\n"

#define HOMES_RESULT                                                                               \
    "  tensor %Y : dram<2*128x64xu8> output\n"                                                     \
    "  tensor %c : sb<128x64xu8> at 0:0\n"                                                         \
    "  tensor %h1 : dram<128x64xu8> at 0 !of=a\n"                                                  \
    "  tensor %h2 : dram<128x64xu8> at 8192 !of=b\n"                                               \
    "  tensor %r1 : sb<128x64xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %r2 : sb<128x64xu8> at 0:0 !of=b\n"                                                  \
    "  tensor %r3 : sb<128x64xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %r4 : sb<128x64xu8> at 0:0 !of=b\n"                                                  \
    "  %r1 = f\n"                                                                                  \
    "  %h1 = save %r1 !spill\n"                                                                    \
    "  %r2 = g\n"                                                                                  \
    "  %h2 = save %r2 !spill\n"                                                                    \
    "  %c = h\n"                                                                                   \
    "  %r3 = load %h1 !reload\n"                                                                   \
    "  %Y[0] = save %r3\n"                                                                         \
    "  %r4 = load %h2 !reload\n"                                                                   \
    "  %Y[1] = save %r4\n"

static void homes(void **state) {
    (void)state;
    accept(HOMES_ORIGINAL, HOMES_RESULT);
    reject_changed(HOMES_ORIGINAL, HOMES_RESULT, "at 8192", "at 8128",
                   "`save` reads %r3, but bytes 0-63 in partitions 127-127 hold no value");
    reject_changed(HOMES_ORIGINAL, HOMES_RESULT, "%r3 = load %h1", "%r3 = load %h2",
                   "`save` reads %r3, but bytes 0-63 in partitions 0-127 hold what `g` made as %b");
    reject_changed(HOMES_ORIGINAL, HOMES_RESULT, "%Y[0] = save %r3", "%Y[1] = save %r3",
                   "`save` has %Y where the original has %Y: it names other blocks");
    /* A tensor that came with its `at` must be kept clear of, even if nothing uses it then. */
    const char *fixed = "  tensor %Z : dram<128x1xu8> at 8100 input\n";
    char original[2048], result[2048];
    snprintf(original, sizeof original, "%s%s", fixed, HOMES_ORIGINAL);
    snprintf(result, sizeof result, "%s%s", fixed, HOMES_RESULT);
    reject(original, result, "%h1 overlaps %Z, which has its `at` from the original");
}

/* --- Loops and conditions --- */

#define LOOP(a, b, c)                                                                              \
    "  tensor %Y : dram<128x16xu8> output\n"                                                       \
    "  tensor %a : sb<128x16xu8>" a "\n"                                                           \
    "  tensor %b : sb<128x16xu8>" b "\n"                                                           \
    "  tensor %c : sb<128x16xu8>" c "\n"                                                           \
    "  %a = f\n"                                                                                   \
    "  loop i = 0..3 {\n"                                                                          \
    "    %b = g %a\n"                                                                              \
    "    %c = h %b\n"                                                                              \
    "  }\n"                                                                                        \
    "  %Y = save %c\n"

static void second_iteration(void **state) {
    (void)state;
    accept(LOOP("", "", ""), LOOP(" at 0:0", " at 0:16", " at 0:32"));
    reject(LOOP("", "", ""), LOOP(" at 0:0", " at 0:16", " at 0:0"),
           "`g` reads %a, but bytes 0-15 in partitions 0-127 were overwritten by %c (i = 1)");
    reject_changed(LOOP("", "", ""), LOOP(" at 0:0", " at 0:16", " at 0:32"), "0..3", "0..2",
                   "the loops are not those of the original");
    reject_changed(LOOP("", "", ""), LOOP(" at 0:0", " at 0:16", " at 0:32"), "loop i", "loop j",
                   "the loops are not those of the original");
    reject_changed(LOOP("", "", ""), LOOP(" at 0:0", " at 0:16", " at 0:32"),
                   "    %c = h %b\n  }\n", "  }\n  %c = h %b\n",
                   "`h` of the original is missing at the end of its loop or of the function");
}

/* `w`; `w if i == 0`; pressure; read: the first store is unconditional, the second is not. */
#define CONDITION_ORIGINAL                                                                         \
    "  tensor %Y : dram<3*128x64xu8> output\n"                                                     \
    "  tensor %a : sb<128x64xu8>\n"                                                                \
    "  tensor %b : sb<128x64xu8>\n"                                                                \
    "  loop i = 0..3 {\n"                                                                          \
    "    %a = f\n"                                                                                 \
    "    %a = g if i == 1\n"                                                                       \
    "    %b = h\n"                                                                                 \
    "    %Y[i] = save %a\n"                                                                        \
    "  }\n"

#define CONDITION_RESULT                                                                           \
    "  tensor %Y : dram<3*128x64xu8> output\n"                                                     \
    "  tensor %b : sb<128x64xu8> at 0:0\n"                                                         \
    "  tensor %h1 : dram<128x64xu8> at 0 !of=a\n"                                                  \
    "  tensor %r1 : sb<128x64xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %r2 : sb<128x64xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %r3 : sb<128x64xu8> at 0:0 !of=a\n"                                                  \
    "  loop i = 0..3 {\n"                                                                          \
    "    %r1 = f\n"                                                                                \
    "    %h1 = save %r1 !spill\n"                                                                  \
    "    %r2 = g if i == 1\n"                                                                      \
    "    %h1 = save %r2 if i == 1 !spill !loc=g\n"                                                 \
    "    %b = h\n"                                                                                 \
    "    %r3 = load %h1 !reload\n"                                                                 \
    "    %Y[i] = save %r3\n"                                                                       \
    "  }\n"

static void conditions(void **state) {
    (void)state;
    accept(CONDITION_ORIGINAL, CONDITION_RESULT);
    reject_changed(CONDITION_ORIGINAL, CONDITION_RESULT, "if i == 1 !spill", "!spill",
                   "`save` reads %r3, but bytes 0-63 in partitions 0-127 hold no value (i = 0)");
    reject_changed(CONDITION_ORIGINAL, CONDITION_RESULT, "save %r1 !spill",
                   "save %r1 if i == 1 !spill",
                   "`save` reads %r3, but bytes 0-63 in partitions 0-127 hold no value (i = 0)");
    reject_changed(CONDITION_ORIGINAL, CONDITION_RESULT, "load %h1 !reload",
                   "load %h1 if i == 1 !reload",
                   "`save` reads %r3, but bytes 0-63 in partitions 0-127 hold no value (i = 0)");
    reject_changed(CONDITION_ORIGINAL, CONDITION_RESULT,
                   "    %h1 = save %r2 if i == 1 !spill !loc=g\n", "",
                   "`save` reads %r3, but bytes 0-63 in partitions 0-127 hold what `f` made as %a "
                   "(i = 1)");
    reject_changed(CONDITION_ORIGINAL, CONDITION_RESULT, "    %h1 = save %r1 !spill\n", "",
                   "`save` reads %r3, but bytes 0-63 in partitions 0-127 hold no value (i = 0)");
    reject_changed(CONDITION_ORIGINAL, CONDITION_RESULT, "g if i == 1", "g if i <= 1",
                   "`g` has another condition than in the original");
    reject_changed(CONDITION_ORIGINAL, CONDITION_RESULT, "g if i == 1", "g",
                   "`g` has another condition than in the original");
}

/* Four reads of what one iteration wrote: a reload does not take the condition of the write. */
#define ONCE_ORIGINAL                                                                              \
    "  tensor %Y : dram<4*128x64xu8> output\n"                                                     \
    "  tensor %a : sb<128x64xu8>\n"                                                                \
    "  tensor %o : sb<128x64xu8>\n"                                                                \
    "  loop i = 0..4 {\n"                                                                          \
    "    %a = f if i == 0\n"                                                                       \
    "    %o = g\n"                                                                                 \
    "    %Y[i] = save %a\n"                                                                        \
    "  }\n"

#define ONCE_RESULT(condition)                                                                     \
    "  tensor %Y : dram<4*128x64xu8> output\n"                                                     \
    "  tensor %o : sb<128x64xu8> at 0:0\n"                                                         \
    "  tensor %h1 : dram<128x64xu8> at 0 !of=a\n"                                                  \
    "  tensor %r1 : sb<128x64xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %r2 : sb<128x64xu8> at 0:0 !of=a\n"                                                  \
    "  loop i = 0..4 {\n"                                                                          \
    "    %r1 = f if i == 0\n"                                                                      \
    "    %h1 = save %r1 if i == 0 !spill\n"                                                        \
    "    %o = g\n"                                                                                 \
    "    %r2 = load %h1" condition " !reload\n"                                                    \
    "    %Y[i] = save %r2\n"                                                                       \
    "  }\n"

static void inherited_condition(void **state) {
    (void)state;
    accept(ONCE_ORIGINAL, ONCE_RESULT(""));
    reject(ONCE_ORIGINAL, ONCE_RESULT(" if i == 0"),
           "`save` reads %r2, but bytes 0-63 in partitions 0-127 were overwritten by %o (i = 1)");
}

/* --- Blocks and regions --- */

#define BLOCKS_ORIGINAL                                                                            \
    "  tensor %Y : dram<4*128x8xu8> output\n"                                                      \
    "  tensor %t : sb<4*128x8xu8>\n"                                                               \
    "  tensor %o : sb<128x64xu8>\n"                                                                \
    "  loop i = 0..4 {\n"                                                                          \
    "    %t[i] = f\n"                                                                              \
    "  }\n"                                                                                        \
    "  %o = g\n"                                                                                   \
    "  %Y[1..3] = save %t[1..3]\n"                                                                 \
    "  loop j = 0..2 {\n"                                                                          \
    "    %Y[3*j] = save %t[3*j]\n"                                                                 \
    "  }\n"

#define BLOCKS_RESULT                                                                              \
    "  tensor %Y : dram<4*128x8xu8> output\n"                                                      \
    "  tensor %o : sb<128x64xu8> at 0:0\n"                                                         \
    "  tensor %h : dram<4*128x8xu8> at 0 !of=t\n"                                                  \
    "  tensor %r1 : sb<128x8xu8> at 0:0 !of=t\n"                                                   \
    "  tensor %r2 : sb<2*128x8xu8> at 0:16, 0:8 !of=t\n"                                           \
    "  tensor %r3 : sb<128x8xu8> at 0:24 !of=t\n"                                                  \
    "  loop i = 0..4 {\n"                                                                          \
    "    %r1 = f\n"                                                                                \
    "    %h[i] = save %r1 !spill\n"                                                                \
    "  }\n"                                                                                        \
    "  %o = g\n"                                                                                   \
    "  %r2 = load %h[1..3] !reload\n"                                                              \
    "  %Y[1..3] = save %r2\n"                                                                      \
    "  loop j = 0..2 {\n"                                                                          \
    "    %r3 = load %h[3*j] !reload\n"                                                             \
    "    %Y[3*j] = save %r3\n"                                                                     \
    "  }\n"

static void blocks(void **state) {
    (void)state;
    accept(BLOCKS_ORIGINAL, BLOCKS_RESULT);
    reject_changed(BLOCKS_ORIGINAL, BLOCKS_RESULT, "load %h[1..3]", "load %h[0..2]",
                   "`save` reads %r2, but block 0, bytes 0-7 in partitions 0-127 hold what an "
                   "earlier run of `f` made");
    reject_changed(BLOCKS_ORIGINAL, BLOCKS_RESULT, "load %h[3*j]", "load %h[2*j]",
                   "`save` reads %r3, but bytes 0-7 in partitions 0-127 hold what an earlier run "
                   "of `f` made (j = 1)");
    reject_changed(BLOCKS_ORIGINAL, BLOCKS_RESULT, "%h[i] = save", "%h[0] = save",
                   "`save` reads %r2, but block 0, bytes 0-7 in partitions 0-127 hold no value");
    reject_changed(BLOCKS_ORIGINAL, BLOCKS_RESULT, "at 0:16, 0:8", "at 0:16, 0:16",
                   "`load` writes blocks of %r2 over each other");
    reject_changed(BLOCKS_ORIGINAL, BLOCKS_RESULT, "save %r2\n", "save %r2[0]\n",
                   "`save` names 1 blocks of %r2 where the original names 2");
}

/* Half of a value is written anew in a loop; its home must hold both halves. */
#define HALVES_ORIGINAL                                                                            \
    "  tensor %Y : dram<128x32xu8> output\n"                                                       \
    "  tensor %a : sb<128x32xu8>\n"                                                                \
    "  tensor %b : sb<128x64xu8>\n"                                                                \
    "  %a = f\n"                                                                                   \
    "  loop i = 0..2 {\n"                                                                          \
    "    %b = k\n"                                                                                 \
    "    %a(0..128, 0..16) = g\n"                                                                  \
    "  }\n"                                                                                        \
    "  %b = k\n"                                                                                   \
    "  %Y = save %a\n"

#define HALVES_RESULT                                                                              \
    "  tensor %Y : dram<128x32xu8> output\n"                                                       \
    "  tensor %b : sb<128x64xu8> at 0:0\n"                                                         \
    "  tensor %h : dram<128x32xu8> at 0 !of=a\n"                                                   \
    "  tensor %r1 : sb<128x32xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %r2 : sb<128x32xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %r3 : sb<128x32xu8> at 0:32 !of=a\n"                                                 \
    "  %r1 = f\n"                                                                                  \
    "  %h = save %r1 !spill\n"                                                                     \
    "  loop i = 0..2 {\n"                                                                          \
    "    %b = k\n"                                                                                 \
    "    %r2 = load %h !reload\n"                                                                  \
    "    %r2(0..128, 0..16) = g\n"                                                                 \
    "    %h = save %r2 !spill\n"                                                                   \
    "  }\n"                                                                                        \
    "  %b = k\n"                                                                                   \
    "  %r3 = load %h !reload\n"                                                                    \
    "  %Y = save %r3\n"

static void halves(void **state) {
    (void)state;
    accept(HALVES_ORIGINAL, HALVES_RESULT);
    /* Only the written half stored: right without the reload as well. */
    const char *part = changed(HALVES_RESULT, "    %h = save %r2 !spill\n",
                               "    %h(0..128, 0..16) = save %r2(0..128, 0..16) !spill\n");
    char stored[2048];
    snprintf(stored, sizeof stored, "%s", part);
    accept(HALVES_ORIGINAL, stored);
    accept(HALVES_ORIGINAL, changed(stored, "    %r2 = load %h !reload\n", ""));
    reject_changed(HALVES_ORIGINAL, HALVES_RESULT, "    %r2 = load %h !reload\n", "",
                   "`save` reads %r3, but bytes 16-31 in partitions 0-127 hold no value");
    reject_changed(HALVES_ORIGINAL, stored, "save %r2(0..128, 0..16)", "save %r2(0..128, 16..32)",
                   "`save` reads %r3, but bytes 0-15 in partitions 0-127 hold what `f` made as %a");
    reject_changed(HALVES_ORIGINAL, HALVES_RESULT, "%r2(0..128, 0..16) = g",
                   "%r2(0..128, 16..32) = g",
                   "`g` has %r2 where the original has %a: it names another region");
    reject_changed(HALVES_ORIGINAL, HALVES_RESULT, "    %h = save %r2 !spill\n", "",
                   "`save` reads %r3, but bytes 0-15 in partitions 0-127 hold what `f` made as %a");
}

/* --- Reloading from where a load read --- */

#define REMAT_ORIGINAL                                                                             \
    "  tensor %X : dram<2*128x64xu8> input\n"                                                      \
    "  tensor %Y : dram<128x64xu8> output\n"                                                       \
    "  tensor %a : sb<128x64xu8>\n"                                                                \
    "  tensor %b : sb<128x64xu8>\n"                                                                \
    "  %a = load %X[1]\n"                                                                          \
    "  %b = f %a(0..128, 0..32)\n"                                                                 \
    "  %X[0] = save %b\n"                                                                          \
    "  %b += g\n"                                                                                  \
    "  %Y = save %a\n"

#define REMAT_RESULT(index)                                                                        \
    "  tensor %X : dram<2*128x64xu8> input\n"                                                      \
    "  tensor %Y : dram<128x64xu8> output\n"                                                       \
    "  tensor %b : sb<128x64xu8> at 0:64\n"                                                        \
    "  tensor %r1 : sb<128x64xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %r2 : sb<128x64xu8> at 0:0 !of=a\n"                                                  \
    "  %r1 = load %X[1]\n"                                                                         \
    "  %b = f %r1(0..128, 0..32)\n"                                                                \
    "  %X[0] = save %b\n"                                                                          \
    "  %b += g\n"                                                                                  \
    "  %r2 = load %X[" index "] !reload\n"                                                         \
    "  %Y = save %r2\n"

static void rematerialise(void **state) {
    (void)state;
    check((Case){REMAT_ORIGINAL, REMAT_RESULT("1"), NULL, UNPLACED});
    check((Case){REMAT_ORIGINAL, REMAT_RESULT("0"),
                 "`save` reads %r2, but bytes 0-63 in partitions 0-127 hold what `f` made as %b",
                 UNPLACED});
    /* The source is saved over before the reload. */
    char original[2048];
    snprintf(original, sizeof original, "%s", changed(REMAT_ORIGINAL, "%X[0]", "%X[1]"));
    check((Case){original, changed(REMAT_RESULT("1"), "%X[0]", "%X[1]"),
                 "`save` reads %r2, but bytes 0-63 in partitions 0-127 hold what `f` made as %b",
                 UNPLACED});
    /* Nor is another tensor's `at` a way around that: both lie on the same bytes. */
    const char *alias =
        "  tensor %W : dram<128x64xu8> at 8192\n  tensor %X : dram<2*128x64xu8> at 0 ";
    char result[2048], aliased[2048];
    snprintf(original, sizeof original, "%s",
             changed(REMAT_ORIGINAL, "  tensor %X : dram<2*128x64xu8> ", alias));
    snprintf(aliased, sizeof aliased, "%s", changed(original, "%X[0] =", "%W ="));
    snprintf(result, sizeof result, "%s",
             changed(REMAT_RESULT("1"), "  tensor %X : dram<2*128x64xu8> ", alias));
    check((Case){aliased, changed(result, "%X[0] =", "%W ="),
                 "`save` reads %r2, but bytes 0-63 in partitions 0-127 hold no value", UNPLACED});
    check((Case){original, result, NULL, UNPLACED});
}

/* A load that changes the shape makes the same value again, from the same contents only. */
static void reshaping(void **state) {
    (void)state;
#define RESHAPE_HEAD                                                                               \
    "  tensor %X : dram<2*128x8xu8> input\n"                                                       \
    "  tensor %Y : dram<64x32xu8> output\n"
    const char *original = RESHAPE_HEAD "  tensor %a : sb<64x32xu8>\n"
                                        "  %a = load %X\n"
                                        "  %Y = save %a\n"
                                        "  %a += f\n"
                                        "  %Y = save %a\n"
                                        "  %a = load %X\n"
                                        "  %Y = save %a\n";
    const char *result = RESHAPE_HEAD "  tensor %r1 : sb<64x32xu8> !of=a\n"
                                      "  tensor %r2 : sb<64x32xu8> !of=a\n"
                                      "  tensor %r3 : sb<64x32xu8> !of=a\n"
                                      "  tensor %r4 : sb<64x32xu8> !of=a\n"
                                      "  %r1 = load %X\n"
                                      "  %Y = save %r1\n"
                                      "  %r2 = load %X !reload\n"
                                      "  %r2 += f\n"
                                      "  %Y = save %r2\n"
                                      "  %r3 = load %X !reload\n"
                                      "  %Y = save %r3\n";
    check((Case){original, result, NULL, UNPLACED});
    check(
        (Case){original, changed(result, "%r3 = load %X ", "%r3 = load %X[0..1] "),
               "`save` reads %r3, but bytes 0-31 in partitions 0-63 hold what an added `load` made",
               UNPLACED});
}

/* --- Splits, merged copies, inputs, dropped loads --- */

#define COPY(a, b, c, meta)                                                                        \
    "  tensor %Y : dram<2*128x32xu8> output\n"                                                     \
    "  tensor %a : sb<128x32xu8>" a "\n"                                                           \
    "  tensor %b : sb<128x32xu8>" b "\n"                                                           \
    "  tensor %c : sb<128x32xu8>" c "\n"                                                           \
    "  %a = f\n"                                                                                   \
    "  %b = copy %a" meta "\n"                                                                     \
    "  %b += g\n"                                                                                  \
    "  %c = h\n"                                                                                   \
    "  %Y[0] = save %b\n"

static void elided_copies(void **state) {
    (void)state;
    accept(COPY("", "", "", ""), COPY(" at 0:0", " at 0:0", " at 0:32", " !elided"));
    accept(COPY("", "", "", " !elided"), COPY(" at 0:0", " at 0:32", " at 0:0", ""));
    accept(COPY("", "", "", " !x !elided !y"), COPY(" at 0:0", " at 0:32", " at 0:0", " !x !y"));
    reject(COPY("", "", "", ""), COPY(" at 0:0", " at 0:0", " at 0:32", ""),
           "`copy` writes %b over its own operand %a");
    reject(COPY("", "", "", ""), COPY(" at 0:0", " at 0:32", " at 0:0", " !elided"),
           "`copy` is marked `!elided` but its ends lie apart");
    reject(COPY("", "", "", ""), COPY(" at 0:0", " at 0:8", " at 0:40", " !elided"),
           "block 0 of %c at 0:40 leaves the State Buffer");
    reject(COPY("", "", "", " !x"), COPY(" at 0:0", " at 0:0", " at 0:32", " !elided"),
           "`copy` has other metadata than in the original");
    char original[1024], result[1024];
    snprintf(original, sizeof original, "%s  %%Y[1] = save %%a\n", COPY("", "", "", ""));
    snprintf(result, sizeof result, "%s  %%Y[1] = save %%a\n",
             COPY(" at 0:0", " at 0:0", " at 0:32", " !elided"));
    reject(original, result,
           "`save` reads %a, but bytes 0-31 in partitions 0-127 were overwritten by %b");
}

/* Both ends of an elided copy may be read while neither is written. */
#define SHARED(a, b, c, middle)                                                                    \
    "  tensor %Y : dram<2*128x32xu8> output\n"                                                     \
    "  tensor %a : sb<128x32xu8>" a "\n"                                                           \
    "  tensor %b : sb<128x32xu8>" b "\n"                                                           \
    "  tensor %c : sb<128x16xu8>" c "\n"                                                           \
    "  %a = f\n"                                                                                   \
    "  %b = copy %a" middle "\n"                                                                   \
    "  %Y[0] = save %a\n"                                                                          \
    "  %Y[1] = save %b\n"
#define SHARED_LIES(middle)                                                                        \
    SHARED("", "", "", middle), SHARED(" at 0:0", " at 0:0", " at 0:32", " !elided" middle)
#define SHARED_OVER(middle)                                                                        \
    SHARED("", "", "", middle), SHARED(" at 0:0", " at 0:0", " at 0:16", " !elided" middle)

static void shared_ends(void **state) {
    (void)state;
    const char *lost_a =
        "`save` reads %a, but bytes 0-31 in partitions 0-127 were overwritten by %b";
    accept(SHARED_LIES(""));
    accept(SHARED_LIES("\n  %c = g %a\n  %c = g %b"));
    reject(SHARED_LIES("\n  %b = g"), lost_a);
    reject(SHARED_LIES("\n  %b(0..128, 24..32) = g"),
           "`save` reads %a, but bytes 24-31 in partitions 0-127 were overwritten by %b");
    reject(SHARED_LIES("\n  %a(32..64, 0..32) = g"),
           "`save` reads %b, but bytes 0-31 in partitions 32-63 were overwritten by %a");
    reject(SHARED_LIES("\n  %b = g %a"), "`g` writes %b over its own operand %a");
    reject(SHARED_LIES("\n  %a += g %b"), "`g` writes %a over its own operand %b");
    reject(SHARED_OVER("\n  %c = g %a"), "`g` writes %c over its own operand %a");
    reject(SHARED_OVER("\n  %c = g"),
           "`save` reads %a, but bytes 16-31 in partitions 0-127 were overwritten by %c");
}

/* One home for one value: a copy of the source, or of the destination, is reloaded from it. */
#define ONE_HOME                                                                                   \
    "  tensor %Y : dram<2*128x32xu8> output\n"                                                     \
    "  tensor %c : sb<128x64xu8> at 0:0\n"                                                         \
    "  tensor %h1 : dram<128x32xu8> at 0 !of=a\n"                                                  \
    "  tensor %a1 : sb<128x32xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %a2 : sb<128x32xu8> at 0:0 !of=a\n"                                                  \
    "  tensor %b1 : sb<128x32xu8> at 0:0 !of=b\n"                                                  \
    "  tensor %b2 : sb<128x32xu8> at 0:32 !of=b\n"                                                 \
    "  %a1 = f\n"                                                                                  \
    "  %h1 = save %a1 !spill\n"                                                                    \
    "  %b1 = copy %a1 !elided\n"                                                                   \
    "  %c = g\n"                                                                                   \
    "  %b2 = load %h1 !reload\n"                                                                   \
    "  %a2 = load %h1 !reload\n"                                                                   \
    "  %Y[0] = save %a2\n"                                                                         \
    "  %Y[1] = save %b2\n"

static void one_home(void **state) {
    (void)state;
    const char *original = SHARED("", "", "", "\n  %c = g");
    char wide[2048];
    snprintf(wide, sizeof wide, "%s",
             changed(original, "%c : sb<128x16xu8>", "%c : sb<128x64xu8>"));
    accept(wide, ONE_HOME);
    /* Not once the value has changed. */
    reject_changed(wide, ONE_HOME, "  %h1 = save %a1 !spill\n", "",
                   "`save` reads %a2, but bytes 0-31 in partitions 0-127 hold no value");
}

#define SPLIT_HEAD                                                                                 \
    "  tensor %Y : dram<2*128x32xu8> output\n"                                                     \
    "  tensor %a : sb<128x32xu8>"

static void splits(void **state) {
    (void)state;
    const char *original = SPLIT_HEAD "\n"
                                      "  %a = f\n"
                                      "  %Y[0] = save %a\n"
                                      "  %a = g\n"
                                      "  %Y[1] = save %a\n";
    const char *result = SPLIT_HEAD " at 0:0\n"
                                    "  tensor %s : sb<128x32xu8> at 0:32 !of=a\n"
                                    "  %a = f\n"
                                    "  %Y[0] = save %a\n"
                                    "  %s = g\n"
                                    "  %Y[1] = save %s\n";
    accept(original, result);
    reject_changed(original, result, "save %s", "save %a",
                   "`save` reads %a, but bytes 0-31 in partitions 0-127 hold what `f` made as %a");
    reject(changed(original, "sb<128x32xu8>", "sb<128x32xu8> pin"),
           SPLIT_HEAD " pin at 0:0\n"
                      "  tensor %s : sb<128x32xu8> at 0:32 !of=a\n"
                      "  %a = f\n"
                      "  %Y[0] = save %a\n"
                      "  %s = g\n"
                      "  %Y[1] = save %s\n",
           "%s, `!of` %a, stands for a tensor that is pinned");
}

#define INPUT_HEAD(places)                                                                         \
    "  tensor %Y : dram<128x64xu8> output\n"                                                       \
    "  tensor %a : sb<128x64xu8> input" places "\n"                                                \
    "  tensor %b : sb<128x64xu8>" places "\n"

static void spilled_input(void **state) {
    (void)state;
    const char *original = INPUT_HEAD("") "  %b = f\n"
                                          "  %Y = save %a\n";
    const char *result = INPUT_HEAD(" at 0:0") "  tensor %h : dram<128x64xu8> at 0 !of=a\n"
                                               "  tensor %r : sb<128x64xu8> at 0:0 !of=a\n"
                                               "  %h = save %a !spill\n"
                                               "  %b = f\n"
                                               "  %r = load %h !reload\n"
                                               "  %Y = save %r\n";
    accept(original, result);
    reject_changed(original, result, "  %h = save %a !spill\n  %b = f\n",
                   "  %b = f\n  %h = save %a !spill\n",
                   "`save` reads %r, but bytes 0-63 in partitions 0-127 hold no value");
    reject(original, changed(result, " input at 0:0", " at 0:0"),
           "%a differs in `input` than in the original");
}

static void dropped_loads(void **state) {
    (void)state;
#define LOADS_HEAD                                                                                 \
    "  tensor %X : dram<128x32xu8> input\n"                                                        \
    "  tensor %Y : dram<128x32xu8> output\n"                                                       \
    "  tensor %a : sb<128x32xu8> at 0:0\n"                                                         \
    "  tensor %b : sb<128x32xu8> at 0:32\n"
    const char *original = LOADS_HEAD "  %b = load %X\n"
                                      "  %b = load %X\n"
                                      "  %a = f\n"
                                      "  %a = load %X\n"
                                      "  %Y = save %a\n";
    accept(original, changed(original, "  %b = load %X\n  %b = load %X\n", ""));
    accept(original, changed(original, "  %b = load %X\n", ""));
    reject_changed(original, original, "  %a = f\n", "",
                   "`f` of the original is missing before this");
    reject_changed(original, original, "  %a = load %X\n", "",
                   "`save` reads %a, but bytes 0-31 in partitions 0-127 hold what `f` made as %a");
    reject_changed(original, original, "  %Y = save %a\n", "",
                   "`save` of the original is missing at the end of its loop or of the function");
    reject_changed(original, original, "  %a = load %X\n", "  %a = load %X\n  %b = load %X\n",
                   "`load` is not in the original");
}

/* --- Blocks in place --- */

#define PLACE_HEAD(t, p)                                                                           \
    "  tensor %X : dram<4*128x16xu8> input\n"                                                      \
    "  tensor %Y : dram<4*128x16xu8> output\n"                                                     \
    "  tensor %t : sb<4*128x16xu8>" t "\n"                                                         \
    "  tensor %p : sb<128x32xu8>" p "\n"

/* Four blocks of which two lie where another tensor does. */
#define PLACE_ORIGINAL                                                                             \
    PLACE_HEAD("", "")                                                                             \
    "  loop i = 0..4 {\n"                                                                          \
    "    %t[i] = f\n"                                                                              \
    "  }\n"                                                                                        \
    "  %p = g\n"                                                                                   \
    "  use %p\n"                                                                                   \
    "  loop i = 0..4 {\n"                                                                          \
    "    %Y[i] = save %t[i]\n"                                                                     \
    "  }\n"

#define PLACE_RESULT                                                                               \
    PLACE_HEAD(" at 0:0, 0:16, 0:32, 0:48", " at 0:32")                                            \
    "  tensor %h : dram<2*128x16xu8> at 0 !of=t\n"                                                 \
    "  loop i = 0..4 {\n"                                                                          \
    "    %t[i] = f\n"                                                                              \
    "    %h[i - 2] = save %t[i] if i >= 2 !spill\n"                                                \
    "  }\n"                                                                                        \
    "  %p = g\n"                                                                                   \
    "  use %p\n"                                                                                   \
    "  loop i = 0..4 {\n"                                                                          \
    "    %t[i] = load %h[i - 2] if i >= 2 !reload\n"                                               \
    "    %Y[i] = save %t[i]\n"                                                                     \
    "  }\n"

#define LOST_BLOCK "`save` reads %t, but block 2, bytes 0-15 in partitions 0-127 "

static void in_place(void **state) {
    (void)state;
    accept(PLACE_ORIGINAL, PLACE_RESULT);
    /* A range at once, and places that blocks share while only one of them is there. */
    accept(PLACE_ORIGINAL, changed(PLACE_RESULT, "%t[i] = load %h[i - 2] if i >= 2",
                                   "%t[2..4] = load %h if i == 2"));
    const char *taken = LOST_BLOCK "were overwritten by %p (i = 2)";
    const char *never = LOST_BLOCK "hold no value (i = 2)";
    struct {
        const char *from, *to, *fault;
    } wrong[] = {
        {"i >= 2 !reload", "i >= 3 !reload", taken},
        {"i >= 2 !reload", "i == 3 !reload", taken},
        {"i >= 2 !reload", "i >= 2 && i < 2 !reload", taken},
        {"    %t[i] = load", "    %t[3] = load", taken},
        {" if i >= 2 !reload", " !reload", "index outside %h: block -2 of 2 at i = 0"},
        {"i >= 2 !spill", "i >= 3 !spill", never},
        {"i >= 2 !spill", "i != 2 && i >= 2 !spill", never},
        {"%h[i - 2] = save", "%h[1] = save", never},
        {"load %h[i - 2]", "load %h[1]", LOST_BLOCK "hold what a later run of `f` made (i = 2)"},
        {"save %t[i] if", "save %t[i - 1] if",
         LOST_BLOCK "hold what an earlier run of `f` made (i = 2)"},
        {"load %h[i - 2]", "load %X[i]", LOST_BLOCK "hold what %X had on entry (i = 2)"},
        {"0:48\n", "0:32\n", NULL},
        {"0:16, 0:32", "0:16, 0:16",
         "`save` reads %t, but block 1, bytes 0-15 in partitions 0-127 were overwritten by block 2 "
         "of %t (i = "
         "1)"},
        {"%h : dram<2", "%h : dram<1", "index outside %h: block 1 of 1 at i = 3"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check((Case){PLACE_ORIGINAL, changed(PLACE_RESULT, wrong[i].from, wrong[i].to),
                     wrong[i].fault, PLACED});
}

#define REPEATED(attributes, between)                                                              \
    "  tensor %X : dram<128x16xu8> input\n"                                                        \
    "  tensor %t : sb<128x16xu8>" attributes "\n"                                                  \
    "  %t = load %X\n"                                                                             \
    "  use %t\n" between "  use %t\n"

/* What is fixed, pinned or an output loses no block. */
static void stays_whole(void **state) {
    (void)state;
    accept(REPEATED("", ""), REPEATED(" at 0:0", "  %t = load %X !reload\n"));
    reject(REPEATED(" at 0:0", ""), REPEATED(" at 0:0", "  %t = load %X !reload\n"),
           "`load` is inserted and loads into what is fixed by its `at`");
    reject(REPEATED(" pin", ""), REPEATED(" pin at 0:0", "  %t = load %X !reload\n"),
           "`load` is inserted and loads into what is pinned");
    reject(REPEATED(" output", ""), REPEATED(" output at 0:0", "  %t = load %X !reload\n"),
           "`load` is inserted and loads into an output");
}

/* A load runs only in iterations whose value something reads. */
#define NARROW(condition, last)                                                                    \
    "  tensor %X : dram<8*128x16xu8> input\n"                                                      \
    "  tensor %Y : dram<8*128x16xu8> output\n"                                                     \
    "  tensor %s : sb<2*128x16xu8> at 0:0, 0:16\n"                                                 \
    "  %s[0] = load %X[0]\n"                                                                       \
    "  loop i = 0..8 {\n"                                                                          \
    "    %s[i + 1 mod 2] = load %X[i + 1 mod 8]" condition "\n"                                    \
    "    %Y[i] = save %s[i mod 2]\n"                                                               \
    "  }\n" last

static void narrowed_loads(void **state) {
    (void)state;
    accept(NARROW("", ""), NARROW(" if i < 7", ""));
    accept(NARROW("", ""), NARROW(" if i != 7", ""));
    accept(NARROW("", ""), NARROW(" if i + 1 mod 8 >= 1", ""));
    accept(NARROW(" if i >= 0", ""), NARROW(" if i >= 0 && i < 7", ""));
    reject(
        NARROW("", ""), NARROW(" if i < 6", ""),
        "`save` reads %s, but block 1, bytes 0-15 in partitions 0-127 hold another part of their "
        "value (i = 7)");
    reject(NARROW("", "  use %s[0]\n"), NARROW(" if i < 7", "  use %s[0]\n"),
           "`use` reads %s, but block 0, bytes 0-15 in partitions 0-127 hold another part of their "
           "value");
    const char *other = "`load` is not in the original";
    reject(NARROW("", ""), NARROW(" if i <= 6", ""), other);
    reject(NARROW("", ""), NARROW(" if 7 >= i", ""), other);
    reject(NARROW(" if i >= 0", ""), NARROW(" if i < 7 && i >= 0", ""), other);
    reject(NARROW(" if i < 7", ""), NARROW("", ""), other);
    reject(NARROW(" if i < 6 && i < 7", ""), NARROW(" if i < 6", ""), other);
    /* Nothing but a load. */
    reject_changed(NARROW("", ""), NARROW("", ""), "[i mod 2]\n", "[i mod 2] if i < 8\n",
                   "`save` has another condition than in the original");
}

/* A copy may hold no more of a block than what is read of it. */
#define PART_ORIGINAL                                                                              \
    "  tensor %Y : dram<2*64x16xu8> output\n"                                                      \
    "  tensor %a : sb<128x32xu8>\n"                                                                \
    "  tensor %p : sb<128x64xu8>\n"                                                                \
    "  %a(64..128, 8..24) = f\n"                                                                   \
    "  %p = g\n"                                                                                   \
    "  use %p\n"                                                                                   \
    "  %Y[0] = save %a(64..128, 8..24)\n"                                                          \
    "  use %a(64..96, 8..16)\n"

#define PART_RESULT                                                                                \
    "  tensor %Y : dram<2*64x16xu8> output\n"                                                      \
    "  tensor %p : sb<128x64xu8> at 0:0\n"                                                         \
    "  tensor %h : dram<128x32xu8> at 0 !of=a\n"                                                   \
    "  tensor %w : sb<64x16xu8> base 64 at 64:0 !of=a\n"                                           \
    "  tensor %r : sb<64x16xu8> base 64 at 64:32 !of=a\n"                                          \
    "  %w = f\n"                                                                                   \
    "  %h(64..128, 8..24) = save %w !spill\n"                                                      \
    "  %p = g\n"                                                                                   \
    "  use %p\n"                                                                                   \
    "  %r = load %h(64..128, 8..24) !reload\n"                                                     \
    "  %Y[0] = save %r\n"                                                                          \
    "  use %r(0..32, 0..8)\n"

static void parts(void **state) {
    (void)state;
    accept(PART_ORIGINAL, PART_RESULT);
    struct {
        const char *from, *to, *fault;
    } wrong[] = {
        {"use %r(0..32, 0..8)", "use %r(0..32, 8..16)",
         "`use` reads %r, but bytes 8-15 in partitions 0-31 hold another part of their value"},
        {"use %r(0..32, 0..8)", "use %r(32..64, 0..8)",
         "`use` has %r where the original has %a: it lies in other partitions"},
        {"use %r(0..32, 0..8)", "use %r(0..32, 0..16)",
         "`use` has %r where the original has %a: it names another region"},
        {"load %h(64..128, 8..24)", "load %h(64..128, 16..32)",
         "`save` reads %r, but bytes 0-15 in partitions 0-63 hold another part of their value"},
        {"load %h(64..128, 8..24)", "load %h(0..64, 8..24)",
         "`save` reads %r, but bytes 0-15 in partitions 0-63 hold no value"},
        {"%h(64..128, 8..24) = save", "%h(0..64, 8..24) = save",
         "`save` reads %r, but bytes 0-15 in partitions 0-63 hold no value"},
        {"%r : sb<64x16xu8> base 64 at 64:32", "%r : sb<64x16xu8> base 0 at 0:32",
         "`save` has %r where the original has %a: it lies in other partitions"},
        {"%r : sb<64x16xu8> base 64", "%r : sb<64x16xu8>",
         "`save` has %r where the original has %a: it lies in other partitions"},
        {"%r : sb<64x16xu8>", "%r : sb<64x16xi8>",
         "%r, `!of` %a, has another shape than what it stands for"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        reject_changed(PART_ORIGINAL, PART_RESULT, wrong[i].from, wrong[i].to, wrong[i].fault);
}

static void two_results(void **state) {
    (void)state;
    const char *original = "  tensor %a : sb<32x16xu8>\n"
                           "  tensor %b : sb<32x16xu8>\n"
                           "  %a, %b = f\n";
    accept(original, "  tensor %a : sb<32x16xu8> at 0:0\n"
                     "  tensor %b : sb<32x16xu8> at 32:0\n"
                     "  %a, %b = f\n");
    reject(original,
           "  tensor %a : sb<32x16xu8> at 64:0\n"
           "  tensor %b : sb<32x16xu8> at 64:8\n"
           "  %a, %b = f\n",
           "`f` writes %b over its own destination %a");
    reject("  tensor %a : sb<2*32x16xu8>\n  %a = f\n",
           "  tensor %a : sb<2*32x16xu8> at 0:0, 0:8\n  %a = f\n",
           "`f` writes blocks of %a over each other");
}

/* A region of an operand that the destination does not reach may lie beside what it takes. */
static void operand_region(void **state) {
    (void)state;
    const char *original = "  tensor %a : sb<32x16xu8>\n"
                           "  tensor %b : sb<32x8xu8>\n"
                           "  %a = f\n"
                           "  %b = g %a(0..32, 0..8)\n";
    accept(original, "  tensor %a : sb<32x16xu8> at 0:0\n"
                     "  tensor %b : sb<32x8xu8> at 0:8\n"
                     "  %a = f\n"
                     "  %b = g %a(0..32, 0..8)\n");
    reject(original,
           "  tensor %a : sb<32x16xu8> at 0:0\n"
           "  tensor %b : sb<32x8xu8> at 0:0\n"
           "  %a = f\n"
           "  %b = g %a(0..32, 0..8)\n",
           "`g` writes %b over its own operand %a");
}

/* --- By itself, before placement, long loops --- */

static void by_itself(void **state) {
    (void)state;
    check((Case){NULL, SPILL_RESULT, NULL, BY_ITSELF});
    check((Case){NULL, changed(SPILL_RESULT, "  %h1 = save %r1 !spill\n", ""),
                 "`load` reads %h1, which nothing writes", BY_ITSELF});
    check((Case){NULL,
                 "  tensor %h1 : dram<2*128x16xu8> at 0 !of=a\n"
                 "  tensor %r1 : sb<128x16xu8> at 0:0 !of=a\n"
                 "  loop i = 0..2 {\n"
                 "    %r1 = load %h1[i] if i > 1 !reload\n"
                 "    use %r1 if i > 1\n"
                 "  }\n",
                 NULL, BY_ITSELF});
    check((Case){NULL, HOMES_RESULT, NULL, BY_ITSELF});
    check((Case){NULL, changed(HOMES_RESULT, "at 8192", "at 0"),
                 "`load` reads %h1, but bytes 0-63 in partitions 0-127 were overwritten by %h2",
                 BY_ITSELF});
    check((Case){NULL, LOOP(" at 0:0", " at 0:16", " at 0:0"),
                 "`g` reads %a, but bytes 0-15 in partitions 0-127 were overwritten by %c (i = 1)",
                 BY_ITSELF});
    check((Case){NULL, LOOP(" at 0:0", " at 0:16", ""), "`h` uses %c, which has no place",
                 BY_ITSELF});
    check((Case){NULL, BLOCKS_RESULT, NULL, BY_ITSELF});
    check((Case){NULL, HALVES_RESULT, NULL, BY_ITSELF});
}

static void unplaced(void **state) {
    (void)state;
    check((Case){LOOP("", "", ""), LOOP("", "", ""), NULL, UNPLACED});
    check((Case){SPILL_ORIGINAL, changed(SPILL_RESULT, " at 64 !of", " !of"), NULL, UNPLACED});
    check((Case){SPILL_ORIGINAL, changed(SPILL_RESULT, "  %h1 = save %r1 !spill\n", ""),
                 "`save` reads %r2, but bytes 0-31 in partitions 0-127 hold no value", UNPLACED});
}

/* What is told to be overwritten is what that one write has taken of what is read. */
static void overwritten_bytes(void **state) {
    (void)state;
#define TAKEN(b, c, reads)                                                                         \
    "  tensor %a : sb<128x56xu8> at 0:0\n"                                                         \
    "  tensor %b : sb<" b "\n"                                                                     \
    "  tensor %c : sb<" c "\n"                                                                     \
    "  %a = f\n"                                                                                   \
    "  %b = g\n"                                                                                   \
    "  %c = g\n"                                                                                   \
    "  h %a" reads ", %b, %c\n"
#define TAKEN_OF_A(where) "`h` reads %a, but bytes " where " in partitions "
    struct {
        const char *text, *fault;
    } cases[] = {
        {TAKEN("128x16xu8> at 0:8", "128x16xu8> at 0:24", ""),
         TAKEN_OF_A("8-23") "0-127 were overwritten by %b"},
        {TAKEN("32x16xu8> at 32:8", "128x16xu8> at 0:40", ""),
         TAKEN_OF_A("40-55") "0-127 were overwritten by %c"},
        {TAKEN("64x16xu8> at 64:8", "32x16xu8> at 64:24", ""),
         TAKEN_OF_A("8-23") "64-127 were overwritten by %b"},
        {TAKEN("128x16xu8> at 0:8", "64x16xu8> at 0:16", ""),
         TAKEN_OF_A("8-15") "0-63 were overwritten by %b"},
        {TAKEN("128x16xu8> at 0:8", "128x16xu8> at 0:24", "(16..80, 12..40)"),
         TAKEN_OF_A("12-23") "16-79 were overwritten by %b"},
        {TAKEN("2*128x8xu8> at 0:8, 0:24", "2*128x8xu8> at 0:16, 0:32", ""),
         TAKEN_OF_A("8-15") "0-127 were overwritten by block 0 of %b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check((Case){NULL, cases[i].text, cases[i].fault, BY_ITSELF});
}

/* By itself a function must have written the blocks that it reads, not only their tensor. */
static void unwritten_blocks(void **state) {
    (void)state;
    check((Case){NULL, PLACE_RESULT, NULL, BY_ITSELF});
    struct {
        const char *from, *to, *fault;
    } wrong[] = {
        {"save %t[i] if i >= 2 !spill", "save %t[i] if i >= 3 !spill",
         "`save` reads block 2 of %t, which nothing has written (i = 2)"},
        {"%t[i] = f\n", "%t[i] = f if i >= 1\n",
         "`save` reads block 0 of %t, which nothing has written (i = 0)"},
        {"%p = g\n", "%p += g\n", "`g` reads %p, which nothing has written"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check((Case){NULL, changed(PLACE_RESULT, wrong[i].from, wrong[i].to), wrong[i].fault,
                     BY_ITSELF});
    /* Part of a block is enough; what the input lacks is no fault where there is one. */
    const char *part = "  tensor %a : sb<32x16xu8> at 0:0\n  %a(0..32, 0..8) = f\n  g %a\n";
    check((Case){NULL, part, NULL, BY_ITSELF});
    const char *original = "  tensor %a : sb<2*32x16xu8>\n  %a[0] = f\n  g %a\n";
    const char *result = "  tensor %a : sb<2*32x16xu8> at 0:0, 0:16\n  %a[0] = f\n  g %a\n";
    accept(original, result);
    check((Case){NULL, result, NULL, PLACED});
    check((Case){NULL, result, "`g` reads block 1 of %a, which nothing has written", BY_ITSELF});
    check((Case){NULL, changed(result, "%a[0] = f", "loop i = 0..2 { %a[i] = f if i != 0 }"),
                 "`g` reads block 0 of %a, which nothing has written", BY_ITSELF});
}

/* A reload from a home that nothing fills does no harm where what it serves never runs. */
static void hollow_copies(void **state) {
    (void)state;
#define HOLLOW(copy, condition)                                                                    \
    "  tensor %h : dram<128x16xu8> at 0 !of=a\n"                                                   \
    "  tensor %r : sb<128x16xu8>" copy " at 0:0 !of=a\n"                                           \
    "  tensor %b : sb<128x16xu8> at 0:16\n"                                                        \
    "  %r = load %h !reload\n"                                                                     \
    "  loop i = 0..2 {\n"                                                                          \
    "    %b = g %r if i " condition "\n"                                                           \
    "  }\n"
    const char *fault = "`load` reads %h, which nothing writes";
    check((Case){NULL, HOLLOW("", "> 1"), NULL, BY_ITSELF});
    check((Case){NULL, HOLLOW("", "== 1"), fault, BY_ITSELF});
    /* What else fills the copy before it is read makes the reload harmless, if it does so in time.
     */
    const char *filled = changed(HOLLOW("", "== 1"), "!reload\n", "!reload\n  %r = f\n");
    check((Case){NULL, filled, NULL, BY_ITSELF});
    const char *late = changed(HOLLOW("", "== 0"), "  }\n", "  }\n  %r = f\n");
    check((Case){NULL, late, fault, BY_ITSELF});
    /* Where the run would not tell: an input has a value, and who takes an output is not seen. */
    check((Case){NULL, HOLLOW(" input", "> 1"), fault, BY_ITSELF});
    check((Case){NULL, HOLLOW(" output", "> 1"), fault, BY_ITSELF});
    /* A load of the program is no reload. */
    check((Case){NULL, changed(HOLLOW("", "> 1"), " !reload", ""), fault, BY_ITSELF});
    /* What is handed on is read where it is handed on. */
    const char *handed = changed(HOLLOW("", "> 1"), "!reload\n", "!reload\n  %b = copy %r\n");
    check((Case){NULL, handed, fault, BY_ITSELF});
}

/* A load that was dropped before one from the same source of another number of blocks. */
static void dropped_load_of_fewer_blocks(void **state) {
    (void)state;
#define FEWER_HEAD                                                                                 \
    "  tensor %X : dram<4*128x8xu8> input\n"                                                       \
    "  tensor %Y : dram<4*128x8xu8> output\n"
    const char *original = FEWER_HEAD "  tensor %a : sb<4*128x8xu8>\n"
                                      "  %a[0] = load %X[0]\n"
                                      "  %a[0..2] = load %X[0..2]\n"
                                      "  %Y[0..2] = save %a[0..2]\n";
    accept(original, FEWER_HEAD "  tensor %r : sb<2*128x8xu8> at 0:0, 0:8 !of=a\n"
                                "  %r = load %X[0..2]\n"
                                "  %Y[0..2] = save %r\n");
    reject(original,
           FEWER_HEAD "  tensor %r : sb<2*128x8xu8> at 0:0, 0:8 !of=a\n"
                      "  %r[0] = load %X[0]\n"
                      "  %Y[0..2] = save %r\n",
           "`save` reads %r, but block 1, bytes 0-7 in partitions 0-127 hold no value");
}

#define LONG(trips, condition, a, b)                                                               \
    "  tensor %Y : dram<128x16xu8> output\n"                                                       \
    "  tensor %a : sb<128x16xu8>" a "\n"                                                           \
    "  tensor %b : sb<128x16xu8>" b "\n"                                                           \
    "  %a = f\n"                                                                                   \
    "  loop o = 0.." trips " {\n"                                                                  \
    "    loop e = 0..4611686018427387904 {\n"                                                      \
    "    }\n"                                                                                      \
    "    loop i = 0.." trips " {\n"                                                                \
    "      %b = g" condition "\n"                                                                  \
    "      %Y = save %a\n"                                                                         \
    "    }\n"                                                                                      \
    "  }\n"

static void long_loops(void **state) {
    (void)state;
    const char *original = LONG("4611686018427387904", " if i == 1234567890123", "", "");
    accept(original, LONG("4611686018427387904", " if i == 1234567890123", " at 0:0", " at 0:16"));
    /* A fault in one iteration of very many is found if a condition tells which. */
    reject(original, LONG("4611686018427387904", " if i == 1234567890123", " at 0:0", " at 0:0"),
           "`save` reads %a, but bytes 0-15 in partitions 0-127 were overwritten by %b "
           "(o = 0, i = 1234567890123)");
    reject(LONG("4611686018427387904", " if 2*i >= 2469135780246 + 8", "", ""),
           LONG("4611686018427387904", " if 2*i >= 2469135780246 + 8", " at 0:0", " at 0:0"),
           "`save` reads %a, but bytes 0-15 in partitions 0-127 were overwritten by %b "
           "(o = 0, i = 1234567890127)");
    reject(LONG("4611686018427387904", " if o - i == 4611686018427387903", "", ""),
           LONG("4611686018427387904", " if o - i == 4611686018427387903", " at 0:0", " at 0:0"),
           "`save` reads %a, but bytes 0-15 in partitions 0-127 were overwritten by %b "
           "(o = 4611686018427387903, i = 0)");
    /* Below the limit all iterations run. */
    const char *plain = LONG("1000", " if i == 500 && o == 700", "", "");
    accept(plain, LONG("1000", " if i == 500 && o == 700", " at 0:0", " at 0:16"));
    reject(plain, LONG("1000", " if i == 500 && o == 700", " at 0:0", " at 0:0"),
           "`save` reads %a, but bytes 0-15 in partitions 0-127 were overwritten by %b "
           "(o = 700, i = 500)");
}

/* A nest deeper than any run can be: two iterations of each of sixty loops. */
static void loops_in_loops(void **state) {
    (void)state;
    enum { DEEP = 60 };
    char text[8192];
    size_t length = (size_t)snprintf(text, sizeof text,
                                     "  tensor %%a : sb<8x8xu8>\n"
                                     "  tensor %%b : sb<8x8xu8>\n"
                                     "  %%a = f\n");
    for (int i = 0; i < DEEP; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "loop i%d = 0..2 {\n", i);
    length += (size_t)snprintf(text + length, sizeof text - length, "%%b += g %%a\n");
    for (int i = 0; i < DEEP; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "}\n");
    char placed[8192];
    snprintf(placed, sizeof placed, "%s",
             changed(text, "%a : sb<8x8xu8>", "%a : sb<8x8xu8> at 0:0"));
    accept(text, changed(placed, "%b : sb<8x8xu8>", "%b : sb<8x8xu8> at 0:8"));
    reject_changed(text, placed, "%b : sb<8x8xu8>", "%b : sb<8x8xu8> at 0:0",
                   "`g` writes %b over its own operand %a (i56 = 0, i57 = 0, i58 = 0, i59 = 0)");
}

/* A loop that picks blocks is cut only where there is no other way. */
static void many_blocks(void **state) {
    (void)state;
    const char *text = "  tensor %X : dram<1125899906842624*8x8xu8> input\n"
                       "  tensor %Y : dram<1125899906842624*8x8xu8> output\n"
                       "  tensor %a : sb<8x8xu8> at 0:0\n"
                       "  loop i = 0..1125899906842624 {\n"
                       "    %a = load %X[i]\n"
                       "    %Y[i] = save %a\n"
                       "  }\n"
                       "  %Y[5..1125899906842624] = g %X\n";
    accept(text, text);
    reject_changed(text, text, "%Y[i] = save %a", "%Y[i] = save %a if i == 0",
                   "`save` has another condition than in the original");
}

/* An index that only a run shows to leave its tensor: in the input, and in the result alone. */
static void strays(void **state) {
    (void)state;
    const char *input = "  tensor %X : dram<4*8x8xu8> input\n"
                        "  loop i = 0..3 {\n    loop j = 0..2 {\n"
                        "      g %X[i + j] if i != 3 - 2*j\n    }\n  }\n";
    accept(input, input);
    const char *wide = "  tensor %X : dram<3*8x8xu8> input\n"
                       "  loop i = 0..3 {\n    loop j = 0..2 {\n"
                       "      g %X[i + j] if i != j\n    }\n  }\n";
    reject(wide, wide, "index outside %X: block 3 of 3 at i = 2, j = 1");
    const char *original = "  tensor %x : sb<2*8x8xu8>\n  tensor %y : sb<8x8xu8> at 0:0\n"
                           "  %x = f\n  %y = g\n  h %y\n"
                           "  loop i = 0..3 {\n    g %x[i - 1] if i >= 1\n  }\n";
    const char *result = "  tensor %y : sb<8x8xu8> at 0:0\n"
                         "  tensor %h : dram<2*8x8xu8> at 0 !of=x\n"
                         "  tensor %a : sb<2*8x8xu8> at 0:8, 0:16 !of=x\n"
                         "  tensor %b : sb<8x8xu8> at 0:8 !of=x\n"
                         "  %a = f\n  %h = save %a !spill\n  %y = g\n  h %y\n"
                         "  loop i = 0..3 {\n    %b = load %h[i - 1] if i >= 1 !reload\n"
                         "    g %b if i >= 1\n  }\n";
    accept(original, result);
    reject_changed(original, result, "%h[i - 1] if i >= 1", "%h[i - 1]",
                   "index outside %h: block -1 of 2 at i = 0");
}

/* A double buffer: which block is named is judged in each iteration. */
static void remainders(void **state) {
    (void)state;
    const char *original = "  tensor %X : dram<8*8x8xu8> input\n  tensor %x : sb<2*8x8xu8>\n"
                           "  %x[0] = load %X[0]\n"
                           "  loop i = 0..7 {\n    %x[i + 1 mod 2] = load %X[i + 1]\n"
                           "    g %x[i mod 2] if -i mod 3 == 2\n  }\n";
    const char *result = "  tensor %X : dram<8*8x8xu8> input\n"
                         "  tensor %h : dram<2*8x8xu8> at 0 !of=x\n"
                         "  tensor %a : sb<8x8xu8> at 0:0 !of=x\n"
                         "  tensor %b : sb<8x8xu8> at 0:0 !of=x\n"
                         "  tensor %c : sb<8x8xu8> at 0:0 !of=x\n"
                         "  %a = load %X[0]\n  %h[0] = save %a !spill\n"
                         "  loop i = 0..7 {\n    %b = load %X[i + 1]\n"
                         "    %h[i + 1 mod 2] = save %b !spill\n"
                         "    %c = load %h[i - 2 mod 2] if i mod 3 == 1 !reload\n"
                         "    g %c if -i mod 3 == 2\n  }\n";
    accept(original, result);
    reject_changed(original, result, "%h[i - 2 mod 2]", "%h[i - 1 mod 2]",
                   "`g` reads %c, but bytes 0-7 in partitions 0-7 hold another part of their value "
                   "(i = 1)");
    reject_changed(original, result, "if i mod 3 == 1", "if i mod 3 == 2",
                   "`g` reads %c, but bytes 0-7 in partitions 0-7 hold no value (i = 1)");
}

/* Two homes lie over each other in part, wherever that is in a home of rows and blocks: what the
 * later store has taken is lost to the byte, nothing else. */
#define OVER_HEAD                                                                                  \
    "  tensor %%t : sb<3*4x20xu8>%s\n"                                                             \
    "  tensor %%u : sb<1x%dxu8>%s\n"

static void homes_in_part(void **state) {
    (void)state;
    enum { BYTES = 20, BLOCK = 4 * BYTES, ALL = 3 * BLOCK };
    static const int lengths[] = {1, 7, 16, 20, 36, 64}, places[] = {0, 64, 128, 192};
    for (int i = 0; i < 6 * 4; i++) {
        int length = lengths[i / 4], from = places[i % 4], to = from + length;
        int keys[] = {from - 1, from, to - 1, to};
        for (int k = 0; k < 4; k++) {
            if (keys[k] < 0 || keys[k] >= ALL) continue;
            int block = keys[k] / BLOCK, row = keys[k] % BLOCK / BYTES, byte = keys[k] % BYTES;
            char original[512], result[1024], use[64];
            snprintf(use, sizeof use, "[%d](%d..%d, %d..%d)", block, row, row + 1, byte, byte + 1);
            snprintf(original, sizeof original,
                     OVER_HEAD "  %%t = f\n  %%u = g\n  use %%t%s\n  use %%u\n", "", length, "",
                     use);
            snprintf(result, sizeof result,
                     OVER_HEAD "  tensor %%ht : dram<3*4x20xu8> at 0 !of=t\n"
                               "  tensor %%hu : dram<1x%dxu8> at %d !of=u\n"
                               "  %%t = f\n  %%ht = save %%t !spill\n"
                               "  %%u = g\n  %%hu = save %%u !spill\n"
                               "  %%t = load %%ht !reload\n  use %%t%s\n"
                               "  %%u = load %%hu !reload\n  use %%u\n",
                     " at 0:0, 32:0, 64:0", length, " at 96:0", length, from, use);
            bool lost = keys[k] >= from && keys[k] < to;
            char fault[256];
            snprintf(fault, sizeof fault,
                     "`use` reads %%t, but block %d, bytes %d-%d in partitions %d-%d hold no value",
                     block, byte, byte, row, row);
            if (lost)
                reject(original, result, fault);
            else
                accept(original, result);
        }
    }
}

/* A store to part of a home takes the rows from its first to its last byte: what another home had
 * put between them is not the block's old value. */
static void store_of_part(void **state) {
    (void)state;
    static const struct {
        const char *use;
        bool lost;
    } uses[] = {{"use %t(0..1, 0..2)", false},
                {"use %t(0..1, 2..16)", true},
                {"use %t(0..1, 16..20)", false},
                {"use %t(3..4, 0..20)", false},
                {"use %u", true}};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        char original[512], result[1024];
        snprintf(original, sizeof original,
                 "  tensor %%t : sb<4x20xu8>\n  tensor %%u : sb<1x16xu8>\n"
                 "  %%t = f\n  %%u = g\n  %s\n",
                 uses[i].use);
        snprintf(result, sizeof result,
                 "  tensor %%t : sb<4x20xu8> at 0:0\n  tensor %%u : sb<1x16xu8> at 32:0\n"
                 "  tensor %%ht : dram<4x20xu8> at 0 !of=t\n"
                 "  tensor %%hu : dram<1x16xu8> at 0 !of=u\n"
                 "  %%t = f\n  %%u = g\n  %%ht = save %%t !spill\n  %%hu = save %%u !spill\n"
                 "  %%ht(0..4, 0..2) = save %%t(0..4, 0..2) !spill\n"
                 "  %%t = load %%ht !reload\n  %%u = load %%hu !reload\n  %s\n",
                 uses[i].use);
        Case test = {original, result, NULL, PLACED};
        if (uses[i].lost)
            test.fault = i == 4 ? "`use` reads %u, but bytes 0-15 in partitions 0-0 hold no value"
                                : "`use` reads %t, but bytes 2-15 in partitions 0-0 hold no value";
        check(test);
    }
}

/* What lies where an output lies is wrong at the end, whoever reads it. */
static void outputs_at_the_end(void **state) {
    (void)state;
    const char *original = "  tensor %a : sb<8x8xu8> output\n"
                           "  tensor %b : sb<8x8xu8>\n"
                           "  %a = f\n"
                           "  %b = g\n";
    char result[512];
    snprintf(result, sizeof result, "%s", changed(original, " output", " output at 0:0"));
    accept(original, changed(result, "%b : sb<8x8xu8>", "%b : sb<8x8xu8> at 0:8"));
    reject_changed(
        original, result, "%b : sb<8x8xu8>", "%b : sb<8x8xu8> at 0:0",
        "the function returns %a, but bytes 0-7 in partitions 0-7 were overwritten by %b");
}

static void leaves_the_area(void **state) {
    (void)state;
    const char *original = "  tensor %a : sb<8x8xu8>\n  %a = f\n  use %a\n";
    const char *result = "  tensor %a : sb<8x8xu8> at 0:0\n"
                         "  tensor %h : dram<8x8xu8> at 64 !of=a\n"
                         "  %a = f\n  %h = save %a !spill\n  %a = load %h !reload\n  use %a\n";
    accept(original, result);
    reject_changed(original, result, "at 64", "at 65", "%h at 65 is not aligned to 64 bytes");
    /* The parser refuses what no number holds, so it is put in behind it. */
    Arena arena;
    Module before, after;
    DiagQueue diags;
    arena_init(&arena);
    diag_init(&diags, &arena);
    const Func *func = parse(&arena, original, &before), *placed = parse(&arena, result, &after);
    after.funcs[0].tensors[1].offset = INT64_MAX / 64 * 64;
    assert_false(verify(func, placed, &after.target, PLACED, &diags));
    assert_string_equal(diags.items[0].text.text, "%h leaves the spill area");
    arena_free(&arena);
}

/* Fixed tensors and a copy between them that is marked as elided: it is where both lie alike. */
static void fixed_ends(void **state) {
    (void)state;
    static const struct {
        const char *a, *b, *copy, *use;
        uint32_t lost;
    } cases[] = {
        {"0:0", "0:0", "%b = copy %a !elided", "use %a, %b", 0},
        {"0:0", "0:8", "%b = copy %a !elided", "use %a, %b", 0},
        /* What is no elided copy writes over its own operand. */
        {"0:0", "0:4", "%b = copy %a !elided", "use %a", 2},
        {"0:0", "0:0", "%b = copy %a", "use %b", 1},
        {"0:0", "0:0", "%b(0..8, 0..4) = copy %a(0..8, 4..8) !elided", "use %b(0..8, 0..4)", 1},
        {"0:0", "32:0", "%b = copy %a !elided\n  %a = g", "use %a, %b", 0},
        {"0:0", "0:0", "%b = copy %a !elided\n  %a = g", "use %b", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[512];
        snprintf(body, sizeof body,
                 "  tensor %%a : sb<8x8xu8> at %s\n  tensor %%b : sb<8x8xu8> at %s\n"
                 "  %%a = f\n  %s\n  %s\n",
                 cases[i].a, cases[i].b, cases[i].copy, cases[i].use);
        Arena arena;
        Module module;
        FixedOverlap found[MOST_OVERLAPS];
        arena_init(&arena);
        uint32_t lost = verify_fixed(parse(&arena, body, &module), found);
        if (lost != cases[i].lost) fail_msg("%u overlaps:\n%s", lost, body);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placement),
        cmocka_unit_test(illegal_band),
        cmocka_unit_test(granules),
        cmocka_unit_test(no_place),
        cmocka_unit_test(quadrants),
        cmocka_unit_test(granule_taken_back),
        cmocka_unit_test(spill_code),
        cmocka_unit_test(declarations),
        cmocka_unit_test(headers),
        cmocka_unit_test(missing_tensors),
        cmocka_unit_test(homes),
        cmocka_unit_test(second_iteration),
        cmocka_unit_test(conditions),
        cmocka_unit_test(inherited_condition),
        cmocka_unit_test(blocks),
        cmocka_unit_test(halves),
        cmocka_unit_test(rematerialise),
        cmocka_unit_test(reshaping),
        cmocka_unit_test(elided_copies),
        cmocka_unit_test(shared_ends),
        cmocka_unit_test(one_home),
        cmocka_unit_test(splits),
        cmocka_unit_test(spilled_input),
        cmocka_unit_test(dropped_loads),
        cmocka_unit_test(in_place),
        cmocka_unit_test(stays_whole),
        cmocka_unit_test(narrowed_loads),
        cmocka_unit_test(parts),
        cmocka_unit_test(two_results),
        cmocka_unit_test(operand_region),
        cmocka_unit_test(by_itself),
        cmocka_unit_test(overwritten_bytes),
        cmocka_unit_test(unwritten_blocks),
        cmocka_unit_test(hollow_copies),
        cmocka_unit_test(dropped_load_of_fewer_blocks),
        cmocka_unit_test(unplaced),
        cmocka_unit_test(long_loops),
        cmocka_unit_test(strays),
        cmocka_unit_test(remainders),
        cmocka_unit_test(loops_in_loops),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(homes_in_part),
        cmocka_unit_test(store_of_part),
        cmocka_unit_test(outputs_at_the_end),
        cmocka_unit_test(leaves_the_area),
        cmocka_unit_test(fixed_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
