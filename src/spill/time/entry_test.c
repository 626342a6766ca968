/* The entry: what comes in by it, that all else stays, and that it leaves no trace. */
#include "spill/time/entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/count.h"
#include "test/make.h"
#include "test/random.h"

static bool may_leave(const Tensor *tensor) {
    return tensor->space == SPACE_SB && tensor->input && !tensor->fixed && !tensor->pin &&
           !tensor->output;
}

/* Each input that may leave is written once, and is none. */
static void check_entered(const Func *func, const Func *entered) {
    uint32_t inputs = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        bool leaves = may_leave(&func->tensors[t]);
        assert_int_equal(entered->tensors[t].input, func->tensors[t].input && !leaves);
        if (leaves) assert_int_equal(entered->insts[0].operands[inputs++].tensor, t);
    }
    assert_int_equal(entered->insts[0].ndst, inputs);
    assert_int_equal(entered->insts[0].loop, NO_LOOP);
    assert_true(inputs > 0);
}

static void check_same(const Func *a, const Func *b) {
    assert_int_equal(a->ninsts, b->ninsts);
    assert_int_equal(a->nloops, b->nloops);
    for (uint32_t l = 0; l < a->nloops; l++) {
        assert_int_equal(a->loops[l].first, b->loops[l].first);
        assert_int_equal(a->loops[l].end, b->loops[l].end);
    }
    for (uint32_t i = 0; i < a->ninsts; i++) {
        assert_ptr_equal(a->insts[i].operands, b->insts[i].operands);
        assert_int_equal(a->insts[i].loop, b->insts[i].loop);
    }
    for (uint32_t t = 0; t < a->ntensors; t++)
        assert_int_equal(a->tensors[t].input, b->tensors[t].input);
}

static void random_programs(void **unused) {
    (void)unused;
    uint32_t entered_some = 0;
    for (uint64_t seed = 1; seed <= 4 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.room = ROOM_AMPLE};
        const Func *func = random_module(&arena, seed, shape)->funcs;
        const Func *entered = with_entry(func, &arena);
        bool some = false;
        for (uint32_t t = 0; t < func->ntensors; t++)
            some |= may_leave(&func->tensors[t]);
        assert_int_equal(entered != func, some);
        if (some) {
            entered_some++;
            check_entered(func, entered);
            Live live = live_range(entered, &arena);
            Rewritten text = rewrite_nothing(entered, &live, &arena);
            leave_entry(func, &text, &arena);
            live = live_range(text.func, &arena);
            text.live = &live;
            forget_entry(func, &text, &arena);
            check_same(text.func, func);
            for (uint32_t i = 0; i < func->ninsts; i++)
                assert_int_equal(text.origin_inst[i], i);
        }
        arena_free(&arena);
    }
    assert_true(entered_some > test_count() / 4);
}

/* Stores of consecutive blocks of one tensor are one, whatever lies between them. */
static void stores_are_joined(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    const Func *func = make_body(&arena, 1000,
                                 "  tensor %x : sb<6*128x8xu8> input\n"
                                 "  tensor %y : sb<2*128x8xu8> input\n"
                                 "  tensor %hx : dram<5*128x8xu8> !of=x\n"
                                 "  tensor %hy : dram<2*128x8xu8> !of=y\n"
                                 "  %x, %y = input\n"
                                 "  %hy[0] = save %y[0] !spill\n"
                                 "  %hx[0] = save %x[1] !spill\n"
                                 "  %hy[1] = save %y[1] !spill\n"
                                 "  %hx[1] = save %x[2] !spill\n"
                                 "  %hx[3] = save %x[4] !spill\n"
                                 "  use %x, %y\n")
                           ->funcs;
    Live live = live_range(func, &arena);
    Rewritten text = rewrite_nothing(func, &live, &arena);
    for (uint32_t i = 1; i < 6; i++)
        text.origin_inst[i] = INSERTED;
    leave_entry(func, &text, &arena);
    static const struct {
        uint32_t tensor;
        int64_t first, last, home_first, home_last;
    } left[] = {{1, 0, 1, 0, 1}, {0, 1, 2, 0, 1}, {0, 4, 4, 3, 3}};
    assert_int_equal(text.func->ninsts, 4);
    for (uint32_t i = 0; i < 3; i++) {
        const Operand *operands = text.func->insts[i].operands;
        BlockSpan blocks = operand_blocks(text.func, &operands[1]);
        BlockSpan home = operand_blocks(text.func, &operands[0]);
        assert_int_equal(operands[1].tensor, left[i].tensor);
        assert_int_equal(blocks.first, left[i].first);
        assert_int_equal(blocks.last, left[i].last);
        assert_int_equal(home.first, left[i].home_first);
        assert_int_equal(home.last, left[i].home_last);
    }
    assert_null(text.func->insts[0].operands[0].blocks);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs),
                                       cmocka_unit_test(stores_are_joined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
