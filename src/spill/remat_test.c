/* Rematerialisation: what is reloaded from where a load found it or a save put it, and what is not.
 */
#include "spill/remat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "spill/homes.h"
#include "spill/names.h"
#include "spill/rewrite.h"
#include "test/chance.h"
#include "test/count.h"
#include "test/cuts.h"
#include "test/make.h"
#include "verify/verify.h"

/* Spill code of a function. */
typedef struct {
    uint32_t stores, from_homes, from_sources;
} Traffic;

static Traffic count_traffic(const Rewritten *code) {
    Traffic traffic = {0};
    for (uint32_t p = 0; p < code->func->ninsts; p++) {
        const Inst *inst = &code->func->insts[p];
        if (code->origin_inst[p] != INSERTED) continue;
        if (inst->kind == OP_SAVE)
            traffic.stores++;
        else if (code->role[inst_src(inst)->tensor] == ROLE_HOME)
            traffic.from_homes++;
        else
            traffic.from_sources++;
    }
    return traffic;
}

static Rewritten rewrite_plan(const Plan *plan, Arena *arena) {
    Sources sources = sources_make(plan, arena);
    Rewritten code = rewrite(plan, &sources, (RewriteOptions){.remat = true}, arena);
    Str *names = NEW_ARRAY(arena, Str, plan->func->ntensors);
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        names[t] = plan->func->tensors[t].name;
    name_added(&code, names, plan->func->ntensors, NULL, arena);
    place_homes(&code, arena);
    return code;
}

static void judge(const Module *module, const Rewritten *code, const char *body, Arena *arena) {
    DiagQueue diags;
    diag_init(&diags, arena);
    if (!verify(module->funcs, code->func, &module->target, (VerifyOptions){.placed = false},
                &diags))
        fail_msg("%.*s in\n%s", (int)diags.items[0].text.length, diags.items[0].text.text, body);
}

/* ---- single cases ---- */

#define DECLARED                                                                                   \
    "  tensor %X : dram<4*128x8xu8> input at 0\n"                                                  \
    "  tensor %Y : dram<4*128x8xu8> at 65536\n"                                                    \
    "  tensor %Z : dram<4*128x8xu8> at 131072\n"                                                   \
    "  tensor %over : dram<128x8xu8> at 67584\n"                                                   \
    "  tensor %other : dram<4*128x8xi8>\n"                                                         \
    "  tensor %tall : dram<4*64x16xu8> input\n"                                                    \
    "  tensor %wide : dram<4*128x16xu8> input\n"                                                   \
    "  tensor %a : sb<128x8xu8>\n"                                                                 \
    "  tensor %b : sb<128x8xu8>\n"                                                                 \
    "  tensor %t : sb<4*128x8xu8>\n"                                                               \
    "  tensor %m : sb<20*128x8xu8>\n"                                                              \
    "  tensor %M : dram<20*128x8xu8>\n"

