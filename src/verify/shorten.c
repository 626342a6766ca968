#include "verify/shorten.h"

#include "support/checked.h"
#include "support/sort.h"

enum { BLOCKS_A_STEP = 16 };

typedef struct {
    const Match *match;
    Arena *arena;
    int64_t limit;
    Course *courses;
    bool *picks;      /* [nloops] its index picks blocks */
    int64_t *weight;  /* [nloops] steps of one iteration, inner loops left out */
    uint32_t *levels; /* [nloops] how deep the loops in it nest */
    SortKey **points; /* [nloops] iterations to run, as low + key */
    size_t *npoints, *points_capacity;
} Chooser;

static int64_t trips_of(const Loop *loop) {
    return loop->high - loop->low;
}

static void note_affine(Chooser *c, Affine affine) {
    for (uint32_t i = 0; i < affine.count; i++)
        if (affine.terms[i].loop != NO_LOOP && affine.terms[i].coefficient != 0)
            c->picks[affine.terms[i].loop] = true;
}

/* Marks the loops that pick an operand's blocks. Returns how many blocks it can name. */
static int64_t note_operand(Chooser *c, const Func *func, const Operand *operand) {
    if (operand->blocks && operand->blocks->kind != BLOCKS_ALL) {
        note_affine(c, operand->blocks->low);
        if (operand->blocks->kind == BLOCKS_ONE) return 1;
        note_affine(c, operand->blocks->high);
    }
    if (func->tensors[operand->tensor].space != SPACE_SB) return 1;
    BlockSpan span = operand_blocks(func, operand);
    return span.last < span.first ? 0 : span.last - span.first + 1;
}

/* A comparison of remainders changes all along a loop, which is therefore cut as late as one whose
 * index picks blocks. */
static void note_remainders(Chooser *c, const Condition *condition) {
    for (uint32_t i = 0; condition && i < condition->count; i++) {
        const Compare *compare = &condition->compares[i];
        if (!compare->left.modulus && !compare->right.modulus) continue;
        note_affine(c, compare->left);
        note_affine(c, compare->right);
    }
}

static int64_t note_inst(Chooser *c, const Func *func, const Inst *inst) {
    int64_t blocks = 0;
    note_remainders(c, inst->condition);
    for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++)
        blocks = saturating_add(blocks, note_operand(c, func, &inst->operands[i]));
    return 1 + blocks / BLOCKS_A_STEP;
}

static void add_point(Chooser *c, uint32_t loop, int64_t value) {
    const Loop *l = &c->match->original->loops[loop];
    if (value < l->low || value >= l->high) return;
    PUSH(c->arena, c->points[loop], c->npoints[loop], c->points_capacity[loop],
         ((SortKey){(uint64_t)(value - l->low), 0}));
}

static void add_around(Chooser *c, uint32_t loop, int64_t value) {
    add_point(c, loop, saturating_sub(value, 1));
    add_point(c, loop, value);
    add_point(c, loop, saturating_add(value, 1));
}

/* The comparison is of coefficient * index + rest with 0: it changes near -rest / coefficient. */
static void note_change(Chooser *c, uint32_t loop, Affine difference) {
    int64_t coefficient = affine_coefficient(difference, loop);
    Term *others = RAW_ARRAY(c->arena, Term, difference.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < difference.count; i++)
        if (difference.terms[i].loop != loop) others[count++] = difference.terms[i];
    Range rest = affine_range((Affine){others, count, 0}, c->match->original, NULL);
    if (coefficient == 0 || coefficient == INT64_MIN || coefficient == -1) {
        if (coefficient != -1) return;
        add_around(c, loop, rest.low);
        add_around(c, loop, rest.high);
        return;
    }
    add_around(c, loop, saturating_sub(0, rest.low / coefficient));
    add_around(c, loop, saturating_sub(0, rest.high / coefficient));
}

static void note_condition(Chooser *c, const Condition *condition) {
    for (uint32_t i = 0; condition && i < condition->count; i++) {
        const Compare *compare = &condition->compares[i];
        if (compare->left.modulus || compare->right.modulus) continue; /* see note_remainders() */
        Affine difference = affine_difference(c->arena, compare->left, compare->right);
        for (uint32_t j = 0; j < difference.count; j++)
            if (difference.terms[j].loop != NO_LOOP)
                note_change(c, difference.terms[j].loop, difference);
    }
}

/* Gathers facts about both functions: weights first, and only where they are too much the rest. */
static void note_steps(Chooser *c, bool conditions) {
    const Match *match = c->match;
    uint32_t loop = NO_LOOP;
    for (size_t i = 0; i < match->nsteps; i++) {
        Step step = match->steps[i];
        if (step.original == STEP_OPEN) loop = step.result;
        if (step.original == STEP_CLOSE) loop = match->original->loops[step.result].parent;
        if (step.original == STEP_OPEN || step.original == STEP_CLOSE || loop == NO_LOOP) continue;
        const Inst *was =
            step.original == STEP_NONE ? NULL : &match->original->insts[step.original];
        const Inst *is = step.result == STEP_NONE ? NULL : &match->result->insts[step.result];
        if (conditions) {
            if (was) note_condition(c, was->condition);
            if (is && is != was) note_condition(c, is->condition);
            continue;
        }
        int64_t weight = was ? note_inst(c, match->original, was) : 0;
        int64_t other = is && is != was ? note_inst(c, match->result, is) : 0;
        c->weight[loop] = saturating_add(c->weight[loop], weight > other ? weight : other);
    }
}

