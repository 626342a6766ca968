/* Gaps of time against a run in which each block has a symbolic content. */
#include "spill/time/gaps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "spill/time/cells.h"
#include "test/count.h"
#include "test/make.h"
#include "test/random.h"
#include "test/run.h"

enum { AMPLE = 1000000 };

/* Contents of all blocks of all tensors, as numbers: equal numbers are equal contents. */
typedef struct {
    const TimeFacts *facts;
    uint64_t *content; /* [rows] */
    uint32_t *first;   /* [ntensors + 1] first row of a tensor */
    uint64_t next;     /* a number that nobody has had */
} RunContents;

static bool facts_of(const Module *module, uint32_t full, TimeFacts *facts, Arena *arena) {
    *facts = (TimeFacts){.func = module->funcs, .target = &module->target};
    assert_true(lay_out(facts->func, full, AMPLE, arena, &facts->timeline));
    assert_true(find_cells(facts, AMPLE, arena));
    return find_gaps(facts, true, arena);
}

static RunContents contents_of(const TimeFacts *facts, Arena *arena) {
    const Func *func = facts->func;
    RunContents contents = {.facts = facts};
    contents.first = RAW_ARRAY(arena, uint32_t, (size_t)func->ntensors + 1);
    uint32_t rows = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        contents.first[t] = rows;
        rows += (uint32_t)func->tensors[t].blocks;
    }
    contents.first[func->ntensors] = rows;
    contents.content = RAW_ARRAY(arena, uint64_t, rows);
    for (uint32_t r = 0; r < rows; r++)
        contents.content[r] = contents.next++;
    return contents;
}

/* A DMA of whole blocks hands contents on, one by one; any other write makes new ones. */
static void write_step(RunContents *contents, const Stepper *run) {
    const Func *func = run->func;
    const Inst *inst = &func->insts[run->point];
    int64_t first, last, from, from_last;
    bool moves = (inst->kind == OP_LOAD || inst->kind == OP_SAVE) && !inst->accumulate;
    for (uint32_t o = 0; o < inst->ndst; o++) {
        const Operand *to = &inst->operands[o], *source = &inst->operands[inst->ndst];
        run_blocks(run, to, &first, &last);
        if (moves) run_blocks(run, source, &from, &from_last);
        bool whole = moves && operand_is_whole(func, to) && operand_is_whole(func, source) &&
                     last - first == from_last - from &&
                     func->tensors[to->tensor].bytes == func->tensors[source->tensor].bytes;
        for (int64_t b = first; b <= last; b++)
            contents->content[contents->first[to->tensor] + b] =
                whole ? contents->content[contents->first[source->tensor] + from + (b - first)]
                      : contents->next++;
    }
}

/* The point that stands for this step, and whether it is the first that it stands for. */
static uint32_t point_of(const Timeline *timeline, const Stepper *run, bool *is_first) {
    for (uint32_t p = 0; p < timeline->npoints; p++) {
        bool same = timeline->points[p].inst == run->point;
        *is_first = true;
        for (uint32_t f = timeline->points[p].frame; same && f != NO_FRAME;
             f = timeline->frames[f].parent) {
            int64_t index = run->indices[timeline->frames[f].loop];
            same = timeline->frames[f].low <= index && index <= timeline->frames[f].high;
            *is_first &= index == timeline->frames[f].low;
        }
        if (same) return p;
    }
    return UINT32_MAX;
}

/* The access of a cell at a point, UINT32_MAX if there is none. */
static uint32_t access_at(const Cells *cells, uint32_t cell, uint32_t point) {
    for (uint32_t a = cells->first[cell]; a < cells->first[cell + 1]; a++)
        if (cells->accesses[a].point == point) return a;
    return UINT32_MAX;
}

/* What a gap says of its source is so before each step that its access stands for. */
static void check_sources(const RunContents *contents, uint32_t point, bool is_first,
                          uint32_t *sources) {
    const Cells *cells = &contents->facts->cells;
    const TimeGaps *gaps = &contents->facts->gaps;
    for (uint32_t c = 0; c < cells->ncells; c++) {
        uint32_t access = access_at(cells, c, point);
        if (access == UINT32_MAX || gaps->of[access] == UINT32_MAX) continue;
        const TimeGap *gap = &gaps->gaps[gaps->of[access]];
        if (gap->source == NO_SOURCE || (gap->varies && !is_first)) continue;
        uint64_t there = contents->content[contents->first[gap->source] + gap->block];
        uint64_t here = contents->content[contents->first[cells->tensor[c]] + cell_block(cells, c)];
        assert_int_equal(here, there);
        ++*sources;
    }
}

