#include "spill/conditions/literals.h"

#include <string.h>

enum { MOST_EXCLUDED = 256, MOST_EXACT_LITERALS = 6, MOST_STEPS = 4000 };

/* One conjunction being shortened. */
typedef struct {
    RankedSamples *ranked;
    SampleList list;
    RankConjunction whole; /* of its cell */
    Cell cell;             /* its box */
    uint8_t *excluded;     /* [count of all samples] whether it must exclude that one */
    uint32_t samples[MOST_EXCLUDED];
    uint32_t nsamples; /* those of them that the search has met */
    uint32_t steps;
} Shortening;

/* ---- conjunctions ---- */

static bool rank_literal_holds(RankLiteral literal, const uint32_t *ranks) {
    uint32_t rank = ranks[literal.feature];
    switch (literal.comparison) {
    case CMP_EQ:
        return rank == literal.rank;
    case CMP_NE:
        return rank != literal.rank;
    case CMP_GE:
        return rank >= literal.rank;
    case CMP_LE:
        return rank <= literal.rank;
    default:
        return false;
    }
}

bool conjunction_holds(const RankConjunction *conjunction, const uint32_t *ranks) {
    for (uint32_t i = 0; i < conjunction->count; i++)
        if (!rank_literal_holds(conjunction->literals[i], ranks)) return false;
    return true;
}

static void add_literal(RankConjunction *conjunction, uint32_t feature, Comparison comparison,
                        uint32_t rank) {
    conjunction->literals[conjunction->count++] = (RankLiteral){feature, comparison, rank};
}

RankConjunction cell_conjunction(const RankedSamples *ranked, const Cell *cell) {
    RankConjunction all = {.count = 0};
    for (uint32_t f = 0; f < ranked->nfeatures; f++) {
        if (cell->low[f] == cell->high[f]) {
            add_literal(&all, f, CMP_EQ, cell->low[f]);
            continue;
        }
        add_literal(&all, f, CMP_GE, cell->low[f]);
        add_literal(&all, f, CMP_LE, cell->high[f]);
    }
    for (uint32_t i = 0; i < cell->nholes; i++)
        add_literal(&all, cell->holes[i].feature, CMP_NE, cell->holes[i].rank);
    return all;
}

/* ---- least hitting sets ---- */

/* The literal on one feature that excludes a sample and no wanted one, if there is any. */
static bool literal_against(const Shortening *s, uint32_t sample, uint32_t f,
                            RankLiteral *literal) {
    uint32_t rank = sample_ranks(s->ranked, sample)[f];
    uint32_t low = s->cell.low[f], high = s->cell.high[f];
    *literal = (RankLiteral){f, CMP_NE, rank};
    if (low == high)
        *literal = (RankLiteral){f, CMP_EQ, low};
    else if (rank < low)
        *literal = (RankLiteral){f, CMP_GE, low};
    else if (rank > high)
        *literal = (RankLiteral){f, CMP_LE, high};
    return low == high ? rank != low : !has_wanted(s->ranked, f, rank);
}

/* The first sample met that the conjunction does not exclude; UINT32_MAX if there is none. */
static uint32_t first_covered(const Shortening *s, const RankConjunction *conjunction) {
    for (uint32_t i = 0; i < s->nsamples; i++)
        if (conjunction_holds(conjunction, sample_ranks(s->ranked, s->samples[i])))
            return s->samples[i];
    return UINT32_MAX;
}

/* Completes the conjunction with at most so many literals more, such that it excludes all samples
 * met. */
static bool hit_all(Shortening *s, RankConjunction *conjunction, uint32_t more) {
    uint32_t sample = first_covered(s, conjunction);
    if (sample == UINT32_MAX) return true;
    if (more == 0 || ++s->steps > MOST_STEPS) return false;
    for (uint32_t f = 0; f < s->ranked->nfeatures; f++) {
        RankLiteral literal;
        if (!literal_against(s, sample, f, &literal)) continue;
        conjunction->literals[conjunction->count++] = literal;
        if (hit_all(s, conjunction, more - 1)) return true;
        conjunction->count--;
    }
    return false;
}

static bool least_hitting_set(Shortening *s, RankConjunction *conjunction) {
    s->steps = 0;
    for (uint32_t most = conjunction->count; most <= MOST_EXACT_LITERALS; most++) {
        conjunction->count = 0;
        if (hit_all(s, conjunction, most)) return true;
    }
    return false;
}

/* ---- one conjunction ---- */

/* Appends samples that must be excluded and are not: the first, the last, and for each feature
 * those with the least and the largest value. False if there are none. */
