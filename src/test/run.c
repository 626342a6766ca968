#include "test/run.h"

#include <assert.h>

#include "support/checked.h"

Stepper run_begin(const Func *func, Arena *arena) {
    Stepper run = {.func = func};
    run.indices = NEW_ARRAY(arena, int64_t, func->nloops);
    run.body = NEW_ARRAY(arena, uint32_t, func->nloops);
    run.program = NEW_ARRAY(arena, RunPlace, (size_t)func->ninsts + 2 * (size_t)func->nloops);
    for (Walk walk = walk_begin(func); walk_next(&walk);) {
        bool is_inst = walk.event == WALK_INST;
        run.program[run.length++] = (RunPlace){walk.event, is_inst ? walk.inst : walk.loop};
        if (walk.event == WALK_OPEN) run.body[walk.loop] = run.length;
    }
    return run;
}

bool run_next(Stepper *run) {
    while (run->next < run->length) {
        RunPlace place = run->program[run->next++];
        if (place.event == WALK_INST) {
            run->point = place.id;
            return true;
        }
        const Loop *loop = &run->func->loops[place.id];
        if (place.event == WALK_OPEN)
            run->indices[place.id] = loop->low;
        else if (++run->indices[place.id] < loop->high)
            run->next = run->body[place.id];
    }
    return false;
}

bool run_happens(const Stepper *run) {
    return condition_holds(run->func->insts[run->point].condition, run->indices);
}

void run_blocks(const Stepper *run, const Operand *operand, int64_t *first, int64_t *last) {
    int64_t end = run->func->tensors[operand->tensor].blocks - 1;
    const Blocks *blocks = operand->blocks;
    *first = 0;
    *last = end;
    if (!blocks || blocks->kind == BLOCKS_ALL) return;
    *first = *last = affine_value(blocks->low, run->indices);
    if (blocks->kind == BLOCKS_RANGE) *last = affine_value(blocks->high, run->indices) - 1;
    assert(*first > *last || (*first >= 0 && *last <= end));
}

int64_t run_steps(const Func *func) {
    int64_t steps = 0;
    for (uint32_t point = 0; point < func->ninsts; point++)
        steps = saturating_add(steps, loop_trips(func, func->insts[point].loop));
    return steps;
}
