/* Accesses of blocks against a run of the same program, step by step. */
#include "spill/time/cells.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/count.h"
#include "test/make.h"
#include "test/random.h"
#include "test/run.h"

enum { AMPLE = 1000000 };

/* What one step does with one block. */
typedef struct {
    bool named, reads, writes, partly;
    uint32_t operand;
} Use;

static TimeFacts facts_of(const Module *module, Arena *arena) {
    TimeFacts facts = {.func = module->funcs, .target = &module->target};
    assert_true(lay_out(facts.func, AMPLE, AMPLE, arena, &facts.timeline));
    assert_true(find_cells(&facts, AMPLE, arena));
    return facts;
}

static Use use_of(const Stepper *run, uint32_t tensor, int64_t block) {
    const Inst *inst = &run->func->insts[run->point];
    Use use = {0};
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        int64_t first, last;
        if (inst->operands[o].tensor != tensor) continue;
        run_blocks(run, &inst->operands[o], &first, &last);
        if (block < first || block > last) continue;
        if (!use.named) use.operand = o;
        use.named = true;
        use.reads |= o >= inst->ndst || inst->accumulate;
        use.writes |= o < inst->ndst;
        use.partly |= o < inst->ndst && !operand_is_whole(run->func, &inst->operands[o]);
    }
    return use;
}

/* The accesses of a cell are the steps that name it, and the entry of an input; a write of a part
 * needs the rest where there is any. */
static void compare_cell(const TimeFacts *facts, uint32_t cell, Arena *arena) {
    const Cells *cells = &facts->cells;
    uint32_t tensor = cells->tensor[cell], next = cells->first[cell], point = 0;
    bool entered = facts->func->tensors[tensor].input && facts->timeline.npoints > 0;
    if (entered) {
        assert_int_equal(cells->accesses[next].operand, ENTRY_OPERAND);
        assert_true(cells->accesses[next].writes && !cells->accesses[next].reads);
        next++;
    }
    Stepper run = run_begin(facts->func, arena);
    while (run_next(&run)) {
        if (!run_happens(&run)) continue;
        Use use = use_of(&run, tensor, cell_block(cells, cell));
        uint32_t at = point++;
        if (!use.named || (entered && at == 0)) continue;
        assert_true(next < cells->first[cell + 1]);
        const CellAccess *access = &cells->accesses[next];
        bool had = next > cells->first[cell];
        assert_int_equal(access->point, at);
        assert_int_equal(access->operand, use.operand);
        assert_int_equal(access->reads, use.reads || (use.partly && had));
        assert_int_equal(access->writes, use.writes);
        next++;
    }
    assert_int_equal(next, cells->first[cell + 1]);
}

static void as_in_a_run(void **unused) {
    (void)unused;
    for (uint64_t seed = 1; seed <= 2 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.size = SIZE_SMALL, .code = seed % 2 ? CODE_ANY : CODE_BLOCK_LOOPS};
        TimeFacts facts = facts_of(random_module(&arena, seed, shape), &arena);
        for (uint32_t c = 0; c < facts.cells.ncells; c++)
            compare_cell(&facts, c, &arena);
        arena_free(&arena);
    }
}

static void cells_are_the_blocks(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    TimeFacts facts =
        facts_of(make_body(&arena, 1024,
                           "tensor %d : dram<9*128x8xu8>\ntensor %a : sb<3*128x8xu8>\n"
                           "tensor %b : sb<128x8xu8>\ntensor %p : psum<128x8xu8>\n"
                           "tensor %c : sb<2*128x8xu8>\n"
                           "%a = f\n%b = f\n%c = f\n%p = f"),
                 &arena);
    assert_int_equal(facts.cells.ncells, 6);
    static const int64_t block[] = {0, 1, 2, 0, 0, 1};
    static const uint32_t tensor[] = {1, 1, 1, 2, 4, 4};
    for (uint32_t c = 0; c < 6; c++) {
        assert_int_equal(cell_block(&facts.cells, c), block[c]);
        assert_int_equal(facts.cells.tensor[c], tensor[c]);
    }
    arena_free(&arena);
}

static void limits(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    const Module *module = make_body(&arena, 1024,
                                     "tensor %a : sb<8*128x8xu8>\n"
                                     "loop i = 0..8 { %a[i] = f }\nloop i = 0..8 { g %a[i] }");
    TimeFacts facts = facts_of(module, &arena);
    assert_true(find_cells(&facts, 16, &arena));
    assert_false(find_cells(&facts, 15, &arena));
    assert_false(find_cells(&facts, 7, &arena));
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_in_a_run),
                                       cmocka_unit_test(cells_are_the_blocks),
                                       cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
