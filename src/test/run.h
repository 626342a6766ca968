/* Runs a function step by step, all loops in full: what tests compare static facts with. */
#ifndef TEST_RUN_H
#define TEST_RUN_H

#include "ir/ir.h"
#include "support/arena.h"

/* A place of the program: an instruction, or the opening or closing of a loop. */
typedef struct {
    WalkEvent event;
    uint32_t id; /* point, or loop */
} RunPlace;

typedef struct {
    const Func *func;
    int64_t *indices;  /* [nloops] where each open loop stands */
    uint32_t point;    /* the instruction of this step */
    RunPlace *program; /* [length] in program order */
    uint32_t *body;    /* [nloops] place behind the opening of each loop */
    uint32_t length, next;
} Stepper;

/* Requires that all loops together run few enough steps for a test. Lives in `arena`. */
Stepper run_begin(const Func *func, Arena *arena);

/* Moves to the next step; false at the end. Conditions are not looked at: see run_happens(). */
bool run_next(Stepper *run);

/* True if the condition of this step's instruction holds. */
bool run_happens(const Stepper *run);

/* The blocks [*first, *last] that an operand touches now; *first > *last where none. */
void run_blocks(const Stepper *run, const Operand *operand, int64_t *first, int64_t *last);

/* Steps of the whole run, saturated. */
int64_t run_steps(const Func *func);

#endif
