/* The exact search: depth first over bottom-justified placements.
 *
 * If items can be placed at all, they can be placed so that each rests on the floor, on a fixed
 * item or on another (but for its alignment): push them down until none can move. So an option
 * whose cells all have their floors at its lowest place either is placed there, and something must
 * end below it, or it rests on an item yet to be placed, which is at least so much higher. Each
 * decision is between these two. propagate.c draws the conclusions; failed states are
 * remembered.
 *
 * The floor of each section with the sum of what is still to come as a bound, canonical positions
 * and several orders in turn are as in MiniMalloc (Moffitt, ASPLOS 2024); "above one that can be
 * next" and idle space before lowest places are the not-first rule and the one-machine bound
 * of scheduling (Carlier and Pinson); restarts follow Luby, Sinclair and Zuckerman. */
#include "place/exact/search.h"

enum { FIRST_MEMO_BITS = 10, LAST_MEMO_BITS = 20 };

/* Two states with the same lowest places and the same support at them fail alike. */
static StateKey state_key(const ExactSearch *s) {
    StateKey key = s->key;
    for (uint32_t o = 0; o < s->options; o++) {
        if (s->lowest[o] == DEAD || s->lowest[o] == 0) continue;
        if (align_up(s->support[o], s->align[o]) == s->lowest[o]) {
            key.a += s->factor[o].b * 0x9E3779B97F4A7C15u;
            key.b += s->factor[o].a * 0xD6E8FEB86659FD93u;
        }
    }
    return key;
}

/* The two slots where a key may be. */
static StateKey *memo_slots(const ExactSearch *s, StateKey key) {
    return &s->memo[(key.a >> 7 ^ key.b) & (((uint64_t)1 << s->memo_bits) - 2)];
}

static bool memo_has(const ExactSearch *s, StateKey key) {
    const StateKey *slot = memo_slots(s, key);
    return (slot[0].a == key.a && slot[0].b == key.b) || (slot[1].a == key.a && slot[1].b == key.b);
}

static void memo_add(ExactSearch *s, StateKey key) {
    StateKey *slot = memo_slots(s, key);
    slot[1] = slot[0];
    slot[0] = key;
    s->remembered++;
}

/* Between runs: a table that has filled up is replaced by one twice as large. */
static void memo_grow(ExactSearch *s) {
    if (s->memo && (s->memo_bits == LAST_MEMO_BITS || s->remembered >> s->memo_bits == 0)) return;
    StateKey *old = s->memo;
    uint32_t count = old ? 1u << s->memo_bits : 0;
    s->memo_bits = old ? s->memo_bits + 1 : FIRST_MEMO_BITS;
    s->memo = NEW_ARRAY(s->scratch, StateKey, (size_t)1 << s->memo_bits);
    for (uint32_t k = 0; k < count; k++)
        if (old[k].a || old[k].b) memo_add(s, old[k]);
    s->remembered = 0;
}

/* Keeps the ready options at the lowest level only, and counts them by cell. */
static uint32_t keep_lowest(ExactSearch *s, uint32_t nready) {
    uint32_t level = DEAD, kept = 0;
    for (uint32_t k = 0; k < nready; k++)
        if (s->lowest[s->ready[k]] < level) level = s->lowest[s->ready[k]];
    for (uint32_t k = 0; k < nready; k++)
        if (s->lowest[s->ready[k]] == level) s->ready[kept++] = s->ready[k];
    for (uint32_t k = 0; k < kept; k++) {
        uint32_t o = s->ready[k];
        for (uint32_t i = s->option_cells[o]; i < s->option_cells[o + 1]; i++)
            s->count[s->cell_list[i]]++;
    }
    return kept;
}

static void forget_counts(ExactSearch *s, uint32_t nready) {
    for (uint32_t k = 0; k < nready; k++) {
        uint32_t o = s->ready[k];
        for (uint32_t i = s->option_cells[o]; i < s->option_cells[o + 1]; i++)
            s->count[s->cell_list[i]] = 0;
    }
}

/* A cell is urgent where few items can be next; among equals, where little may be wasted. */
static uint64_t urgency(const ExactSearch *s, uint32_t cell, const uint32_t *rivals) {
    uint64_t waste = pack_waste_left(s, cell);
    uint64_t choices = (uint64_t)rivals[cell] + (waste > 0);
    return choices << 32 | (waste > UINT32_MAX ? UINT32_MAX : waste);
}

/* The option to decide on: in the cell with the fewest choices, the one with the highest priority.
 */