/* Every access is cut. */
static const struct {
    const char *what, *body;
    Traffic traffic;
} CASES[] = {
    {"never saved", "  %a = f\n  g %a\n", {1, 1, 0}},
    {"loaded", "  %a = load %X[1]\n  g %a\n", {0, 0, 1}},
    {"loaded from a region that is all of the block",
     "  %a = load %X[1](0..128, 0..8)\n  g %a\n",
     {0, 0, 1}},
    {"loaded from a region", "  %a = load %wide[1](0..128, 8..16)\n  g %a\n", {0, 0, 1}},
    {"loaded from another form, a block of it once more",
     "  %t = load %tall\n  %t[3] = load %tall[3]\n  g %t\n",
     {1, 1, 1}},
    {"loaded into a region",
     "  %a = f\n  %a(0..128, 0..4) = load %X[1](0..128, 0..4)\n  g %a\n",
     {2, 2, 0}},
    {"another block of the source is written",
     "  %a = load %X[1]\n  %b = h\n  %X[2] = save %b\n  g %a\n",
     {1, 1, 1}},
    {"the block is written", "  %a = load %X[1]\n  %b = h\n  %X[1] = save %b\n  g %a\n", {2, 2, 0}},
    {"saved: the save needs a store, the read does not",
     "  %a = f\n  %Y[3] = save %a\n  g %a\n",
     {1, 1, 1}},
    {"saved in part",
     "  %a = f\n  %Y[3](0..128, 0..4) = save %a(0..128, 0..4)\n  g %a\n",
     {1, 2, 0}},
    {"saved into a region", "  %a = f\n  %wide[3](0..128, 0..8) = save %a\n  g %a\n", {1, 2, 0}},
    {"saved under a condition",
     "  %a = f\n  loop i = 0..2 {\n    %Y[3] = save %a if i >= 1\n    g %a\n  }\n",
     {1, 2, 0}},
    {"another data type", "  %a = f\n  %other[0] = save %a\n  g %a\n", {1, 2, 0}},
    {"fewer blocks", "  %a = f\n  %Y[0..2] = save %a\n  g %a\n", {1, 2, 0}},
    {"added to", "  %a = f\n  %Y[3] = save %a\n  %Y[3] += save %a\n  g %a\n", {1, 2, 1}},
    {"the target is saved over",
     "  %a = f\n  %Y[3] = save %a\n  %b = h\n  %Y[3] = save %b\n  g %a\n",
     {2, 3, 0}},
    {"another block of it is",
     "  %a = f\n  %Y[3] = save %a\n  %b = h\n  %Y[2] = save %b\n  g %a\n",
     {2, 2, 1}},
    {"all of it is", "  %a = f\n  %Y[3] = save %a\n  %t = h\n  %Y = save %t\n  g %a\n", {2, 3, 0}},
    {"many blocks saved over",
     "  %a = f\n  %M[18] = save %a\n  %m = h\n  %M = save %m\n  g %a\n",
     {2, 3, 0}},
    {"one of many blocks saved over",
     "  %m = f\n  %M = save %m\n  %a = h\n  %M[18] = save %a\n  g %m\n",
     {2, 3, 2}},
    {"what overlaps it is",
     "  %a = f\n  %Y[3] = save %a\n  %b = h\n  %over = save %b\n  g %a\n",
     {2, 3, 0}},
    {"what lies elsewhere is",
     "  %a = f\n  %Y[3] = save %a\n  %b = h\n  %Z[3] = save %b\n  g %a\n",
     {2, 2, 1}},
    {"another instruction writes it", "  %a = f\n  %Y[3] = save %a\n  %Y = k\n  g %a\n", {1, 2, 0}},
    {"of two targets one holds it",
     "  %a = f\n  %Z[0] = save %a\n  %Y[3] = save %a\n  %b = h\n  %Y[3] = save %b\n  g %a\n",
     {2, 2, 2}},
    {"the value changes", "  %a = f\n  %Y[3] = save %a\n  %a += h\n  g %a\n", {2, 2, 1}},
    {"accumulated and then saved",
     "  %a = f\n  %a += h\n  %Y[3] = save %a\n  g %a\n  g %a\n",
     {2, 2, 2}},
    {"some of the blocks", "  %t = f\n  %Y = save %t\n  g %t[1..3]\n", {1, 1, 1}},
    {"blocks saved one by one",
     "  %t = f\n  %Y[0] = save %t[0]\n  %Y[1] = save %t[1]\n  g %t[0..2]\n",
     {1, 2, 1}},
    {"one of two blocks", "  %t = f\n  %Y[0] = save %t[0]\n  g %t[0..2]\n", {1, 2, 1}},
    {"saved before a loop, read in it",
     "  %t = f\n  %Y = save %t\n  loop i = 0..4 {\n    g %t[i]\n  }\n",
     {1, 1, 1}},
    {"and saved over in the loop",
     "  %t = f\n  %b = h\n  %Y = save %t\n  loop i = 0..4 {\n    g %t[i]\n    %Y[0] = save %b\n  "
     "}\n",
     {2, 3, 0}},
    {"saved and read in one iteration",
     "  %t = f\n  loop i = 0..4 {\n    %Y[i] = save %t[i]\n    g %t[i]\n  }\n",
     {1, 1, 1}},
    {"saved in the iteration before",
     "  %t = f\n  loop i = 0..4 {\n    g %t[i]\n    %Y[i] = save %t[i]\n  }\n",
     {1, 2, 0}},
    {"loaded in a loop",
     "  loop i = 0..4 {\n    %t[i] = load %X[i]\n  }\n  loop i = 0..4 {\n    g %t[i]\n  }\n",
     {0, 0, 1}},
    {"some blocks loaded in a loop",
     "  %t = f\n  loop i = 0..2 {\n    %t[i + 1] = load %X[i + 1]\n  }\n"
     "  loop i = 0..2 {\n    g %t[i]\n  }\n",
     {2, 1, 0}},
    {"read behind the loop",
     "  %a = f\n  loop i = 0..4 {\n    %Y[i] = save %a\n  }\n  g %a\n",
     {1, 2, 0}},
};

