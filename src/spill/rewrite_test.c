/* Rewrites of random plans: whatever is cut, the referee accepts the result and its text reads
 * back. */
#include "spill/rewrite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "spill/homes.h"
#include "spill/names.h"
#include "test/count.h"
#include "test/cuts.h"
#include "test/random.h"
#include "text/check.h"
#include "text/parse.h"
#include "text/print.h"
#include "verify/verify.h"

typedef struct {
    Arena arena;
    Module *module;
    const Func *func;
    Plan plan;
    Sources sources;
    Rewritten rewritten;
    uint64_t seed;
} Case;

static Case make_case(uint64_t seed, bool whole) {
    Case made = {.seed = seed};
    Chance chance = {seed};
    arena_init(&made.arena);
    made.module = random_module(&made.arena, seed, (RandomShape){0});
    made.func = made.module->funcs;
    made.plan = plan_make(made.func, &made.arena);
    made.sources = sources_make(&made.plan, &made.arena);
    if (!whole) random_cuts(&made.plan, &chance);
    for (uint32_t t = 0; t < made.func->ntensors; t++) {
        if (whole && made.plan.spillable[t]) plan_cut_all(&made.plan, t);
        plan_close(&made.plan, t);
    }
    RewriteOptions options = {.remat = chance_percent(&chance, 50),
                              .store_inputs = chance_percent(&chance, 50)};
    made.rewritten = rewrite(&made.plan, &made.sources, options, &made.arena);
    Str *names = NEW_ARRAY(&made.arena, Str, made.func->ntensors);
    for (uint32_t t = 0; t < made.func->ntensors; t++)
        names[t] = made.func->tensors[t].name;
    name_added(&made.rewritten, names, made.func->ntensors, NULL, &made.arena);
    place_homes(&made.rewritten, &made.arena);
    return made;
}

static Str text_of(const Target *target, Func *func, Arena *arena) {
    Module module = {.target = *target, .has_target = true, .funcs = func, .nfuncs = 1};
    Writer writer;
    writer_to_memory(&writer);
    print_module(&module, &writer);
    Str text = {arena_copy(arena, writer.buffer, writer.length), (uint32_t)writer.length};
    writer_free(&writer);
    return text;
}

static void fail_with(Case *made, const DiagQueue *diags, const char *what) {
    Str text = text_of(&made->module->target, made->rewritten.func, &made->arena);
    fail_msg("seed %llu: %s: %.*s\n%.*s", (unsigned long long)made->seed, what,
             (int)diags->items[0].text.length, diags->items[0].text.text, (int)text.length,
             text.text);
}

static void judge(Case *made) {
    DiagQueue diags;
    diag_init(&diags, &made->arena);
    if (!verify(made->func, made->rewritten.func, &made->module->target,
                (VerifyOptions){.placed = false}, &diags))
        fail_with(made, &diags, "the referee");
}

static void read_back(Case *made) {
    Str text = text_of(&made->module->target, made->rewritten.func, &made->arena);
    Source source;
    source_from_text(&source, &made->arena, "rewritten", text.text, text.length);
    DiagQueue diags;
    diag_init(&diags, &made->arena);
    Module again;
    if (!parse_lf(&source, &made->arena, &diags, &again) || !check_module(&again, &diags))
        fail_with(made, &diags, "reading it back");
    Str second = text_of(&again.target, again.funcs, &made->arena);
    assert_true(str_equal(text, second));
}

static void check_plans(bool whole) {
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Case made = make_case(seed, whole);
        judge(&made);
        read_back(&made);
        arena_free(&made.arena);
    }
}

static void random_plans(void **state) {
    (void)state;
    check_plans(false);
}

static void everything_spilled(void **state) {
    (void)state;
    check_plans(true);
}

/* The input's instructions are all there, in order, but for loads that no read needs; what is added
 * are loads and saves between a home and a copy, or from a load's source. */
static void the_input_is_kept(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Case made = make_case(seed, false);
        const Rewritten *result = &made.rewritten;
        uint32_t next = 0;
        for (uint32_t p = 0; p < result->func->ninsts; p++) {
            const Inst *inst = &result->func->insts[p];
            if (result->origin_inst[p] == INSERTED) {
                assert_true(inst->kind == OP_LOAD || inst->kind == OP_SAVE);
                assert_true(meta_find(inst->meta, inst->kind == OP_LOAD ? "reload" : "spill"));
                continue;
            }
            for (; next < result->origin_inst[p]; next++)
                assert_int_equal(made.func->insts[next].kind, OP_LOAD);
            assert_int_equal(next, result->origin_inst[p]);
            assert_true(str_equal(inst->op, made.func->insts[next++].op));
        }
        for (; next < made.func->ninsts; next++)
            assert_int_equal(made.func->insts[next].kind, OP_LOAD);
        arena_free(&made.arena);
    }
}

/* A plan without cuts changes nothing. */
static void no_cuts_no_change(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        Module *module = random_module(&arena, seed, (RandomShape){0});
        Plan plan = plan_make(module->funcs, &arena);
        Sources sources = sources_make(&plan, &arena);
        Rewritten same = rewrite(&plan, &sources, (RewriteOptions){.remat = true}, &arena);
        assert_int_equal(same.func->ninsts, module->funcs->ninsts);
        assert_int_equal(same.func->ntensors, module->funcs->ntensors);
        assert_true(str_equal(text_of(&module->target, same.func, &arena),
                              text_of(&module->target, module->funcs, &arena)));
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans),
        cmocka_unit_test(everything_spilled),
        cmocka_unit_test(the_input_is_kept),
        cmocka_unit_test(no_cuts_no_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
