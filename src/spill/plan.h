/* What is spilled, and where: the state that grows from round to round.
 *
 * A spilled tensor's accesses stand in program order; between neighbours lies a gap. Where a gap is
 * kept, one working copy serves both accesses; where it is cut, the value crosses it in DRAM. A
 * loop around accesses is cut where the value does not stay on chip round its back edge: then each
 * iteration fetches for itself. Cuts are only ever added, which bounds the rounds. */
#ifndef SPILL_PLAN_H
#define SPILL_PLAN_H

#include "analysis/access.h"
#include "ir/ir.h"

/* The instruction of an `input`'s first access: its value is there on entry. */
#define ENTRY UINT32_MAX

/* All operands of one tensor in one instruction. */
typedef struct {
    uint32_t inst; /* or ENTRY */
    uint32_t loop; /* around it */
    bool reads, writes;
    bool cut;     /* the gap before it is cut; false for the first */
    bool lasting; /* and stays so in later rounds */
} PlanAccess;

typedef struct {
    uint32_t loop;
    bool cut;
    bool lasting; /* and stays so in later rounds */
} PlanLoop;

typedef struct {
    const Func *func; /* never changes: every round rewrites the same function */
    uint32_t *first;  /* [ntensors + 1] accesses of sb tensor t: [first[t], first[t + 1]) */
    PlanAccess *accesses;
    uint32_t *first_loop; /* [ntensors + 1] */
    PlanLoop *loops;      /* loops around accesses of a tensor, outer before inner */
    bool *spillable;      /* [ntensors] sb, and not fixed, pinned or output */
    bool *spilled;        /* [ntensors] some gap or loop is cut */
} Plan;

/* A plan without cuts. O(operands times loops around them). */
Plan plan_make(const Func *func, Arena *arena);

/* The entry of `loop` among the tensor's, or NULL where no access lies in it. O(log loops). */
PlanLoop *plan_loop(const Plan *plan, uint32_t tensor, uint32_t loop);

/* Cuts the gap before an access of the tensor, or the residence in a loop; for this round, or for
 * good. */
void plan_cut_gap(Plan *plan, uint32_t tensor, uint32_t access, bool lasting);
void plan_cut_loop(Plan *plan, uint32_t tensor, PlanLoop *loop, bool lasting);

/* Notes whether the tensor is spilled: that it is, where any gap or loop of it is cut. */
void plan_note_spilled(Plan *plan, uint32_t tensor);

/* Takes back what was cut for one round only. O(accesses). */
void plan_reset(Plan *plan);

/* Cuts all gaps and loops for good: each access for itself. */
void plan_cut_all(Plan *plan, uint32_t tensor);

/* True if any tensor is spilled. */
bool plan_spills(const Plan *plan);

/* The cuts of a plan, to come back to. */
typedef struct {
    PlanAccess *accesses;
    PlanLoop *loops;
    bool *spilled;
} PlanCuts;

/* O(accesses + loops around them), each. */
PlanCuts plan_save(const Plan *plan, Arena *arena);
void plan_restore(Plan *plan, const PlanCuts *saved);

/* True if the plan cuts what it cut when it was saved, permanently or not, and nothing else. */
bool plan_is_saved(const Plan *plan, const PlanCuts *saved);

/* The same plan with cuts of its own; what never changes is shared. */
Plan plan_copy(const Plan *plan, Arena *arena);

/* Makes the cuts of a tensor coherent: a loop with a cut in it is cut, and so are the gaps across
 * the bounds of a cut loop. O(accesses times loops around them). */
void plan_close(Plan *plan, uint32_t tensor);

#endif
