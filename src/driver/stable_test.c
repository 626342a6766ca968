/* Places of an earlier allocation: what stays, what moves, and what it must not cost. */
#include "driver/stable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "driver/allocate.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"
#include "text/print.h"

static Allocation run(const Module *module, const Module *previous, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    Options options = options_default();
    options.previous = previous;
    return allocate(module->funcs, &module->target, &options, arena, &diags);
}

/* `a 0:8` for each placed tensor that was not made by spilling; copies as `a* 0:8`. */
static Str places(const Func *func, Arena *arena) {
    Str text = STR("");
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        if (tensor->space != SPACE_SB || !tensor->at) continue;
        const Meta *of = meta_find(tensor->meta, "of");
        Str name = of ? of->text : tensor->name;
        text = str_format(arena, "%.*s%s%.*s%s %d:%lld", (int)text.length, text.text,
                          text.length ? ", " : "", (int)name.length, name.text, of ? "*" : "",
                          tensor->at[0].partition, (long long)tensor->at[0].byte);
    }
    return text;
}

static void expect(int64_t bytes, const char *before, const char *body, const char *wanted) {
    Arena arena;
    arena_init(&arena);
    Module *previous = make_body(&arena, bytes, before);
    Module *module = make_body(&arena, bytes, body);
    Allocation result = run(module, previous, &arena);
    assert_int_equal(result.status, ALLOCATED);
    Str found = places(result.func, &arena);
    if (!str_is(found, wanted))
        fail_msg("found %.*s\nwanted %s", (int)found.length, found.text, wanted);
    arena_free(&arena);
}

/* Two tensors that live together; they could lie lower. */
static void places_are_kept(void **state) {
    (void)state;
    expect(100,
           " tensor %a : sb<128x16xu8> at 0:40\n tensor %b : sb<128x16xu8> at 0:8\n"
           " tensor %gone : sb<128x8xu8> at 0:0\n",
           " tensor %a : sb<128x16xu8>\n tensor %b : sb<128x16xu8>\n"
           " %a = f\n %b = f\n g %a, %b\n",
           "a 0:40, b 0:8");
}

/* What is not legal any more says nothing: misaligned, out of the State Buffer, in the wrong band
 * or none, of more blocks, not placed, or of another function. */
static void only_legal_places_count(void **state) {
    (void)state;
    static const char *const BEFORE[] = {
        " tensor %a : sb<32x16xu8> at 0:12\n",
        " tensor %a : sb<32x16xu8> at 0:800\n",
        " tensor %a : sb<32x16xu8> at 32:40\n",
        " tensor %a : sb<2*32x16xu8> at 64:0, 64:16\n",
        " tensor %a : sb<32x16xu8>\n",
        "}\nfunc @g {\n tensor %a : sb<32x16xu8> at 64:40\n",
    };
    for (size_t i = 0; i < sizeof BEFORE / sizeof *BEFORE; i++)
        expect(100, BEFORE[i], " tensor %a : sb<32x16xu8> base 64\n %a = f\n g %a\n", "a 64:0");
}

/* %a lives longer than before and meets %b and %c now, which were in its place: it goes, they stay.
 */
static void the_one_in_most_ways_moves(void **state) {
    (void)state;
    expect(40,
           " tensor %a : sb<128x16xu8> at 0:8\n tensor %b : sb<128x8xu8> at 0:8\n"
           " tensor %c : sb<128x8xu8> at 0:16\n",
           " tensor %a : sb<128x16xu8>\n tensor %b : sb<128x8xu8>\n tensor %c : sb<128x8xu8>\n"
           " %a = f\n %b = f\n %c = f\n g %a, %b, %c\n",
           "a 0:24, b 0:8, c 0:16");
}

/* A larger %b no longer fits between the others. */
static void a_resized_tensor_moves_alone(void **state) {
    (void)state;
    expect(64,
           " tensor %a : sb<128x8xu8> at 0:0\n tensor %b : sb<128x8xu8> at 0:8\n"
           " tensor %c : sb<128x8xu8> at 0:16\n",
           " tensor %a : sb<128x8xu8>\n tensor %b : sb<128x16xu8>\n tensor %c : sb<128x8xu8>\n"
           " %a = f\n %b = f\n %c = f\n g %a, %b, %c\n",
           "a 0:0, b 0:24, c 0:16");
}

/* Where room is in pieces the new tensor fits only if one of the others makes way: just one does.
 */
