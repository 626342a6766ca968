/* Folded text against what was decided: it is run, and each access must find the value that it has
 * in a run of the original, reloaded exactly where its gap is cut. */
#include "spill/time/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ir/region.h"
#include "spill/time/cells.h"
#include "spill/time/classes.h"
#include "spill/time/gaps.h"
#include "spill/time/sources.h"
#include "test/chance.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"
#include "test/run.h"

enum { AMPLE = 1000000, NOBODY = 1 };

/* Contents of all blocks of a function as numbers: equal numbers are equal contents. What a step of
 * the original writes is numbered by the step, so that two functions can be compared. */
typedef struct {
    const Func *func;
    uint64_t *content; /* [rows] */
    uint32_t *first;   /* [ntensors] first row of a tensor */
} FoldedContents;

/* One comparison. */
typedef struct {
    TimeFacts facts;
    uint64_t *before;  /* [accesses] contents of the cell before each, in the original */
    uint32_t *reloads; /* [ncells] since the last access */
    bool *kept;        /* [gaps] */
    Rewritten result;
    uint64_t seed;
} Folded;

static bool facts_of(const Module *module, TimeFacts *facts, Arena *arena) {
    TimeOptions options = {
        .full = AMPLE, .most_points = AMPLE, .most_accesses = AMPLE, .remat = true};
    return find_time_facts(module->funcs, &module->target, options, arena, facts);
}

static FoldedContents contents_of(const Func *func, Arena *arena) {
    FoldedContents contents = {.func = func, .first = RAW_ARRAY(arena, uint32_t, func->ntensors)};
    uint32_t rows = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        contents.first[t] = rows;
        rows += (uint32_t)func->tensors[t].blocks;
    }
    contents.content = NEW_ARRAY(arena, uint64_t, rows);
    for (uint32_t r = 0; r < rows; r++)
        contents.content[r] = NOBODY;
    return contents;
}

/* On entry each block of an original tensor has a content of its own. */
static void enter(FoldedContents *contents, uint32_t ntensors) {
    for (uint32_t t = 0; t < ntensors; t++)
        for (int64_t b = 0; b < contents->func->tensors[t].blocks; b++)
            contents->content[contents->first[t] + b] =
                (UINT64_C(1) << 62) | ((uint64_t)t << 32) | (uint64_t)b;
}

/* What is inserted moves all that any read needs. */
static bool moves_what_is_needed(const Func *func, const Inst *inst) {
    const Operand *dst = &inst->operands[0], *src = &inst->operands[1];
    bool inserted = meta_find(inst->meta, "spill") || meta_find(inst->meta, "reload");
    return inserted ? region_equal(operand_region(func, dst), operand_region(func, src))
                    : operand_is_whole(func, dst) && operand_is_whole(func, src);
}

static bool moves_whole(const Stepper *run, int64_t count) {
    const Inst *inst = &run->func->insts[run->point];
    int64_t first, last;
    if ((inst->kind != OP_LOAD && inst->kind != OP_SAVE) || inst->accumulate) return false;
    run_blocks(run, &inst->operands[1], &first, &last);
    return last - first + 1 == count && moves_what_is_needed(run->func, inst) &&
           run->func->tensors[inst->operands[0].tensor].bytes ==
               run->func->tensors[inst->operands[1].tensor].bytes;
}

static void write_step(FoldedContents *contents, const Stepper *run, uint64_t step) {
    const Inst *inst = &run->func->insts[run->point];
    int64_t first, last, from = 0, from_last;
    for (uint32_t o = 0; o < inst->ndst; o++) {
        run_blocks(run, &inst->operands[o], &first, &last);
        bool whole = first <= last && moves_whole(run, last - first + 1);
        if (whole) run_blocks(run, &inst->operands[1], &from, &from_last);
        for (int64_t b = first; b <= last; b++)
            contents->content[contents->first[inst->operands[o].tensor] + b] =
                whole
                    ? contents
                          ->content[contents->first[inst->operands[1].tensor] + from + (b - first)]
                    : (step + 2) << 24 | (uint64_t)o << 16 | (uint64_t)b;
    }
}

static uint32_t access_at(const Cells *cells, uint32_t cell, uint32_t point) {
    for (uint32_t a = cells->first[cell]; a < cells->first[cell + 1]; a++)
        if (cells->accesses[a].point == point) return a;
    return UINT32_MAX;
}

static uint64_t cell_content(const FoldedContents *contents, const Cells *cells, uint32_t cell,
                             uint32_t tensor) {
    return contents->content[contents->first[tensor] + cell_block(cells, cell)];
}

