#include "bound/saddle.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* How fast the weight grows at first, how far, in parts of the mean load, and how much of it each
 * restart adapts. */
static const double GROWTH = 2, LAST_WEIGHT = 0.03, ADAPTED = 0.2;
static const double CLOSE_ENOUGH = PARTS(1) / 64.0;

/* A point: how much of each item is kept in each of its bands, how much of each value is stored,
 * prices of rows, and of what joins items to their stores. */
typedef struct {
    double *kept;             /* [nvars] */
    double *stored;           /* [ngroups] */
    double *price[QUADRANTS]; /* [lanes][nrows] */
    double *join;             /* [nitems] 0 for items without a store */
} SaddlePoint;

typedef struct {
    const RowProblem *problem;
    uint32_t nvars, ngroups;
    uint32_t *var;               /* [nitems + 1] its first variable: one for each band */
    uint32_t *group;             /* [nitems] whose store it shares, UINT32_MAX: none */
    double *store;               /* [ngroups] */
    double *var_step;            /* [nvars] lengths of steps */
    double *store_step;          /* [ngroups] */
    double *row_step[QUADRANTS]; /* [lanes][nrows] */
    double worth;                /* parts of a granule at a row, where all prices are alike */
    double weight;               /* of steps of prices; steps of the rest are divided by it */
    double usual_weight;         /* it grows to this first, and adapts then */
    bool warm;                   /* it has */
    SaddlePoint now, next, mean, origin;
    double summed;           /* weight of the mean: iterations since the restart */
    double *sums[QUADRANTS]; /* [lanes][nrows + 1] scratch */
    double *use[QUADRANTS];  /* [lanes][nrows + 1] scratch */
    RealPrices *best;
} Saddle;

/* ---- making it ---- */

static SaddlePoint make_point(const Saddle *saddle, Arena *arena) {
    const RowProblem *problem = saddle->problem;
    SaddlePoint point = {.kept = NEW_ARRAY(arena, double, saddle->nvars),
                         .stored = NEW_ARRAY(arena, double, saddle->ngroups),
                         .join = NEW_ARRAY(arena, double, problem->nitems)};
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        point.price[lane] = NEW_ARRAY(arena, double, problem->nrows);
    return point;
}

static void copy_point(const Saddle *saddle, SaddlePoint *to, const SaddlePoint *from) {
    const RowProblem *problem = saddle->problem;
    memcpy(to->kept, from->kept, saddle->nvars * sizeof *to->kept);
    memcpy(to->stored, from->stored, saddle->ngroups * sizeof *to->stored);
    memcpy(to->join, from->join, problem->nitems * sizeof *to->join);
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        memcpy(to->price[lane], from->price[lane], problem->nrows * sizeof *to->price[lane]);
}

static void number_variables(Saddle *saddle, Arena *arena) {
    const RowProblem *problem = saddle->problem;
    saddle->var = RAW_ARRAY(arena, uint32_t, (size_t)problem->nitems + 1);
    saddle->group = RAW_ARRAY(arena, uint32_t, problem->nitems);
    saddle->store = RAW_ARRAY(arena, double, problem->nitems);
    for (uint32_t i = 0; i < problem->nitems; i++) {
        uint32_t value = problem->items[i].value;
        bool joins = i > 0 && value == problem->items[i - 1].value;
        saddle->var[i] = saddle->nvars;
        saddle->nvars += problem->items[i].shape.bands.count;
        saddle->group[i] = UINT32_MAX;
        if (!value) continue;
        if (!joins) saddle->store[saddle->ngroups++] = (double)problem->store[value];
        saddle->group[i] = saddle->ngroups - 1;
    }
    saddle->var[problem->nitems] = saddle->nvars;
}

/* Adds `amount` in each row and lane where an item is in a band. */
static void add_use(double *const *use, const RowItem *item, uint8_t mask, double amount) {
    for (uint32_t lane = 0; lane < QUADRANTS; lane++) {
        if (!(mask >> lane & 1)) continue;
        assert(use[lane]);
        use[lane][item->first] += amount;
        use[lane][item->last + 1] -= amount;
    }
}

