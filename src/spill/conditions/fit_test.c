/* Affine forms of samples: by hand, and against all forms with small coefficients. */
#include "spill/conditions/fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "support/checked.h"
#include "test/chance.h"
#include "test/count.h"

enum { MOST_DIMS = 3, MOST_SAMPLES = 40, REACH = 3 };

static const uint32_t LOOPS[MOST_DIMS] = {2, 5, 6};

typedef struct {
    int64_t indices[MOST_SAMPLES * MOST_DIMS], targets[MOST_SAMPLES];
    FitSamples samples;
} Case;

static void case_begin(Case *c, uint32_t ndims) {
    c->samples = (FitSamples){ndims, 0, LOOPS, c->indices, c->targets};
}

static void case_add(Case *c, const int64_t *indices, int64_t target) {
    assert_true(c->samples.count < MOST_SAMPLES);
    memcpy(c->indices + (size_t)c->samples.count * c->samples.ndims, indices,
           c->samples.ndims * sizeof *indices);
    c->targets[c->samples.count++] = target;
}

/* A form as numbers: the coefficients, then the constant. */
typedef struct {
    int64_t values[MOST_DIMS + 1], modulus;
} SmallForm;

static int64_t form_value(const SmallForm *form, uint32_t ndims, const int64_t *indices) {
    int64_t sum = form->values[ndims];
    for (uint32_t d = 0; d < ndims; d++)
        sum += form->values[d] * indices[d];
    return form->modulus ? floor_mod(sum, form->modulus) : sum;
}

static bool form_fits(const SmallForm *form, const FitSamples *samples) {
    for (uint32_t i = 0; i < samples->count; i++)
        if (form_value(form, samples->ndims, samples->indices + (size_t)i * samples->ndims) !=
            samples->targets[i])
            return false;
    return true;
}

static uint32_t indices_named(const SmallForm *form, uint32_t ndims) {
    uint32_t named = 0;
    for (uint32_t d = 0; d < ndims; d++)
        named += form->values[d] != 0;
    return named;
}

static SmallForm read_form(Affine affine, uint32_t ndims) {
    SmallForm form = {.modulus = affine.modulus};
    assert_true(affine.count > 0);
    for (uint32_t d = 0; d < ndims; d++)
        form.values[d] = affine_coefficient(affine, LOOPS[d]);
    form.values[ndims] = affine_offset(affine);
    uint32_t terms = indices_named(&form, ndims) + (form.values[ndims] != 0);
    assert_int_equal(affine.count, terms ? terms : 1); /* no zero terms, none twice */
    return form;
}

static void expect_form(Case *c, const SmallForm *expected) {
    Arena arena;
    arena_init(&arena);
    Affine affine;
    assert_int_equal(fit_affine(&c->samples, &arena, &affine), expected != NULL);
    if (expected) {
        SmallForm form = read_form(affine, c->samples.ndims);
        assert_int_equal(form.modulus, expected->modulus);
        for (uint32_t d = 0; d <= c->samples.ndims; d++)
            assert_int_equal(form.values[d], expected->values[d]);
    }
    arena_free(&arena);
}

/* ---- by hand ---- */

static void sums(void **state) {
    (void)state;
    Case c;
    case_begin(&c, 2);
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < 4; j++)
            case_add(&c, (int64_t[]){i, j}, 4 * i + j - 3);
    expect_form(&c, &(SmallForm){{4, 1, -3}, 0});
    case_begin(&c, 0);
    case_add(&c, (int64_t[]){0}, 7);
    case_add(&c, (int64_t[]){0}, 7);
    expect_form(&c, &(SmallForm){{7}, 0});
    case_add(&c, (int64_t[]){0}, 8);
    expect_form(&c, NULL);
}

static void remainders(void **state) {
    (void)state;
    Case c;
    case_begin(&c, 2);
    for (int64_t k = 0; k < 9; k++)
        case_add(&c, (int64_t[]){k / 3, k}, (k + 1) % 2);
    expect_form(&c, &(SmallForm){{0, 1, 1}, 2});
    case_begin(&c, 1);
    for (int64_t k = 0; k < 9; k++)
        case_add(&c, (int64_t[]){k}, (11 - k) % 5);
    expect_form(&c, &(SmallForm){{-1, 1}, 5});
    case_begin(&c, 1);
    for (int64_t k = 0; k < 40; k++)
        case_add(&c, (int64_t[]){k}, k < 20 ? k : k - 20 + (k == 33));
    expect_form(&c, NULL);
    case_begin(&c, 1);
    for (int64_t k = 0; k < 5; k++)
        case_add(&c, (int64_t[]){40 * k}, 40 * k % 64);
    expect_form(&c, &(SmallForm){{1, 0}, 64});
}

/* Samples that leave a choice. */
static void choices(void **state) {
    (void)state;
    Case c;
    case_begin(&c, 2);
    case_add(&c, (int64_t[]){3, 4}, 5);
    expect_form(&c, &(SmallForm){{0, 0, 5}, 0});
    case_begin(&c, 2);
    for (int64_t i = 0; i < 4; i++)
        case_add(&c, (int64_t[]){i, i}, i + 1);
    expect_form(&c, &(SmallForm){{1, 0, 1}, 0});
    case_begin(&c, 3);
    for (int64_t i = 0; i < 9; i++)
        case_add(&c, (int64_t[]){i / 3, i % 3, i / 3 + i % 3}, i / 3 + i % 3);
    expect_form(&c, &(SmallForm){{0, 0, 1, 0}, 0});
    case_begin(&c, 2); /* no multiple of one index alone */
    for (int64_t i = 0; i < 4; i++)
        case_add(&c, (int64_t[]){2 * i, 3 * i}, i);
    expect_form(&c, &(SmallForm){{-1, 1, 0}, 0});
}