static uint32_t choose(ExactSearch *s, uint32_t nready) {
    if (s->lowest_first) nready = keep_lowest(s, nready);
    const uint32_t *rivals = s->lowest_first ? s->count : s->rivals;
    uint64_t least = UINT64_MAX;
    uint32_t best = DEAD, best_cell = 0;
    s->choices++;
    for (uint32_t k = 0; k < nready; k++) {
        uint32_t o = s->ready[k];
        s->work += s->option_cells[o + 1] - s->option_cells[o];
        for (uint32_t i = s->option_cells[o]; i < s->option_cells[o + 1]; i++) {
            uint32_t cell = s->cell_list[i];
            if (s->judged[cell] != s->choices) {
                s->judged[cell] = s->choices;
                s->urgency[cell] = urgency(s, cell, rivals);
                s->work += s->groups;
            }
            uint64_t score = s->urgency[cell];
            bool better = score < least || (score == least && cell == best_cell &&
                                            s->priority[o] > s->priority[best]);
            if (!better) continue;
            least = score;
            best = o;
            best_cell = cell;
        }
    }
    if (s->lowest_first) forget_counts(s, nready);
    return best;
}

/* The floors of all its cells are at its lowest place: what follows is above or beside it. */
static bool is_ready(const ExactSearch *s, uint32_t option) {
    uint32_t y = s->lowest[option];
    for (uint32_t i = s->option_cells[option]; i < s->option_cells[option + 1]; i++)
        if (s->floor[s->cell_list[i]] != y) return false;
    return true;
}

typedef enum { STEP_OPEN, STEP_FAILED, STEP_FOUND } SearchStep;

/* Finds the ready options; those that nothing supports cannot be placed there. */
static bool find_ready(ExactSearch *s, uint32_t *nready, bool *moved) {
    *nready = 0;
    *moved = false;
    s->work += s->options;
    for (uint32_t o = 0; o < s->options; o++) {
        if (s->lowest[o] == DEAD || !is_ready(s, o)) continue;
        if (pack_supported(s, o)) {
            s->ready[(*nready)++] = o;
        } else {
            *moved = true;
            if (!pack_refuse(s, o)) return false;
        }
    }
    return true;
}

/* Draws all conclusions. Where the state stays open, some option is ready: one whose lowest place
 * is the lowest of all. */
static SearchStep advance(ExactSearch *s, uint32_t *nready) {
    bool moved = true;
    while (moved) {
        if (!pack_propagate(s)) return STEP_FAILED;
        if (s->placed == s->items) return STEP_FOUND;
        if (!find_ready(s, nready, &moved)) return STEP_FAILED;
    }
    return STEP_OPEN;
}

/* Back to the state before the last decision; its option is refused there. False: no decision is
 * left. */
static bool backtrack(ExactSearch *s) {
    for (;;) {
        pack_drop_queue(s);
        if (!s->depth) return false;
        SearchDecision *decision = &s->decisions[--s->depth];
        if (decision->keyed) memo_add(s, decision->after);
        pack_undo(s, decision->changes, decision->slack_changes);
        s->key = decision->before;
        while (s->placed > decision->placed)
            s->band[s->owner[s->stack[--s->placed]]] = 0;
        if (pack_refuse_twins(s, decision->option)) return true;
    }
}

/* Decides in an open state, unless it is known to fail. `first`: it is the first one after the last
 * decision, which is to remember it. */
static SearchStep decide(ExactSearch *s, uint32_t nready, bool first) {
    StateKey key = state_key(s);
    s->work += s->options;
    if (memo_has(s, key)) return STEP_FAILED;
    if (first && s->depth) {
        s->decisions[s->depth - 1].keyed = true;
        s->decisions[s->depth - 1].after = key;
    }
    uint32_t option = choose(s, nready);
    s->decisions[s->depth++] = (SearchDecision){.option = option,
                                                .placed = s->placed,
                                                .changes = s->nchanges,
                                                .slack_changes = s->nslack,
                                                .before = s->key};
    return pack_assign(s, option) ? STEP_OPEN : STEP_FAILED;
}

/* One run, of at most `nodes` states. */
static PackStatus search(ExactSearch *s, uint64_t nodes) {
    bool first = true;
    for (uint64_t n = 0; n < nodes; n++) {
        uint32_t nready;
        s->work = 0;
        SearchStep step = advance(s, &nready);
        if (step == STEP_FOUND) return PACK_FOUND;
        if (step == STEP_OPEN) step = decide(s, nready, first);
        first = step == STEP_OPEN;
        if (step == STEP_FAILED && !backtrack(s)) return PACK_IMPOSSIBLE;
        if (!budget_spend(s->budget, s->work)) break;
    }
    return PACK_GAVE_UP;
}