static void sum_use(Saddle *saddle) {
    const RowProblem *problem = saddle->problem;
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        for (uint32_t r = 1; r <= problem->nrows; r++)
            saddle->use[lane][r] += saddle->use[lane][r - 1];
}

static void clear_use(Saddle *saddle) {
    const RowProblem *problem = saddle->problem;
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        memset(saddle->use[lane], 0, ((size_t)problem->nrows + 1) * sizeof(double));
}

/* Step lengths: for each variable the inverse of the sum of its coefficients, likewise for rows. */
static void set_steps(Saddle *saddle, Arena *arena) {
    const RowProblem *problem = saddle->problem;
    saddle->var_step = RAW_ARRAY(arena, double, saddle->nvars);
    saddle->store_step = NEW_ARRAY(arena, double, saddle->ngroups);
    clear_use(saddle);
    for (uint32_t i = 0; i < problem->nitems; i++) {
        const RowItem *item = &problem->items[i];
        double joined = saddle->group[i] != UINT32_MAX;
        if (joined > 0) saddle->store_step[saddle->group[i]] += 1;
        for (uint32_t b = 0; b < item->shape.bands.count; b++) {
            uint8_t mask = item->shape.bands.masks[b];
            double rows = (double)(item->last - item->first + 1) * __builtin_popcount(mask);
            saddle->var_step[saddle->var[i] + b] = 1 / (rows * item->shape.height + joined);
            add_use(saddle->use, item, mask, item->shape.height);
        }
    }
    for (uint32_t g = 0; g < saddle->ngroups; g++)
        saddle->store_step[g] = 1 / saddle->store_step[g];
    sum_use(saddle);
    for (uint32_t lane = 0; lane < problem->lanes; lane++) {
        saddle->row_step[lane] = RAW_ARRAY(arena, double, problem->nrows);
        for (uint32_t r = 0; r < problem->nrows; r++)
            saddle->row_step[lane][r] = saddle->use[lane][r] > 0 ? 1 / saddle->use[lane][r] : 0;
    }
}

/* Prices and fractions are of unlike size. The first weight is small, what a granule costs where
 * all are alike: that finds most of a bound soon. The last one finds the rest. */
static void set_weights(Saddle *saddle) {
    const RowProblem *problem = saddle->problem;
    double room = 0, loads = 0, count = 0;
    for (uint32_t i = 0; i < problem->nitems; i++) {
        const RowItem *item = &problem->items[i];
        if (item->load == MUST_KEEP) continue;
        count += 1;
        loads += (double)item->load;
        room += (double)(item->last - item->first + 1) * item->shape.height *
                __builtin_popcount(item->shape.bands.masks[0]);
    }
    saddle->weight = saddle->worth = count > 0 ? loads / room : 0;
    saddle->usual_weight = count > 0 ? LAST_WEIGHT * loads / count : 0;
}

static void make_saddle(Saddle *saddle, Arena *arena) {
    const RowProblem *problem = saddle->problem;
    number_variables(saddle, arena);
    for (uint32_t lane = 0; lane < problem->lanes; lane++) {
        saddle->sums[lane] = NEW_ARRAY(arena, double, (size_t)problem->nrows + 1);
        saddle->use[lane] = NEW_ARRAY(arena, double, (size_t)problem->nrows + 1);
    }
    set_steps(saddle, arena);
    set_weights(saddle);
    saddle->now = make_point(saddle, arena);
    saddle->next = make_point(saddle, arena);
    saddle->mean = make_point(saddle, arena);
    saddle->origin = make_point(saddle, arena);
}

/* ---- what prices prove ---- */

static void sum_prices(Saddle *saddle, double *const *price) {
    for (uint32_t lane = 0; lane < saddle->problem->lanes; lane++)
        for (uint32_t r = 0; r < saddle->problem->nrows; r++)
            saddle->sums[lane][r + 1] = saddle->sums[lane][r] + price[lane][r];
}

static double price_of(const Saddle *saddle, const RowItem *item, uint8_t mask) {
    double price = 0;
    for (uint32_t lane = 0; lane < saddle->problem->lanes; lane++)
        if (mask >> lane & 1)
            price += saddle->sums[lane][item->last + 1] - saddle->sums[lane][item->first];
    return price * item->shape.height;
}

