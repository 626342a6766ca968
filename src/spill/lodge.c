#include "spill/lodge.h"

#include <math.h>
#include <string.h>

#include "spill/lodge_state.h"
#include "spill/lodge_sweep.h"
#include "support/clock.h"
#include "support/sort.h"

/* ---- the start ---- */

/* Lays whole runs as they begin, of those that begin together the longest first; those that find
 * no room are taken apart. */
static void lay_runs(Lodge *lodge) {
    SortKey *order = RAW_ARRAY(lodge->memory, SortKey, lodge->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < lodge->count; i = run_last(lodge, i) + 1) {
        if (lodge->items[i].fixed) continue;
        Run run = run_of(lodge, i, run_last(lodge, i));
        order[count++] = (SortKey){(uint64_t)run.first << 32 | (UINT32_MAX - run.last), i};
    }
    sort_keys(order, count, lodge->memory);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t lo = order[k].id, hi = run_last(lodge, lo);
        if (try_run(lodge, lo, hi)) continue;
        for (uint32_t i = lo; i <= hi; i++)
            lift_stay(lodge, i);
    }
}

static bool make_start(Lodge *lodge) {
    enum { START_STEPS = 100000000 }; /* long runs that all meet would take without end */
    lodge->steps = START_STEPS;
    lay_runs(lodge);
    bool placed = place_lifted(lodge, 100 + 10 * lodge->count);
    uint32_t *gaps = RAW_ARRAY(lodge->memory, uint32_t, lodge->ncut);
    if (lodge->ncut) memcpy(gaps, lodge->cut_list, lodge->ncut * sizeof *gaps);
    join_by_worth(lodge, gaps, lodge->ncut);
    return placed;
}

/* ---- the search ---- */

/* Cut gaps that share a point with a run, up to a number, by chance. */
static void join_near(Lodge *lodge, const Run *run) {
    enum { MOST_NEAR = 12, FEW_NEAR = 4 };
    uint32_t most = lodge->by_size ? FEW_NEAR : MOST_NEAR;
    uint32_t near[MOST_NEAR], seen = 0;
    Meeting meeting = meeting_begin(lodge, run);
    for (const LodgePiece *piece; (piece = meeting_next(lodge, run, &meeting));) {
        if (!is_gap(piece) || lodge->kept[item_of(piece)]) continue;
        uint32_t at = seen++;
        if (at >= most) at = lodge_draw(lodge, seen);
        if (at < most) near[at] = item_of(piece);
    }
    join_by_worth(lodge, near, seen < most ? seen : most);
}

/* Moves some run to where it leaves less useless room now. */
static void shift(Lodge *lodge) {
    uint32_t item = lodge_draw(lodge, lodge->count);
    lodge->nundo = 0;
    if (!lodge->items[item].fixed) try_run(lodge, run_first(lodge, item), run_last(lodge, item));
}

/* What was put out in one trial is not dearer in the next. */
static void forget_moves(Lodge *lodge) {
    for (size_t i = 0; i < lodge->moved.count; i++)
        lodge->moves[lodge->moved.items[i]] = 0;
    lodge->moved.count = 0;
}

/* Keeps some cut gap where that puts out least. What was put out looks for other places, then what
 * else is cut around there; if in the end that costs more than `heat` too much, all is as before.
 */
static void trial(Lodge *lodge, double heat) {
    enum { MOST_TRIES = 4, MOST_TIMES = 4 /* its gain that clearing may cost at first */ };
    uint32_t gap = lodge->cut_list[lodge_draw(lodge, lodge->ncut)];
    double before = (double)lodge->cost;
    if (lodge->by_size) forget_moves(lodge);
    lodge->nundo = lodge->lifted.count = lodge->evicted.count = 0;
    Run run = run_of(lodge, run_first(lodge, gap - 1), run_last(lodge, gap));
    Rect rect;
    if (find_cheapest(lodge, &run, &rect) > MOST_TIMES * full_gain(lodge, gap)) return;
    clear_place(lodge, &run, rect);
    settle_run(lodge, &run, rect);
    size_t evicted = lodge->evicted.count;
    join_by_worth(lodge, lodge->evicted.items, evicted);
    bool good = place_lifted(lodge, MOST_TRIES);
    if (good) {
        join_by_worth(lodge, lodge->evicted.items + evicted, lodge->evicted.count - evicted);
        join_near(lodge, &run);
    }
    if (!good || (double)lodge->cost > before + heat) take_back(lodge, 0);
}

/* About what cutting a gap costs. */
static double mean_load(const Lodge *lodge) {
    double sum = 0, count = 1;
    for (uint32_t i = 0; i < lodge->count; i++) {
        if (!lodge->items[i].linked) continue;
        sum += (double)lodge->items[i].load;
        count++;
    }
    return sum / count;
}

