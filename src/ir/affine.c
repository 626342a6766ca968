#include "ir/affine.h"

#include <assert.h>

#include "ir/ir.h"
#include "support/checked.h"
#include "support/sort.h"

Affine affine_constant(Arena *arena, int64_t value) {
    Term *term = NEW(arena, Term);
    *term = (Term){value, NO_LOOP};
    return (Affine){term, 1, 0};
}

int64_t affine_value(Affine affine, const int64_t *indices) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < affine.count; i++) {
        Term term = affine.terms[i];
        sum += term.loop == NO_LOOP ? term.coefficient : term.coefficient * indices[term.loop];
    }
    return affine.modulus ? floor_mod(sum, affine.modulus) : sum;
}

bool comparison_holds(int64_t left, Comparison comparison, int64_t right) {
    switch (comparison) {
    case CMP_EQ:
        return left == right;
    case CMP_NE:
        return left != right;
    case CMP_LT:
        return left < right;
    case CMP_LE:
        return left <= right;
    case CMP_GT:
        return left > right;
    case CMP_GE:
        return left >= right;
    }
    return false;
}

bool condition_holds(const Condition *condition, const int64_t *indices) {
    if (!condition) return true;
    for (uint32_t i = 0; i < condition->count; i++) {
        const Compare *compare = &condition->compares[i];
        if (!comparison_holds(affine_value(compare->left, indices), compare->comparison,
                              affine_value(compare->right, indices)))
            return false;
    }
    return true;
}

int64_t affine_coefficient(Affine affine, uint32_t loop) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < affine.count; i++)
        if (affine.terms[i].loop == loop) sum = saturating_add(sum, affine.terms[i].coefficient);
    return sum;
}

int64_t affine_offset(Affine affine) {
    return affine_coefficient(affine, NO_LOOP);
}

/* True if an earlier term names the same loop. */
static bool named_before(Affine affine, uint32_t term) {
    for (uint32_t i = 0; i < term; i++)
        if (affine.terms[i].loop == affine.terms[term].loop) return true;
    return false;
}

/* Adds the range of coefficient * [low, high]; *overflow is set where int64_t is left. */
static void widen(Range *sum, int64_t coefficient, int64_t low, int64_t high, bool *overflow) {
    int64_t from = coefficient < 0 ? high : low, to = coefficient < 0 ? low : high;
    int64_t least, most;
    *overflow |= __builtin_mul_overflow(coefficient, from, &least);
    *overflow |= __builtin_mul_overflow(coefficient, to, &most);
    *overflow |= __builtin_add_overflow(sum->low, least, &least);
    *overflow |= __builtin_add_overflow(sum->high, most, &most);
    sum->low = least;
    sum->high = most;
}

/* Whether a sum of the terms as they stand, in their order, stays in int64_t throughout. */
static bool terms_overflow(Affine affine, const Func *func) {
    Range sum = {0, 0};
    bool overflow = false;
    for (uint32_t i = 0; i < affine.count; i++) {
        Term term = affine.terms[i];
        if (term.loop == NO_LOOP)
            widen(&sum, term.coefficient, 1, 1, &overflow);
        else
            widen(&sum, term.coefficient, func->loops[term.loop].low,
                  func->loops[term.loop].high - 1, &overflow);
    }
    return overflow;
}

/* The remainders of all sums in a range: it keeps its length where it lies between two multiples.
 */
static Range range_of_remainders(Range sum, int64_t modulus) {
    int64_t low = floor_mod(sum.low, modulus), length;
    if (__builtin_sub_overflow(sum.high, sum.low, &length) || length >= modulus - low)
        return (Range){0, modulus - 1};
    return (Range){low, low + length};
}

Range affine_range(Affine affine, const Func *func, bool *overflow) {
    Range unknown = {affine.modulus ? 0 : INT64_MIN,
                     affine.modulus ? affine.modulus - 1 : INT64_MAX};
    if (terms_overflow(affine, func)) {
        if (overflow) *overflow = true;
        return unknown;
    }
    Range sum = {0, 0};
    bool lost = false;
    for (uint32_t i = 0; i < affine.count; i++) {
        if (named_before(affine, i)) continue;
        uint32_t loop = affine.terms[i].loop;
        int64_t coefficient = affine_coefficient(affine, loop);
        if (loop == NO_LOOP)
            widen(&sum, coefficient, 1, 1, &lost);
        else
            widen(&sum, coefficient, func->loops[loop].low, func->loops[loop].high - 1, &lost);
    }
    if (lost && overflow) *overflow = true;
    if (lost) return unknown;
    return affine.modulus ? range_of_remainders(sum, affine.modulus) : sum;
}

