#include "spill/plan.h"

#include <assert.h>
#include <string.h>

#include "support/search.h"
#include "support/sort.h"

static PlanAccess entry_access(void) {
    return (PlanAccess){.inst = ENTRY, .loop = NO_LOOP, .writes = true};
}

/* Joins the operands of one tensor in one instruction. */
static void fill_accesses(Plan *plan, Arena *arena, Accesses all) {
    const Func *func = plan->func;
    plan->first = NEW_ARRAY(arena, uint32_t, (size_t)func->ntensors + 1);
    plan->accesses =
        RAW_ARRAY(arena, PlanAccess, (size_t)all.first[func->ntensors] + func->ntensors);
    uint32_t count = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        plan->first[t] = count;
        if (func->tensors[t].space != SPACE_SB) continue;
        if (func->tensors[t].input) plan->accesses[count++] = entry_access();
        for (uint32_t a = all.first[t]; a < all.first[t + 1]; a++) {
            Access access = all.items[a];
            bool same = count > plan->first[t] && plan->accesses[count - 1].inst == access.inst;
            if (!same)
                plan->accesses[count++] =
                    (PlanAccess){.inst = access.inst, .loop = func->insts[access.inst].loop};
            plan->accesses[count - 1].reads |= access_reads(func, access);
            plan->accesses[count - 1].writes |= access_writes(func, access);
        }
    }
    plan->first[func->ntensors] = count;
}

/* The loops around each tensor's accesses, in ascending order: outer before inner. */
static void fill_loops(Plan *plan, Arena *arena) {
    const Func *func = plan->func;
    Arena scratch;
    arena_init(&scratch);
    uint32_t *seen = NEW_ARRAY(&scratch, uint32_t, func->nloops);
    SortKey *keys = NULL;
    size_t nkeys = 0, key_capacity = 0, nloops = 0, loop_capacity = 0;
    plan->first_loop = NEW_ARRAY(arena, uint32_t, (size_t)func->ntensors + 1);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        plan->first_loop[t] = (uint32_t)nloops;
        nkeys = 0;
        for (uint32_t a = plan->first[t]; a < plan->first[t + 1]; a++)
            for (uint32_t loop = plan->accesses[a].loop; loop != NO_LOOP && seen[loop] != t + 1;
                 loop = func->loops[loop].parent) {
                seen[loop] = t + 1;
                PUSH(&scratch, keys, nkeys, key_capacity, ((SortKey){loop, loop}));
            }
        sort_keys(keys, nkeys, &scratch);
        for (size_t i = 0; i < nkeys; i++)
            PUSH(arena, plan->loops, nloops, loop_capacity, ((PlanLoop){.loop = keys[i].id}));
    }
    plan->first_loop[func->ntensors] = (uint32_t)nloops;
    arena_free(&scratch);
}

Plan plan_make(const Func *func, Arena *arena) {
    Plan plan = {.func = func,
                 .spillable = NEW_ARRAY(arena, bool, func->ntensors),
                 .spilled = NEW_ARRAY(arena, bool, func->ntensors)};
    Arena scratch;
    arena_init(&scratch);
    fill_accesses(&plan, arena, find_accesses(func, &scratch));
    arena_free(&scratch);
    fill_loops(&plan, arena);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        plan.spillable[t] =
            tensor->space == SPACE_SB && !tensor_stays(tensor) && plan.first[t] < plan.first[t + 1];
    }
    return plan;
}

PlanLoop *plan_loop(const Plan *plan, uint32_t tensor, uint32_t loop) {
    uint32_t at, end = plan->first_loop[tensor + 1];
    FIND_FIRST(at, plan->first_loop[tensor], end, plan->loops[at].loop >= loop);
    return at < end && plan->loops[at].loop == loop ? &plan->loops[at] : NULL;
}

void plan_cut_gap(Plan *plan, uint32_t tensor, uint32_t access, bool permanent) {
    assert(plan->spillable[tensor] && access > plan->first[tensor]);
    plan->accesses[access].cut = true;
    plan->accesses[access].permanent |= permanent;
    plan->spilled[tensor] = true;
}

void plan_cut_loop(Plan *plan, uint32_t tensor, PlanLoop *loop, bool permanent) {
    assert(plan->spillable[tensor]);
    loop->cut = true;
    loop->permanent |= permanent;
    plan->spilled[tensor] = true;
}

