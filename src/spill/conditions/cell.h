/* Samples by the ranks of their values, and the box of one conjunction. */
#ifndef SPILL_CONDITIONS_CELL_H
#define SPILL_CONDITIONS_CELL_H

#include "spill/conditions/conditions.h"

enum {
    MOST_BAND = 3,  /* values of a band that a split cuts out */
    MOST_HOLES = 4, /* values that one conjunction excludes by `!=` of its own accord */
    CELL_HOLES = MOST_HOLES + MOST_BAND * MOST_CONJUNCTIONS
};

/* The values of a feature in order: value = base + rank, or sorted[rank]. */
typedef struct {
    int64_t base;
    const int64_t *sorted; /* NULL: base + rank */
    uint32_t size;         /* ranks are below it */
} RankScale;

typedef struct {
    uint32_t nfeatures, count;
    const uint32_t *ranks; /* [count * nfeatures] */
    const int64_t *weights;
    uint8_t *labels; /* [count] */
    RankScale scales[MOST_FEATURES];
    uint32_t *stamps[MOST_FEATURES]; /* by rank: the last cell that has a wanted sample there */
    int64_t *gains[MOST_FEATURES];   /* by rank, 0 between uses */
    uint32_t stamp;
    uint32_t *inside; /* [count], for check_cell() */
    uint64_t work;    /* ranks looked at so far */
} RankedSamples;

typedef struct {
    const uint32_t *ids;
    uint32_t count;
} SampleList;

typedef struct {
    uint32_t feature, rank;
} Hole;

/* The least box around wanted samples, and values within it that none of them has. */
typedef struct {
    uint32_t low[MOST_FEATURES], high[MOST_FEATURES]; /* closed */
    Hole holes[CELL_HOLES];
    uint32_t nholes;
    uint32_t nwanted;
    uint32_t nconflicts; /* unwanted samples that it does not exclude */
    int64_t extra;       /* their weight */
    uint32_t conflict;   /* the first of them */
} Cell;

/* Ranks the samples. In scratch. O(count * nfeatures) where values lie close, times log count
 * otherwise. */
RankedSamples rank_samples(const Samples *samples, Arena *scratch);

static inline const uint32_t *sample_ranks(const RankedSamples *ranked, uint32_t sample) {
    return ranked->ranks + (size_t)sample * ranked->nfeatures;
}

int64_t rank_value(const RankedSamples *ranked, uint32_t feature, uint32_t rank);

/* The cell of some samples: the box of the wanted ones, and at most MOST_HOLES holes, those that
 * exclude most. O(list * nfeatures). */
Cell check_cell(RankedSamples *ranked, SampleList list);

/* The same without its holes and conflicts. */
Cell box_of(const RankedSamples *ranked, SampleList list);

/* True if the sample lies in the box, whatever the holes. */
bool in_box(const RankedSamples *ranked, const Cell *cell, uint32_t sample);

/* Stamps the values of the wanted samples of a list: see has_wanted(). */
void stamp_wanted(RankedSamples *ranked, SampleList list);

/* True if a sample of the list that was stamped last is wanted and has that value. */
static inline bool has_wanted(const RankedSamples *ranked, uint32_t feature, uint32_t rank) {
    return ranked->stamps[feature][rank] == ranked->stamp;
}

#endif
