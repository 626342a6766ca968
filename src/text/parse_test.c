/* Tests of the reader and the printer: every form, names and metadata, recovery, limits, the
 * fixpoint. Run at the root of the source: it reads testdata/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "test/count.h"
#include "text/check.h"
#include "text/parse.h"
#include "text/print.h"

/* A parse and all that it made. */
typedef struct {
    Arena arena;
    Source source;
    DiagQueue diags;
    Module module;
    bool good;
} Parse;

static void parse_bytes(Parse *parse, const char *text, size_t length) {
    arena_init(&parse->arena);
    source_from_text(&parse->source, &parse->arena, "test.lf", text, length);
    diag_init(&parse->diags, &parse->arena);
    parse->good = parse_lf(&parse->source, &parse->arena, &parse->diags, &parse->module);
}

static void parse_text(Parse *parse, const char *text) {
    parse_bytes(parse, text, strlen(text));
}

static void parse_end(Parse *parse) {
    arena_free(&parse->arena);
}

/* The canonical text of a module, to be freed. */
static char *printed(const Module *module) {
    Writer out;
    writer_to_memory(&out);
    print_module(module, &out);
    write_char(&out, '\0');
    char *text = strdup(out.buffer);
    writer_free(&out);
    return text;
}

static char *canonical(const char *text) {
    Parse parse;
    parse_text(&parse, text);
    if (!parse.good) diag_print(&parse.diags, &parse.source, (DiagStyle){0}, stderr);
    assert_true(parse.good);
    char *result = printed(&parse.module);
    parse_end(&parse);
    return result;
}

static char *read_file(const char *path) {
    Arena arena;
    arena_init(&arena);
    Source source;
    assert_int_equal(source_read(&source, &arena, path), SOURCE_READ);
    char *text = strdup(source.text);
    arena_free(&arena);
    return text;
}

/* Prints, and prints what that reads as: the same bytes. Returns the text, to be freed. */
static char *fixpoint(const char *text) {
    char *once = canonical(text);
    char *twice = canonical(once);
    assert_string_equal(once, twice);
    free(twice);
    return once;
}

static int count_files(const char *directory, const char *ending, void (*visit)(const char *path)) {
    DIR *open = opendir(directory);
    assert_non_null(open);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(open));) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        if (length < tail || strcmp(entry->d_name + length - tail, ending) != 0) continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        visit(path);
        count++;
    }
    closedir(open);
    return count;
}

static void visit_kernel(const char *path) {
    char *text = read_file(path);
    free(fixpoint(text));
    free(text);
}

static void kernels_are_fixpoints(void **state) {
    (void)state;
    assert_true(count_files("testdata/kernels", ".lf", visit_kernel) >= 8);
}

static void visit_pair(const char *path) {
    char wanted_path[1024];
    snprintf(wanted_path, sizeof wanted_path, "%.*s.out", (int)strlen(path) - 3, path);
    char *text = read_file(path), *wanted = read_file(wanted_path);
    char *found = fixpoint(text);
    assert_string_equal(found, wanted);
    free(found);
    free(wanted);
    free(text);
}

/* testdata/parse: NAME.lf, and by hand what it is in canonical form. */
static void forms_are_written_canonically(void **state) {
    (void)state;
    assert_true(count_files("testdata/parse", ".lf", visit_pair) >= 2);
}

