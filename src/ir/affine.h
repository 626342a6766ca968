/* Index expressions and conditions over loop indices. */
#ifndef IR_AFFINE_H
#define IR_AFFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "support/arena.h"

#define NO_LOOP UINT32_MAX

/* One term: coefficient times the index of a loop, or a constant where loop is NO_LOOP. */
typedef struct {
    int64_t coefficient; /* negative for a term that is subtracted */
    uint32_t loop;       /* id in Func.loops */
} Term;

/* A sum of terms in the order written; at least one. No value that it can take within its loops
 * overflows int64_t, partial sums included: the static checks refuse those that could. With a
 * modulus, the remainder of that sum: 0 to modulus - 1, also where the sum is negative. */
typedef struct {
    const Term *terms;
    uint32_t count;
    int64_t modulus; /* at least 1; 0: the sum itself */
} Affine;

typedef enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE } Comparison;

typedef struct {
    Affine left, right;
    Comparison comparison;
} Compare;

/* A conjunction; NULL where an instruction has none. */
typedef struct {
    const Compare *compares;
    uint32_t count; /* at least 1 */
} Condition;

/* Closed interval of values. */
typedef struct {
    int64_t low, high;
} Range;

struct Func;

Affine affine_constant(Arena *arena, int64_t value);

/* The value where loop L stands at indices[L]. */
int64_t affine_value(Affine affine, const int64_t *indices);
bool comparison_holds(int64_t left, Comparison comparison, int64_t right);
bool condition_holds(const Condition *condition, const int64_t *indices);

/* The values that it can take while each loop runs its course, taken apart loop by loop (each end
 * is reached, but for remainders). `overflow`, if given, is set where int64_t does not hold them
 * all. */
Range affine_range(Affine affine, const struct Func *func, bool *overflow);

/* True if it has one value only; then *value is that. */
bool affine_is_constant(Affine affine, const struct Func *func, int64_t *value);

/* The same value for all indices (terms gathered, order and zero terms ignored; of remainders only
 * those of one modulus are told to be the same). */
bool affine_equal(Affine a, Affine b);

/* a - b in canonical form: loop terms in order of loop, then the constant where it is not 0 or
 * stands alone. Neither has a modulus. In the arena. */
Affine affine_difference(Arena *arena, Affine a, Affine b);

/* The same with `by` more, saturated: in its last constant, which is dropped where it comes to 0
 * and does not stand alone, or as a last term where there is none. Of a remainder, that of the sum:
 * the value itself is `by` more only where that is one of its remainders. In the arena. */
Affine shift_affine(Arena *arena, Affine affine, int64_t by);

/* The sum without its modulus. */
static inline Affine affine_sum(Affine affine) {
    return (Affine){affine.terms, affine.count, 0};
}

/* Coefficient of one loop's index, and the sum of the constants; of a remainder, those of its sum.
 */
int64_t affine_coefficient(Affine affine, uint32_t loop);
int64_t affine_offset(Affine affine);

/* Structurally the same comparisons in the same order (both may be NULL). */
bool condition_equal(const Condition *a, const Condition *b);

/* The condition without the comparisons that name `loop`; NULL where none is left. */
const Condition *condition_without_loop(Arena *arena, const Condition *condition, uint32_t loop);

#endif