static void run_with_contents(const Module *module, uint32_t full, uint32_t *sources,
                              Arena *arena) {
    TimeFacts facts;
    if (!facts_of(module, full, &facts, arena)) return;
    RunContents contents = contents_of(&facts, arena);
    Stepper run = run_begin(facts.func, arena);
    while (run_next(&run)) {
        bool is_first = true;
        if (!run_happens(&run)) continue;
        uint32_t point = point_of(&facts.timeline, &run, &is_first);
        assert_int_not_equal(point, UINT32_MAX);
        check_sources(&contents, point, is_first, sources);
        write_step(&contents, &run);
    }
}

static void sources_hold_the_value(void **unused) {
    (void)unused;
    uint32_t sources = 0;
    for (uint64_t seed = 1; seed <= 3 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        RandomShape shape = {.size = SIZE_SMALL, .code = seed % 3 ? CODE_ANY : CODE_BLOCK_LOOPS};
        const Module *module = random_module(&arena, seed, shape);
        run_with_contents(module, 0, &sources, &arena);
        run_with_contents(module, AMPLE, &sources, &arena);
        arena_free(&arena);
    }
    print_message("%u sources\n", sources);
    assert_in_range(sources, 10, UINT32_MAX);
}

/* Laid out in full, a gap lies before each access that reads, between it and the one before; the
 * gaps of one write have one value, those of two have two. */
static void check_straight_gaps(const TimeFacts *facts) {
    const Cells *cells = &facts->cells;
    for (uint32_t c = 0; c < cells->ncells; c++) {
        uint32_t value = UINT32_MAX;
        for (uint32_t a = cells->first[c]; a < cells->first[c + 1]; a++) {
            const CellAccess *access = &cells->accesses[a];
            uint32_t g = facts->gaps.of[a];
            assert_int_equal(g != UINT32_MAX, access->reads);
            if (access->reads) {
                const TimeGap *gap = &facts->gaps.gaps[g];
                uint32_t begin = a > cells->first[c] ? cells->accesses[a - 1].point + 1 : 0;
                assert_int_equal(gap->access, a);
                assert_int_equal(gap->value, value);
                assert_int_equal(gap->tail.count, 0);
                assert_int_equal(gap->points.count, begin < access->point);
                if (gap->points.count) {
                    assert_int_equal(gap->points.items[0].first, begin);
                    assert_int_equal(gap->points.items[0].last, access->point - 1);
                }
            }
            if (access->writes) {
                assert_int_not_equal(facts->gaps.value_of[a], value);
                value = facts->gaps.value_of[a];
            }
        }
    }
}

static void gaps_of_straight_points(void **unused) {
    (void)unused;
    for (uint64_t seed = 1; seed <= 2 * test_count(); seed++) {
        Arena arena;
        arena_init(&arena);
        TimeFacts facts;
        RandomShape shape = {.size = SIZE_SMALL};
        if (facts_of(random_module(&arena, seed, shape), AMPLE, &facts, &arena))
            check_straight_gaps(&facts);
        arena_free(&arena);
    }
}

/* ---- one by one ---- */

/* The last gap of tensor %a. */
static TimeGap last_gap(const char *body, Arena *arena) {
    TimeFacts facts;
    assert_true(facts_of(make_body(arena, 1024, body), 0, &facts, arena));
    const TimeGap *gap = NULL;
    for (uint32_t g = 0; g < facts.gaps.count; g++) {
        const Tensor *tensor = &facts.func->tensors[facts.cells.tensor[facts.gaps.gaps[g].cell]];
        if (str_equal(tensor->name, STR("a"))) gap = &facts.gaps.gaps[g];
    }
    assert_non_null(gap);
    return *gap;
}

#define A "tensor %a : sb<128x8xu8>\n"
#define X "tensor %x : dram<4*128x8xu8> input\n"
#define Y "tensor %y : dram<4*128x8xu8> output\n"