/* A positive number of mean about one, large ones ever rarer. */
static double draw_falling(Lodge *lodge) {
    double sum = lodge_draw_unit(lodge);
    while (lodge_draw(lodge, 2))
        sum++;
    return sum * 0.7;
}

/* Trials, at first also such as make things worse, less and less. */
static void search(Lodge *lodge, LodgeEffort effort) {
    enum { TRIALS_BETWEEN_LOOKS = 64 };
    /* Where no sweep went before, it stays closer to the start. */
    static const double HEAT[] = {0.1, 0.4}, NOISE[] = {0.2, 0.6};
    double heat = HEAT[lodge->by_size] * mean_load(lodge) / (double)(effort.steps + 1);
    lodge->noise = NOISE[lodge->by_size];
    lodge->steps = effort.steps;
    for (uint32_t k = 1; lodge->ncut > 0 && lodge->steps > 0; k++) {
        if (k % TRIALS_BETWEEN_LOOKS == 0 && clock_is_past(effort.deadline)) return;
        shift(lodge);
        trial(lodge, heat * (double)lodge->steps * draw_falling(lodge));
    }
}

/* ---- sweeps ---- */

enum { NARROW = 8, WIDEST = 1000, TRIES = 2 };

/* Steps of sweeps: many more than of the search, which finds little where they have been, but no
 * more than they are worth. */
static uint64_t sweep_steps(const Lodge *lodge, uint64_t steps) {
    enum { TIMES = 8, PART_EACH = 125 };
    uint64_t each = steps / PART_EACH * lodge->count, all = steps * TIMES;
    return each < all ? each : all;
}

/* Whether a narrow sweep takes but a small part of the steps. */
static bool is_small(const Lodge *lodge, uint64_t steps) {
    enum { PART = 4, LOOKS = 4 };
    double crowd = 0;
    for (uint32_t i = 0; i < lodge->time.npieces; i++)
        crowd += lodge->time.pieces[i].last - lodge->time.pieces[i].first + 1;
    crowd /= lodge->problem->npoints;
    return LOOKS * NARROW * TRIES * crowd * lodge->count < (double)(steps / PART);
}

static SweepOptions draw_options(Lodge *lodge, uint32_t width, double deadline) {
    SweepOptions options = {.width = width, .tries = TRIES, .deadline = deadline};
    options.scale = 0.5 + 0.5 * lodge_draw_unit(lodge);
    options.snug = 0.7 * lodge_draw_unit(lodge);
    options.broken = lodge_draw_unit(lodge);
    options.apart = 0.5 * lodge_draw_unit(lodge);
    return options;
}

/* A sweep from end to end; keeps what is better. Returns the steps it took. */
static uint64_t sweep_all(Lodge *lodge, Sweep *pass, uint32_t width, double deadline, Answer *best,
                          Answer *spare) {
    uint64_t used = 0;
    SweepOptions options = draw_options(lodge, width, deadline);
    if (!sweep(pass, options, spare->rects, spare->kept, &used)) return used;
    go_to_answer(lodge, spare);
    if (lodge->cost < best->cost) save_answer(lodge, best);
    return used;
}

/* Sweeps, the first of which tells how wide the others can be. Returns the steps that are left. */
static uint64_t make_starts(Lodge *lodge, Sweep *pass, LodgeEffort effort, Answer *best,
                            Answer *spare) {
    enum { PART = 2, WIDE = 2 };
    uint64_t used = sweep_all(lodge, pass, NARROW, effort.deadline, best, spare);
    double width = (double)(effort.steps / PART / WIDE) / (double)used * NARROW;
    for (int k = 0; k < WIDE && width > NARROW && !clock_is_past(effort.deadline); k++)
        used += sweep_all(lodge, pass, width < WIDEST ? (uint32_t)width : WIDEST, effort.deadline,
                          best, spare);
    return used < effort.steps ? effort.steps - used : 0;
}

enum { JOIN_STEPS = 1000000 };

/* Joins the cut gaps that have a point in [from, end). */
static void join_between(Lodge *lodge, uint32_t from, uint32_t end) {
    uint32_t *gaps = RAW_ARRAY(&lodge->scratch, uint32_t, lodge->ncut);
    size_t count = 0;
    for (uint32_t i = 0; i < lodge->ncut; i++) {
        const Lodger *item = &lodge->items[lodge->cut_list[i]];
        if (item->points.items[0].first >= from && item[-1].points.items[0].first < end)
            gaps[count++] = lodge->cut_list[i];
    }
    lodge->steps = JOIN_STEPS;
    join_by_worth(lodge, gaps, count);
}

