#include "analysis/timeline.h"

#include <assert.h>

#include "ir/dma.h"
#include "support/checked.h"
#include "support/sort.h"

/* Iterations low to high - 1 of a loop, laid out once. */
typedef struct {
    int64_t low, high;
} Lap;

typedef enum { LAY_ROLLED, LAY_LIKE, LAY_FULL } LayKind;

typedef struct {
    LayKind kind;
    Lap *laps; /* [nlaps] in order; NULL while kind is LAY_FULL: one for each iteration */
    uint64_t nlaps;
    int64_t *breaks; /* [nbreaks] of LAY_LIKE: iterations at which some condition may change */
    size_t nbreaks, break_capacity;
    uint32_t after; /* the first loop that is not inside it */
} LoopLayout;

/* One open loop. */
typedef struct {
    uint32_t loop;
    uint64_t lap;   /* the one being laid out */
    uint32_t frame; /* of it */
    uint32_t first; /* its first point */
    uint32_t run;   /* of it, or the one around it */
} Level;

typedef struct {
    const Func *func;
    Arena *arena; /* of the result */
    Arena scratch;
    LoopLayout *loops; /* [nloops] */
    int64_t *indices;  /* [nloops] of the iteration being laid out */
    Timeline out;
    size_t point_capacity, frame_capacity, run_capacity;
} Layouter;

/* ---- how each loop is laid out ---- */

static void lay_full(Layouter *layouter, Affine affine) {
    for (uint32_t i = 0; i < affine.count; i++)
        if (affine.terms[i].loop != NO_LOOP && affine.terms[i].coefficient != 0)
            layouter->loops[affine.terms[i].loop].kind = LAY_FULL;
}

/* The one loop that a comparison without remainders names; NO_LOOP where there are none or more. */
static uint32_t only_loop(const Compare *compare) {
    uint32_t only = NO_LOOP;
    const Affine *sides[] = {&compare->left, &compare->right};
    for (int s = 0; s < 2; s++) {
        if (sides[s]->modulus) return NO_LOOP;
        for (uint32_t i = 0; i < sides[s]->count; i++) {
            uint32_t loop = sides[s]->terms[i].loop;
            if (loop == NO_LOOP) continue;
            if (only != NO_LOOP && only != loop) return NO_LOOP;
            only = loop;
        }
    }
    return only;
}

static void add_break(Layouter *layouter, uint32_t loop, int64_t at) {
    LoopLayout *layout = &layouter->loops[loop];
    const Loop *info = &layouter->func->loops[loop];
    if (at > info->low && at < info->high)
        PUSH(&layouter->scratch, layout->breaks, layout->nbreaks, layout->break_capacity, at);
}

/* A comparison of one index changes where its two sides meet: near the quotient. */
static void break_at(Layouter *layouter, const Compare *compare, uint32_t loop) {
    int64_t step, offset;
    bool wraps = __builtin_sub_overflow(affine_coefficient(compare->left, loop),
                                        affine_coefficient(compare->right, loop), &step);
    wraps |= __builtin_sub_overflow(affine_offset(compare->right), affine_offset(compare->left),
                                    &offset);
    if (wraps || offset == INT64_MIN) {
        layouter->loops[loop].kind = LAY_FULL;
        return;
    }
    if (step == 0) return;
    int64_t meet = offset / step;
    for (int64_t at = -1; at <= 2; at++)
        add_break(layouter, loop, saturating_add(meet, at));
    if (layouter->loops[loop].kind == LAY_ROLLED) layouter->loops[loop].kind = LAY_LIKE;
}

static void judge_condition(Layouter *layouter, const Condition *condition) {
    for (uint32_t c = 0; condition && c < condition->count; c++) {
        const Compare *compare = &condition->compares[c];
        uint32_t only = only_loop(compare);
        if (only == NO_LOOP) {
            lay_full(layouter, compare->left);
            lay_full(layouter, compare->right);
        } else {
            break_at(layouter, compare, only);
        }
    }
}

static void judge_loops(Layouter *layouter) {
    const Func *func = layouter->func;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        judge_condition(layouter, inst->condition);
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            const Operand *operand = &inst->operands[o];
            if (!operand->blocks || func->tensors[operand->tensor].space != SPACE_SB) continue;
            if (operand->blocks->kind != BLOCKS_ALL) lay_full(layouter, operand->blocks->low);
            if (operand->blocks->kind == BLOCKS_RANGE) lay_full(layouter, operand->blocks->high);
        }
    }
}

