#include "spill/joint/solve.h"

#include "spill/joint/anneal.h"
#include "spill/joint/neighbourhood.h"
#include "spill/joint/start.h"
#include "support/checked.h"

/* ---- the search ---- */

/* Steps of beam searches: many more than of annealing, which finds little after them, but no more
 * than they are worth. */
static uint64_t steps_of_beams(const JointSearch *search, uint64_t steps) {
    enum { TIMES = 8, PART_EACH = 125 };
    uint64_t each = steps / PART_EACH * search->count, all = steps * TIMES;
    return each < all ? each : all;
}

/* Half the mean height. */
static uint32_t half_height(const JointSearch *search) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < search->count; i++)
        sum += search->items[i].height;
    return (uint32_t)(sum / 2 / search->count);
}

/* Beam searches over all points, from which annealing then starts. Returns the steps left. */
static uint64_t begin_with_beams(JointSearch *search, JointEffort effort) {
    enum { PASSES = 200 };
    JointPrices prices = joint_prices(search->problem, PASSES, search->memory);
    search->beam = beam_make(search->problem, prices, search->memory);
    if (search->problem->placed) return effort.steps;
    JointSolution first = solution_make(search);
    solution_save(search, &first);
    uint64_t left = search_beams(search, effort);
    solution_restore(search, search->best.cost < INT64_MAX ? &search->best : &first);
    search->by_size = true;
    search->tall = half_height(search);
    return left;
}

/* Improves the first solution. Returns true if some solution has a place for every segment. */
static bool improve_solution(JointSearch *search, bool placed, JointEffort effort) {
    search->best = solution_make(search);
    search->spare = solution_make(search);
    if (placed) solution_save(search, &search->best);
    JointEffort beams = {steps_of_beams(search, effort.steps), effort.deadline};
    if (beam_is_affordable(search, beams.steps)) beams.steps = begin_with_beams(search, beams);
    if (search->best.cost == INT64_MAX) return false;
    anneal(search, effort);
    if (search->cost < search->best.cost) solution_save(search, &search->best);
    if (search->beam && !search->time.has_holes) search_neighbourhoods(search, beams);
    solution_restore(search, &search->best);
    return true;
}

/* ---- units ---- */

/* The granules that all heights, fixed places and alignments are multiples of, or alignments
 * divisors: no other place than a multiple of it is of use. */
static uint32_t find_unit(const JointProblem *problem) {
    uint32_t unit = 0, before;
    for (uint32_t i = 0; i < problem->count; i++) {
        const JointSegment *item = &problem->items[i];
        unit = (uint32_t)common_divisor(unit, item->height);
        if (item->fixed || problem->placed) unit = (uint32_t)common_divisor(unit, item->rect.low);
    }
    do {
        before = unit;
        for (uint32_t i = 0; i < problem->count; i++) {
            uint32_t align = problem->items[i].align;
            if (unit % align > 0) unit = (uint32_t)common_divisor(unit, align);
        }
    } while (unit < before);
    return unit;
}

/* More than the search may walk. */
static bool is_long(const JointProblem *problem, uint32_t unit) {
    enum { MOST_UNITS = 1 << 15 };
    return unit > 0 && problem->size / unit > MOST_UNITS;
}

/* On a long axis, units of a power of two, which alignments are multiples or divisors of: what is
 * lost is less than one unit for each segment of those that lie on each other. Fixed places are not
 * in such units. */
static uint32_t coarser_unit(const JointProblem *problem, uint32_t unit) {
    bool fixed = false;
    for (uint32_t i = 0; i < problem->count; i++)
        fixed |= problem->items[i].fixed;
    if (fixed || !is_long(problem, unit)) return unit;
    for (unit = 1; is_long(problem, unit);)
        unit *= 2;
    return unit;
}

/* The same problem, a unit for a granule. */
static JointProblem in_units(const JointProblem *problem, uint32_t unit, Arena *memory) {
    JointProblem result = *problem;
    result.items = RAW_ARRAY(memory, JointSegment, problem->count);
    result.size /= unit;
    for (uint32_t i = 0; i < problem->count; i++) {
        JointSegment item = problem->items[i];
        item.height = (uint32_t)ceil_div(item.height, unit);
        item.align = item.align > unit ? item.align / unit : 1;
        item.rect.low /= unit;
        item.rect.high /= unit;
        result.items[i] = item;
    }
    return result;
}

/* ---- the whole ---- */

bool solve_joint(JointProblem *problem, JointEffort effort, Arena *scratch) {
    uint32_t unit = problem->count > 0 ? find_unit(problem) : 1;
    if (problem->placed && is_long(problem, unit)) return true; /* it is a solution as it is */
    unit = coarser_unit(problem, unit);
    JointProblem scaled = in_units(problem, unit, scratch);
    JointSearch search;
    search_begin(&search, &scaled, scratch);
    int64_t least = problem->full ? search.cost : 0;
    bool placed = first_solution(&search);
    if (effort.steps > 0 && (!placed || search.cost > least))
        placed = improve_solution(&search, placed, effort);
    for (uint32_t i = 0; i < problem->count; i++) {
        Rect rect = search.rects[i];
        JointSegment *item = &problem->items[i];
        uint32_t high = rect.mask ? rect.low * unit + item->height : 0;
        item->rect = (Rect){rect.low * unit, high, rect.mask};
        item->kept = search.kept[i];
    }
    arena_free(&search.scratch);
    return placed;
}
