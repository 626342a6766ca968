#include "spill/conditions/cell.h"

#include "support/checked.h"
#include "support/search.h"
#include "support/sort.h"

enum { FAIR_SHARE = 16 };

/* ---- ranks ---- */

static int64_t sample_value(const Samples *samples, uint32_t sample, uint32_t feature) {
    return samples->values[(size_t)sample * samples->nfeatures + feature];
}

/* A key in the order of signed values. */
static uint64_t value_key(int64_t value) {
    return (uint64_t)value ^ UINT64_C(1) << 63;
}

static RankScale scale_by_sorting(const Samples *samples, uint32_t feature, Arena *scratch) {
    SortKey *keys = RAW_ARRAY(scratch, SortKey, samples->count);
    for (uint32_t i = 0; i < samples->count; i++)
        keys[i] = (SortKey){value_key(sample_value(samples, i, feature)), i};
    sort_keys(keys, samples->count, scratch);
    int64_t *sorted = RAW_ARRAY(scratch, int64_t, samples->count);
    uint32_t size = 0;
    for (uint32_t i = 0; i < samples->count; i++)
        if (i == 0 || keys[i].key != keys[i - 1].key)
            sorted[size++] = sample_value(samples, keys[i].id, feature);
    return (RankScale){.sorted = sorted, .size = size};
}

/* Values that lie close need no sorting: some ranks are then nobody's. */
static RankScale make_scale(const Samples *samples, uint32_t feature, Arena *scratch) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (uint32_t i = 0; i < samples->count; i++) {
        int64_t value = sample_value(samples, i, feature);
        if (value < low) low = value;
        if (value > high) high = value;
    }
    if (saturating_sub(high, low) >= 2 * (int64_t)samples->count + 64)
        return scale_by_sorting(samples, feature, scratch);
    return (RankScale){.base = low, .size = (uint32_t)(high - low) + 1};
}

static uint32_t rank_of(const RankScale *scale, int64_t value) {
    if (!scale->sorted) return (uint32_t)(value - scale->base);
    uint32_t rank;
    FIND_FIRST(rank, 0, scale->size, scale->sorted[rank] >= value);
    return rank;
}

int64_t rank_value(const RankedSamples *ranked, uint32_t feature, uint32_t rank) {
    const RankScale *scale = &ranked->scales[feature];
    return scale->sorted ? scale->sorted[rank] : scale->base + rank;
}

RankedSamples rank_samples(const Samples *samples, Arena *scratch) {
    RankedSamples ranked = {.nfeatures = samples->nfeatures, .count = samples->count};
    uint32_t *ranks = RAW_ARRAY(scratch, uint32_t, (size_t)samples->count * samples->nfeatures);
    for (uint32_t f = 0; f < samples->nfeatures; f++) {
        RankScale scale = make_scale(samples, f, scratch);
        for (uint32_t i = 0; i < samples->count; i++)
            ranks[(size_t)i * samples->nfeatures + f] =
                rank_of(&scale, sample_value(samples, i, f));
        ranked.scales[f] = scale;
        ranked.stamps[f] = NEW_ARRAY(scratch, uint32_t, scale.size);
        ranked.gains[f] = NEW_ARRAY(scratch, int64_t, scale.size);
    }
    int64_t *weights = RAW_ARRAY(scratch, int64_t, samples->count);
    ranked.labels = RAW_ARRAY(scratch, uint8_t, samples->count);
    for (uint32_t i = 0; i < samples->count; i++) {
        weights[i] = samples->weights ? samples->weights[i] : 1;
        ranked.labels[i] = samples->labels[i];
    }
    ranked.ranks = ranks;
    ranked.weights = weights;
    ranked.inside = RAW_ARRAY(scratch, uint32_t, samples->count);
    return ranked;
}

/* ---- cells ---- */

bool in_box(const RankedSamples *ranked, const Cell *cell, uint32_t sample) {
    const uint32_t *ranks = sample_ranks(ranked, sample);
    for (uint32_t f = 0; f < ranked->nfeatures; f++)
        if (ranks[f] < cell->low[f] || ranks[f] > cell->high[f]) return false;
    return true;
}

void stamp_wanted(RankedSamples *ranked, SampleList list) {
    ranked->stamp++;
    for (uint32_t i = 0; i < list.count; i++) {
        if (ranked->labels[list.ids[i]] != SAMPLE_WANTED) continue;
        const uint32_t *ranks = sample_ranks(ranked, list.ids[i]);
        for (uint32_t f = 0; f < ranked->nfeatures; f++)
            ranked->stamps[f][ranks[f]] = ranked->stamp;
    }
}

