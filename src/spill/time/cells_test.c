/* Accesses of blocks against a run of the same program, step by step. */
#include "spill/time/cells.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ir/region.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"
#include "test/run.h"

enum { AMPLE = 1000000 };

/* What one step does with one block. */
typedef struct {
    bool named, reads, writes, partly, whole;
    uint32_t operand, point, inst;
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
        bool part = !operand_is_whole(run->func, &inst->operands[o]);
        use.partly |= o < inst->ndst && part;
        use.whole |= o < inst->ndst && !part && !inst->accumulate;
    }
    return use;
}

/* All uses of a block in order; returns how many. */
static uint32_t find_uses(const TimeFacts *facts, uint32_t cell, Use *uses, Arena *arena) {
    uint32_t count = 0, point = 0;
    Stepper run = run_begin(facts->func, arena);
    while (run_next(&run)) {
        if (!run_happens(&run)) continue;
        Use use = use_of(&run, facts->cells.tensor[cell], cell_block(&facts->cells, cell));
        use.point = point++;
        use.inst = run.point;
        if (use.named) uses[count++] = use;
    }
    return count;
}

/* The operand that writes a part, where no other one of the tensor is written there. */
static const Operand *only_written(const Func *func, uint32_t inst, uint32_t tensor) {
    const Operand *found = NULL;
    for (uint32_t o = 0; o < func->insts[inst].ndst; o++) {
        const Operand *operand = &func->insts[inst].operands[o];
        if (operand->tensor != tensor) continue;
        if (found) return NULL;
        found = operand;
    }
    return found;
}

/* True if some operand reads more of the tensor than what a region has in whole granules. */
static bool reads_beyond(const Func *func, uint32_t inst, uint32_t tensor, const Region *region) {
    const Inst *info = &func->insts[inst];
    for (uint32_t o = info->accumulate ? 0 : info->ndst; o < info->ndst + info->nsrc; o++) {
        if (info->operands[o].tensor != tensor) continue;
        Region part =
            region_widened(&func->tensors[tensor], operand_region(func, &info->operands[o]));
        if (!region || part.p0 < region->p0 || part.p1 > region->p1 || part.b0 < region->b0 ||
            part.b1 > region->b1)
            return true;
    }
    return false;
}

/* Whether something reads of what a write of a part leaves: surely, where nothing else is written
 * before it; perhaps, where not all is. */
typedef struct {
    bool surely, perhaps;
} Rest;

static Rest find_rest(const Func *func, const Use *uses, uint32_t count, uint32_t use,
                      uint32_t tensor) {
    const Operand *written = only_written(func, uses[use].inst, tensor);
    bool alone = true;
    Rest rest = {false, false};
    for (uint32_t u = use + 1; u < count; u++) {
        rest.perhaps |= uses[u].reads;
        rest.surely |= alone && uses[u].reads &&
                       reads_beyond(func, uses[u].inst, tensor, written ? written->region : NULL);
        alone &= !uses[u].writes;
        if (uses[u].whole && !uses[u].reads) return rest;
    }
    rest.perhaps |= func->tensors[tensor].output;
    rest.surely |= alone && func->tensors[tensor].output;
    return rest;
}

static bool is_entry(const Cells *cells, uint32_t access, uint32_t end) {
    return access < end && cells->accesses[access].operand == ENTRY_OPERAND;
}

static const Inst *inst_at(const TimeFacts *facts, uint32_t point) {
    return &facts->func->insts[facts->timeline.points[point].inst];
}

/* The accesses of a cell are the steps that name it, and the entry of an input, which lasts while
 * only loads run; a write of a part needs the rest where there is any that is read later. */
static void compare_cell(const TimeFacts *facts, uint32_t cell, Arena *arena) {
    const Cells *cells = &facts->cells;
    const Tensor *tensor = &facts->func->tensors[cells->tensor[cell]];
    uint32_t next = cells->first[cell];
    bool entered = tensor->input && facts->timeline.npoints > 0;
    uint32_t end = cells->first[cell + 1];
    for (uint32_t at = 0; entered && (at == 0 || is_entry(cells, next, end)); at++) {
        assert_true(is_entry(cells, next, end));
        assert_true(cells->accesses[next].writes && !cells->accesses[next].reads);
        assert_int_equal(cells->accesses[next++].point, at);
        assert_true(at == 0 || inst_at(facts, at - 1)->kind == OP_LOAD);
    }
    Use *uses = RAW_ARRAY(arena, Use, facts->timeline.npoints);
    uint32_t count = find_uses(facts, cell, uses, arena);
    for (uint32_t u = 0; u < count; u++) {
        if (entered && uses[u].point == 0) continue;
        assert_true(next < cells->first[cell + 1]);
        const CellAccess *access = &cells->accesses[next];
        bool part = next > cells->first[cell] && uses[u].partly && !uses[u].whole;
        Rest rest = find_rest(facts->func, uses, count, u, cells->tensor[cell]);
        assert_int_equal(access->point, uses[u].point);
        assert_int_equal(access->operand, uses[u].operand);
        assert_true(access->reads || !(uses[u].reads || (part && rest.surely)));
        assert_true(!access->reads || uses[u].reads || (part && rest.perhaps));
        assert_int_equal(access->writes, uses[u].writes);
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
