#include "spill/conditions/fit.h"

#include <string.h>

#include "support/checked.h"

/* All solutions of the equations so far: `point` plus any sum of multiples of the basis. Unknowns
 * are the coefficient of each index, then the constant. With a modulus all are remainders. */
typedef struct {
    int64_t modulus; /* 0: integers */
    uint32_t n;      /* unknowns */
    uint32_t rank;
    int64_t *point;  /* [n] */
    int64_t *basis;  /* [n * n], `rank` rows of it */
    int64_t *values; /* [n] scratch: what an equation makes of each basis vector */
    int64_t *row;    /* [n] scratch: the equation */
    bool overflow;
} Solutions;

static Solutions all_solutions(uint32_t n, int64_t modulus, Arena *scratch) {
    Solutions all = {.modulus = modulus, .n = n, .rank = n};
    all.point = NEW_ARRAY(scratch, int64_t, n);
    all.basis = NEW_ARRAY(scratch, int64_t, (size_t)n * n);
    all.values = NEW_ARRAY(scratch, int64_t, n);
    all.row = NEW_ARRAY(scratch, int64_t, n);
    for (uint32_t i = 0; i < n; i++)
        all.basis[(size_t)i * n + i] = 1;
    return all;
}

static Solutions copy_solutions(const Solutions *from, Arena *scratch) {
    Solutions copy = all_solutions(from->n, from->modulus, scratch);
    copy.rank = from->rank;
    copy.overflow = from->overflow;
    memcpy(copy.point, from->point, from->n * sizeof *copy.point);
    memcpy(copy.basis, from->basis, (size_t)from->n * from->n * sizeof *copy.basis);
    return copy;
}

/* ---- arithmetic ---- */

/* sum + a * b, as a remainder if there is a modulus. INT64_MIN counts as overflow, so that all can
 * be negated. */
static int64_t add_product(Solutions *s, int64_t sum, int64_t a, int64_t b) {
    int64_t product, result;
    if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(sum, product, &result) ||
        result == INT64_MIN) {
        s->overflow = true;
        return 0;
    }
    return s->modulus ? floor_mod(result, s->modulus) : result;
}

static int64_t apply_row(Solutions *s, const int64_t *vector) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->n; i++)
        sum = add_product(s, sum, s->row[i], vector[i]);
    return sum;
}

static void add_multiple(Solutions *s, int64_t *to, int64_t factor, const int64_t *vector) {
    for (uint32_t i = 0; i < s->n; i++)
        to[i] = add_product(s, to[i], factor, vector[i]);
}

static int64_t *basis_vector(const Solutions *s, uint32_t k) {
    return s->basis + (size_t)k * s->n;
}

static int64_t magnitude(int64_t value) {
    return value < 0 ? -value : value;
}

/* ---- equations ---- */

/* The basis vector of which the row makes the value nearest to 0 but not 0; rank if none. */
static uint32_t least_value(const Solutions *s, uint32_t *nonzero) {
    uint32_t least = s->rank;
    *nonzero = 0;
    for (uint32_t k = 0; k < s->rank; k++) {
        if (s->values[k] == 0) continue;
        ++*nonzero;
        if (least == s->rank || magnitude(s->values[k]) < magnitude(s->values[least])) least = k;
    }
    return least;
}

/* Changes the basis, not what it spans, until the row makes 0 of all vectors but one: returns that
 * one, or rank if there is none. */
static uint32_t concentrate(Solutions *s) {
    for (uint32_t k = 0; k < s->rank; k++)
        s->values[k] = apply_row(s, basis_vector(s, k));
    for (;;) {
        uint32_t nonzero, pivot = least_value(s, &nonzero);
        if (nonzero <= 1 || s->overflow) return pivot;
        for (uint32_t k = 0; k < s->rank; k++) {
            if (k == pivot) continue;
            int64_t times = -(s->values[k] / s->values[pivot]);
            s->values[k] = add_product(s, s->values[k], times, s->values[pivot]);
            add_multiple(s, basis_vector(s, k), times, basis_vector(s, pivot));
        }
    }
}

static void remove_vector(Solutions *s, uint32_t k) {
    s->rank--;
    memmove(basis_vector(s, k), basis_vector(s, s->rank), s->n * sizeof *s->basis);
}

/* How often the pivot has to be added so that the row makes `missing` of it. */
static bool find_multiple(const Solutions *s, int64_t value, int64_t missing, int64_t *times) {
    if (!s->modulus) {
        *times = missing / value;
        return missing % value == 0;
    }
    for (*times = 0; *times < s->modulus; ++*times)
        if (*times * value % s->modulus == missing) return true;
    return false;
}