/* Loops without any instruction are skipped; inner loops have larger ids than outer ones. */
static void note_levels(Chooser *c) {
    const Func *func = c->match->original;
    for (uint32_t i = 0; i < func->nloops; i++)
        c->courses[i] = (Course){.skip = c->weight[i] == 0, .full = true};
    for (uint32_t i = func->nloops; i-- > 0;) {
        uint32_t parent = func->loops[i].parent;
        if (parent == NO_LOOP) continue;
        if (!c->courses[i].skip) c->courses[parent].skip = false;
        if (c->levels[parent] < c->levels[i] + 1) c->levels[parent] = c->levels[i] + 1;
    }
}

static int64_t iterations(const Chooser *c, uint32_t loop) {
    if (c->courses[loop].full) return trips_of(&c->match->original->loops[loop]);
    return (int64_t)c->courses[loop].count;
}

/* True if a run on the present courses stays below the limit. */
static bool fits(const Chooser *c, int64_t *trips) {
    const Func *func = c->match->original;
    int64_t total = 0;
    for (uint32_t i = 0; i < func->nloops; i++) {
        if (c->courses[i].skip) {
            trips[i] = 0;
            continue;
        }
        uint32_t parent = func->loops[i].parent;
        trips[i] = saturating_mul(parent == NO_LOOP ? 1 : trips[parent], iterations(c, i));
        total = saturating_add(total, saturating_mul(trips[i], saturating_add(c->weight[i], 1)));
    }
    return total <= c->limit;
}

/* The first two iterations, the last, and the points noted. */
static void cut(Chooser *c, uint32_t loop) {
    const Loop *l = &c->match->original->loops[loop];
    Course *course = &c->courses[loop];
    if (!course->full || course->skip) return;
    add_point(c, loop, l->low);
    add_point(c, loop, saturating_add(l->low, 1));
    add_point(c, loop, l->high - 1);
    for (size_t i = 0; i < c->npoints[loop]; i++)
        c->points[loop][i].id = (uint32_t)i;
    sort_keys(c->points[loop], c->npoints[loop], c->arena);
    course->full = false;
    course->list = RAW_ARRAY(c->arena, int64_t, c->npoints[loop]);
    for (size_t i = 0; i < c->npoints[loop]; i++) {
        int64_t value = l->low + (int64_t)c->points[loop][i].key;
        if (course->count == 0 || course->list[course->count - 1] != value)
            course->list[course->count++] = value;
    }
}

static void cut_longer_than(Chooser *c, int64_t trips) {
    for (uint32_t i = 0; i < c->match->original->nloops; i++)
        if (trips_of(&c->match->original->loops[i]) > trips) cut(c, i);
}

static void run_at_most(Chooser *c, size_t count, uint32_t levels) {
    for (uint32_t i = 0; i < c->match->original->nloops; i++)
        if (c->levels[i] >= levels && c->courses[i].count > count) c->courses[i].count = count;
}

static void shorten(Chooser *c, int64_t *trips) {
    uint32_t nloops = c->match->original->nloops;
    note_steps(c, true);
    for (uint32_t i = 0; i < nloops; i++)
        if (!c->picks[i]) cut(c, i);
    for (int bit = 62; bit >= 0 && !fits(c, trips); bit--)
        cut_longer_than(c, INT64_C(1) << bit);
    cut_longer_than(c, fits(c, trips) ? INT64_MAX : 0);
    if (fits(c, trips)) return;
    run_at_most(c, 2, 0);
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < nloops; i++)
        if (deepest < c->levels[i]) deepest = c->levels[i];
    while (!fits(c, trips)) {
        run_at_most(c, 1, deepest);
        if (deepest-- == 0) return;
    }
}

Course *choose_courses(const Match *match, uint64_t limit, Arena *arena) {
    uint32_t nloops = match->original->nloops;
    Chooser c = {.match = match,
                 .arena = arena,
                 .limit = limit > INT64_MAX ? INT64_MAX : (int64_t)limit,
                 .courses = NEW_ARRAY(arena, Course, nloops),
                 .picks = NEW_ARRAY(arena, bool, nloops),
                 .weight = NEW_ARRAY(arena, int64_t, nloops),
                 .levels = NEW_ARRAY(arena, uint32_t, nloops),
                 .points = NEW_ARRAY(arena, SortKey *, nloops),
                 .npoints = NEW_ARRAY(arena, size_t, nloops),
                 .points_capacity = NEW_ARRAY(arena, size_t, nloops)};
    int64_t *trips = NEW_ARRAY(arena, int64_t, nloops);
    if (nloops == 0) return c.courses;
    note_steps(&c, false);
    note_levels(&c);
    if (!fits(&c, trips)) shorten(&c, trips);
    return c.courses;
}