bool affine_is_constant(Affine affine, const Func *func, int64_t *value) {
    Range range = affine_range(affine, func, NULL);
    *value = range.low;
    return range.low == range.high;
}

/* The same coefficient of one loop, or one that makes no difference to the remainder. */
static bool same_coefficient(Affine a, Affine b, uint32_t loop) {
    int64_t one = affine_coefficient(a, loop), other = affine_coefficient(b, loop);
    if (a.modulus) return floor_mod(one, a.modulus) == floor_mod(other, a.modulus);
    return one == other;
}

bool affine_equal(Affine a, Affine b) {
    if (a.modulus != b.modulus) return false;
    for (uint32_t i = 0; i < a.count; i++)
        if (!same_coefficient(a, b, a.terms[i].loop)) return false;
    for (uint32_t i = 0; i < b.count; i++)
        if (!same_coefficient(a, b, b.terms[i].loop)) return false;
    return true;
}

/* Terms of both, by loop: NO_LOOP is the largest id, so that the constant comes last. */
static SortKey *sorted_loops(Arena *arena, Affine a, Affine b) {
    SortKey *keys = RAW_ARRAY(arena, SortKey, (size_t)a.count + b.count);
    for (uint32_t i = 0; i < a.count; i++)
        keys[i] = (SortKey){a.terms[i].loop, i};
    for (uint32_t i = 0; i < b.count; i++)
        keys[a.count + i] = (SortKey){b.terms[i].loop, a.count + i};
    sort_keys(keys, (size_t)a.count + b.count, arena);
    return keys;
}

Affine affine_difference(Arena *arena, Affine a, Affine b) {
    assert(!a.modulus && !b.modulus);
    SortKey *keys = sorted_loops(arena, a, b);
    Term *terms = NEW_ARRAY(arena, Term, (size_t)a.count + b.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < a.count + b.count; i++) {
        if (i > 0 && keys[i].key == keys[i - 1].key) continue;
        uint32_t loop = (uint32_t)keys[i].key;
        int64_t coefficient =
            saturating_sub(affine_coefficient(a, loop), affine_coefficient(b, loop));
        if (coefficient != 0) terms[count++] = (Term){coefficient, loop};
    }
    if (count == 0) terms[count++] = (Term){0, NO_LOOP};
    return (Affine){terms, count, 0};
}

Affine shift_affine(Arena *arena, Affine affine, int64_t by) {
    if (by == 0) return affine;
    Term *terms = RAW_ARRAY(arena, Term, (size_t)affine.count + 1);
    uint32_t count = 0, last = affine.count; /* position of the last constant */
    for (uint32_t i = 0; i < affine.count; i++)
        if (affine.terms[i].loop == NO_LOOP) last = i;
    for (uint32_t i = 0; i < affine.count; i++) {
        Term term = affine.terms[i];
        if (i == last) term.coefficient = saturating_add(term.coefficient, by);
        if (i != last || term.coefficient != 0 || affine.count == 1) terms[count++] = term;
    }
    if (last == affine.count) terms[count++] = (Term){by, NO_LOOP};
    return (Affine){terms, count, affine.modulus};
}

static bool same_terms(Affine a, Affine b) {
    if (a.count != b.count || a.modulus != b.modulus) return false;
    for (uint32_t i = 0; i < a.count; i++)
        if (a.terms[i].loop != b.terms[i].loop || a.terms[i].coefficient != b.terms[i].coefficient)
            return false;
    return true;
}

bool condition_equal(const Condition *a, const Condition *b) {
    if (!a || !b) return a == b;
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->compares[i].comparison != b->compares[i].comparison ||
            !same_terms(a->compares[i].left, b->compares[i].left) ||
            !same_terms(a->compares[i].right, b->compares[i].right))
            return false;
    return true;
}

static bool names_loop(Affine affine, uint32_t loop) {
    for (uint32_t i = 0; i < affine.count; i++)
        if (affine.terms[i].loop == loop) return true;
    return false;
}

const Condition *condition_without_loop(Arena *arena, const Condition *condition, uint32_t loop) {
    if (!condition) return NULL;
    Compare *kept = NEW_ARRAY(arena, Compare, condition->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < condition->count; i++) {
        const Compare *compare = &condition->compares[i];
        if (!names_loop(compare->left, loop) && !names_loop(compare->right, loop))
            kept[count++] = *compare;
    }
    if (count == 0) return NULL;
    Condition *result = NEW(arena, Condition);
    *result = (Condition){kept, count};
    return result;
}