static void run_original(Folded *folded, Arena *arena) {
    const Cells *cells = &folded->facts.cells;
    FoldedContents contents = contents_of(folded->facts.func, arena);
    enter(&contents, contents.func->ntensors);
    folded->before = NEW_ARRAY(arena, uint64_t, cells->first[cells->ncells]);
    Stepper run = run_begin(contents.func, arena);
    for (uint32_t point = 0; run_next(&run);) {
        if (!run_happens(&run)) continue;
        for (uint32_t c = 0; c < cells->ncells; c++) {
            uint32_t a = access_at(cells, c, point);
            if (a != UINT32_MAX)
                folded->before[a] = cell_content(&contents, cells, c, cells->tensor[c]);
        }
        write_step(&contents, &run, point++);
    }
}

static void complain(const Folded *folded, const char *what, uint32_t point) {
    fail_msg("seed %llu, point %u (instruction %u): %s", (unsigned long long)folded->seed, point,
             folded->facts.timeline.points[point].inst, what);
}

/* The tensor of the result that an access names. */
static uint32_t tensor_of(const Folded *folded, const Stepper *run, const CellAccess *access) {
    uint32_t tensor = run->func->insts[run->point].operands[access->operand].tensor;
    assert_true(tensor < run->func->ntensors);
    assert_int_equal(folded->result.role[tensor] == ROLE_HOME, false);
    return tensor;
}

/* Each access at the point finds its value, reloaded once if its gap is cut. */
static void check_point(Folded *folded, const FoldedContents *contents, const Stepper *run,
                        uint32_t point) {
    const Cells *cells = &folded->facts.cells;
    for (uint32_t c = 0; c < cells->ncells; c++) {
        uint32_t a = access_at(cells, c, point);
        if (a == UINT32_MAX) continue;
        const CellAccess *access = &cells->accesses[a];
        uint32_t g = folded->facts.gaps.of[a], wanted = g != UINT32_MAX && !folded->kept[g];
        if (folded->reloads[c] != wanted)
            complain(folded, wanted ? "not reloaded once" : "reloaded", point);
        folded->reloads[c] = 0;
        if (!access->reads || access->operand == ENTRY_OPERAND) continue;
        uint32_t tensor = tensor_of(folded, run, access);
        if (cell_content(contents, cells, c, tensor) != folded->before[a])
            complain(folded, "another value", point);
    }
}

/* A load that no longer runs brings one block, whose next gap is cut. */
static void check_dropped(const Folded *folded, uint32_t point) {
    const Cells *cells = &folded->facts.cells;
    const Inst *inst = &folded->facts.func->insts[folded->facts.timeline.points[point].inst];
    if (inst->kind != OP_LOAD) complain(folded, "gone", point);
    for (uint32_t c = 0; c < cells->ncells; c++) {
        uint32_t a = access_at(cells, c, point);
        bool own =
            inst->operands[0].tensor == cells->tensor[c]; /* else an input holds it on entry */
        if (a == UINT32_MAX || !own || a + 1 == cells->first[c + 1]) continue;
        uint32_t g = folded->facts.gaps.of[a + 1];
        if (g != UINT32_MAX && folded->kept[g]) complain(folded, "dropped, and needed", point);
    }
}

static bool is_at(const Folded *folded, const Stepper *run, uint32_t point) {
    const TimePoint *at = &folded->facts.timeline.points[point];
    if (folded->result.origin_inst[run->point] != at->inst) return false;
    for (uint32_t f = at->frame; f != NO_FRAME; f = folded->facts.timeline.frames[f].parent)
        if (run->indices[folded->facts.timeline.frames[f].loop] !=
            folded->facts.timeline.frames[f].low)
            return false;
    return true;
}

static void count_reloads(Folded *folded, const Stepper *run) {
    const Inst *inst = &run->func->insts[run->point];
    int64_t first, last;
    if (inst->kind != OP_LOAD) return;
    run_blocks(run, &inst->operands[0], &first, &last);
    uint32_t origin = folded->result.origin[inst->operands[0].tensor];
    assert_true(first >= 0 && last < folded->facts.func->tensors[origin].blocks);
    for (int64_t b = first; b <= last; b++)
        folded->reloads[folded->facts.cells.first_cell[origin] + (uint32_t)b]++;
}

static void run_result(Folded *folded, Arena *arena) {
    const Func *func = folded->result.func;
    uint32_t npoints = folded->facts.timeline.npoints, point = 0;
    FoldedContents contents = contents_of(func, arena);
    enter(&contents, folded->facts.func->ntensors);
    folded->reloads = NEW_ARRAY(arena, uint32_t, folded->facts.cells.ncells);
    Stepper run = run_begin(func, arena);
    while (run_next(&run)) {
        if (!run_happens(&run)) continue;
        if (folded->result.origin_inst[run.point] == INSERTED) {
            count_reloads(folded, &run);
            write_step(&contents, &run, npoints);
            continue;
        }
        while (point < npoints && !is_at(folded, &run, point))
            check_dropped(folded, point++);
        assert_true(point < npoints);
        check_point(folded, &contents, &run, point);
        write_step(&contents, &run, point++);
    }
    while (point < npoints)
        check_dropped(folded, point++);
}

