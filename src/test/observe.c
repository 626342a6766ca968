#include "test/observe.h"

#include "ir/geometry.h"
#include "support/checked.h"
#include "test/run.h"

/* The run so far. */
typedef struct {
    Observed *observed;
    Stepper run;
    uint32_t *trace; /* [steps] the point of each step */
    uint32_t step;   /* now */
    int64_t *since;  /* [rows] step of the last access that this value has had, -1 if no value */
} Watch;

static uint64_t *row_bits(const Observed *observed, uint32_t row) {
    return observed->bits + row * observed->words;
}

static void mark(const Watch *watch, uint32_t row, int64_t from) {
    uint64_t *bits = row_bits(watch->observed, row);
    for (int64_t step = from; step <= watch->step; step++) {
        uint32_t point = watch->trace[step];
        bits[point / 64] |= UINT64_C(1) << point % 64;
    }
}

static void read_block(Watch *watch, uint32_t row) {
    if (watch->since[row] < 0) return;
    mark(watch, row, watch->since[row]);
    watch->since[row] = watch->step;
}

static void write_block(Watch *watch, uint32_t row, bool keeps) {
    mark(watch, row, watch->step);
    if (!keeps || watch->since[row] < 0) watch->since[row] = watch->step;
}

typedef enum { ACCESS_READ, ACCESS_WRITE, ACCESS_UPDATE } AccessKind;

static void access_blocks(Watch *watch, const Operand *operand, AccessKind access) {
    const uint32_t *rows = watch->observed->rows;
    if (rows[operand->tensor] == rows[operand->tensor + 1]) return;
    int64_t first, last;
    run_blocks(&watch->run, operand, &first, &last);
    for (int64_t block = first; block <= last; block++) {
        uint32_t row = rows[operand->tensor] + (uint32_t)block;
        if (access == ACCESS_READ)
            read_block(watch, row);
        else
            write_block(watch, row, access == ACCESS_UPDATE);
    }
}

static void watch_step(Watch *watch) {
    const Func *func = watch->run.func;
    const Inst *inst = &func->insts[watch->run.point];
    if (!run_happens(&watch->run)) return;
    for (uint32_t i = 0; i < inst->nsrc; i++)
        access_blocks(watch, &inst_src(inst)[i], ACCESS_READ);
    if (inst->accumulate) access_blocks(watch, inst_dst(inst), ACCESS_READ);
    for (uint32_t i = 0; i < inst->ndst; i++) {
        const Operand *operand = &inst_dst(inst)[i];
        bool keeps = !operand_is_whole(func, operand);
        access_blocks(watch, operand, keeps ? ACCESS_UPDATE : ACCESS_WRITE);
    }
}

static Observed make_rows(const Func *func, Arena *arena) {
    Observed observed = {.func = func, .words = ceil_div(func->ninsts, 64)};
    observed.rows = NEW_ARRAY(arena, uint32_t, (size_t)func->ntensors + 1);
    uint32_t rows = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        observed.rows[t] = rows;
        if (func->tensors[t].space == SPACE_SB) rows += (uint32_t)func->tensors[t].blocks;
    }
    observed.rows[func->ntensors] = rows;
    observed.bits = NEW_ARRAY(arena, uint64_t, rows * observed.words);
    return observed;
}

/* Entry writes the inputs: a value at the first point even where nobody reads it. */
static void enter(Watch *watch, const Func *func, uint32_t tensor) {
    for (uint32_t r = watch->observed->rows[tensor]; r < watch->observed->rows[tensor + 1]; r++) {
        watch->since[r] = func->tensors[tensor].input ? 0 : -1;
        if (func->tensors[tensor].input && func->ninsts > 0) row_bits(watch->observed, r)[0] |= 1;
    }
}

Observed observe(const Func *func, Arena *arena) {
    Observed observed = make_rows(func, arena);
    Watch watch = {.observed = &observed, .run = run_begin(func, arena)};
    watch.trace = NEW_ARRAY(arena, uint32_t, (size_t)run_steps(func));
    watch.since = NEW_ARRAY(arena, int64_t, observed.rows[func->ntensors]);
    for (uint32_t t = 0; t < func->ntensors; t++)
        enter(&watch, func, t);
    uint32_t steps = 0;
    for (; run_next(&watch.run); steps++) {
        watch.step = steps;
        watch.trace[steps] = watch.run.point;
        watch_step(&watch);
    }
    for (uint32_t t = 0; steps > 0 && t < func->ntensors; t++)
        for (uint32_t r = observed.rows[t]; func->tensors[t].output && r < observed.rows[t + 1];
             r++)
            read_block(&watch, r);
    return observed;
}

bool observed_live(const Observed *observed, uint32_t tensor, int64_t block, uint32_t point) {
    const uint64_t *bits = row_bits(observed, observed->rows[tensor] + (uint32_t)block);
    return bits[point / 64] >> point % 64 & 1;
}

static int64_t block_area(const Tensor *tensor) {
    int64_t quadrants = tensor->partitions <= 32 ? 1 : tensor->partitions <= 64 ? 2 : QUADRANTS;
    return ceil_div(tensor->bytes, GRANULE) * quadrants;
}

int64_t observed_peak(const Observed *observed) {
    const Func *func = observed->func;
    int64_t peak = 0;
    for (uint32_t point = 0; point < func->ninsts; point++) {
        int64_t sum = 0;
        for (uint32_t t = 0; t < func->ntensors; t++)
            for (uint32_t r = observed->rows[t]; r < observed->rows[t + 1]; r++)
                if (row_bits(observed, r)[point / 64] >> point % 64 & 1)
                    sum += block_area(&func->tensors[t]);
        if (sum > peak) peak = sum;
    }
    return peak;
}
