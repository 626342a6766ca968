/* Parts: what spill code of tensors that are read and written in parts costs where every access has
 * a copy of its own, worked out by hand. */
#include "spill/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ir/dma.h"
#include "spill/homes.h"
#include "spill/names.h"
#include "test/make.h"
#include "verify/verify.h"

/* A DMA of rows of 16 partitions by bytes. */
#define DMA(rows, bytes) (100 + (rows) * (bytes))

static const struct {
    const char *what, *body;
    int64_t cycles; /* of all that is inserted */
} CASES[] = {
    {"two corners: one store of both, a reload of each",
     "tensor %a : sb<128x1024xu8>\n"
     "%a = f\nuse %a(0..32, 0..64)\nuse %a(32..64, 0..64)",
     DMA(4, 64) + 2 * DMA(2, 64)},
    {"whole granules",
     "tensor %a : sb<128x1024xu8>\n"
     "%a = f\nuse %a(0..128, 7..9)",
     2 * DMA(8, 16)},
    {"the last granule is not whole",
     "tensor %a : sb<128x1021xu8>\n"
     "%a = f\nuse %a(0..128, 1020..1021)",
     2 * DMA(8, 5)},
    {"whole quadrants",
     "tensor %a : sb<128x1024xu8>\n"
     "%a = f\nuse %a(100..101, 0..8)",
     2 * DMA(2, 8)},
    {"what no smaller band holds starts at partition 0",
     "tensor %a : sb<128x1024xu8>\n"
     "%a = f\nuse %a(40..80, 0..8)",
     2 * DMA(6, 8)},
    {"all partitions where the start is free",
     "tensor %a : sb<64x1024xu8>\n"
     "%a = f\nuse %a(32..64, 0..8)",
     2 * DMA(4, 8)},
    {"not where it is given",
     "tensor %a : sb<64x1024xu8> base 64\n"
     "%a = f\nuse %a(32..64, 0..8)",
     2 * DMA(2, 8)},
    {"a write of a part moves what later reads need",
     "tensor %a : sb<128x1024xu8>\n"
     "%a = f\n%a(0..128, 0..8) = g\nuse %a(0..128, 0..16)",
     4 * DMA(8, 16)},
    {"so does an accumulation",
     "tensor %a : sb<128x1024xu8>\n"
     "%a = f\n%a(0..128, 8..16) += g\nuse %a(0..128, 0..8)",
     3 * DMA(8, 16) + DMA(8, 8)},
    {"a part of what a load found",
     "tensor %X : dram<128x1024xu8> input\ntensor %a : sb<128x1024xu8>\n"
     "%a = load %X\nuse %a(0..32, 0..64)",
     DMA(2, 64)},
    {"a load of another form is repeated whole",
     "tensor %X : dram<128x512xu16> input\ntensor %a : sb<128x1024xu8>\n"
     "%a = load %X\nuse %a(0..32, 0..64)",
     DMA(8, 1024)},
    {"each block",
     "tensor %a : sb<4*128x64xu8>\n"
     "loop i = 0..4 { %a[i] = f }\nloop j = 0..4 { use %a[j](0..32, 0..8) }",
     2 * 4 * DMA(2, 8)},
    {"under a condition",
     "tensor %a : sb<4*128x64xu8>\n"
     "loop i = 0..4 { %a[i] = f }\nloop j = 0..4 { use %a[j](0..32, 0..8) if j >= 2 }",
     (4 + 2) * DMA(2, 8)},
    {"the end of a copy that has more dimensions",
     "tensor %a : sb<128x1024xu8>\ntensor %b : sb<32x8x8xu8> pin\n"
     "%a = f\n%b = copy %a(0..32, 0..64)\nuse %b",
     2 * DMA(8, 1024)},
    {"and one that has not",
     "tensor %a : sb<128x1024xu8>\ntensor %b : sb<32x64xu8> pin\n"
     "%a = f\n%b = copy %a(0..32, 0..64)\nuse %b",
     2 * DMA(2, 64)},
};

static Rewritten spill_all(const Func *func, Arena *arena) {
    Plan plan = plan_make(func, arena);
    Sources sources = sources_make(&plan, arena);
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (plan.spillable[t]) plan_cut_all(&plan, t);
    Rewritten code = rewrite(&plan, &sources, (RewriteOptions){.remat = true}, arena);
    Str *names = RAW_ARRAY(arena, Str, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        names[t] = func->tensors[t].name;
    name_added(&code, names, func->ntensors, NULL, arena);
    place_homes(&code, arena);
    return code;
}

static int64_t inserted_cycles(const Rewritten *code, const Target *target) {
    int64_t sum = 0;
    for (uint32_t p = 0; p < code->func->ninsts; p++)
        if (code->origin_inst[p] == INSERTED)
            sum += sum_dma(code->func, &code->func->insts[p], target).cycles;
    return sum;
}

static void cost_of_parts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        Arena arena;
        arena_init(&arena);
        Module *module = make_body(&arena, 1 << 16, CASES[i].body);
        Rewritten code = spill_all(module->funcs, &arena);
        int64_t cycles = inserted_cycles(&code, &module->target);
        if (cycles != CASES[i].cycles)
            fail_msg("%s: %lld cycles, not %lld", CASES[i].what, (long long)cycles,
                     (long long)CASES[i].cycles);
        DiagQueue diags;
        diag_init(&diags, &arena);
        assert_true(verify(module->funcs, code.func, &module->target,
                           (VerifyOptions){.placed = false}, &diags));
        arena_free(&arena);
    }
}

/* The price of an access is that of its part. */
static void part_of_access(void **state) {
    (void)state;
    Arena arena;
    arena_init(&arena);
    Module *module = make_body(&arena, 1 << 16,
                               "tensor %a : sb<128x1024xu8>\n"
                               "%a = f\nuse %a(0..2, 9..10), %a(33..34, 70..72)");
    Plan plan = plan_make(module->funcs, &arena);
    Region all = access_part(&plan, 0, 0), both = access_part(&plan, 0, 1);
    assert_int_equal(part_dma(&module->target, all), DMA(8, 1024));
    assert_int_equal(both.p1 - both.p0, 64);
    assert_int_equal(both.b0, 8);
    assert_int_equal(both.b1, 72);
    assert_int_equal(part_dma(&module->target, both), DMA(4, 64));
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cost_of_parts),
                                       cmocka_unit_test(part_of_access)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