static void single_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        Arena arena;
        arena_init(&arena);
        char body[2048];
        snprintf(body, sizeof body, "%s\n%s", DECLARED, CASES[i].body);
        Module *module = make_body(&arena, 4096, body);
        Plan plan = plan_make(module->funcs, &arena);
        for (uint32_t t = 0; t < module->funcs->ntensors; t++)
            if (plan.spillable[t]) plan_cut_all(&plan, t);
        Rewritten code = rewrite_plan(&plan, &arena);
        judge(module, &code, CASES[i].body, &arena);
        Traffic is = count_traffic(&code), wanted = CASES[i].traffic;
        if (is.stores != wanted.stores || is.from_homes != wanted.from_homes ||
            is.from_sources != wanted.from_sources)
            fail_msg("%s: %u stores, %u reloads from homes, %u from sources", CASES[i].what,
                     is.stores, is.from_homes, is.from_sources);
        arena_free(&arena);
    }
}

/* ---- random programs ---- */

/* Programs of loads and saves between few tensors: many saves go to one target, or to targets that
 * overlap, in part, under conditions, in loops, between unequal forms. */
enum { CHIPS = 4, DRAMS = 5, TEXT = 16384 };

typedef struct {
    Chance chance;
    char text[TEXT];
    size_t length;
    int64_t chip_blocks[CHIPS], dram_blocks[DRAMS];
    int loops; /* open */
} Saver;

__attribute__((format(printf, 2, 3))) static void put(Saver *gen, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int written = vsnprintf(gen->text + gen->length, TEXT - gen->length, format, list);
    va_end(list);
    gen->length += (size_t)written;
    assert_true(gen->length < TEXT);
}

static bool percent(Saver *gen, uint32_t chance) {
    return chance_percent(&gen->chance, chance);
}

static void put_tensor(Saver *gen, const char *name, int number, const char *space,
                       int64_t blocks) {
    static const char *const FORMS[] = {"32x8xu8", "32x8xu8", "32x8xu8", "32x4xbf16", "16x16xu8"};
    uint64_t form = chance_below(&gen->chance, sizeof FORMS / sizeof *FORMS);
    put(gen, "  tensor %%%s%d : %s<%lld*%s>", name, number, space, (long long)blocks, FORMS[form]);
}

static void put_tensors(Saver *gen) {
    static const int64_t COUNTS[] = {1, 1, 2, 4};
    for (int t = 0; t < CHIPS; t++) {
        gen->chip_blocks[t] = COUNTS[chance_below(&gen->chance, 4)];
        put_tensor(gen, "s", t, "sb", gen->chip_blocks[t]);
        put(gen, "\n");
    }
    for (int t = 0; t < DRAMS; t++) {
        gen->dram_blocks[t] = COUNTS[chance_below(&gen->chance, 4)];
        put_tensor(gen, "d", t, "dram", gen->dram_blocks[t]);
        put(gen, " input");
        if (percent(gen, 40)) put(gen, " at %d", (int)chance_below(&gen->chance, 12) * 64);
        put(gen, "\n");
    }
}

/* Blocks of a tensor that has so many: all, one or two, or one by the index of a loop. */
static void put_blocks(Saver *gen, int64_t blocks, bool one) {
    if (!one && percent(gen, 40)) return;
    int64_t first = chance_between(&gen->chance, 0, blocks - 1);
    if (gen->loops > 0 && blocks >= 2 && percent(gen, 60))
        put(gen, blocks == 4 && percent(gen, 50) ? "[i%d + 1]" : "[i%d]",
            (int)chance_below(&gen->chance, (uint64_t)gen->loops));
    else if (!one && first + 2 <= blocks && percent(gen, 40))
        put(gen, "[%lld..%lld]", (long long)first, (long long)first + 2);
    else
        put(gen, "[%lld]", (long long)first);
}