void plan_cut_all(Plan *plan, uint32_t tensor) {
    assert(plan->spillable[tensor]);
    for (uint32_t a = plan->first[tensor] + 1; a < plan->first[tensor + 1]; a++)
        plan->accesses[a].cut = plan->accesses[a].permanent = true;
    for (uint32_t l = plan->first_loop[tensor]; l < plan->first_loop[tensor + 1]; l++)
        plan->loops[l].cut = plan->loops[l].permanent = true;
    plan->spilled[tensor] = true;
}

void plan_uncut_all(Plan *plan, uint32_t tensor) {
    for (uint32_t a = plan->first[tensor]; a < plan->first[tensor + 1]; a++)
        plan->accesses[a].cut = plan->accesses[a].permanent = false;
    for (uint32_t l = plan->first_loop[tensor]; l < plan->first_loop[tensor + 1]; l++)
        plan->loops[l].cut = plan->loops[l].permanent = false;
    plan->spilled[tensor] = false;
}

void plan_note_spilled(Plan *plan, uint32_t tensor) {
    bool any = false;
    for (uint32_t a = plan->first[tensor]; a < plan->first[tensor + 1]; a++)
        any |= plan->accesses[a].cut;
    for (uint32_t l = plan->first_loop[tensor]; l < plan->first_loop[tensor + 1]; l++)
        any |= plan->loops[l].cut;
    plan->spilled[tensor] = any;
}

void plan_relax(Plan *plan) {
    uint32_t ntensors = plan->func->ntensors;
    for (uint32_t a = 0; a < plan->first[ntensors]; a++)
        plan->accesses[a].permanent = false;
    for (uint32_t l = 0; l < plan->first_loop[ntensors]; l++)
        plan->loops[l].permanent = false;
}

void plan_reset(Plan *plan) {
    for (uint32_t t = 0; t < plan->func->ntensors; t++) {
        for (uint32_t a = plan->first[t]; a < plan->first[t + 1]; a++)
            plan->accesses[a].cut = plan->accesses[a].permanent;
        for (uint32_t l = plan->first_loop[t]; l < plan->first_loop[t + 1]; l++)
            plan->loops[l].cut = plan->loops[l].permanent;
        plan_note_spilled(plan, t);
    }
}

static void cut_outwards(Plan *plan, uint32_t tensor, uint32_t loop) {
    for (; loop != NO_LOOP; loop = plan->func->loops[loop].parent) {
        PlanLoop *entry = plan_loop(plan, tensor, loop);
        assert(entry);
        if (entry->cut) break; /* and so are those around it */
        entry->cut = true;
    }
}

/* Of a loop in which the tensor is accessed. */
static bool loop_is_cut(const Plan *plan, uint32_t tensor, uint32_t loop) {
    const PlanLoop *entry = plan_loop(plan, tensor, loop);
    assert(entry);
    return entry->cut;
}

/* True if going from `loop` out to `common` leaves a cut loop. */
static bool leaves_cut_loop(const Plan *plan, uint32_t tensor, uint32_t loop, uint32_t common) {
    for (; loop != common; loop = plan->func->loops[loop].parent)
        if (loop_is_cut(plan, tensor, loop)) return true;
    return false;
}

void plan_close(Plan *plan, uint32_t tensor) {
    const Func *func = plan->func;
    uint32_t first = plan->first[tensor], end = plan->first[tensor + 1];
    for (uint32_t l = plan->first_loop[tensor + 1]; l-- > plan->first_loop[tensor];)
        if (plan->loops[l].cut) {
            uint32_t parent = func->loops[plan->loops[l].loop].parent;
            cut_outwards(plan, tensor, parent);
        }
    for (uint32_t a = first + 1; a < end; a++)
        if (plan->accesses[a].cut)
            cut_outwards(plan, tensor,
                         loop_common(func, plan->accesses[a - 1].loop, plan->accesses[a].loop));
    for (uint32_t a = first + 1; a < end; a++) {
        uint32_t before = plan->accesses[a - 1].loop, after = plan->accesses[a].loop;
        uint32_t common = loop_common(func, before, after);
        if (!plan->accesses[a].cut)
            plan->accesses[a].cut = leaves_cut_loop(plan, tensor, before, common) ||
                                    leaves_cut_loop(plan, tensor, after, common);
    }
}

void plan_close_all(Plan *plan) {
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spilled[t]) plan_close(plan, t);
}