/* What is left of the pivot: of remainders, its multiples of which the row makes 0. */
static void use_up(Solutions *s, uint32_t pivot) {
    int64_t *vector = basis_vector(s, pivot);
    int64_t left =
        s->modulus ? s->modulus / common_divisor(s->modulus, magnitude(s->values[pivot])) - 1 : 0;
    bool zero = true;
    if (left > 0) add_multiple(s, vector, left, vector);
    for (uint32_t i = 0; i < s->n && left > 0; i++)
        zero &= vector[i] == 0;
    if (zero) remove_vector(s, pivot);
}

/* Keeps the solutions for which the row has that value; false where there are none. */
static bool require(Solutions *s, int64_t target) {
    int64_t missing = add_product(s, target, -1, apply_row(s, s->point)), times;
    if (s->rank == 0) return missing == 0 && !s->overflow;
    uint32_t pivot = concentrate(s);
    if (s->overflow) return false;
    if (pivot == s->rank) return missing == 0;
    if (!find_multiple(s, s->values[pivot], missing, &times)) return false;
    add_multiple(s, s->point, times, basis_vector(s, pivot));
    use_up(s, pivot);
    return !s->overflow;
}

static bool require_samples(Solutions *s, const FitSamples *samples) {
    for (uint32_t i = 0; i < samples->count; i++) {
        const int64_t *indices = samples->indices + (size_t)i * samples->ndims;
        for (uint32_t d = 0; d < samples->ndims; d++)
            s->row[d] = s->modulus ? floor_mod(indices[d], s->modulus) : indices[d];
        s->row[samples->ndims] = 1;
        if (!require(s, samples->targets[i])) return false;
    }
    return true;
}

/* ---- which of several ---- */

static bool require_unknown(Solutions *s, uint32_t unknown, int64_t value) {
    memset(s->row, 0, s->n * sizeof *s->row);
    s->row[unknown] = 1;
    return require(s, s->modulus ? floor_mod(value, s->modulus) : value);
}

/* Of the values that differ by multiples of `step`, the one nearest to 0; the positive one of two.
 */
static int64_t nearest_to_zero(int64_t value, int64_t step) {
    int64_t rest = floor_mod(value, step);
    return rest > step - rest ? rest - step : rest;
}

/* Gives an unknown the smallest value that it can have. */
static bool make_small(Solutions *s, uint32_t unknown) {
    int64_t step = s->modulus;
    for (uint32_t k = 0; k < s->rank; k++)
        step = common_divisor(step, magnitude(basis_vector(s, k)[unknown]));
    return step == 0 || require_unknown(s, unknown, nearest_to_zero(s->point[unknown], step));
}

/* The innermost coefficients first, the constant last. */
static bool make_all_small(Solutions *s) {
    for (uint32_t d = s->n - 1; d-- > 0;)
        if (!make_small(s, d)) return false;
    return make_small(s, s->n - 1);
}

static bool keep_one_index(Solutions *s, uint32_t index) {
    for (uint32_t d = 0; d + 1 < s->n; d++)
        if (d != index && !require_unknown(s, d, 0)) return false;
    return make_all_small(s);
}

static bool choose(Solutions *s, Arena *scratch) {
    for (uint32_t d = 0; s->rank > 0 && d + 1 < s->n; d++) {
        Solutions one = copy_solutions(s, scratch);
        if (!keep_one_index(&one, d)) continue;
        *s = one;
        return true;
    }
    return make_all_small(s);
}

static Affine write_form(const Solutions *s, const uint32_t *loops, Arena *arena) {
    Term *terms = NEW_ARRAY(arena, Term, s->n);
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t value = s->modulus ? nearest_to_zero(s->point[i], s->modulus) : s->point[i];
        if (value != 0) terms[count++] = (Term){value, i + 1 < s->n ? loops[i] : NO_LOOP};
    }
    if (count == 0) terms[count++] = (Term){0, NO_LOOP};
    return (Affine){terms, count, s->modulus};
}

static bool fit_modulus(const FitSamples *samples, int64_t modulus, Arena *arena, Affine *form) {
    Arena scratch;
    arena_init(&scratch);
    Solutions s = all_solutions(samples->ndims + 1, modulus, &scratch);
    bool fits = require_samples(&s, samples) && choose(&s, &scratch);
    if (fits) *form = write_form(&s, samples->loops, arena);
    arena_free(&scratch);
    return fits;
}

bool fit_affine(const FitSamples *samples, Arena *arena, Affine *form) {
    if (fit_modulus(samples, 0, arena, form)) return true;
    int64_t greatest = 1;
    for (uint32_t i = 0; i < samples->count; i++) {
        if (samples->targets[i] < 0) return false;
        if (samples->targets[i] > greatest) greatest = samples->targets[i];
    }
    for (int64_t modulus = greatest; modulus++ < GREATEST_FIT_MODULUS;)
        if (fit_modulus(samples, modulus, arena, form)) return true;
    return false;
}
