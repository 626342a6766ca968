#include "spill/time/time.h"

#include <string.h>

#include "ir/dma.h"
#include "spill/dead_loads.h"
#include "spill/time/entry.h"
#include "spill/time/fold.h"
#include "spill/time/keep.h"
#include "spill/time/place_cells.h"
#include "spill/time/project.h"
#include "spill/time/relocate.h"
#include "spill/time/webs.h"
#include "support/clock.h"

/* What is known before anything is decided, and room to leave free. */
typedef struct {
    TimeFacts facts;
    uint32_t *headroom; /* [npoints] granules */
    bool enters;        /* the function is one with an entry, see entry.h */
    bool hopeless;      /* what must be on chip has no room: no choice helps */
    bool over;          /* all that could be kept has no room: something must leave */
} Outlook;

/* What is kept, and where. */
typedef struct {
    bool *kept; /* [gaps] */
    Webs webs;
    Rect *rects; /* [cells of the webs] */
    int64_t cost;
    bool uncut; /* all is kept, and each tensor is one web */
} Answer;

static bool look_out(State *state, Outlook *outlook) {
    const Func *func = with_entry(state->facts->func, &state->memory);
    outlook->enters = func != state->facts->func;
    const bool *dead = state->facts->dead;
    if (outlook->enters) dead = marks_with_entry(func, dead, &state->memory);
    TimeOptions options = {.full = 30000,
                           .most_points = 1000000,
                           .most_accesses = 8000000,
                           .remat = state->facts->remat,
                           .dead = dead,
                           .deadline = state->facts->deadline};
    if (!find_time_facts(func, state->facts->target, options, &state->memory, &outlook->facts))
        return false;
    outlook->headroom = NEW_ARRAY(&state->memory, uint32_t, outlook->facts.timeline.npoints);
    return true;
}

/* Where only the outcome counts a twentieth of the steps mostly tells it, and one seed. */
static uint64_t scaled(const State *state, uint64_t steps) {
    enum { PART = 20 };
    return steps * state->method.scale / (state->facts->brief ? PART : 1);
}

static KeepProblem keep_problem(const State *state, const Outlook *outlook, uint64_t seed) {
    enum { STEPS = 30000000 };
    return (KeepProblem){.facts = &outlook->facts,
                         .headroom = outlook->headroom,
                         .steps = scaled(state, STEPS),
                         .seed = seed,
                         .deadline = state->facts->deadline};
}

/* The choice of gaps, by sums of heights; returns its cost. */
static int64_t choose(State *state, const Outlook *outlook, uint64_t seed, bool *kept) {
    KeepProblem problem = keep_problem(state, outlook, seed);
    Arena scratch;
    arena_init(&scratch);
    int64_t cost = keep_gaps(&problem, kept, &scratch);
    arena_free(&scratch);
    return cost;
}

/* ---- places ---- */

/* Leaves room free where the sums of bands did not tell what is needed. */
static void leave_overload(const State *state, Outlook *outlook, const PlacedCells *placed) {
    for (uint32_t p = 0; p < outlook->facts.timeline.npoints; p++) {
        uint32_t need = placed->pressure.need[p], size = state->facts->size;
        if (need > size) outlook->headroom[p] += need - size;
    }
}

static void take_rects(const PlacedCells *placed, Answer *answer) {
    for (uint32_t c = 0; c < answer->webs.facts.cells.ncells; c++) {
        uint32_t n = placed->nodes.of[c];
        const Rect *rects = n == NO_NODE ? NULL : placed->places.placement.rects[n];
        answer->rects[c] = rects ? rects[0] : (Rect){0};
    }
}

/* Looks for places for the webs of an answer, such that what it keeps has room. `crowded`: only as
 * long as that is quicker than another choice. */
static PlacedCells place_webs(State *state, Answer *answer, bool crowded) {
    Placer placer = state_placer(state, crowded);
    arena_free(&state->round_memory);
    PlacedCells placed =
        place_cells(&answer->webs.facts, answer->kept, &placer, &state->round_memory);
    answer->rects = RAW_ARRAY(&state->memory, Rect, answer->webs.facts.cells.ncells);
    take_rects(&placed, answer);
    state->rounds++;
    return placed;
}