static void model_is_what_was_written(void **state) {
    (void)state;
    Parse parse;
    parse_text(&parse, "func @f !m=5 {\n"
                       "  tensor %a : sb<2*64x3x5xbf16> pin at 64:8, 0:16\n"
                       "  tensor %d : dram<7x1xu8> input\n"
                       "  loop i = 2..9 {\n"
                       "    loop j = 0..3 {\n"
                       "      %a[i - 2*j] += f %d(1..2, 0..1), %a if i < j && 3 == i !x=\"y z\"\n"
                       "    }\n"
                       "  }\n"
                       "}\n");
    assert_true(parse.good);
    const Func *func = &parse.module.funcs[0];
    assert_int_equal(parse.module.nfuncs, 1);
    assert_int_equal(func->ntensors, 2);
    assert_int_equal(func->nloops, 2);
    assert_int_equal(func->meta.items[0].number, 5);
    const Tensor *a = &func->tensors[0];
    assert_int_equal(a->blocks, 2);
    assert_int_equal(a->rank, 3);
    assert_int_equal(a->partitions, 64);
    assert_int_equal(a->bytes, 30);
    assert_true(a->pin && a->fixed && !a->input);
    assert_int_equal(a->at[1].byte, 16);
    assert_int_equal(a->at[0].partition, 64);
    assert_int_equal(func->loops[1].parent, 0);
    assert_int_equal(func->loops[0].end, 1);
    const Inst *inst = &func->insts[0];
    assert_true(inst->accumulate);
    assert_int_equal(inst->loop, 1);
    assert_int_equal(inst->ndst, 1);
    assert_int_equal(inst->nsrc, 2);
    assert_int_equal(inst->operands[0].blocks->low.count, 2);
    assert_int_equal(inst->operands[0].blocks->low.terms[1].coefficient, -2);
    assert_int_equal(inst->operands[0].blocks->low.terms[1].loop, 1);
    assert_int_equal(inst->operands[1].region->p0, 1);
    assert_null(inst->operands[2].blocks);
    assert_int_equal(inst->condition->count, 2);
    assert_int_equal(inst->condition->compares[1].comparison, CMP_EQ);
    assert_true(str_is(inst->meta.items[0].text, "y z"));
    parse_end(&parse);
}

static void target_defaults_and_aliases(void **state) {
    (void)state;
    char *text = canonical("target gen3\n");
    assert_string_equal(text, "target trn2\n");
    free(text);
    text = canonical("");
    assert_string_equal(text, "target trn2\n");
    free(text);
    text = canonical("target inf2 { dma_rate = 17 }");
    assert_string_equal(text, "target trn1\n");
    free(text);
    text = canonical("target inf2 { dma_rate = 18 }");
    assert_string_equal(text, "target trn1 {\n  sb_bytes = 196608\n  sb_reserved = 16384\n"
                              "  sb_init = 64\n  dma_init = 1300\n  dma_rate = 18\n}\n");
    free(text);
}

static void source_is_left_as_it_was(void **state) {
    (void)state;
    static const char *const TEXTS[] = {"func @f { foo }\n", "func @f {\n  foo %a, ?\n", "target",
                                        "func @f { loop i = 0..1 { ? { \0 } }\n"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        Parse parse;
        parse_text(&parse, TEXTS[i]);
        assert_memory_equal(parse.source.text, TEXTS[i], strlen(TEXTS[i]) + 1);
        parse_end(&parse);
    }
}

/* What ends too early, at every byte: an answer and no crash. */
static void every_prefix_ends(void **state) {
    (void)state;
    char *text = read_file("testdata/parse/forms.lf");
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        Parse parse;
        parse_bytes(&parse, text, i);
        assert_int_equal(parse.good, parse.diags.errors == 0);
        parse_end(&parse);
    }
    free(text);
}

/* Each byte replaced by one of another kind. */
static void every_damage_ends(void **state) {
    (void)state;
    static const char BYTES[] = "\0\n{}\"%,9x\xC3 ";
    char *text = read_file("testdata/parse/forms.lf");
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        char kept = text[i];
        text[i] = BYTES[i % (sizeof BYTES - 1)];
        Parse parse;
        parse_bytes(&parse, text, length);
        assert_int_equal(parse.good, parse.diags.errors == 0);
        if (parse.good) check_module(&parse.module, &parse.diags);
        parse_end(&parse);
        text[i] = kept;
    }
    free(text);
}

static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Puts pieces of the language in random places of a text and takes others out, a few at a time. */
static size_t mutate(char *text, size_t length, size_t room, uint64_t *random) {
    static const char *const PIECES[] = {"{",           "}",       "\n",
                                         "\"",          "%b",      "loop k = 0..4 {",
                                         "if ",         "[",       "]",
                                         "(",           ")",       "..",
                                         "=",           "+=",      ",",
                                         "#",           "!a",      "tensor %q : sb<1x1xu8>\n",
                                         "func @g {\n", " at 0:0", ":",
                                         "<",           ">",       "*",
                                         "-",           "&&",      "9223372036854775807",
                                         "0x",          "error ",  "\xC3",
                                         "\\"};
    for (uint32_t edits = 1 + next_random(random) % 4; edits > 0; edits--) {
        size_t at = next_random(random) % (length + 1);
        size_t cut = next_random(random) % 3 ? 0 : next_random(random) % 12;
        if (cut > length - at) cut = length - at;
        const char *piece = PIECES[next_random(random) % (sizeof PIECES / sizeof *PIECES)];
        size_t add = next_random(random) % 3 ? strlen(piece) : 0;
        if (length - cut + add > room) continue;
        memmove(text + at + add, text + at + cut, length - at - cut);
        memcpy(text + at, piece, add);
        length += add - cut;
    }
    return length;
}

