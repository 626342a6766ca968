#include "text/check_index.h"

#include "support/checked.h"

static const int64_t MOST_TRIED = 10 * 1000 * 1000, FIRST_TRIED = 100 * 1000;

/* Both ends of what an operand names: blocks low to high, none where high < low. */
typedef struct {
    Affine low, end; /* the first, and the one behind the last; of one block, twice that block */
    int64_t last;    /* end minus this is the last block */
    int64_t count;   /* blocks that the tensor has */
} Ends;

void index_checker_init(IndexChecker *checker, const Func *func, Arena *arena) {
    *checker = (IndexChecker){.func = func,
                              .arena = arena,
                              .indices = NEW_ARRAY(arena, int64_t, func->nloops),
                              .low = NEW_ARRAY(arena, int64_t, func->nloops),
                              .high = NEW_ARRAY(arena, int64_t, func->nloops),
                              .concerned = NEW_ARRAY(arena, bool, func->nloops),
                              .loops = NEW_ARRAY(arena, uint32_t, func->nloops),
                              .budget = MOST_TRIED};
}

static Ends ends_of(const Blocks *blocks, int64_t count) {
    bool one = blocks->kind == BLOCKS_ONE;
    return (Ends){blocks->low, one ? blocks->low : blocks->high, one ? 0 : 1, count};
}

/* ---- the loops concerned, and what the condition leaves of them ---- */

static void concern(IndexChecker *checker, Affine affine) {
    for (uint32_t i = 0; i < affine.count; i++)
        if (affine.terms[i].loop != NO_LOOP) checker->concerned[affine.terms[i].loop] = true;
}

/* Lists the concerned loops and forgets the marks. */
static void list_loops(IndexChecker *checker, uint32_t innermost) {
    const Loop *loops = checker->func->loops;
    uint32_t count = 0;
    for (uint32_t loop = innermost; loop != NO_LOOP; loop = loops[loop].parent) {
        if (!checker->concerned[loop]) continue;
        checker->concerned[loop] = false;
        checker->loops[count++] = loop;
        checker->low[loop] = loops[loop].low;
        checker->high[loop] = loops[loop].high - 1;
    }
    checker->nloops = count;
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t outer = checker->loops[count - 1 - i];
        checker->loops[count - 1 - i] = checker->loops[i];
        checker->loops[i] = outer;
    }
}

static void find_loops(IndexChecker *checker, const Inst *inst, const Ends *ends) {
    const Condition *condition = inst->condition;
    concern(checker, ends->low);
    concern(checker, ends->end);
    for (uint32_t c = 0; condition && c < condition->count; c++) {
        concern(checker, condition->compares[c].left);
        concern(checker, condition->compares[c].right);
    }
    list_loops(checker, inst->loop);
}

/* Narrows [*low, *high] by VALUE COMPARISON bound. False where that says more than a range can. */
static bool narrow(Comparison comparison, int64_t bound, int64_t *low, int64_t *high) {
    bool below = comparison == CMP_EQ || comparison == CMP_LT || comparison == CMP_LE;
    bool above = comparison == CMP_EQ || comparison == CMP_GT || comparison == CMP_GE;
    int64_t most = comparison == CMP_LT ? saturating_sub(bound, 1) : bound;
    int64_t least = comparison == CMP_GT ? saturating_add(bound, 1) : bound;
    if (below && most < *high) *high = most;
    if (above && least > *low) *low = least;
    return comparison != CMP_NE;
}

/* The comparison with its two sides exchanged. */
static Comparison turned(Comparison comparison) {
    static const Comparison TURNED[] = {[CMP_EQ] = CMP_EQ, [CMP_NE] = CMP_NE, [CMP_LT] = CMP_GT,
                                        [CMP_LE] = CMP_GE, [CMP_GT] = CMP_LT, [CMP_GE] = CMP_LE};
    return TURNED[comparison];
}

/* The one loop that a canonical sum names with coefficient 1 or -1, or NO_LOOP. */
static uint32_t only_loop(Affine sum) {
    if (sum.count == 0 || sum.count > 2 || sum.terms[0].loop == NO_LOOP) return NO_LOOP;
    if (sum.count == 2 && sum.terms[1].loop != NO_LOOP) return NO_LOOP;
    bool plain = sum.terms[0].coefficient == 1 || sum.terms[0].coefficient == -1;
    return plain ? sum.terms[0].loop : NO_LOOP;
}

/* The loop whose index alone the comparison bounds, or NO_LOOP; *sum is left minus right. */
static uint32_t bounded_loop(const IndexChecker *checker, const Compare *compare, Affine *sum) {
    if (compare->left.modulus || compare->right.modulus) return NO_LOOP;
    Affine difference = affine_difference(checker->arena, compare->left, compare->right);
    if (sum) *sum = difference;
    return only_loop(difference);
}

/* Narrows loops by those comparisons that bound one index. True if that is all that the condition
 * says. */