/* Runs differ in what they prefer: large, long or high items, later with noise. */
static void set_priority(ExactSearch *s, uint32_t run) {
    enum { KINDS = 4 };
    for (uint32_t o = 0; o < s->options; o++) {
        uint32_t item = s->owner[o];
        double length = s->item_sections[item + 1] - s->item_sections[item];
        double wide = length * __builtin_popcount(s->quadrants[o]);
        const double kinds[KINDS] = {wide * s->height[o], wide, s->height[o],
                                     wide * s->height[o] * length};
        double noise = (double)(budget_random(s->budget) >> 40) / (1 << 24);
        if (run < KINDS) noise = 0;
        s->priority[o] = kinds[run % KINDS] * (1 + noise * (run % 3 ? 1 : 0.3));
    }
}

/* The least capacity that the sections allow. */
static uint32_t least_capacity(const ExactSearch *s) {
    uint64_t least = s->part.capacity; /* granules that could be spared everywhere */
    for (uint32_t x = 0; x < s->sections; x++)
        for (uint32_t g = 0; g < s->groups; g++) {
            uint32_t quadrants = (uint32_t)__builtin_popcount(s->group_quadrants[g]);
            uint64_t spare = (uint64_t)s->slack[x * s->groups + g] / quadrants;
            if (spare < least) least = spare;
        }
    return s->part.capacity - (uint32_t)least;
}

/* Capacities to search with: the real one, and smaller ones, where less waste is allowed and more
 * is pruned. They depend on the least one only, so that more room never loses a placement that was
 * found with less but for what the added one costs. */
enum { MOST_CAPACITIES = 8 };

typedef struct {
    uint32_t items[MOST_CAPACITIES];
    uint32_t count;
} Capacities;

static Capacities choose_capacities(const ExactSearch *s) {
    static const uint32_t PERMILLE[MOST_CAPACITIES - 1] = {0, 10, 30, 60, 120, 250, 500};
    Capacities capacities = {0};
    uint32_t real = s->part.capacity;
    capacities.items[capacities.count++] = real;
    if (!s->cell_blocks[s->cells]) {
        uint32_t least = least_capacity(s);
        for (uint32_t k = 0; k < MOST_CAPACITIES - 1; k++) {
            uint64_t capacity = least + (uint64_t)least * PERMILLE[k] / 1000;
            if (capacity < real) capacities.items[capacities.count++] = (uint32_t)capacity;
        }
    }
    return capacities;
}

static void drop_capacity(Capacities *capacities, uint32_t k) {
    capacities->count--;
    for (; k < capacities->count; k++)
        capacities->items[k] = capacities->items[k + 1];
}

/* One run after the other with other capacities, modes and priorities, each for longer. */
static PackStatus run_all(ExactSearch *s) {
    enum { MODES = 2, SHORTEST_RUN = 200 };
    uint32_t real = s->part.capacity;
    uint64_t shortest = SHORTEST_RUN + 2 * (uint64_t)s->items; /* a dive takes an item a state */
    if (!pack_begin(s, real)) return PACK_IMPOSSIBLE;
    Capacities capacities = choose_capacities(s);
    for (uint32_t round = 0;; round++) {
        for (uint32_t k = 0; k < capacities.count * MODES; k++) {
            uint32_t capacity = capacities.items[k / MODES];
            s->lowest_first = k % MODES == 0;
            memo_grow(s);
            set_priority(s, round);
            PackStatus status = PACK_IMPOSSIBLE;
            if (pack_begin(s, capacity)) status = search(s, shortest * pack_luby(round + 1));
            if (status == PACK_FOUND) return status;
            if (status == PACK_IMPOSSIBLE && capacity == real) return status;
            if (status == PACK_IMPOSSIBLE) drop_capacity(&capacities, k / MODES);
            if (s->budget->used >= s->budget->limit) return PACK_GAVE_UP;
        }
    }
}

PackStatus pack_search(const PackPart *part, Budget *budget, Arena *scratch, PackPlaces *places) {
    ExactSearch *s = NEW(scratch, ExactSearch);
    s->problem = part->problem;
    s->neighbours = part->neighbours;
    s->part = *part;
    s->budget = budget;
    s->scratch = scratch;
    if (!pack_build(s)) return PACK_GAVE_UP;
    PackStatus status = run_all(s);
    if (status == PACK_FOUND)
        for (uint32_t i = 0; i < s->items; i++) {
            places->offset[s->part.ids[i]] = s->offset[i];
            places->band[s->part.ids[i]] = s->band[i];
        }
    return status;
}
