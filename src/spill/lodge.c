#include "spill/lodge.h"

#include <math.h>
#include <string.h>

#include "spill/lodge_state.h"
#include "spill/lodge_sweep.h"
#include "support/sort.h"

/* A number that is not negative as a key of which larger ones sort first. */
static uint64_t falling_key(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return ~bits;
}

/* ---- laying runs ---- */

static bool try_run(Lodge *lodge, uint32_t lo, uint32_t hi) {
    Run run = run_of(lodge, lo, hi);
    Rect rect;
    if (!find_free(lodge, &run, false, &rect)) return false;
    settle_run(lodge, &run, rect);
    return true;
}

/* Finds other free places for what was lifted since there were `from`. */
static bool move_lifted(Lodge *lodge, size_t from) {
    for (; lodge->lifted.count > from; lodge->lifted.count--) {
        uint32_t item = lodge->lifted.items[lodge->lifted.count - 1];
        if (!lodge->rects[item].mask && !try_run(lodge, item, item)) return false;
    }
    return true;
}

/* Keeps a cut gap, if a place is free for both runs beside it, or is but for loose stays that can
 * stand elsewhere. */
static bool try_join(Lodge *lodge, uint32_t gap) {
    if (lodge->kept[gap]) return true;
    uint32_t lo = run_first(lodge, gap - 1), hi = run_last(lodge, gap);
    if (try_run(lodge, lo, hi)) return true;
    Run run = run_of(lodge, lo, hi);
    Rect rect;
    if (!find_free(lodge, &run, true, &rect)) return false;
    size_t undo = lodge->nundo, lifted = lodge->lifted.count;
    clear_place(lodge, &run, rect);
    settle_run(lodge, &run, rect);
    if (move_lifted(lodge, lifted)) return true;
    take_back(lodge, undo);
    lodge->lifted.count = lifted;
    return false;
}

/* What keeping a gap saves for each granule and point. */
static double worth(const Lodge *lodge, uint32_t gap) {
    const Lodger *item = &lodge->items[gap];
    double length = 1;
    for (uint32_t i = 0; i < item->gap.count; i++)
        length += item->gap.items[i].last - item->gap.items[i].first + 1;
    return full_gain(lodge, gap) / (length * item->height);
}

/* Joins what it can of some cut gaps, those first that are worth most, while there are steps. */
static void join_by_worth(Lodge *lodge, const uint32_t *gaps, size_t count) {
    SortKey *order = RAW_ARRAY(&lodge->scratch, SortKey, count);
    for (size_t k = 0; k < count; k++) {
        double noise = lodge->noise > 0 ? 0.5 + lodge_draw_unit(lodge) : 1;
        order[k] = (SortKey){falling_key(worth(lodge, gaps[k]) * noise), gaps[k]};
    }
    sort_keys(order, count, &lodge->scratch);
    for (size_t k = 0; k < count && lodge->steps > 0; k++)
        try_join(lodge, order[k].id);
    arena_reset(&lodge->scratch);
}