/* ---- for asserts ---- */

/* True if each cut loop of the tensor lies in cut loops only. */
static bool loops_are_closed(const Plan *plan, uint32_t tensor) {
    for (uint32_t l = plan->first_loop[tensor]; l < plan->first_loop[tensor + 1]; l++) {
        uint32_t parent = plan->func->loops[plan->loops[l].loop].parent;
        if (plan->loops[l].permanent && !plan->loops[l].cut) return false;
        if (plan->loops[l].cut && parent != NO_LOOP && !loop_is_cut(plan, tensor, parent))
            return false;
    }
    return true;
}

/* True if a cut gap lies in cut loops only, and a kept one crosses the bounds of none. */
static bool gap_is_closed(const Plan *plan, uint32_t tensor, uint32_t access) {
    uint32_t before = plan->accesses[access - 1].loop, after = plan->accesses[access].loop;
    uint32_t common = loop_common(plan->func, before, after);
    if (plan->accesses[access].cut) return common == NO_LOOP || loop_is_cut(plan, tensor, common);
    return !plan->accesses[access].permanent && !leaves_cut_loop(plan, tensor, before, common) &&
           !leaves_cut_loop(plan, tensor, after, common);
}

static bool tensor_is_closed(const Plan *plan, uint32_t tensor) {
    bool any = false;
    for (uint32_t a = plan->first[tensor] + 1; a < plan->first[tensor + 1]; a++) {
        any |= plan->accesses[a].cut;
        if (!gap_is_closed(plan, tensor, a)) return false;
    }
    for (uint32_t l = plan->first_loop[tensor]; l < plan->first_loop[tensor + 1]; l++)
        any |= plan->loops[l].cut;
    bool uncuttable = plan->first[tensor + 1] - plan->first[tensor] <= 1 &&
                      plan->first_loop[tensor + 1] == plan->first_loop[tensor];
    return (any || (uncuttable && plan->spilled[tensor])) == plan->spilled[tensor] &&
           loops_are_closed(plan, tensor) && (plan->spillable[tensor] || !plan->spilled[tensor]);
}

bool plan_is_closed(const Plan *plan) {
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (!tensor_is_closed(plan, t)) return false;
    return true;
}

bool plan_spills(const Plan *plan) {
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spilled[t]) return true;
    return false;
}

static void copy_items(void *to, const void *from, size_t count, size_t size) {
    if (count) memcpy(to, from, count * size);
}

PlanCuts plan_save(const Plan *plan, Arena *arena) {
    uint32_t ntensors = plan->func->ntensors;
    PlanCuts saved = {RAW_ARRAY(arena, PlanAccess, plan->first[ntensors]),
                      RAW_ARRAY(arena, PlanLoop, plan->first_loop[ntensors]),
                      RAW_ARRAY(arena, bool, ntensors)};
    copy_items(saved.accesses, plan->accesses, plan->first[ntensors], sizeof(PlanAccess));
    copy_items(saved.loops, plan->loops, plan->first_loop[ntensors], sizeof(PlanLoop));
    copy_items(saved.spilled, plan->spilled, ntensors, sizeof(bool));
    return saved;
}

void plan_restore(Plan *plan, const PlanCuts *saved) {
    uint32_t ntensors = plan->func->ntensors;
    copy_items(plan->accesses, saved->accesses, plan->first[ntensors], sizeof(PlanAccess));
    copy_items(plan->loops, saved->loops, plan->first_loop[ntensors], sizeof(PlanLoop));
    copy_items(plan->spilled, saved->spilled, ntensors, sizeof(bool));
}

bool plan_is_saved(const Plan *plan, const PlanCuts *saved) {
    uint32_t ntensors = plan->func->ntensors;
    for (uint32_t a = 0; a < plan->first[ntensors]; a++)
        if (plan->accesses[a].cut != saved->accesses[a].cut) return false;
    for (uint32_t l = 0; l < plan->first_loop[ntensors]; l++)
        if (plan->loops[l].cut != saved->loops[l].cut) return false;
    return true;
}

Plan plan_copy(const Plan *plan, Arena *arena) {
    Plan copy = *plan;
    PlanCuts cuts = plan_save(plan, arena);
    copy.accesses = cuts.accesses;
    copy.loops = cuts.loops;
    copy.spilled = cuts.spilled;
    return copy;
}
