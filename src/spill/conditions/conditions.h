/* Conditions that hold in given iterations: what was decided for points of time, folded back into
 * the text of a loop. */
#ifndef SPILL_CONDITIONS_CONDITIONS_H
#define SPILL_CONDITIONS_CONDITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/affine.h"
#include "support/arena.h"

enum { MOST_FEATURES = 16, MOST_CONJUNCTIONS = 8 };

typedef enum { SAMPLE_UNWANTED, SAMPLE_WANTED, SAMPLE_EITHER } SampleLabel;

/* Iterations of one instruction, each with the value of each side that a condition can name. */
typedef struct {
    uint32_t nfeatures, count; /* at most MOST_FEATURES; those that are preferred come first */
    const int64_t *values;     /* [count * nfeatures], sample by sample; below INT64_MAX */
    const uint8_t *labels;     /* [count] SampleLabel */
    const int64_t *weights;    /* [count] cost of covering an unwanted one; at least 0. NULL: 1 */
} Samples;

/* `feature comparison bound`, the comparison one of == != < >=. */
typedef struct {
    uint32_t feature;
    Comparison comparison;
    int64_t bound;
} Literal;

typedef struct {
    const Literal *literals; /* in order of feature */
    uint32_t count;          /* 0: always */
} Conjunction;

typedef struct {
    const Conjunction *items; /* in order of the first wanted sample that each covers */
    uint32_t count;
    bool exact;    /* just the wanted samples are covered */
    int64_t extra; /* weight of the unwanted ones that are covered */
} Conditions;

/* Finds at most `most` (1 to MOST_CONJUNCTIONS) conjunctions that cover the wanted samples and no
 * unwanted one, no sample twice (of no matter which label). As few conjunctions as it finds, then
 * as few literals; earlier features are preferred, and thresholds, which lie at a wanted value, to
 * `!=`. Where none are found: no conjunction and `exact` false, unless `may_exceed`: then unwanted
 * samples are covered too, of as little weight as it finds.
 *
 * What it looks for is a decision tree, each of whose leaves with a wanted sample is one
 * conjunction: splits at a threshold, or around a band of few values. Least trees are found for few
 * samples, and the samples that contradict them are added until none does (constraint generation).
 * The literals of each leaf are a least hitting set of the samples that it must exclude, found
 * likewise. Deterministic; work is counted and limited. O(count * nfeatures) where one conjunction
 * is enough. The result is in the arena. */
Conditions find_conditions(const Samples *samples, uint32_t most, bool may_exceed, Arena *arena,
                           Arena *scratch);

#endif