/* Looks for places for all that is kept; true if they are found. Else some have theirs. */
static bool place_answer(State *state, Outlook *outlook, Answer *answer) {
    answer->webs = find_webs(&outlook->facts, answer->kept, &state->memory);
    PlacedCells placed = place_webs(state, answer, true);
    if (placed.pressure.peak > state->facts->size) leave_overload(state, outlook, &placed);
    if (!placed.places.placed) state->score = placed.places.placement.score;
    return placed.places.placed;
}

/* The webs of what `kept` keeps, with the places of another answer. */
static Answer answer_with(State *state, const Outlook *outlook, const bool *kept,
                          const Answer *from) {
    Arena *arena = &state->memory;
    Answer answer = {.kept = from->kept, .cost = INT64_MAX};
    answer.webs = find_webs(&outlook->facts, kept, arena);
    uint32_t naccesses = outlook->facts.cells.first[outlook->facts.cells.ncells];
    Rect *at = NEW_ARRAY(&state->round_memory, Rect, naccesses);
    const Cells *cells = &from->webs.facts.cells;
    for (uint32_t c = 0; c < cells->ncells; c++)
        for (uint32_t a = cells->first[c]; a < cells->first[c + 1]; a++)
            at[from->webs.access[a]] = from->rects[c];
    cells = &answer.webs.facts.cells;
    answer.rects = NEW_ARRAY(arena, Rect, cells->ncells);
    for (uint32_t c = 0; c < cells->ncells; c++)
        if (cells->first[c] < cells->first[c + 1])
            answer.rects[c] = at[answer.webs.access[cells->first[c]]];
        else if (c <
                 outlook->facts.cells.ncells) /* the same block of the same tensor: an output's */
            answer.rects[c] = from->rects[c];
    return answer;
}

/* Random numbers and steps of one search; the steps left are the caller's. */
typedef struct {
    uint64_t seed;
    uint64_t *steps;
} Search;

/* Moves cells of the answer's webs; true if what comes of it is legal. */
static bool improve_answer(State *state, const Outlook *outlook, Answer *answer, Search search) {
    KeepProblem problem = keep_problem(state, outlook, search.seed);
    problem.facts = &answer->webs.facts;
    CellPlaces places = relocate(&problem, answer->rects, search.steps, &state->memory);
    answer->rects = places.rects;
    answer->kept = places.kept;
    answer->cost = places.cost;
    return places.legal;
}

/* Takes the other answer where it is legal and cheaper. */
static void take_cheaper(Answer *best, const Answer *other, bool legal) {
    if (legal && other->cost < best->cost) *best = *other;
}

/* Places in which nothing is kept but what must be, and what they happen to keep then. */
static void find_least_answer(State *state, Outlook *outlook, const bool *all, Search search,
                              Answer *best) {
    const TimeGaps *gaps = &outlook->facts.gaps;
    bool *least = RAW_ARRAY(&state->memory, bool, gaps->count);
    for (uint32_t g = 0; g < gaps->count; g++)
        least[g] = gaps->resident[outlook->facts.cells.tensor[gaps->gaps[g].cell]];
    const bool *joined[] = {all, least};
    for (int i = 0; i < 2 && best->cost == INT64_MAX; i++) {
        Answer answer = {.kept = least,
                         .webs = find_webs(&outlook->facts, joined[i], &state->memory)};
        PlacedCells placed = place_webs(state, &answer, true);
        outlook->hopeless = placed.pressure.peak > state->facts->size;
        if (placed.places.placed)
            take_cheaper(best, &answer, improve_answer(state, outlook, &answer, search));
    }
}

/* [gaps] all is kept but what inputs bring in, so that they may lie elsewhere later. */
static bool *gaps_after_entry(const Outlook *outlook, Arena *arena) {
    bool *kept = all_gaps(&outlook->facts, arena);
    const Cells *cells = &outlook->facts.cells;
    for (uint32_t g = 0; g < outlook->facts.gaps.count; g++) {
        const TimeGap *gap = &outlook->facts.gaps.gaps[g];
        bool first = gap->access == cells->first[gap->cell] + 1;
        kept[g] = !first || cells->accesses[gap->access - 1].point > 0;
    }
    return kept;
}