static bool narrow_loops(IndexChecker *checker, const Condition *condition) {
    bool all = true;
    for (uint32_t c = 0; condition && c < condition->count; c++) {
        const Compare *compare = &condition->compares[c];
        Affine sum;
        uint32_t loop = bounded_loop(checker, compare, &sum);
        if (loop == NO_LOOP) {
            all = false;
            continue;
        }
        bool plus = sum.terms[0].coefficient == 1;
        int64_t rest = affine_offset(sum), bound = plus ? saturating_sub(0, rest) : rest;
        Comparison comparison = plus ? compare->comparison : turned(compare->comparison);
        all &= narrow(comparison, bound, &checker->low[loop], &checker->high[loop]);
    }
    return all;
}

static bool never_runs(const IndexChecker *checker) {
    for (uint32_t i = 0; i < checker->nloops; i++)
        if (checker->low[checker->loops[i]] > checker->high[checker->loops[i]]) return true;
    return false;
}

/* ---- by extremes ---- */

/* The values of a sum while the loops listed from position `from` on run over what is left of them;
 * without its constant. */
static Range rest_range(const IndexChecker *checker, Affine affine, uint32_t from) {
    Range range = {0, 0};
    for (uint32_t i = from; i < checker->nloops; i++) {
        uint32_t loop = checker->loops[i];
        int64_t step = affine_coefficient(affine, loop);
        int64_t a = saturating_mul(step, checker->low[loop]);
        int64_t b = saturating_mul(step, checker->high[loop]);
        range.low = saturating_add(range.low, a < b ? a : b);
        range.high = saturating_add(range.high, a < b ? b : a);
    }
    return range;
}

static Range left_range(const IndexChecker *checker, Affine affine) {
    if (affine.modulus) return affine_range(affine, checker->func, NULL);
    Range range = rest_range(checker, affine, 0);
    int64_t offset = affine_offset(affine);
    return (Range){saturating_add(range.low, offset), saturating_add(range.high, offset)};
}

/* Narrows the values of an index by comparisons of that index itself with a constant. */
static void narrow_index(const IndexChecker *checker, const Condition *condition, Affine index,
                         Range *range) {
    for (uint32_t c = 0; condition && c < condition->count; c++) {
        const Compare *compare = &condition->compares[c];
        int64_t bound;
        if (compare->left.modulus != index.modulus || compare->right.modulus) continue;
        if (index.modulus) {
            if (!affine_equal(compare->left, index) ||
                !affine_is_constant(compare->right, checker->func, &bound))
                continue;
            narrow(compare->comparison, bound, &range->low, &range->high);
            continue;
        }
        Affine sum = affine_difference(checker->arena, compare->left, compare->right);
        Affine rest = affine_difference(checker->arena, index, sum);
        if (rest.count > 1 || rest.terms->loop != NO_LOOP) continue;
        narrow(compare->comparison, rest.terms->coefficient, &range->low, &range->high);
    }
}

/* True if the extremes show that nothing outside is named. */
static bool stays_inside(const IndexChecker *checker, const Inst *inst, const Ends *ends) {
    Range low = left_range(checker, ends->low), end = left_range(checker, ends->end);
    narrow_index(checker, inst->condition, ends->low, &low);
    narrow_index(checker, inst->condition, ends->end, &end);
    return low.low >= 0 && saturating_sub(end.high, ends->last) < ends->count;
}

/* True if some block is named in every iteration: then either end tells by itself. */
static bool is_never_empty(const IndexChecker *checker, const Ends *ends) {
    if (ends->last == 0) return true;
    return left_range(checker, affine_difference(checker->arena, ends->end, ends->low)).low >= 1;
}

/* The least v of [low, high] for which step * v > bound; high + 1 if there is none. */
static int64_t first_above(int64_t step, int64_t low, int64_t high, int64_t bound) {
    if (saturating_mul(step, low) > bound) return low;
    if (step <= 0) return high + 1;
    int64_t turn = bound / step - (bound % step < 0); /* the last one that is not above */
    return turn < high ? turn + 1 : high + 1;
}

/* Sets the loops' indices to the first iteration in which an end lies outside, as the extremes say
 * that one does, and no condition forbids. */
static void find_first(IndexChecker *checker, const Ends *ends) {
    int64_t low = affine_offset(ends->low),
            last = saturating_sub(affine_offset(ends->end), ends->last);
    for (uint32_t i = 0; i < checker->nloops; i++) {
        uint32_t loop = checker->loops[i];
        Range low_rest = rest_range(checker, ends->low, i + 1);
        Range last_rest = rest_range(checker, ends->end, i + 1);
        int64_t down = affine_coefficient(ends->low, loop),
                up = affine_coefficient(ends->end, loop);
        int64_t above = saturating_sub(ends->count - 1, saturating_add(last, last_rest.high));
        int64_t below = saturating_add(low, low_rest.low);
        int64_t from = checker->low[loop], to = checker->high[loop];
        int64_t one = first_above(up, from, to, above);
        int64_t other = first_above(saturating_sub(0, down), from, to, below);
        int64_t index = one < other ? one : other;
        checker->indices[loop] = index;
        low = saturating_add(low, saturating_mul(down, index));
        last = saturating_add(last, saturating_mul(up, index));
    }
}