static void widen_box(const RankedSamples *ranked, Cell *cell, uint32_t sample) {
    const uint32_t *ranks = sample_ranks(ranked, sample);
    for (uint32_t f = 0; f < ranked->nfeatures; f++) {
        if (cell->nwanted == 0 || ranks[f] < cell->low[f]) cell->low[f] = ranks[f];
        if (cell->nwanted == 0 || ranks[f] > cell->high[f]) cell->high[f] = ranks[f];
    }
    cell->nwanted++;
}

/* Unwanted samples in the box go to ranked->inside; returns how many. */
static uint32_t gather_inside(RankedSamples *ranked, const Cell *cell, SampleList list) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < list.count; i++)
        if (ranked->labels[list.ids[i]] == SAMPLE_UNWANTED && in_box(ranked, cell, list.ids[i]))
            ranked->inside[count++] = list.ids[i];
    return count;
}

static int64_t hole_gain(const RankedSamples *ranked, uint32_t sample) {
    return saturating_add(ranked->weights[sample], 1);
}

/* Adds up for each value that no wanted sample has what a hole there excludes; `clear` undoes it.
 */
static void sum_gains(RankedSamples *ranked, uint32_t count, bool clear) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *ranks = sample_ranks(ranked, ranked->inside[i]);
        int64_t weight = hole_gain(ranked, ranked->inside[i]);
        for (uint32_t f = 0; f < ranked->nfeatures; f++) {
            int64_t *gain = &ranked->gains[f][ranks[f]];
            *gain = clear || has_wanted(ranked, f, ranks[f]) ? 0 : saturating_add(*gain, weight);
        }
    }
}

/* The hole that excludes most of what is inside, of those the first; feature MOST_FEATURES if none
 * excludes a fair share: where MOST_HOLES exclude all, one of them does. */
static Hole best_hole(RankedSamples *ranked, uint32_t count) {
    Hole best = {MOST_FEATURES, 0};
    int64_t most = 0, all = 0;
    sum_gains(ranked, count, false);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *ranks = sample_ranks(ranked, ranked->inside[i]);
        all = saturating_add(all, hole_gain(ranked, ranked->inside[i]));
        for (uint32_t f = 0; f < ranked->nfeatures; f++) {
            int64_t gain = ranked->gains[f][ranks[f]];
            if (gain < most || gain == 0) continue;
            bool first = f < best.feature || (f == best.feature && ranks[f] < best.rank);
            if (gain > most || first) best = (Hole){f, ranks[f]};
            most = gain;
        }
    }
    sum_gains(ranked, count, true);
    if (saturating_mul(most, FAIR_SHARE) < all) best.feature = MOST_FEATURES;
    return best;
}

static uint32_t remove_hole(RankedSamples *ranked, uint32_t count, Hole hole) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (sample_ranks(ranked, ranked->inside[i])[hole.feature] != hole.rank)
            ranked->inside[kept++] = ranked->inside[i];
    return kept;
}

/* Excludes by holes what it can of the samples inside; returns how many are left. */
static uint32_t make_holes(RankedSamples *ranked, Cell *cell, SampleList list, uint32_t inside) {
    stamp_wanted(ranked, list);
    while (inside > 0 && cell->nholes < MOST_HOLES) {
        Hole hole = best_hole(ranked, inside);
        if (hole.feature == MOST_FEATURES) break;
        cell->holes[cell->nholes++] = hole;
        inside = remove_hole(ranked, inside, hole);
    }
    ranked->work += (uint64_t)(list.count + inside) * ranked->nfeatures;
    return inside;
}

Cell box_of(const RankedSamples *ranked, SampleList list) {
    Cell cell = {.conflict = UINT32_MAX};
    for (uint32_t i = 0; i < list.count; i++)
        if (ranked->labels[list.ids[i]] == SAMPLE_WANTED) widen_box(ranked, &cell, list.ids[i]);
    return cell;
}

Cell check_cell(RankedSamples *ranked, SampleList list) {
    Cell cell = box_of(ranked, list);
    ranked->work += (uint64_t)list.count * ranked->nfeatures + 1;
    if (cell.nwanted == 0) return cell;
    uint32_t inside = gather_inside(ranked, &cell, list);
    if (inside > 0) inside = make_holes(ranked, &cell, list, inside);
    for (uint32_t i = 0; i < inside; i++)
        cell.extra = saturating_add(cell.extra, ranked->weights[ranked->inside[i]]);
    cell.nconflicts = inside;
    if (inside > 0) cell.conflict = ranked->inside[0];
    return cell;
}