static void push_laps(LoopLayout *layout, int64_t low, int64_t high) {
    layout->laps[layout->nlaps++] = (Lap){low, low + 1};
    if (high > low + 1) layout->laps[layout->nlaps++] = (Lap){low + 1, high};
}

/* Like iterations are laid out as the first of them and all others. */
static void find_laps(Layouter *layouter, uint32_t loop) {
    LoopLayout *layout = &layouter->loops[loop];
    const Loop *info = &layouter->func->loops[loop];
    if (layout->kind == LAY_FULL) {
        layout->nlaps = (uint64_t)info->high - (uint64_t)info->low;
        return;
    }
    SortKey *keys = RAW_ARRAY(&layouter->scratch, SortKey, layout->nbreaks);
    for (size_t i = 0; i < layout->nbreaks; i++)
        keys[i] = (SortKey){(uint64_t)layout->breaks[i] - (uint64_t)info->low, (uint32_t)i};
    sort_keys(keys, layout->nbreaks, &layouter->scratch);
    layout->laps = RAW_ARRAY(&layouter->scratch, Lap, 2 * (layout->nbreaks + 1));
    int64_t low = info->low;
    for (size_t i = 0; i < layout->nbreaks; i++) {
        int64_t at = layout->breaks[keys[i].id];
        if (at > low) push_laps(layout, low, at);
        low = at;
    }
    push_laps(layout, low, info->high);
}

/* Points of the whole layout, saturated: instructions and loops are added to what lies around. Laid
 * out in full spill code does not count: with it a function is laid out as without. */
static int64_t count_points(const Layouter *layouter, bool full) {
    const Func *func = layouter->func;
    Arena *scratch = (Arena *)(uintptr_t)&layouter->scratch;
    int64_t *body = NEW_ARRAY(scratch, int64_t, (size_t)func->nloops + 1);
    for (uint32_t p = 0; p < func->ninsts; p++)
        body[func->insts[p].loop == NO_LOOP ? func->nloops : func->insts[p].loop] +=
            !full || !dma_is_inserted(&func->insts[p]);
    for (uint32_t l = func->nloops; l-- > 0;) {
        const Loop *loop = &func->loops[l];
        int64_t laps = full ? loop->high - loop->low : (int64_t)layouter->loops[l].nlaps;
        if (laps < 0) laps = INT64_MAX;
        uint32_t parent = loop->parent == NO_LOOP ? func->nloops : loop->parent;
        body[parent] = saturating_add(body[parent], saturating_mul(body[l], laps));
    }
    return body[func->nloops];
}

static void find_after(Layouter *layouter) {
    const Func *func = layouter->func;
    for (uint32_t l = func->nloops; l-- > 0;) {
        LoopLayout *layout = &layouter->loops[l];
        layout->after = l + 1;
        while (layout->after < func->nloops && func->loops[layout->after].parent == l)
            layout->after = layouter->loops[layout->after].after;
    }
}

/* False where there are more than `most` points. */
static bool plan_layout(Layouter *layouter, uint32_t full, uint32_t most) {
    const Func *func = layouter->func;
    layouter->loops = NEW_ARRAY(&layouter->scratch, LoopLayout, func->nloops);
    layouter->indices = NEW_ARRAY(&layouter->scratch, int64_t, func->nloops);
    judge_loops(layouter);
    bool all = count_points(layouter, true) <= full;
    for (uint32_t l = 0; l < func->nloops; l++) {
        if (all) layouter->loops[l].kind = LAY_FULL;
        find_laps(layouter, l);
    }
    find_after(layouter);
    return count_points(layouter, false) <= most;
}

/* ---- laying out ---- */

static Lap lap_of(const Layouter *layouter, const Level *level) {
    const LoopLayout *layout = &layouter->loops[level->loop];
    if (layout->laps) return layout->laps[level->lap];
    int64_t low = layouter->func->loops[level->loop].low + (int64_t)level->lap;
    return (Lap){low, low + 1};
}

static uint32_t frame_around(const Level *levels, uint32_t depth) {
    return depth ? levels[depth - 1].frame : NO_FRAME;
}