/* Where int64_t does not hold what it takes, there is no form; what is large and fits is found. */
static void large_numbers(void **state) {
    (void)state;
    const int64_t big = INT64_MAX / 2;
    Case c;
    case_begin(&c, 1);
    case_add(&c, (int64_t[]){0}, -big);
    case_add(&c, (int64_t[]){1}, big);
    expect_form(&c, &(SmallForm){{2 * big, -big}, 0});
    case_begin(&c, 2);
    case_add(&c, (int64_t[]){big, big - 1}, big);
    case_add(&c, (int64_t[]){big - 2, 5}, -big);
    case_add(&c, (int64_t[]){7, INT64_MAX}, INT64_MIN);
    expect_form(&c, NULL);
}

/* ---- against all small forms ---- */

/* Some iterations of a nest, and what a random form says of them, sometimes with an error. */
static void random_case(Chance *chance, Case *c) {
    uint32_t ndims = (uint32_t)chance_below(chance, MOST_DIMS + 1);
    SmallForm form = {.modulus = chance_percent(chance, 50) ? chance_between(chance, 1, 6) : 0};
    for (uint32_t d = 0; d <= ndims; d++)
        form.values[d] = chance_percent(chance, 35) ? 0 : chance_between(chance, -REACH, REACH);
    case_begin(c, ndims);
    bool tied = chance_percent(chance, 30), wrong = chance_percent(chance, 20);
    int64_t stride = chance_between(chance, 1, 3), count = chance_between(chance, 1, 14);
    for (int64_t i = 0; i < count; i++) {
        int64_t indices[MOST_DIMS];
        for (uint32_t d = 0; d < ndims; d++)
            indices[d] = tied && d == 1 ? stride * indices[0] : chance_between(chance, 0, 8);
        int64_t target = form_value(&form, ndims, indices);
        case_add(c, indices, target + (wrong && i + 1 == count));
    }
}

static bool next_form(SmallForm *form, uint32_t ndims, int64_t low, int64_t high) {
    for (uint32_t d = 0; d <= ndims; d++) {
        if (form->values[d]++ < high) return true;
        form->values[d] = low;
    }
    return false;
}

/* Whether a form with coefficients low to high fits that names at most `most` indexes. */
static bool any_fits(const FitSamples *samples, int64_t modulus, int64_t reach, uint32_t most) {
    int64_t low = modulus ? 0 : -reach, high = modulus ? modulus - 1 : reach;
    SmallForm form = {.modulus = modulus};
    for (uint32_t d = 0; d <= samples->ndims; d++)
        form.values[d] = low;
    do
        if (indices_named(&form, samples->ndims) <= most && form_fits(&form, samples)) return true;
    while (next_form(&form, samples->ndims, low, high));
    return false;
}

static void check_case(const Case *c) {
    const FitSamples *samples = &c->samples;
    Arena arena;
    arena_init(&arena);
    Affine affine;
    bool found = fit_affine(samples, &arena, &affine);
    SmallForm form = {.modulus = 7};
    if (found) {
        form = read_form(affine, samples->ndims);
        assert_true(form_fits(&form, samples));
    }
    if (form.modulus) assert_false(any_fits(samples, 0, REACH, MOST_DIMS));
    for (int64_t modulus = 2; modulus < 7 && modulus < form.modulus; modulus++)
        assert_false(any_fits(samples, modulus, 0, MOST_DIMS));
    uint32_t named = indices_named(&form, samples->ndims);
    if (found && named > 0 && form.modulus < 7)
        assert_false(any_fits(samples, form.modulus, REACH, named == 1 ? 0 : 1));
    arena_free(&arena);
}

static void random_cases(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < test_count() * 20; seed++) {
        Case c;
        Chance chance = {seed};
        random_case(&chance, &c);
        check_case(&c);
    }
}

/* ---- shifts ---- */

static void expect_shift(Affine affine, int64_t by, Affine expected) {
    Arena arena;
    arena_init(&arena);
    Affine shifted = shift_affine(&arena, affine, by);
    assert_int_equal(shifted.count, expected.count);
    assert_int_equal(shifted.modulus, expected.modulus);
    for (uint32_t i = 0; i < expected.count; i++) {
        assert_int_equal(shifted.terms[i].coefficient, expected.terms[i].coefficient);
        assert_int_equal(shifted.terms[i].loop, expected.terms[i].loop);
    }
    arena_free(&arena);
}

static void shifts(void **state) {
    (void)state;
    const Term k[] = {{1, 0}}, plus[] = {{1, 0}, {1, NO_LOOP}}, minus[] = {{1, 0}, {-1, NO_LOOP}},
               before[] = {{3, NO_LOOP}, {2, 1}}, after[] = {{2, 1}}, three[] = {{3, NO_LOOP}},
               zero[] = {{0, NO_LOOP}};
    expect_shift((Affine){plus, 2, 4}, -2, (Affine){minus, 2, 4});
    expect_shift((Affine){plus, 2, 0}, -1, (Affine){k, 1, 0});
    expect_shift((Affine){k, 1, 0}, 1, (Affine){plus, 2, 0});
    expect_shift((Affine){k, 1, 0}, 0, (Affine){k, 1, 0});
    expect_shift((Affine){before, 2, 0}, -3, (Affine){after, 1, 0});
    expect_shift((Affine){three, 1, 0}, -3, (Affine){zero, 1, 0});
    expect_shift((Affine){zero, 1, 0}, 3, (Affine){three, 1, 0});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),          cmocka_unit_test(remainders),   cmocka_unit_test(choices),
        cmocka_unit_test(large_numbers), cmocka_unit_test(random_cases), cmocka_unit_test(shifts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