static int put_chip(Saver *gen, bool one, bool may_part) {
    int t = (int)chance_below(&gen->chance, CHIPS);
    put(gen, "%%s%d", t);
    put_blocks(gen, gen->chip_blocks[t], one);
    if (may_part && percent(gen, 10)) put(gen, "(0..16, 0..4)");
    return t;
}

static void put_dram(Saver *gen, bool one) {
    int t = (int)chance_below(&gen->chance, DRAMS);
    put(gen, "%%d%d", t);
    put_blocks(gen, gen->dram_blocks[t], one);
    if (percent(gen, 10)) put(gen, percent(gen, 50) ? "(0..16, 0..8)" : "(0..16, 0..4)");
}

/* As many blocks on both sides: what others leave in the rest is nobody's business. */
static void put_load(Saver *gen, bool one) {
    uint64_t to = chance_below(&gen->chance, CHIPS), from = chance_below(&gen->chance, DRAMS);
    if (!one && gen->chip_blocks[to] == gen->dram_blocks[from]) {
        put(gen, "%%s%d = load %%d%d", (int)to, (int)from);
        return;
    }
    put_chip(gen, true, true);
    put(gen, " = load ");
    put_dram(gen, true);
}

static void put_inst(Saver *gen) {
    bool one = percent(gen, 70);
    uint64_t kind = chance_below(&gen->chance, 10);
    put(gen, "  ");
    if (kind < 4) {
        put_dram(gen, one);
        put(gen, percent(gen, 5) ? " += save " : " = save ");
        put_chip(gen, one, true);
    } else if (kind < 6) {
        put_load(gen, one);
    } else if (kind < 7) {
        put_chip(gen, one, true);
        put(gen, percent(gen, 50) ? " += f" : " = f");
    } else {
        put(gen, "g ");
        put_chip(gen, one, true);
    }
    if (gen->loops > 0 && percent(gen, 15)) put(gen, " if i0 >= 1");
    put(gen, "\n");
}

static void put_program(Saver *gen, uint64_t seed) {
    *gen = (Saver){.chance = {seed}};
    put_tensors(gen);
    for (int t = 0; t < CHIPS; t++)
        put(gen, "  %%s%d = f\n", t);
    int64_t count = chance_between(&gen->chance, 6, 24);
    for (int64_t i = 0; i < count; i++) {
        if (gen->loops < 2 && percent(gen, 10)) {
            put(gen, "  loop i%d = 0..2 {\n", gen->loops);
            gen->loops++;
        }
        put_inst(gen);
        if (gen->loops > 0 && percent(gen, 15)) {
            put(gen, "  }\n");
            gen->loops--;
        }
    }
    for (; gen->loops > 0; gen->loops--)
        put(gen, "  }\n");
}

static Plan random_plan(const Func *func, uint64_t seed, Arena *arena) {
    Chance chance = {seed};
    Plan plan = plan_make(func, arena);
    bool all = chance_percent(&chance, 50);
    if (!all) random_cuts(&plan, &chance);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (all && plan.spillable[t]) plan_cut_all(&plan, t);
        plan_close(&plan, t);
    }
    return plan;
}

static void no_reload_is_wrong(void **state) {
    (void)state;
    enum { MORE = 20 };
    static Saver gen;
    uint64_t from_sources = 0, from_homes = 0;
    for (uint64_t seed = 0; seed < test_count() * MORE; seed++) {
        Arena arena;
        arena_init(&arena);
        put_program(&gen, seed);
        Module *module = make_body(&arena, 4096, gen.text);
        Plan plan = random_plan(module->funcs, seed, &arena);
        Rewritten code = rewrite_plan(&plan, &arena);
        judge(module, &code, gen.text, &arena);
        Traffic traffic = count_traffic(&code);
        from_sources += traffic.from_sources;
        from_homes += traffic.from_homes;
        arena_free(&arena);
    }
    assert_true(from_sources > test_count() * MORE); /* or the test tests little */
    assert_true(from_homes > test_count() * MORE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_cases),
        cmocka_unit_test(no_reload_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
