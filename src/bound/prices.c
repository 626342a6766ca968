#include "bound/prices.h"

#include "bound/saddle.h"
#include "support/checked.h"

/* ---- whole numbers ---- */

/* Such that sums of all costs have 60 bits at most. */
static int bits_for(const RowProblem *problem) {
    enum { MOST_BITS = 20, ALL_BITS = 60 };
    double all = 1;
    for (uint32_t i = 0; i < problem->nitems; i++) {
        const RowItem *item = &problem->items[i];
        if (item->load != MUST_KEEP) all += (double)item->load;
        all += (double)problem->store[item->value];
    }
    int bits = MOST_BITS;
    while (bits > 0 && all * (double)(INT64_C(1) << bits) > (double)(INT64_C(1) << ALL_BITS))
        bits--;
    return bits;
}

static RowPrices whole_prices(const RowProblem *problem, const RealPrices *real, Arena *arena) {
    RowPrices prices = {.bits = bits_for(problem)};
    double parts = (double)(INT64_C(1) << prices.bits), most = (double)(INT64_C(1) << 50);
    for (uint32_t lane = 0; lane < problem->lanes; lane++) {
        prices.price[lane] = RAW_ARRAY(arena, int64_t, problem->nrows);
        for (uint32_t r = 0; r < problem->nrows; r++) {
            double price = real->price[lane][r] * parts;
            prices.price[lane][r] = (int64_t)(price < most ? price : most);
        }
    }
    return prices;
}

RowPrices find_prices(const RowProblem *problem, int64_t enough, uint64_t steps, Arena *arena) {
    Arena scratch;
    arena_init(&scratch);
    RealPrices real = find_saddle(problem, (double)enough, steps, &scratch);
    RowPrices prices = whole_prices(problem, &real, arena);
    arena_free(&scratch);
    return prices;
}

/* ---- the proof ---- */

typedef struct {
    const RowProblem *problem;
    int64_t *sums[QUADRANTS]; /* [lanes][nrows + 1] of prices before each row */
    int bits;
} Proof;

static void sum_prices(Proof *proof, const RowPrices *prices, Arena *scratch) {
    const RowProblem *problem = proof->problem;
    for (uint32_t lane = 0; lane < problem->lanes; lane++) {
        int64_t *sums = NEW_ARRAY(scratch, int64_t, (size_t)problem->nrows + 1);
        for (uint32_t r = 0; r < problem->nrows; r++)
            sums[r + 1] = saturating_add(sums[r], prices->price[lane][r]);
        proof->sums[lane] = sums;
    }
}

/* What the room of an item costs in its cheapest band. */
static int64_t price_of_item(const Proof *proof, const RowItem *item) {
    int64_t least = INT64_MAX;
    for (uint8_t b = 0; b < item->shape.bands.count; b++) {
        int64_t price = 0;
        for (uint32_t lane = 0; lane < proof->problem->lanes; lane++)
            if (item->shape.bands.masks[b] >> lane & 1)
                price = saturating_add(price, proof->sums[lane][item->last + 1] -
                                                  proof->sums[lane][item->first]);
        price = saturating_mul(price, item->shape.height);
        if (price < least) least = price;
    }
    return least;
}

static int64_t in_prices(const Proof *proof, int64_t parts) {
    return saturating_mul(parts, INT64_C(1) << proof->bits);
}

/* Items first to end - 1 are of one value: all are kept, or it is stored. */
static int64_t cost_of_value(const Proof *proof, uint32_t first, uint32_t end) {
    const RowProblem *problem = proof->problem;
    uint32_t value = problem->items[first].value;
    int64_t all = 0, some = in_prices(proof, problem->store[value]);
    for (uint32_t i = first; i < end; i++) {
        int64_t price = price_of_item(proof, &problem->items[i]);
        int64_t load = in_prices(proof, problem->items[i].load);
        all = saturating_add(all, price);
        some = saturating_add(some, price < load ? price : load);
    }
    return value && all < some ? all : some;
}

int64_t proved_parts(const RowProblem *problem, const RowPrices *prices, Arena *scratch) {
    Proof proof = {.problem = problem, .bits = prices->bits};
    sum_prices(&proof, prices, scratch);
    int64_t cost = 0, room = 0;
    for (uint32_t first = 0, end; first < problem->nitems; first = end) {
        end = first + 1;
        while (problem->items[first].value && end < problem->nitems &&
               problem->items[end].value == problem->items[first].value)
            end++;
        cost = saturating_add(cost, cost_of_value(&proof, first, end));
    }
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        for (uint32_t r = 0; r < problem->nrows; r++)
            room = saturating_add(
                room, saturating_mul(prices->price[lane][r], problem->capacity[lane][r]));
    if (cost == INT64_MAX || room == INT64_MAX) return INT64_MIN;
    int64_t part = INT64_C(1) << prices->bits, rest = cost - room;
    return rest / part + (rest > 0 && rest % part != 0);
}
