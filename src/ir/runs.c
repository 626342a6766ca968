#include "ir/runs.h"

#include "ir/dma.h"
#include "ir/names.h"
#include "support/checked.h"

enum { MOST_TRIES = 1 << 20 };

/* A loop whose index is known by the others, and by how many iterations the condition holds. */
typedef struct {
    const Func *func;
    const Inst *inst;
    Arena *arena;
    int64_t *indices; /* [nloops] of the loops around; of others unset */
    uint32_t *tried;  /* [ntried] loops whose iterations are tried, outermost first */
    uint32_t ntried;
    uint32_t solved; /* the loop whose index is solved for, or NO_LOOP */
} Runs;

static int64_t trips_of(const Func *func, uint32_t loop) {
    return saturating_sub(func->loops[loop].high, func->loops[loop].low);
}

/* ---- which loops decide ---- */

static bool depends_on(Affine affine, uint32_t loop) {
    return affine_coefficient(affine, loop) != 0;
}

static bool condition_depends_on(const Condition *condition, uint32_t loop) {
    bool depends = false;
    for (uint32_t i = 0; condition && i < condition->count && !depends; i++)
        depends = depends_on(condition->compares[i].left, loop) ||
                  depends_on(condition->compares[i].right, loop);
    return depends;
}

static bool blocks_depend_on(const Blocks *blocks, uint32_t loop) {
    if (!blocks || blocks->kind == BLOCKS_ALL) return false;
    return depends_on(blocks->low, loop) ||
           (blocks->kind == BLOCKS_RANGE && depends_on(blocks->high, loop));
}

/* True if no remainder depends on the loop, so that each comparison gives a bound of its index. */
static bool is_solvable(const Condition *condition, uint32_t loop) {
    for (uint32_t i = 0; condition && i < condition->count; i++) {
        Affine left = condition->compares[i].left, right = condition->compares[i].right;
        if ((left.modulus && depends_on(left, loop)) || (right.modulus && depends_on(right, loop)))
            return false;
    }
    return true;
}

/* Takes the loops on which the condition, and the blocks if given, depend. */
static Runs runs_begin(const Func *func, const Inst *inst, const Blocks *blocks, Arena *arena) {
    Runs runs = {.func = func, .inst = inst, .arena = arena, .solved = NO_LOOP};
    uint32_t depth = inst->loop == NO_LOOP ? 0 : func->loops[inst->loop].depth + 1, count = 0;
    runs.indices = RAW_ARRAY(arena, int64_t, func->nloops);
    uint32_t *loops = RAW_ARRAY(arena, uint32_t, depth);
    for (uint32_t l = inst->loop; l != NO_LOOP; l = func->loops[l].parent) {
        runs.indices[l] = func->loops[l].low;
        if (condition_depends_on(inst->condition, l) || blocks_depend_on(blocks, l))
            loops[count++] = l;
    }
    runs.tried = RAW_ARRAY(arena, uint32_t, depth);
    for (uint32_t i = count; i-- > 0;)
        runs.tried[runs.ntried++] = loops[i];
    return runs;
}

/* Leaves the longest loop that can be out of those tried. */
static void choose_solved(Runs *runs) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < runs->ntried; i++) {
        uint32_t loop = runs->tried[i];
        if (is_solvable(runs->inst->condition, loop) &&
            (best == UINT32_MAX ||
             trips_of(runs->func, loop) > trips_of(runs->func, runs->tried[best])))
            best = i;
    }
    if (best == UINT32_MAX) return;
    runs->solved = runs->tried[best];
    runs->ntried--;
    for (uint32_t i = best; i < runs->ntried; i++)
        runs->tried[i] = runs->tried[i + 1];
}

static int64_t tries_of(const Runs *runs) {
    int64_t tries = 1;
    for (uint32_t i = 0; i < runs->ntried; i++)
        tries = saturating_mul(tries, trips_of(runs->func, runs->tried[i]));
    return tries;
}

/* The trips of the loops around that decide nothing. */
static int64_t idle_trips(const Runs *runs) {
    int64_t trips = 1;
    for (uint32_t l = runs->inst->loop; l != NO_LOOP; l = runs->func->loops[l].parent) {
        bool decides = l == runs->solved;
        for (uint32_t i = 0; i < runs->ntried; i++)
            decides |= runs->tried[i] == l;
        if (!decides) trips = saturating_mul(trips, trips_of(runs->func, l));
    }
    return trips;
}

/* The next iteration of the loops tried, the innermost fastest; false after the last. */
static bool next_try(Runs *runs) {
    for (uint32_t i = runs->ntried; i-- > 0;) {
        const Loop *loop = &runs->func->loops[runs->tried[i]];
        if (++runs->indices[runs->tried[i]] < loop->high) return true;
        runs->indices[runs->tried[i]] = loop->low;
    }
    return false;
}