/* Gaps are kept by chance: of some classes all or none, of others each by itself. */
static bool *choose_kept(const TimeFacts *facts, Chance *chance, Arena *arena) {
    bool *kept = RAW_ARRAY(arena, bool, facts->gaps.count);
    for (uint32_t k = 0; k < facts->classes.count; k++) {
        const GapClass *class = &facts->classes.items[k];
        uint32_t percent = 50 * (uint32_t)chance_below(chance, 3);
        for (uint32_t m = class->first; m < class->end; m++) {
            uint32_t g = facts->classes.members[m];
            bool stays = facts->gaps.resident[facts->cells.tensor[facts->gaps.gaps[g].cell]];
            kept[g] = stays || chance_percent(chance, percent);
        }
    }
    return kept;
}

static bool try_module(const Module *module, uint64_t seed, uint32_t *cut, Arena *arena) {
    Folded folded = {.seed = seed};
    Chance chance = {seed};
    if (!facts_of(module, &folded.facts, arena)) return false;
    folded.kept = choose_kept(&folded.facts, &chance, arena);
    uint32_t ngaps = folded.facts.gaps.count;
    bool *asked = RAW_ARRAY(arena, bool, ngaps);
    for (uint32_t g = 0; g < ngaps; g++)
        asked[g] = folded.kept[g];
    Webs webs = find_webs(&folded.facts, folded.kept, arena);
    Decided decided = {.facts = &folded.facts, .webs = &webs, .kept = folded.kept};
    if (!fold(&decided, arena, &folded.result)) return false;
    for (uint32_t g = 0; g < ngaps; g++) {
        assert_true(asked[g] || !folded.kept[g]);
        *cut += !folded.kept[g];
    }
    run_original(&folded, arena);
    run_result(&folded, arena);
    return true;
}

static void as_decided(void **unused) {
    (void)unused;
    uint32_t tried = 0, folded = 0, cut = 0;
    for (uint64_t seed = 1; seed <= 3 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.size = SIZE_SMALL, .code = seed % 3 ? CODE_ANY : CODE_BLOCK_LOOPS};
        folded += try_module(random_module(&arena, seed, shape), seed, &cut, &arena);
        tried++;
        arena_free(&arena);
    }
    print_message("%u of %u folded, %u gaps cut\n", folded, tried, cut);
    assert_true(2 * folded >= tried);
    assert_true(cut >= tried);
}

/* Kernels of loops, with many choices each. */
static void kernels(void **unused) {
    (void)unused;
    static const char *const bodies[] = {
        "tensor %a : sb<6*128x1xu8>\ntensor %b : sb<128x1xu8>\nloop i = 0..6 { %a[i] = make }\n"
        "loop i = 0..6 { %b = f %a[i]\ng %b }\nloop i = 0..6 { %b = g %a[5 - i]\ng %b }",
        "tensor %X : dram<8*128x1xu8> input\ntensor %t : sb<8*128x1xu8>\n"
        "loop i = 0..8 { %t[i] = load %X[i] }\nloop i = 0..6 { st %t[i], %t[i + 1], %t[i + 2] }",
        "tensor %a : sb<8*128x1xu8>\ntensor %b : sb<128x1xu8>\nloop i = 0..8 { %a[i] = make }\n"
        "loop r = 0..3 { loop i = 0..8 { %b = f %a[i + 2*r mod 8] if i >= r\n"
        "%a[i] += g if i < 6\nuse %b if i >= r } }",
        "tensor %X : dram<4*128x1xu8> input\ntensor %Y : dram<4*128x1xu8> output\n"
        "tensor %a : sb<4*128x1xu8>\n%a = load %X\nloop i = 0..4 { g %a[i]\n%Y[i] = save %a[i] }\n"
        "loop i = 0..3 { h %a[i + 1] }",
    };
    uint32_t cut = 0, folded = 0, count = 0;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            Arena arena;
            arena_init(&arena);
            folded += try_module(make_body(&arena, 64, bodies[i]), seed, &cut, &arena);
            count++;
            arena_free(&arena);
        }
    print_message("%u of %u folded, %u gaps cut\n", folded, count, cut);
    assert_int_equal(folded, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_decided), cmocka_unit_test(kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
