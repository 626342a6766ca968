/* Which instruction of a result is which of its original. */
#ifndef VERIFY_MATCH_H
#define VERIFY_MATCH_H

#include "ir/ir.h"
#include "support/diag.h"

typedef enum {
    ROLE_SAME, /* has the name of a tensor of the original */
    ROLE_COPY, /* sb, `!of`: holds blocks of it */
    ROLE_HOME  /* dram, `!of`: its home */
} RoleKind;

/* What a tensor of the result stands for. */
typedef struct {
    RoleKind kind;
    uint32_t original; /* the tensor of the original */
} MatchRole;

/* One event of both functions in step. `original` or `result` is NO_INST where only the other has
 * it: an inserted store or reload, a dropped load. A loop's brackets have STEP_OPEN or STEP_CLOSE
 * as `original` and the loop as `result`. */
typedef struct {
    uint32_t original, result;
} Step;

#define STEP_NONE UINT32_MAX
#define STEP_OPEN (UINT32_MAX - 1)
#define STEP_CLOSE (UINT32_MAX - 2)

typedef struct {
    const Func *original, *result;
    MatchRole *roles; /* [result->ntensors] */
    uint32_t *twin; /* [original->ntensors] the tensor of that name in the result, or UINT32_MAX */
    Step *steps;
    size_t nsteps, capacity;
    Arena *arena;
} Match;

/* Fills `match` in the arena. Queues an error where the two differ in more than placement, inserted
 * stores and reloads, loads that are dropped or have comparisons appended, and tensors in place of
 * those that they stand for; then returns false. O(size of both). */
bool match_functions(Match *match, const Func *original, const Func *result, Arena *arena,
                     DiagQueue *diags);

/* A tensor's name as it is written, in the arena. */
const char *shown_name(Arena *arena, const Tensor *tensor);

/* The place to blame for an operand: its own span if it has one, else its instruction's. */
Span operand_span(const Inst *inst, const Operand *operand);

#endif