static double least_price(const Saddle *saddle, const RowItem *item) {
    double least = INFINITY;
    for (uint8_t b = 0; b < item->shape.bands.count; b++)
        least = fmin(least, price_of(saddle, item, item->shape.bands.masks[b]));
    return least;
}

/* The parts that prices prove; remembers them if they are the best. */
static double try_prices(Saddle *saddle, double *const *price) {
    const RowProblem *problem = saddle->problem;
    sum_prices(saddle, price);
    double cost = 0, all = 0, some = 0;
    for (uint32_t i = 0; i < problem->nitems; i++) {
        const RowItem *item = &problem->items[i];
        double keep = least_price(saddle, item), cut = fmin(keep, (double)item->load);
        uint32_t group = saddle->group[i];
        if (group == UINT32_MAX) {
            cost += item->load == MUST_KEEP ? keep : cut;
            continue;
        }
        all += keep;
        some += cut;
        if (i + 1 < problem->nitems && saddle->group[i + 1] == group) continue;
        cost += fmin(all, some + saddle->store[group]);
        all = some = 0;
    }
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        for (uint32_t r = 0; r < problem->nrows; r++)
            cost -= price[lane][r] * (double)problem->capacity[lane][r];
    if (cost > saddle->best->bound) {
        saddle->best->bound = cost;
        for (uint32_t lane = 0; lane < problem->lanes; lane++)
            memcpy(saddle->best->price[lane], price[lane], problem->nrows * sizeof(double));
    }
    return cost;
}

/* ---- steps ---- */

static double sum_above(const double *kept, uint8_t count, double level) {
    double sum = 0;
    for (uint8_t b = 0; b < count; b++)
        sum += fmax(0, kept[b] - level);
    return sum;
}

/* Moves fractions of an item to the nearest point without negative ones whose sum is at most 1, or
 * 1 if it must stay: all sink by one level, to 0 at most (Held and others 1974). */
static void project(double *kept, uint8_t count, bool must) {
    enum { HALVINGS = 50 };
    double low = kept[0] - 1, high = kept[0];
    for (uint8_t b = 1; b < count; b++) {
        low = fmin(low, kept[b] - 1);
        high = fmax(high, kept[b]);
    }
    if (!must && sum_above(kept, count, 0) <= 1)
        high = 0;
    else if (count == 1)
        high -= 1;
    else
        for (int turn = 0; turn < HALVINGS; turn++) {
            double middle = (low + high) / 2;
            if (sum_above(kept, count, middle) > 1)
                low = middle;
            else
                high = middle;
        }
    for (uint8_t b = 0; b < count; b++)
        kept[b] = fmax(0, kept[b] - high);
}

static double kept_of(const Saddle *saddle, const SaddlePoint *point, uint32_t item) {
    double kept = 0;
    for (uint32_t v = saddle->var[item]; v < saddle->var[item + 1]; v++)
        kept += point->kept[v];
    return kept;
}

/* From `now`, fractions and stores of `next` at the prices of now. */
static void step_kept(Saddle *saddle) {
    const RowProblem *problem = saddle->problem;
    const SaddlePoint *now = &saddle->now;
    SaddlePoint *next = &saddle->next;
    sum_prices(saddle, now->price);
    for (uint32_t g = 0; g < saddle->ngroups; g++)
        next->stored[g] = saddle->store[g];
    for (uint32_t i = 0; i < problem->nitems; i++) {
        const RowItem *item = &problem->items[i];
        bool must = item->load == MUST_KEEP;
        double gain = must ? 0 : (double)item->load + now->join[i];
        for (uint32_t v = saddle->var[i]; v < saddle->var[i + 1]; v++) {
            double price = price_of(saddle, item, item->shape.bands.masks[v - saddle->var[i]]);
            next->kept[v] = now->kept[v] + saddle->var_step[v] / saddle->weight * (gain - price);
        }
        project(&next->kept[saddle->var[i]], item->shape.bands.count, must);
        if (saddle->group[i] != UINT32_MAX) next->stored[saddle->group[i]] -= now->join[i];
    }
    for (uint32_t g = 0; g < saddle->ngroups; g++) {
        double stored = now->stored[g] - saddle->store_step[g] / saddle->weight * next->stored[g];
        next->stored[g] = fmin(1, fmax(0, stored));
    }
}