/* Sweeps over stretches of the best answer, here and there. */
static void renew(Lodge *lodge, Sweep *pass, LodgeEffort effort, Answer *best, Answer *spare) {
    enum { WIDTH = 50, SHORTEST = 16, MOST_MORE = 32 };
    uint32_t npoints = lodge->problem->npoints;
    lodge->noise = 0;
    for (uint64_t used = 0;
         used < effort.steps && best->cost > 0 && !clock_is_past(effort.deadline); used++) {
        uint32_t length = SHORTEST + lodge_draw(lodge, MOST_MORE);
        uint32_t at = lodge_draw(lodge, npoints + length);
        uint32_t from = at > length ? at - length : 0, end = at < npoints ? at : npoints;
        if (end == from) continue;
        SweepOptions options = draw_options(lodge, WIDTH, effort.deadline);
        copy_answer(lodge, spare, best);
        if (!sweep_between(pass, options, from, end, spare->rects, spare->kept, &used)) continue;
        go_to_answer(lodge, spare);
        join_between(lodge, from, end);
        if (lodge->cost <= best->cost) save_answer(lodge, best);
        used += JOIN_STEPS - lodge->steps;
    }
}

/* Half the mean height. */
static uint32_t half_height(const Lodge *lodge) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < lodge->count; i++)
        sum += lodge->items[i].height;
    return (uint32_t)(sum / 2 / lodge->count);
}

/* Returns true if some answer has a place for every stay. */
static bool search_all(Lodge *lodge, bool placed, LodgeEffort effort) {
    enum { PASSES = 200 };
    Answer best = make_answer(lodge), spare = make_answer(lodge);
    if (placed) save_answer(lodge, &best);
    LodgeEffort sweeps = {sweep_steps(lodge, effort.steps), effort.deadline};
    LodgePrices prices;
    Sweep *pass = NULL;
    if (is_small(lodge, sweeps.steps)) {
        Answer first = make_answer(lodge);
        save_answer(lodge, &first);
        prices = lodge_prices(lodge->problem, PASSES, lodge->memory);
        pass = sweep_begin(lodge->problem, &prices, lodge->memory);
        sweeps.steps = make_starts(lodge, pass, sweeps, &best, &spare);
        go_to_answer(lodge, best.cost < INT64_MAX ? &best : &first);
        lodge->by_size = true;
        lodge->tall = half_height(lodge);
    }
    if (best.cost == INT64_MAX) return false;
    search(lodge, effort);
    if (lodge->cost < best.cost) save_answer(lodge, &best);
    if (pass && !lodge->has_holes) renew(lodge, pass, sweeps, &best, &spare);
    go_to_answer(lodge, &best);
    return true;
}

/* ---- units ---- */

static uint32_t common_divisor(uint32_t a, uint32_t b) {
    while (b > 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The granules that all heights, fixed places and alignments are multiples of, or alignments
 * divisors: no other place than a multiple of it is of use. */
static uint32_t find_unit(const LodgeProblem *problem) {
    uint32_t unit = 0, before;
    for (uint32_t i = 0; i < problem->count; i++) {
        const Lodger *item = &problem->items[i];
        unit = common_divisor(unit, item->height);
        if (item->fixed) unit = common_divisor(unit, item->rect.low);
    }
    do {
        before = unit;
        for (uint32_t i = 0; i < problem->count; i++) {
            uint32_t align = problem->items[i].align;
            if (unit % align > 0) unit = common_divisor(unit, align);
        }
    } while (unit < before);
    return unit;
}

/* The same problem, a unit for a granule. */
static LodgeProblem in_units(const LodgeProblem *problem, uint32_t unit, Arena *memory) {
    LodgeProblem result = *problem;
    result.items = RAW_ARRAY(memory, Lodger, problem->count);
    result.size /= unit;
    for (uint32_t i = 0; i < problem->count; i++) {
        Lodger item = problem->items[i];
        item.height /= unit;
        item.align = item.align > unit ? item.align / unit : 1;
        item.rect.low /= unit;
        item.rect.high /= unit;
        result.items[i] = item;
    }
    return result;
}

/* ---- the whole ---- */

bool lodge(LodgeProblem *problem, LodgeEffort effort, Arena *scratch) {
    uint32_t unit = problem->count > 0 ? find_unit(problem) : 1;
    LodgeProblem scaled = in_units(problem, unit, scratch);
    Lodge pass;
    lodge_begin(&pass, &scaled, scratch);
    int64_t least = problem->full ? pass.cost : 0;
    bool placed = make_start(&pass);
    if (effort.steps > 0 && (!placed || pass.cost > least))
        placed = search_all(&pass, placed, effort);
    for (uint32_t i = 0; i < problem->count; i++) {
        Rect rect = pass.rects[i];
        problem->items[i].rect = (Rect){rect.low * unit, rect.high * unit, rect.mask};
        problem->items[i].kept = pass.kept[i];
    }
    arena_free(&pass.scratch);
    return placed;
}
