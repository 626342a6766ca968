/* Plan: the split points of each tensor.
 *
 * Accesses of a tensor are in program order; between neighbours lies a gap. Where a gap is kept,
 * one working copy serves both accesses; where it is cut (a split point), the value crosses it in
 * DRAM. A loop is cut where the value does not stay on chip round its back edge: then each
 * iteration loads for itself. A cut is for one round or permanent; permanent cuts are only ever
 * added while a strategy looks for places, which bounds its rounds. */
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
    bool cut;       /* the gap before it is cut; false for the first */
    bool permanent; /* and stays so in later rounds */
} PlanAccess;

typedef struct {
    uint32_t loop;
    bool cut;
    bool permanent; /* and stays so in later rounds */
} PlanLoop;

typedef struct {
    const Func *func; /* never changes: every round rewrites the same function */
    uint32_t *first;  /* [ntensors + 1] accesses of sb tensor t: [first[t], first[t + 1]) */
    PlanAccess *accesses;
    uint32_t *first_loop; /* [ntensors + 1] */
    PlanLoop *loops;      /* loops around accesses of a tensor, outer before inner */
    bool *spillable;      /* [ntensors] sb, and not fixed, pinned or output */
    bool *spilled;        /* [ntensors] some gap or loop is cut, or all of a tensor that has none */
} Plan;

/* A plan without cuts. O(operands times loops around them). */
Plan plan_make(const Func *func, Arena *arena);

/* The entry of `loop` among the tensor's, or NULL where no access lies in it. O(log loops). */
PlanLoop *plan_loop(const Plan *plan, uint32_t tensor, uint32_t loop);

/* Cuts the gap before an access of the tensor, or its residency in a loop: for this round, or
 * permanently. Requires a spillable tensor. Invalidates what plan_close() has made of it. */
void plan_cut_gap(Plan *plan, uint32_t tensor, uint32_t access, bool permanent);
void plan_cut_loop(Plan *plan, uint32_t tensor, PlanLoop *loop, bool permanent);

/* Notes whether the tensor is spilled: that it is, where any gap or loop of it is cut. */
void plan_note_spilled(Plan *plan, uint32_t tensor);

/* Takes back every cut that is not permanent. O(accesses + loops). */
void plan_reset(Plan *plan);

/* Makes no cut permanent: later rounds may take back any. O(accesses + loops). */
void plan_relax(Plan *plan);

/* Cuts all gaps and loops permanently: each access has a copy of its own. */
void plan_cut_all(Plan *plan, uint32_t tensor);

/* Takes back every cut of the tensor, permanent ones too. */
void plan_uncut_all(Plan *plan, uint32_t tensor);

/* True if any tensor is spilled. */
bool plan_spills(const Plan *plan);

/* The cuts of a plan, saved. */
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

/* Closes a tensor's cuts: cuts each loop with a cut in it, and each gap across the bounds of a cut
 * loop. O(accesses times loops around them). */
void plan_close(Plan *plan, uint32_t tensor);

/* plan_close() of each spilled tensor. */
void plan_close_all(Plan *plan);

/* True if the plan is closed, `spilled` says of each tensor whether it is cut, only spillable
 * tensors are, and what is permanent is cut: for asserts. O(accesses times loops around them). */
bool plan_is_closed(const Plan *plan);

#endif