static void sources_of_loads_and_saves(void **unused) {
    (void)unused;
    static const struct {
        const char *body;
        int64_t block; /* -1: no source */
        bool repeats;
    } cases[] = {
        {A X "%a = load %x[2]\ng %a", 2, true},
        {A X "%a = load %x[2]\ng %a\nh %a", 2, false},
        {A Y "%a = f\n%y[3] = save %a\ng %a", 3, false},
        {A Y "%a = f\n%y[3] = save %a\n%y[2] = save %a\n%y[1] = save %a\ng %a", 1, false},
        /* written between */
        {A Y "%a = f\n%y[3] = save %a\n%y[3] = h\ng %a", -1, false},
        {A Y "%a = f\n%y[3] = save %a\n%y[2] = h\ng %a", 3, false},
        {A Y "%a = f\n%y[3] += save %a\ng %a", -1, false},
        {A Y "%a = f\n%y[3] = save %a\n%a += h\ng %a", -1, false},
        {A Y "%a = f\n%y[3](0..64, 0..8) = save %a(0..64, 0..8)\ng %a", -1, false},
        /* round a back edge: the write comes after, and before the next read */
        {A Y "%a = f\n%y[3] = save %a\nloop i = 0..9 { g %a\n%y[3] = h }", -1, false},
        {A Y "%a = f\n%y[3] = save %a\nloop i = 0..9 { g %a\n%y[2] = h }", 3, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena;
        arena_init(&arena);
        TimeGap gap = last_gap(cases[i].body, &arena);
        if ((gap.source == NO_SOURCE) != (cases[i].block < 0) ||
            (cases[i].block >= 0 && gap.block != cases[i].block) || gap.repeats != cases[i].repeats)
            fail_msg("case %zu: %s", i, cases[i].body);
        arena_free(&arena);
    }
}

/* %z lies over blocks of %y: a write of one is a write of the other. */
static void aliases_by_place(void **unused) {
    (void)unused;
    static const char *const over =
        A "tensor %y : dram<4*128x8xu8> at 0\ntensor %z : dram<128x8xu8> at 2048\n"
          "%a = f\n%y[3] = save %a\n%z = h\ng %a";
    static const char *const beside =
        A "tensor %y : dram<4*128x8xu8> at 0\ntensor %z : dram<128x8xu8> at 4096\n"
          "%a = f\n%y[3] = save %a\n%z = h\ng %a";
    Arena arena;
    arena_init(&arena);
    assert_int_equal(last_gap(over, &arena).source, NO_SOURCE);
    assert_int_not_equal(last_gap(beside, &arena).source, NO_SOURCE);
    arena_free(&arena);
}

/* A gap round a back edge takes the whole run but the access; what is read that nobody has written
 * is refused. Points: 0 is f, 1 to 3 the first iteration, 4 to 6 all others, 7 and 8 behind. */
static void back_edges(void **unused) {
    (void)unused;
    Arena arena;
    arena_init(&arena);
    TimeGap gap = last_gap(A "tensor %b : sb<128x8xu8>\n"
                             "%a = f\nloop i = 0..9 { %b = f\ng %a\nh %b }",
                           &arena);
    assert_int_equal(gap.points.count, 2);
    assert_int_equal(gap.points.items[0].first, 3);
    assert_int_equal(gap.points.items[0].last, 4);
    assert_int_equal(gap.points.items[1].first, 6);
    assert_int_equal(gap.points.items[1].last, 6);
    assert_int_equal(gap.tail.count, 0);
    /* Behind the loop: what is left of the run is the tail. */
    gap = last_gap(A "tensor %b : sb<128x8xu8>\n"
                     "%a = f\nloop i = 0..9 { %b = f\ng %a\nh %b }\nf\nk %a",
                   &arena);
    assert_int_equal(gap.points.count, 1);
    assert_int_equal(gap.points.items[0].first, 7);
    assert_int_equal(gap.points.items[0].last, 7);
    assert_int_equal(gap.tail.count, 1);
    assert_int_equal(gap.tail.items[0].first, 6);
    assert_int_equal(gap.tail.items[0].last, 6);
    TimeFacts facts;
    assert_false(facts_of(make_body(&arena, 1024, A "%a = f if 1 > 2\ng %a"), 0, &facts, &arena));
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_hold_the_value), cmocka_unit_test(gaps_of_straight_points),
        cmocka_unit_test(sources_of_loads_and_saves), cmocka_unit_test(aliases_by_place),
        cmocka_unit_test(back_edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