/* Gives all lifted stays a place again, putting out others; false if that goes on and on. */
static bool place_lifted(Lodge *lodge, uint32_t limit) {
    for (uint32_t tries = 0; lodge->lifted.count > 0; tries++) {
        uint32_t item = lodge->lifted.items[--lodge->lifted.count];
        if (lodge->rects[item].mask || try_run(lodge, item, item)) continue;
        Run run = run_of(lodge, item, item);
        Rect rect;
        if (tries >= limit || isinf(find_cheapest(lodge, &run, &rect))) return false;
        clear_place(lodge, &run, rect);
        settle_run(lodge, &run, rect);
    }
    return true;
}

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
    for (const Piece *piece; (piece = meeting_next(lodge, run, &meeting));) {
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
static void search(Lodge *lodge, uint64_t steps) {
    /* Where it must do with one start, it stays closer to it. */
    static const double HEAT[] = {0.1, 0.4}, NOISE[] = {0.2, 0.6};
    double heat = HEAT[lodge->by_size] * mean_load(lodge) / (double)(steps + 1);
    lodge->noise = NOISE[lodge->by_size];
    lodge->steps = steps;
    while (lodge->ncut > 0 && lodge->steps > 0) {
        shift(lodge);
        trial(lodge, heat * (double)lodge->steps * draw_falling(lodge));
    }
}

/* ---- answers ---- */

/* Places and kept gaps, whole. */
typedef struct {
    Rect *rects;
    bool *kept;
    int64_t cost; /* INT64_MAX: none */
} Answer;

enum {
    MOST_STARTS = 8,
    STEPS_EACH = 20000 /* for each item: what a search is worth */
};

/* The best starts so far, the best first. */
typedef struct {
    Answer starts[MOST_STARTS + 1]; /* the last is a spare one */
    uint32_t count;
} Answers;

static Answer make_answer(const Lodge *lodge) {
    return (Answer){RAW_ARRAY(lodge->memory, Rect, lodge->count),
                    RAW_ARRAY(lodge->memory, bool, lodge->count), INT64_MAX};
}

static void save_answer(const Lodge *lodge, Answer *answer) {
    memcpy(answer->rects, lodge->rects, lodge->count * sizeof *answer->rects);
    memcpy(answer->kept, lodge->kept, lodge->count * sizeof *answer->kept);
    answer->cost = lodge->cost;
}

static void copy_answer(const Lodge *lodge, Answer *to, const Answer *from) {
    memcpy(to->rects, from->rects, lodge->count * sizeof *to->rects);
    memcpy(to->kept, from->kept, lodge->count * sizeof *to->kept);
    to->cost = from->cost;
}

static void go_to_answer(Lodge *lodge, const Answer *answer) {
    lodge->nundo = 0;
    for (uint32_t i = 0; i < lodge->count; i++) {
        lodge->rects[i] = answer->rects[i];
        change_kept(lodge, i, answer->kept[i]);
        lodge->moves[i] = 0;
    }
    lodge->nundo = 0;
}

/* Puts the spare answer where it belongs. */
static void rank_start(Answers *answers) {
    Answer spare = answers->starts[MOST_STARTS];
    uint32_t at = answers->count < MOST_STARTS ? answers->count++ : MOST_STARTS;
    if (at < MOST_STARTS) answers->starts[MOST_STARTS] = answers->starts[at];
    for (; at > 0 && answers->starts[at - 1].cost > spare.cost; at--)
        answers->starts[at] = answers->starts[at - 1];
    answers->starts[at] = spare;
}

/* Sweeps of several kinds, as far as a part of the steps allows. */
static void make_starts(Lodge *lodge, Answers *answers, uint64_t *steps) {
    enum { PASSES = 200, TRIES = 4, PART = 2, WIDTH = 6, MOST_SWEEPS = 12 };
    uint64_t left = *steps / PART, used = 0;
    LodgePrices prices = lodge_prices(lodge->problem, PASSES, lodge->memory);
    Sweep *pass = sweep_begin(lodge->problem, &prices, lodge->memory);
    for (uint32_t k = 0; k < MOST_SWEEPS && used < left; k++) {
        SweepOptions options = {.width = WIDTH,
                                .tries = TRIES,
                                .scale = 0.5 + 0.5 * lodge_draw_unit(lodge),
                                .snug = 0.7 * lodge_draw_unit(lodge),
                                .broken = lodge_draw_unit(lodge),
                                .apart = 0.5 * lodge_draw_unit(lodge)};
        Answer *spare = &answers->starts[MOST_STARTS];
        if (!sweep(pass, options, spare->rects, spare->kept, &used)) continue;
        go_to_answer(lodge, spare);
        spare->cost = lodge->cost;
        rank_start(answers);
    }
    *steps -= used < *steps ? used : *steps;
}

/* Searches from the best starts in turn, and goes to the best end. */
static void search_from(Lodge *lodge, Answers *answers, uint64_t steps) {
    uint64_t rounds = steps / ((uint64_t)STEPS_EACH * lodge->count + 1) + 1;
    if (rounds > answers->count) rounds = answers->count;
    Answer best = make_answer(lodge);
    for (uint64_t round = 0; round < rounds; round++) {
        const Answer *start = &answers->starts[round];
        if (start->cost < best.cost) copy_answer(lodge, &best, start);
        go_to_answer(lodge, start);
        search(lodge, steps / rounds);
        if (lodge->cost < best.cost) save_answer(lodge, &best);
    }
    if (rounds > 0) go_to_answer(lodge, &best);
}

/* Whether the steps allow several starts: then each search ends somewhere else, and the best is
 * much better than the mean. */
static bool is_small(const Lodge *lodge, uint64_t steps) {
    return steps / 2 > (uint64_t)STEPS_EACH * lodge->count;
}

/* Half the mean height. */
static uint32_t half_height(const Lodge *lodge) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < lodge->count; i++)
        sum += lodge->items[i].height;
    return (uint32_t)(sum / 2 / lodge->count);
}

/* Returns true if some answer has a place for every stay. */
static bool search_all(Lodge *lodge, bool placed, uint64_t steps) {
    Answers answers = {.count = 0};
    for (uint32_t i = 0; i <= MOST_STARTS; i++)
        answers.starts[i] = make_answer(lodge);
    if (placed) {
        save_answer(lodge, &answers.starts[MOST_STARTS]);
        rank_start(&answers);
    }
    if (is_small(lodge, steps)) {
        Answer first = make_answer(lodge);
        save_answer(lodge, &first);
        make_starts(lodge, &answers, &steps);
        go_to_answer(lodge, &first);
        lodge->by_size = true;
        lodge->tall = half_height(lodge);
    }
    search_from(lodge, &answers, steps);
    return answers.count > 0;
}

/* ---- the whole ---- */

bool lodge(LodgeProblem *problem, uint64_t steps, Arena *scratch) {
    Lodge pass;
    lodge_begin(&pass, problem, scratch);
    int64_t wanted = pass.cost;
    bool placed = make_start(&pass);
    if (steps > 0 && (!placed || pass.cost > wanted)) placed = search_all(&pass, placed, steps);
    for (uint32_t i = 0; i < problem->count; i++) {
        problem->items[i].rect = pass.rects[i];
        problem->items[i].kept = pass.kept[i];
    }
    arena_free(&pass.scratch);
    return placed;
}