/* ---- by trying ---- */

/* The blocks named now lie outside. */
static bool is_outside(const IndexChecker *checker, const Ends *ends) {
    int64_t low = affine_value(ends->low, checker->indices);
    int64_t last = affine_value(ends->end, checker->indices) - ends->last;
    return low <= last && (low < 0 || last >= ends->count);
}

/* Moves on to the next iteration of the loops concerned; false behind the last. */
static bool next_iteration(IndexChecker *checker) {
    for (uint32_t i = checker->nloops; i-- > 0;) {
        uint32_t loop = checker->loops[i];
        if (checker->indices[loop] < checker->high[loop]) {
            checker->indices[loop]++;
            return true;
        }
        checker->indices[loop] = checker->low[loop];
    }
    return false;
}

/* After so many iterations of the loop the value comes again; INT64_MAX: never. */
static int64_t period_of(Affine affine, uint32_t loop) {
    int64_t step = affine_coefficient(affine, loop);
    if (step == 0) return 1;
    if (!affine.modulus) return INT64_MAX;
    return affine.modulus / common_divisor(affine.modulus, floor_mod(step, affine.modulus));
}

static int64_t common_period(int64_t period, Affine affine, uint32_t loop) {
    int64_t other = period_of(affine, loop);
    if (period == INT64_MAX || other == INT64_MAX) return INT64_MAX;
    return saturating_mul(period / common_divisor(period, other), other);
}

/* Leaves of each loop only the iterations up to where all remainders come again: the first that is
 * looked for is among them. What narrow_loops() has made of the condition needs no more look. */
static void leave_one_period(IndexChecker *checker, const Condition *condition, const Ends *ends) {
    for (uint32_t i = 0; i < checker->nloops; i++) {
        uint32_t loop = checker->loops[i];
        int64_t period = common_period(period_of(ends->low, loop), ends->end, loop);
        for (uint32_t c = 0; condition && c < condition->count; c++) {
            if (bounded_loop(checker, &condition->compares[c], NULL) != NO_LOOP &&
                condition->compares[c].comparison != CMP_NE)
                continue;
            period = common_period(period, condition->compares[c].left, loop);
            period = common_period(period, condition->compares[c].right, loop);
        }
        int64_t last = saturating_add(checker->low[loop], period - 1);
        if (last < checker->high[loop]) checker->high[loop] = last;
    }
}

/* All iterations of what is left of the loops, saturated. */
static int64_t count_iterations(const IndexChecker *checker) {
    int64_t trips = 1;
    for (uint32_t i = 0; i < checker->nloops; i++) {
        uint32_t loop = checker->loops[i];
        int64_t left = saturating_sub(checker->high[loop], checker->low[loop]);
        trips = saturating_mul(trips, saturating_add(left, 1));
    }
    return trips;
}

/* What one iteration costs: 1 where there are few terms. */
static int64_t cost_of_one(const Inst *inst, const Ends *ends) {
    enum { FEW = 16 };
    int64_t terms = (int64_t)ends->low.count + ends->end.count;
    for (uint32_t c = 0; inst->condition && c < inst->condition->count; c++)
        terms += (int64_t)inst->condition->compares[c].left.count +
                 inst->condition->compares[c].right.count;
    return 1 + terms / FEW;
}

/* Tries the iterations in order; where they are too many, the first of them only. */
static bool try_all(IndexChecker *checker, const Inst *inst, const Ends *ends) {
    leave_one_period(checker, inst->condition, ends);
    int64_t cost = cost_of_one(inst, ends);
    bool all = saturating_mul(count_iterations(checker), cost) <= checker->budget;
    int64_t rest = all || checker->budget < FIRST_TRIED ? checker->budget : FIRST_TRIED;
    for (uint32_t i = 0; i < checker->nloops; i++)
        checker->indices[checker->loops[i]] = checker->low[checker->loops[i]];
    do {
        if (condition_holds(inst->condition, checker->indices) && is_outside(checker, ends))
            return true;
        checker->budget -= cost;
        rest -= cost;
    } while (rest > 0 && next_iteration(checker));
    return false;
}

Stray find_stray(IndexChecker *checker, const Inst *inst, const Blocks *blocks, int64_t count) {
    Ends ends = ends_of(blocks, count);
    Stray none = {0};
    Range low = affine_range(ends.low, checker->func, NULL);
    Range end = affine_range(ends.end, checker->func, NULL);
    if (low.low >= 0 && saturating_sub(end.high, ends.last) < count) return none;
    find_loops(checker, inst, &ends);
    bool plain = narrow_loops(checker, inst->condition) && !ends.low.modulus;
    if (never_runs(checker) || stays_inside(checker, inst, &ends)) return none;
    if (plain && is_never_empty(checker, &ends))
        find_first(checker, &ends);
    else if (!try_all(checker, inst, &ends))
        return none;
    int64_t block = affine_value(ends.low, checker->indices);
    if (block >= 0 && block < count) block = count;
    return (Stray){true, block, checker->loops, checker->indices, checker->nloops};
}