/* The webs of what `kept` keeps, without any places. */
static Answer unplaced_answer(State *state, const Outlook *outlook, const bool *kept,
                              const Answer *from) {
    Answer answer = answer_with(state, outlook, kept, from);
    memset(answer.rects, 0, answer.webs.facts.cells.ncells * sizeof *answer.rects);
    return answer;
}

/* Moves cells: between places of webs that the choice has cut apart; of whole webs, from no places
 * at all, and where inputs come in, of whole webs but for these; and of webs that the best of these
 * cuts apart. */
static void relocate_answer(State *state, Outlook *outlook, Answer *from, Search search,
                            Answer *best) {
    enum { MOST_TURNS = 3, STARTS = 3 };
    bool *all = all_gaps(&outlook->facts, &state->memory);
    Answer starts[STARTS] = {*from, unplaced_answer(state, outlook, all, from)};
    uint64_t count = outlook->enters ? STARTS : STARTS - 1;
    if (outlook->enters)
        starts[count - 1] =
            unplaced_answer(state, outlook, gaps_after_entry(outlook, &state->memory), from);
    uint64_t part = *search.steps / (count + 1), left = 0;
    Search some = {search.seed, &left};
    for (uint64_t i = 0; i < count; i++) {
        left += part;
        take_cheaper(best, &starts[i], improve_answer(state, outlook, &starts[i], some));
    }
    left += part;
    if (best->cost == INT64_MAX) find_least_answer(state, outlook, all, some, best);
    for (int turn = 0; best->cost < INT64_MAX && left > 0 && turn < MOST_TURNS; turn++) {
        Answer next = answer_with(state, outlook, best->kept, best);
        int64_t before = best->cost;
        take_cheaper(best, &next, improve_answer(state, outlook, &next, some));
        if (best->cost == before) break;
    }
    *search.steps -= (count + 1) * part - left;
}

/* Places with which the function stays as it is: nothing is cut, and no tensor split. Text that was
 * allocated before has such places, so they are looked for first; where there is spill code, with
 * all steps of the exact search. */
static bool find_uncut_answer(State *state, Outlook *outlook, Answer *answer) {
    enum { MOST_SEEDS = 4, STEPS = 20000000 };
    bool *all = all_gaps(&outlook->facts, &state->memory);
    *answer =
        (Answer){.kept = all, .webs = whole_webs(&outlook->facts, &state->memory), .uncut = true};
    PlacedCells placed = place_webs(state, answer, true);
    if (placed.places.placed) return true;
    outlook->over = placed.pressure.peak > state->facts->size;
    if (outlook->over) return false;
    uint64_t seeds = state->facts->brief ? 1 : MOST_SEEDS;
    for (uint64_t seed = 0; seed < seeds && !clock_is_past(state->facts->deadline); seed++) {
        uint64_t steps = scaled(state, STEPS);
        bool legal =
            improve_answer(state, outlook, answer, (Search){state->facts->seed + seed, &steps});
        if (legal && answer->cost == 0) return true;
        memset(answer->rects, 0, answer->webs.facts.cells.ncells * sizeof *answer->rects);
    }
    answer->kept = all;
    return has_spill_code(state->facts->func) && place_webs(state, answer, false).places.placed;
}

/* Chooses and places with one seed after the other while there are steps. Where all that is chosen
 * has its place, moving will not do better. */
static bool find_answer(State *state, Outlook *outlook, Answer *best) {
    enum { MOST_SEEDS = 3, STEPS = 60000000 };
    uint64_t used = 0, most = scaled(state, STEPS);
    *best = (Answer){.cost = INT64_MAX};
    uint64_t seeds = state->facts->brief ? 1 : MOST_SEEDS;
    for (uint64_t seed = 0; seed < seeds && used < most; seed++) {
        Answer answer = {.kept = NEW_ARRAY(&state->memory, bool, outlook->facts.gaps.count)};
        answer.cost = choose(state, outlook, state->facts->seed + seed, answer.kept);
        bool placed = place_answer(state, outlook, &answer);
        take_cheaper(best, &answer, placed);
        if (placed || clock_is_past(state->facts->deadline)) break;
        uint64_t steps = most - used;
        Search search = {state->facts->seed + seed, &steps};
        relocate_answer(state, outlook, &answer, search, best);
        used = most - steps;
        if (best->cost <= answer.cost || outlook->hopeless) break;
    }
    return best->cost < INT64_MAX;
}