/* Then prices of `next`, at what the step leads to if it is taken twice. */
static void step_prices(Saddle *saddle) {
    const RowProblem *problem = saddle->problem;
    const SaddlePoint *now = &saddle->now;
    SaddlePoint *next = &saddle->next;
    clear_use(saddle);
    for (uint32_t i = 0; i < problem->nitems; i++) {
        const RowItem *item = &problem->items[i];
        double all = 0;
        for (uint32_t v = saddle->var[i]; v < saddle->var[i + 1]; v++) {
            double ahead = 2 * next->kept[v] - now->kept[v];
            all += ahead;
            add_use(saddle->use, item, item->shape.bands.masks[v - saddle->var[i]],
                    ahead * item->shape.height);
        }
        uint32_t g = saddle->group[i];
        if (g == UINT32_MAX) continue;
        double missing = 1 - all - (2 * next->stored[g] - now->stored[g]);
        double coefficients = 1 + item->shape.bands.count;
        next->join[i] = fmax(0, now->join[i] + saddle->weight / coefficients * missing);
    }
    sum_use(saddle);
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        for (uint32_t r = 0; r < problem->nrows; r++) {
            double over = saddle->use[lane][r] - (double)problem->capacity[lane][r];
            double step = saddle->row_step[lane][r] * saddle->weight;
            next->price[lane][r] = fmax(0, now->price[lane][r] + step * over);
        }
}

static void average(double *mean, const double *next, uint32_t count, double part) {
    for (uint32_t i = 0; i < count; i++)
        mean[i] += part * (next[i] - mean[i]);
}

static void iterate(Saddle *saddle) {
    const RowProblem *problem = saddle->problem;
    step_kept(saddle);
    step_prices(saddle);
    SaddlePoint last = saddle->now;
    saddle->now = saddle->next;
    saddle->next = last;
    double part = 1 / ++saddle->summed;
    average(saddle->mean.kept, saddle->now.kept, saddle->nvars, part);
    average(saddle->mean.stored, saddle->now.stored, saddle->ngroups, part);
    average(saddle->mean.join, saddle->now.join, problem->nitems, part);
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        average(saddle->mean.price[lane], saddle->now.price[lane], problem->nrows, part);
}

/* ---- restarts ---- */

/* The cost of a point, and what goes beyond its limits. */
typedef struct {
    double cost, over;
} PointState;

static PointState judge_point(Saddle *saddle, const SaddlePoint *point) {
    const RowProblem *problem = saddle->problem;
    PointState state = {0, 0};
    clear_use(saddle);
    for (uint32_t i = 0; i < problem->nitems; i++) {
        const RowItem *item = &problem->items[i];
        double kept = kept_of(saddle, point, i);
        for (uint32_t v = saddle->var[i]; v < saddle->var[i + 1]; v++)
            add_use(saddle->use, item, item->shape.bands.masks[v - saddle->var[i]],
                    point->kept[v] * item->shape.height);
        if (item->load != MUST_KEEP) state.cost += (double)item->load * (1 - kept);
        uint32_t g = saddle->group[i];
        if (g != UINT32_MAX) state.over += fmax(0, 1 - kept - point->stored[g]) * saddle->store[g];
    }
    for (uint32_t g = 0; g < saddle->ngroups; g++)
        state.cost += saddle->store[g] * point->stored[g];
    sum_use(saddle);
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        for (uint32_t r = 0; r < problem->nrows; r++) {
            double over = saddle->use[lane][r] - (double)problem->capacity[lane][r];
            if (over > 0) state.over += over * fmax(saddle->best->price[lane][r], saddle->worth);
        }
    return state;
}

/* How far a point is from the optimum, in parts. */
static double error_of(Saddle *saddle, const SaddlePoint *point) {
    double bound = try_prices(saddle, point->price);
    PointState state = judge_point(saddle, point);
    return fabs(state.cost - bound) + state.over;
}