static bool meet_covered(Shortening *s, const RankConjunction *conjunction) {
    uint32_t extremes[2 * MOST_FEATURES + 1], n = s->ranked->nfeatures;
    bool any = false;
    for (uint32_t i = 0; i < s->list.count; i++) {
        uint32_t sample = s->list.ids[i];
        const uint32_t *ranks = sample_ranks(s->ranked, sample);
        if (!s->excluded[sample] || !conjunction_holds(conjunction, ranks)) continue;
        for (uint32_t f = 0; f < n; f++) {
            if (!any || ranks[f] < sample_ranks(s->ranked, extremes[2 * f])[f])
                extremes[2 * f] = sample;
            if (!any || ranks[f] > sample_ranks(s->ranked, extremes[2 * f + 1])[f])
                extremes[2 * f + 1] = sample;
        }
        any = true;
    }
    for (uint32_t i = 0; any && i < 2 * n && s->nsamples < MOST_EXCLUDED; i++)
        if (i == 0 || extremes[i] != extremes[i - 1]) s->samples[s->nsamples++] = extremes[i];
    return any;
}

/* The least set of literals that excludes what it must: each one that the search overlooked joins
 * the samples that it knows. False where it is too large, or too long to find. */
static bool find_least(Shortening *s, RankConjunction *conjunction) {
    conjunction->count = 0;
    while (meet_covered(s, conjunction))
        if (s->nsamples == MOST_EXCLUDED || !least_hitting_set(s, conjunction)) return false;
    return true;
}

/* Leaves out, from the last, each literal that is not needed. */
static void drop_needless(Shortening *s, RankConjunction *conjunction) {
    for (uint32_t i = conjunction->count; i-- > 0;) {
        RankConjunction less = *conjunction;
        memmove(less.literals + i, less.literals + i + 1,
                (less.count - i - 1) * sizeof(RankLiteral));
        less.count--;
        s->nsamples = 0;
        if (!meet_covered(s, &less)) *conjunction = less;
    }
}

/* What conjunction `at` must exclude, and the box of what it must not. */
static void prepare(Shortening *s, const RankConjunction *conjunctions, uint32_t count,
                    uint32_t at) {
    uint32_t *ids = s->ranked->inside, nids = 0;
    s->whole = conjunctions[at];
    for (uint32_t i = 0; i < s->list.count; i++) {
        uint32_t sample = s->list.ids[i];
        const uint32_t *ranks = sample_ranks(s->ranked, sample);
        bool own = conjunction_holds(&conjunctions[at], ranks), other = false;
        for (uint32_t c = 0; c < count && !own && !other; c++)
            other = conjunction_holds(&conjunctions[c], ranks);
        s->excluded[sample] = other || (!own && s->ranked->labels[sample] == SAMPLE_UNWANTED);
        if (own && s->ranked->labels[sample] == SAMPLE_WANTED) ids[nids++] = sample;
    }
    s->cell = box_of(s->ranked, (SampleList){ids, nids});
    stamp_wanted(s->ranked, (SampleList){ids, nids});
}

static int order_of(RankLiteral a) {
    return (int)a.feature * 8 + (a.comparison == CMP_GE ? 0 : a.comparison == CMP_NE ? 2 : 1);
}

static void sort_literals(RankConjunction *conjunction) {
    for (uint32_t i = 1; i < conjunction->count; i++)
        for (uint32_t j = i; j > 0; j--) {
            RankLiteral *pair = &conjunction->literals[j - 1], swap = pair[0];
            bool after = order_of(pair[0]) > order_of(pair[1]) ||
                         (order_of(pair[0]) == order_of(pair[1]) && pair[0].rank > pair[1].rank);
            if (!after) break;
            pair[0] = pair[1];
            pair[1] = swap;
        }
}

uint32_t shorten_conjunctions(RankedSamples *ranked, SampleList list, RankConjunction *conjunctions,
                              uint32_t count, Arena *scratch) {
    Shortening *s = NEW(scratch, Shortening);
    uint32_t literals = 0;
    *s = (Shortening){.ranked = ranked, .list = list};
    s->excluded = RAW_ARRAY(scratch, uint8_t, ranked->count);
    for (uint32_t c = 0; c < count; c++) {
        prepare(s, conjunctions, count, c);
        s->nsamples = 0;
        if (!find_least(s, &conjunctions[c])) {
            conjunctions[c] = s->whole;
            drop_needless(s, &conjunctions[c]);
        }
        sort_literals(&conjunctions[c]);
        literals += conjunctions[c].count;
    }
    return literals;
}