static void no_more_than_needed_moves(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    Module *previous = make_body(
        &arena, 32, " tensor %a : sb<128x8xu8> at 0:8\n tensor %b : sb<128x8xu8> at 0:24\n");
    Module *module = make_body(
        &arena, 32,
        " tensor %a : sb<128x8xu8>\n tensor %b : sb<128x8xu8>\n tensor %new : sb<128x16xu8>\n"
        " %a = f\n %b = f\n %new = f\n g %a, %b, %new\n");
    Allocation result = run(module, previous, &arena);
    assert_int_equal(result.status, ALLOCATED);
    assert_int_equal(result.report.spilled_tensors, 0);
    bool a_stays = result.func->tensors[0].at[0].byte == 8;
    bool b_stays = result.func->tensors[1].at[0].byte == 24;
    assert_true(a_stays != b_stays);
    arena_free(&arena);
}

/* The two ends of a copy shared a place, and still may. */
static void ends_of_copies_stay_together(void **state) {
    (void)state;
    expect(100, " tensor %a : sb<128x16xu8> at 0:40\n tensor %b : sb<128x16xu8> at 0:40\n",
           " tensor %a : sb<128x16xu8>\n tensor %b : sb<128x16xu8>\n"
           " %a = f\n %b = copy %a\n g %b\n",
           "a 0:40, b 0:40");
}

/* Copies are told apart by what they are for, not by the numbers in their names: in the earlier
 * allocation there was one more, and its number came first. */
static void copies_are_known_by_their_uses(void **state) {
    (void)state;
    const char *before = " tensor %y : sb<128x16xu8> at 0:0\n"
                         " tensor %x_ReloadStore1 : sb<128x16xu8> at 0:0 !of=x\n"
                         " tensor %x_ReloadStore2 : sb<128x16xu8> at 0:24 !of=x\n"
                         " tensor %r : sb<128x8xu8> at 0:16\n"
                         " %x_ReloadStore1 = f\n old %x_ReloadStore1\n"
                         " %r = last %x_ReloadStore2\n";
    const char *body = " tensor %d : dram<128x16xu8> input\n tensor %x : sb<128x16xu8>\n"
                       " tensor %y : sb<128x32xu8>\n tensor %r : sb<128x8xu8>\n"
                       " %x = load %d\n first %x\n %y = f\n g %y\n %r = last %x\n h %r\n";
    Arena arena;
    arena_init(&arena);
    Module *module = make_body(&arena, 40, body);
    Allocation result = run(module, make_body(&arena, 40, before), &arena);
    assert_int_equal(result.report.spilled_tensors, 1);
    uint32_t found = 0;
    for (uint32_t t = 0; t < result.func->ntensors; t++) {
        const Tensor *tensor = &result.func->tensors[t];
        if (!str_is(tensor->name, "x_ReloadStore2")) continue;
        assert_int_equal(tensor->at[0].byte, 24);
        found++;
    }
    assert_int_equal(found, 1);
    arena_free(&arena);
}

static Str print(const Func *func, Arena *arena) {
    Writer writer;
    writer_to_memory(&writer);
    print_func(func, &writer);
    Str text = {arena_copy(arena, writer.buffer, writer.length), (uint32_t)writer.length};
    writer_free(&writer);
    return text;
}

/* Nothing was edited: nothing changes, with spill code or without. */
static void the_same_input_gives_the_same_result(void **state) {
    (void)state;
    uint32_t compared = 0, spilled = 0;
    for (uint64_t seed = 0; seed < test_count() / 10; seed++) {
        Arena arena;
        arena_init(&arena);
        RandomRoom room = seed % 2 ? ROOM_ANY : ROOM_SPILLING;
        Module *module = random_module(&arena, seed, (RandomShape){room, CODE_ANY, SIZE_ANY});
        Allocation first = run(module, NULL, &arena);
        if (first.status == ALLOCATED) {
            Module previous = *module;
            Func func = *first.func;
            previous.funcs = &func;
            previous.nfuncs = 1;
            Allocation second = run(module, &previous, &arena);
            assert_int_equal(second.status, ALLOCATED);
            Str one = print(first.func, &arena), other = print(second.func, &arena);
            if (!str_equal(one, other))
                fail_msg("seed %llu:\n%.*s\n%.*s", (unsigned long long)seed, (int)one.length,
                         one.text, (int)other.length, other.text);
            compared++;
            spilled += first.report.spilled_tensors > 0;
        }
        arena_free(&arena);
    }
    assert_true(compared > test_count() / 20 && spilled > test_count() / 80);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_kept),
        cmocka_unit_test(only_legal_places_count),
        cmocka_unit_test(the_one_in_most_ways_moves),
        cmocka_unit_test(a_resized_tensor_moves_alone),
        cmocka_unit_test(no_more_than_needed_moves),
        cmocka_unit_test(ends_of_copies_stay_together),
        cmocka_unit_test(copies_are_known_by_their_uses),
        cmocka_unit_test(the_same_input_gives_the_same_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
