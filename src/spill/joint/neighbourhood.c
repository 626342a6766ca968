#include "spill/joint/neighbourhood.h"

#include "spill/joint/assign.h"
#include "support/clock.h"

enum { NARROW = 8, WIDEST = 1000, TRIES = 2 };

bool beam_is_affordable(const JointSearch *search, uint64_t steps) {
    enum { PART = 4, LOOKS = 4 };
    double crowd = 0;
    for (uint32_t i = 0; i < search->time.npieces; i++)
        crowd += search->time.pieces[i].last - search->time.pieces[i].first + 1;
    crowd /= search->problem->npoints;
    return LOOKS * NARROW * TRIES * crowd * search->count < (double)(steps / PART);
}

static BeamOptions draw_options(JointSearch *search, uint32_t width, double deadline) {
    BeamOptions options = {.width = width, .tries = TRIES, .deadline = deadline};
    options.scale = 0.5 + 0.5 * search_draw_unit(search);
    options.snug = 0.7 * search_draw_unit(search);
    options.broken = search_draw_unit(search);
    options.apart = 0.5 * search_draw_unit(search);
    return options;
}

/* ---- over all points ---- */

/* Keeps what is better. Returns the steps that it took. */
static uint64_t search_all_points(JointSearch *search, uint32_t width, double deadline) {
    BeamOptions options = draw_options(search, width, deadline);
    if (beam_search(search->beam, options, &search->spare)) {
        solution_restore(search, &search->spare);
        if (search->cost < search->best.cost) solution_save(search, &search->best);
    }
    return beam_steps(search->beam);
}

uint64_t search_beams(JointSearch *search, JointEffort effort) {
    enum { PART = 2, WIDE = 2 };
    uint64_t used = search_all_points(search, NARROW, effort.deadline);
    double width = (double)(effort.steps / PART / WIDE) / (double)used * NARROW;
    for (int k = 0; k < WIDE && width > NARROW && !clock_is_past(effort.deadline); k++)
        used +=
            search_all_points(search, width < WIDEST ? (uint32_t)width : WIDEST, effort.deadline);
    return used < effort.steps ? effort.steps - used : 0;
}

/* ---- over parts ---- */

enum { JOIN_STEPS = 1000000 };

/* Joins the cut gaps that have a point in [from, end). Returns the steps that it took. */
static uint64_t join_between(JointSearch *search, uint32_t from, uint32_t end) {
    uint32_t *gaps = RAW_ARRAY(&search->scratch, uint32_t, search->ncut);
    size_t count = 0;
    for (uint32_t i = 0; i < search->ncut; i++) {
        const JointSegment *item = &search->items[search->cut_list[i]];
        if (item->points.items[0].first >= from && item[-1].points.items[0].first < end)
            gaps[count++] = search->cut_list[i];
    }
    search->steps = JOIN_STEPS;
    join_by_worth(search, gaps, count);
    return JOIN_STEPS - search->steps;
}

/* Decides the points in [from, end) of the best solution again. Returns the steps that it took. */
static uint64_t search_points(JointSearch *search, uint32_t from, uint32_t end, uint32_t width,
                              double deadline) {
    BeamOptions options = draw_options(search, width, deadline);
    solution_copy(search, &search->spare, &search->best);
    bool found = beam_search_between(search->beam, options, from, end, &search->spare);
    uint64_t used = beam_steps(search->beam);
    if (!found) return used;
    solution_restore(search, &search->spare);
    used += join_between(search, from, end);
    if (search->cost <= search->best.cost) solution_save(search, &search->best);
    return used;
}

/* Points of the shortest part: two mean lives of a value, as what lasts beyond a part stays in its
 * place. */
static uint32_t shortest_part(const JointSearch *search) {
    enum { LEAST = 16, LIVES = 2 };
    uint64_t sum = 0, lives = 0;
    for (uint32_t i = 0; i < search->time.npieces; i++)
        sum += search->time.pieces[i].last - search->time.pieces[i].first + 1;
    for (uint32_t i = 0; i < search->count; i++)
        lives += !search->items[i].linked;
    uint64_t length = lives > 0 ? LIVES * sum / lives : LEAST;
    if (length > search->problem->npoints) length = search->problem->npoints;
    return length > LEAST ? (uint32_t)length : LEAST;
}

void search_neighbourhoods(JointSearch *search, JointEffort effort) {
    enum { MORE = 2 /* times the shortest */, WORK = 800 };
    uint32_t npoints = search->problem->npoints, shortest = shortest_part(search);
    uint32_t width = WORK / shortest > NARROW ? WORK / shortest : NARROW;
    search->noise = 0;
    for (uint64_t used = 0;
         used < effort.steps && search->best.cost > 0 && !clock_is_past(effort.deadline); used++) {
        uint32_t length = shortest + search_draw(search, MORE * shortest);
        uint32_t at = search_draw(search, npoints + length);
        uint32_t from = at > length ? at - length : 0, end = at < npoints ? at : npoints;
        if (end > from) used += search_points(search, from, end, width, effort.deadline);
    }
}