static double distance(const double *a, const double *b, const double *step, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        if (step[i] > 0) sum += (a[i] - b[i]) * (a[i] - b[i]) / step[i];
    return sum;
}

/* Weights follow how far fractions and prices have moved since the last restart. */
static void adapt_weight(Saddle *saddle, const SaddlePoint *point) {
    const SaddlePoint *from = &saddle->origin;
    double kept = distance(point->kept, from->kept, saddle->var_step, saddle->nvars) +
                  distance(point->stored, from->stored, saddle->store_step, saddle->ngroups);
    double prices = 0;
    for (uint32_t i = 0; i < saddle->problem->nitems; i++)
        prices += 2 * (point->join[i] - from->join[i]) * (point->join[i] - from->join[i]);
    for (uint32_t lane = 0; lane < saddle->problem->lanes; lane++)
        prices += distance(point->price[lane], from->price[lane], saddle->row_step[lane],
                           saddle->problem->nrows);
    if (kept > 0 && prices > 0) {
        double ratio = sqrt(prices / kept) / saddle->weight;
        saddle->weight *= 1 + ADAPTED * (fmin(ratio, 1 / ADAPTED) - 1);
    }
}

static void restart(Saddle *saddle, const SaddlePoint *point) {
    if (point != &saddle->now) copy_point(saddle, &saddle->now, point);
    copy_point(saddle, &saddle->origin, &saddle->now);
    saddle->summed = 0;
}

/* How the search goes. */
typedef struct {
    double at_restart, last; /* errors: at the last restart, at the last look since */
    uint64_t iterations;
} SaddleProgress;

/* Begins anew from the better of a point and the mean, where that is much better than at the last
 * restart, gets no better any more, or has gone on for long. */
static void restart_if_due(Saddle *saddle, SaddleProgress *progress, double now, double mean) {
    double error = fmin(now, mean);
    bool due = error < 0.2 * progress->at_restart ||
               (error < 0.8 * progress->at_restart && error > progress->last) ||
               saddle->summed > 0.36 * (double)progress->iterations;
    progress->last = due ? INFINITY : error;
    if (!due) return;
    adapt_weight(saddle, now < mean ? &saddle->now : &saddle->mean);
    restart(saddle, now < mean ? &saddle->now : &saddle->mean);
    progress->at_restart = error;
}

/* While the weight grows, each look is a restart. */
static void grow_weight(Saddle *saddle) {
    saddle->warm = saddle->weight * GROWTH >= saddle->usual_weight;
    saddle->weight *= GROWTH;
    restart(saddle, &saddle->now);
}

/* Iterates while there are steps; looks at how far it is now and then. */
static void approach(Saddle *saddle, double enough, uint64_t steps) {
    enum { LOOK = 20, LOOK_COSTS = 4 /* iterations */ };
    uint64_t one =
        saddle->nvars + saddle->ngroups + (uint64_t)saddle->problem->lanes * saddle->problem->nrows;
    SaddleProgress progress = {INFINITY, INFINITY, 0};
    for (uint64_t used = 0; used < steps; used += one * (LOOK + LOOK_COSTS)) {
        for (int i = 0; i < LOOK; i++)
            iterate(saddle);
        progress.iterations += LOOK;
        double now = error_of(saddle, &saddle->now), mean = error_of(saddle, &saddle->mean);
        if (saddle->best->bound > enough - PARTS(1) || fmin(now, mean) < CLOSE_ENOUGH) return;
        if (saddle->warm)
            restart_if_due(saddle, &progress, now, mean);
        else
            grow_weight(saddle);
    }
}

RealPrices find_saddle(const RowProblem *problem, double enough, uint64_t steps, Arena *arena) {
    RealPrices best = {.bound = -INFINITY};
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        best.price[lane] = NEW_ARRAY(arena, double, problem->nrows);
    if (problem->nrows == 0) return best;
    Arena scratch;
    arena_init(&scratch);
    Saddle saddle = {.problem = problem, .best = &best};
    make_saddle(&saddle, &scratch);
    try_prices(&saddle, saddle.now.price);
    approach(&saddle, enough, steps);
    arena_free(&scratch);
    return best;
}