/* Whatever the text: an answer, errors where it is no, and a fixpoint where it is yes. */
static void random_edits_end(void **state) {
    (void)state;
    enum { ROOM = 8192 };
    const uint64_t rounds = 20 * test_count();
    char *original = read_file("testdata/parse/forms.lf"), text[ROOM];
    uint64_t random = 1;
    uint32_t good = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        size_t length = strlen(original);
        memcpy(text, original, length);
        length = mutate(text, length, ROOM, &random);
        Parse parse;
        parse_bytes(&parse, text, length);
        assert_int_equal(parse.good, parse.diags.errors == 0);
        if (parse.good) {
            check_module(&parse.module, &parse.diags);
            char *once = printed(&parse.module);
            free(fixpoint(once));
            free(once);
            good++;
        }
        parse_end(&parse);
    }
    assert_in_range(good, rounds / 100, rounds - rounds / 100);
    free(original);
}

/* "HEAD" and then `count` times "PART" with its number, and "TAIL"; to be freed. */
static char *repeated(const char *head, const char *part, int count, const char *tail) {
    size_t room = strlen(head) + strlen(tail) + (size_t)count * (strlen(part) + 12) + 1;
    char *text = malloc(room), *at = text;
    assert_non_null(text);
    at += sprintf(at, "%s", head);
    for (int i = 0; i < count; i++) {
        for (const char *c = part; *c; c++)
            if (*c == '#')
                at += sprintf(at, "%d", i);
            else
                *at++ = *c;
    }
    strcpy(at, tail);
    return text;
}

static void nests_up_to_the_limit(void **state) {
    (void)state;
    char *open = repeated("func @f {\n", "loop i# = 0..1 {\n", DEEPEST_NEST, "foo\n");
    char *text = repeated(open, "}\n", DEEPEST_NEST, "}\n");
    free(fixpoint(text));
    free(text);
    free(open);
    open = repeated("func @f {\n", "loop i# = 0..1 {\n", DEEPEST_NEST + 1, "foo\n");
    Parse parse;
    parse_text(&parse, open);
    assert_int_equal(parse.diags.count, 1);
    assert_true(str_is(parse.diags.items[0].text, "loops are nested more than 4096 deep"));
    parse_end(&parse);
    free(open);
}

static void a_line_of_a_million_operands(void **state) {
    (void)state;
    enum { MANY = 1000000 };
    char *text = repeated("func @f {\n  tensor %t : sb<1x1xu8> input output\n  foo %t", ", %t",
                          MANY, "\n}\n");
    Parse parse;
    parse_text(&parse, text);
    assert_true(parse.good);
    assert_int_equal(parse.module.funcs[0].insts[0].nsrc, MANY + 1);
    parse_end(&parse);
    free(text);
}

static void many_names_and_functions(void **state) {
    (void)state;
    char *text = repeated("func @f {\n", "  tensor %a# : sb<1x1xu8> input !k=#\n", 50000, "}\n");
    free(fixpoint(text));
    free(text);
    text = repeated("", "func @f# {\n  tensor %a# : sb<1x1xu8> input\n  foo %a#\n}\n", 20000, "");
    free(fixpoint(text));
    free(text);
}

/* Long lists of errors, none of which may take quadratic time or lose its place. */
static void many_errors(void **state) {
    (void)state;
    char *text = repeated("func @f {\n", "  foo %a#\n  bar ]\n", 20000, "}\n");
    Parse parse;
    parse_text(&parse, text);
    assert_int_equal(parse.diags.errors, 40000);
    parse_end(&parse);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_fixpoints),
        cmocka_unit_test(forms_are_written_canonically),
        cmocka_unit_test(model_is_what_was_written),
        cmocka_unit_test(target_defaults_and_aliases),
        cmocka_unit_test(source_is_left_as_it_was),
        cmocka_unit_test(every_prefix_ends),
        cmocka_unit_test(every_damage_ends),
        cmocka_unit_test(random_edits_end),
        cmocka_unit_test(nests_up_to_the_limit),
        cmocka_unit_test(a_line_of_a_million_operands),
        cmocka_unit_test(many_names_and_functions),
        cmocka_unit_test(many_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