static uint32_t run_around(const Level *levels, uint32_t depth) {
    return depth ? levels[depth - 1].run : NO_RUN;
}

static void begin_lap(Layouter *layouter, Level *levels, uint32_t depth) {
    Level *level = &levels[depth - 1];
    Timeline *out = &layouter->out;
    Lap lap = lap_of(layouter, level);
    Frame frame = {frame_around(levels, depth - 1), level->loop, lap.low, lap.high - 1};
    size_t nframes = out->nframes, nruns = out->nruns;
    PUSH(layouter->arena, out->frames, nframes, layouter->frame_capacity, frame);
    layouter->indices[level->loop] = lap.low;
    level->frame = out->nframes++;
    level->first = out->npoints;
    level->run = run_around(levels, depth - 1);
    if (lap.high - lap.low < 2) return;
    Run run = {out->npoints, out->npoints, level->run, lap.high - lap.low};
    PUSH(layouter->arena, out->runs, nruns, layouter->run_capacity, run);
    level->run = out->nruns++;
}

static void end_lap(Layouter *layouter, const Level *level) {
    Lap lap = lap_of(layouter, level);
    if (lap.high - lap.low >= 2) layouter->out.runs[level->run].end = layouter->out.npoints;
}

static void add_point(Layouter *layouter, uint32_t inst, const Level *levels, uint32_t depth) {
    Timeline *out = &layouter->out;
    const Condition *condition = layouter->func->insts[inst].condition;
    if (condition && !condition_holds(condition, layouter->indices)) return;
    TimePoint point = {inst, frame_around(levels, depth), run_around(levels, depth)};
    size_t count = out->npoints;
    PUSH(layouter->arena, out->points, count, layouter->point_capacity, point);
    out->npoints++;
}

/* Walks the statements of open loops again and again, without recursion. */
static void lay_points(Layouter *layouter) {
    const Func *func = layouter->func;
    Level *levels = RAW_ARRAY(&layouter->scratch, Level, (size_t)func->nloops + 1);
    uint32_t depth = 0, inst = 0, loop = 0; /* the next of each */
    for (;;) {
        uint32_t around = depth ? levels[depth - 1].loop : NO_LOOP;
        uint32_t end = depth ? func->loops[around].end : func->ninsts;
        bool opens = loop < func->nloops && func->loops[loop].parent == around &&
                     func->loops[loop].first == inst;
        if (opens && func->loops[loop].first == func->loops[loop].end) {
            loop = layouter->loops[loop].after;
        } else if (opens) {
            levels[depth++] = (Level){.loop = loop};
            begin_lap(layouter, levels, depth);
            loop++;
        } else if (inst < end) {
            add_point(layouter, inst++, levels, depth);
        } else if (depth == 0) {
            return;
        } else {
            Level *level = &levels[depth - 1];
            end_lap(layouter, level);
            if (++level->lap < layouter->loops[around].nlaps) {
                begin_lap(layouter, levels, depth);
                inst = func->loops[around].first;
                loop = around + 1;
            } else {
                loop = layouter->loops[around].after;
                depth--;
            }
        }
    }
}

bool lay_out(const Func *func, uint32_t full, uint32_t most, Arena *arena, Timeline *timeline) {
    Layouter layouter = {.func = func, .arena = arena, .out.func = func};
    arena_init(&layouter.scratch);
    bool fits = plan_layout(&layouter, full, most);
    if (fits) lay_points(&layouter);
    *timeline = layouter.out;
    arena_free(&layouter.scratch);
    return fits;
}

void frame_first(const Timeline *timeline, uint32_t frame, int64_t *indices) {
    for (; frame != NO_FRAME; frame = timeline->frames[frame].parent)
        indices[timeline->frames[frame].loop] = timeline->frames[frame].low;
}

void frame_last(const Timeline *timeline, uint32_t frame, int64_t *indices) {
    for (; frame != NO_FRAME; frame = timeline->frames[frame].parent)
        indices[timeline->frames[frame].loop] = timeline->frames[frame].high;
}

int64_t point_trips(const Timeline *timeline, uint32_t point) {
    int64_t trips = 1;
    for (uint32_t r = timeline->points[point].run; r != NO_RUN; r = timeline->runs[r].parent)
        trips = saturating_mul(trips, timeline->runs[r].trips);
    return trips;
}