/* ---- the result ---- */

/* Where a tensor lies that never lives. */
static Rect idle_rect(const Tensor *tensor) {
    Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
    return (Rect){0, tensor_height(tensor), bands.masks[0]};
}

/* Blocks that never live lie where the first one that does lies. */
static void set_places(State *state, const Answer *answer) {
    const Cells *cells = &answer->webs.facts.cells;
    const Func *func = answer->webs.facts.func;
    const bool *named = find_named(func, &state->memory);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        Tensor *tensor = &state->code.func->tensors[t];
        uint32_t first = cells->first_cell[t], end = cells->first_cell[t + 1], some = first;
        while (some < end && !answer->rects[some].mask)
            some++;
        if (tensor->fixed || first == end || (some == end && !named[t])) continue;
        Rect usual = some < end ? answer->rects[some] : idle_rect(tensor);
        Place *places = RAW_ARRAY(&state->memory, Place, end - first);
        for (uint32_t c = first; c < end; c++) {
            Rect rect = answer->rects[c].mask ? answer->rects[c] : usual;
            places[c - first] = place_at(rect.low, rect.mask);
        }
        tensor->at = places;
    }
}

static void note_blocks(State *state, const Answer *answer) {
    const Cells *cells = &answer->webs.facts.cells;
    TimeBlocks *blocks = &state->code.blocks;
    blocks->nodes = cell_nodes(&answer->webs.facts, answer->kept, &state->memory);
    blocks->block = RAW_ARRAY(&state->memory, uint32_t, blocks->nodes.count);
    for (uint32_t c = 0; c < cells->ncells; c++)
        if (blocks->nodes.of[c] != NO_NODE)
            blocks->block[blocks->nodes.of[c]] = (uint32_t)cell_block(cells, c);
}

/* Folds the answer, and once more where what is kept in the end falls into more webs than it was
 * placed in: else the result would be split when it is read again. */
static bool fold_answer(State *state, const Outlook *outlook, Answer *answer) {
    Decided decided = {.facts = &outlook->facts,
                       .webs = &answer->webs,
                       .kept = answer->kept,
                       .settled = answer->uncut && has_spill_code(state->facts->func)};
    if (!fold(&decided, &state->memory, &state->code)) return false;
    if (answer->uncut) return true;
    Answer last = answer_with(state, outlook, answer->kept, answer);
    if (last.webs.facts.func->ntensors == answer->webs.facts.func->ntensors) return true;
    *answer = last;
    return fold(&decided, &state->memory, &state->code);
}

static bool is_past_cap(const State *state) {
    return sum_dmas(state->code.func, state->facts->target).reloads > state->facts->max_reloads;
}

static const char *spill_blocks(State *state) {
    Outlook outlook = {0};
    Answer answer = {0};
    if (!look_out(state, &outlook)) return "too large to lay out";
    bool found = find_uncut_answer(state, &outlook, &answer);
    if (!found && outlook.over && state->facts->must_fit) return "something must leave";
    if (!found && !find_answer(state, &outlook, &answer)) return "no place found";
    if (!fold_answer(state, &outlook, &answer)) return "too many conditions";
    if (is_past_cap(state)) return "too many reloads";
    state->code.in_time = true;
    set_places(state, &answer);
    note_blocks(state, &answer);
    if (outlook.enters) leave_entry(state->facts->func, &state->code, &state->memory);
    drop_dead_loads(&state->code, &state->memory);
    project_live(&answer.webs, answer.kept, &state->code, &state->memory);
    if (outlook.enters) forget_entry(state->facts->func, &state->code, &state->memory);
    drop_unnamed(&state->code, answer.webs.facts.func, &state->memory);
    state->cost = NEW_ARRAY(&state->memory, double, state->code.func->ntensors);
    return NULL;
}

const char *spill_in_time(State *state) {
    double begin = clock_now();
    const char *why = spill_blocks(state);
    state->seconds.spill += clock_now() - begin;
    return why;
}