/* ---- one loop solved for ---- */

/* Iterations [low, high] of the solved loop, counted from its first, less some single ones. */
typedef struct {
    int64_t low, high;
    int64_t *holes;
    uint32_t nholes;
} Solution;

static void bound(Solution *solution, int64_t low, int64_t high) {
    if (low > solution->low) solution->low = low;
    if (high < solution->high) solution->high = high;
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Keeps the x with a * x + b CMP 0, a not 0. Sums beyond int64_t saturate: no index is there. */
static void solve(Solution *solution, int64_t a, int64_t b, Comparison comparison) {
    if (a < 0) {
        static const Comparison MIRRORED[] = {CMP_EQ, CMP_NE, CMP_GT, CMP_GE, CMP_LT, CMP_LE};
        a = saturating_sub(0, a);
        b = saturating_sub(0, b);
        comparison = MIRRORED[comparison];
    }
    int64_t below = floor_div(saturating_sub(0, b), a); /* the largest x with a * x <= -b */
    bool exact = saturating_add(saturating_mul(a, below), b) == 0;
    switch (comparison) {
    case CMP_EQ:
        bound(solution, exact ? below : INT64_MAX, below);
        break;
    case CMP_NE:
        if (exact) solution->holes[solution->nholes++] = below;
        break;
    case CMP_LT:
        bound(solution, INT64_MIN, exact ? saturating_sub(below, 1) : below);
        break;
    case CMP_LE:
        bound(solution, INT64_MIN, below);
        break;
    case CMP_GT:
        bound(solution, saturating_add(below, 1), INT64_MAX);
        break;
    case CMP_GE:
        bound(solution, exact ? below : saturating_add(below, 1), INT64_MAX);
        break;
    }
}

/* Holes inside, each once. */
static int64_t count_holes(const Solution *solution) {
    int64_t count = 0;
    for (uint32_t i = 0; i < solution->nholes; i++) {
        int64_t hole = solution->holes[i];
        bool counts = hole >= solution->low && hole <= solution->high;
        for (uint32_t j = 0; j < i; j++)
            counts &= solution->holes[j] != hole;
        count += counts;
    }
    return count;
}

/* Iterations of the solved loop in which the condition holds, the other indices as they stand. */
static int64_t solved_trips(Runs *runs, int64_t *holes) {
    const Condition *condition = runs->inst->condition;
    Solution solution = {0, trips_of(runs->func, runs->solved) - 1, holes, 0};
    for (uint32_t i = 0; i < condition->count; i++) {
        const Compare *compare = &condition->compares[i];
        int64_t a = saturating_sub(affine_coefficient(compare->left, runs->solved),
                                   affine_coefficient(compare->right, runs->solved));
        int64_t b = saturating_sub(affine_value(compare->left, runs->indices),
                                   affine_value(compare->right, runs->indices));
        Condition one = {compare, 1};
        if (a != 0)
            solve(&solution, a, b, compare->comparison);
        else if (!condition_holds(&one, runs->indices))
            return 0;
    }
    if (solution.low > solution.high) return 0;
    return solution.high - solution.low + 1 - count_holes(&solution);
}

int64_t inst_runs(const Func *func, const Inst *inst) {
    if (!inst->condition) return loop_trips(func, inst->loop);
    Arena scratch;
    arena_init(&scratch);
    Runs runs = runs_begin(func, inst, NULL, &scratch);
    choose_solved(&runs);
    int64_t sum = 0, *holes = RAW_ARRAY(&scratch, int64_t, inst->condition->count);
    bool many = tries_of(&runs) > MOST_TRIES;
    if (!many) do
            if (runs.solved != NO_LOOP)
                sum = saturating_add(sum, solved_trips(&runs, holes));
            else
                sum += condition_holds(inst->condition, runs.indices);
        while (next_try(&runs));
    sum = many ? loop_trips(func, inst->loop) : saturating_mul(sum, idle_trips(&runs));
    arena_free(&scratch);
    return sum;
}

/* ---- blocks ---- */

Range named_now(const Func *func, const Operand *operand, const int64_t *indices) {
    const Blocks *blocks = operand->blocks;
    if (!blocks || blocks->kind == BLOCKS_ALL)
        return (Range){0, func->tensors[operand->tensor].blocks};
    int64_t low = affine_value(blocks->low, indices);
    if (blocks->kind == BLOCKS_ONE) return (Range){low, saturating_add(low, 1)};
    return (Range){low, affine_value(blocks->high, indices)};
}

/* True if the operand names as many blocks in each run; then *width is that. */
static bool has_one_width(const Func *func, const Operand *operand, int64_t *width) {
    *width = operand_most_blocks(func, operand);
    if (!operand->blocks || operand->blocks->kind != BLOCKS_RANGE) return true;
    Affine low = operand->blocks->low, high = operand->blocks->high;
    for (uint32_t i = 0; i < high.count; i++)
        if (high.terms[i].loop != NO_LOOP && affine_coefficient(high, high.terms[i].loop) !=
                                                 affine_coefficient(low, high.terms[i].loop))
            return false;
    for (uint32_t i = 0; i < low.count; i++)
        if (low.terms[i].loop != NO_LOOP && affine_coefficient(high, low.terms[i].loop) !=
                                                affine_coefficient(low, low.terms[i].loop))
            return false;
    return true;
}

int64_t inst_moves(const Func *func, const Inst *inst, const Operand *operand) {
    int64_t width;
    if (has_one_width(func, operand, &width)) return saturating_mul(inst_runs(func, inst), width);
    Arena scratch;
    arena_init(&scratch);
    Runs runs = runs_begin(func, inst, operand->blocks, &scratch);
    int64_t sum = 0;
    bool many = tries_of(&runs) > MOST_TRIES;
    if (!many) do {
            Range named = named_now(func, operand, runs.indices);
            if (named.low < named.high && condition_holds(inst->condition, runs.indices))
                sum = saturating_add(sum, saturating_sub(named.high, named.low));
        } while (next_try(&runs));
    sum = many ? saturating_mul(inst_runs(func, inst), width)
               : saturating_mul(sum, idle_trips(&runs));
    arena_free(&scratch);
    return sum;
}

static int64_t mark(bool *named, int64_t low, int64_t high) {
    int64_t fresh = 0;
    for (int64_t b = low; b < high; b++) {
        fresh += !named[b];
        named[b] = true;
    }
    return fresh;
}

int64_t mark_named(const Func *func, const Inst *inst, const Operand *operand, bool *named) {
    Arena scratch;
    arena_init(&scratch);
    Runs runs = runs_begin(func, inst, operand->blocks, &scratch);
    BlockSpan might = operand_blocks(func, operand);
    int64_t fresh = 0;
    if (tries_of(&runs) > MOST_TRIES) {
        fresh = mark(named, might.first, saturating_add(might.last, 1));
    } else
        do {
            Range now = named_now(func, operand, runs.indices);
            if (!condition_holds(inst->condition, runs.indices)) continue;
            if (now.low < might.first) now.low = might.first;
            if (now.high > might.last + 1) now.high = might.last + 1;
            fresh += mark(named, now.low, now.high);
        } while (next_try(&runs));
    arena_free(&scratch);
    return fresh;
}

/* An independent part is a tensor like others. */
static bool is_copy(const Tensor *tensor) {
    const Meta *of = meta_find(tensor->meta, "of");
    Str stem;
    return of && of->kind == META_TEXT &&
           !(derived_stem(tensor->name, PART_MARK, &stem) && str_equal(stem, of->text));
}

/* The tensor of the function that a working copy stands for, block for block; UINT32_MAX where
 * there is none. */
static uint32_t copied_tensor(const Func *func, const StrMap *names, uint32_t copy) {
    uint32_t t = strmap_get(names, meta_find(func->tensors[copy].meta, "of")->text);
    bool alike = t != UINT32_MAX && func->tensors[t].space == SPACE_SB &&
                 func->tensors[t].blocks == func->tensors[copy].blocks;
    return alike ? t : UINT32_MAX;
}

static StrMap map_names(const Func *func, Arena *arena) {
    StrMap names;
    strmap_init(&names, arena);
    for (uint32_t t = 0; t < func->ntensors; t++)
        strmap_add(&names, func->tensors[t].name, t);
    return names;
}

Leaving leaving_blocks(const Func *func, Arena *arena) {
    Leaving leaving = {NEW_ARRAY(arena, bool *, func->ntensors),
                       NEW_ARRAY(arena, int64_t, func->ntensors),
                       NEW_ARRAY(arena, int64_t, func->ntensors)};
    bool **all = NEW_ARRAY(arena, bool *, func->ntensors);
    StrMap names = map_names(func, arena);
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        if (!dma_is_reload(inst)) continue;
        uint32_t t = inst_dst(inst)->tensor;
        bool copy = is_copy(&func->tensors[t]);
        if (copy) t = copied_tensor(func, &names, t);
        if (t == UINT32_MAX) continue;
        if (!all[t]) all[t] = NEW_ARRAY(arena, bool, func->tensors[t].blocks);
        leaving.all[t] += mark_named(func, inst, inst_dst(inst), all[t]);
        if (copy) continue;
        if (!leaving.blocks[t]) leaving.blocks[t] = NEW_ARRAY(arena, bool, func->tensors[t].blocks);
        leaving.count[t] += mark_named(func, inst, inst_dst(inst), leaving.blocks[t]);
    }
    return leaving;
}
