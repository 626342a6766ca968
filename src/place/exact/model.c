/* The sweeps over time: pressure, and who overlaps whom. */
#include "place/exact/internal.h"
#include "support/sort.h"

/* Ends and starts of all intervals, in order of time; at one point ends come first. */
typedef struct {
    SortKey *events; /* key: 2 * point + is start; id: item */
    size_t count;
    uint32_t *live;  /* [items] the items live now, in no order */
    uint32_t *place; /* [items] where in `live` */
    uint32_t nlive;
} Sweep;

static Sweep sweep_begin(const PackProblem *problem, const uint32_t *ids, uint32_t count,
                         Arena *scratch) {
    size_t intervals = 0;
    for (uint32_t i = 0; i < count; i++)
        intervals += problem->items[ids ? ids[i] : i].range.count;
    Sweep sweep = {.events = RAW_ARRAY(scratch, SortKey, 2 * intervals),
                   .live = RAW_ARRAY(scratch, uint32_t, problem->count),
                   .place = RAW_ARRAY(scratch, uint32_t, problem->count)};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = ids ? ids[i] : i;
        LiveRange range = problem->items[id].range;
        for (uint32_t k = 0; k < range.count; k++) {
            uint64_t end = (uint64_t)range.items[k].last + 1;
            sweep.events[sweep.count++] = (SortKey){2 * (uint64_t)range.items[k].first + 1, id};
            sweep.events[sweep.count++] = (SortKey){2 * end, id};
        }
    }
    sort_keys(sweep.events, sweep.count, scratch);
    return sweep;
}

static bool is_start(SortKey event) {
    return event.key & 1;
}

static void sweep_step(Sweep *sweep, SortKey event) {
    if (is_start(event)) {
        sweep->place[event.id] = sweep->nlive;
        sweep->live[sweep->nlive++] = event.id;
    } else {
        uint32_t last = sweep->live[--sweep->nlive];
        sweep->live[sweep->place[event.id]] = last;
        sweep->place[last] = sweep->place[event.id];
    }
}

/* The quadrants, the halves and the whole: each must have room for what cannot go elsewhere. */
static const uint8_t GROUPS[] = {0x1, 0x2, 0x4, 0x8, 0x3, 0xC, 0xF};
enum { GROUP_COUNT = sizeof GROUPS };

/* Quadrants of `group` that an item takes at any place. */
static uint32_t certain_share(const PackItem *item, uint8_t group) {
    if (item->fixed) return (uint32_t)__builtin_popcount(item->band & group);
    Bands bands = class_bands(item->class);
    uint32_t least = MOST_BANDS;
    for (uint32_t b = 0; b < bands.count; b++) {
        uint32_t share = (uint32_t)__builtin_popcount(bands.masks[b] & group);
        if (share < least) least = share;
    }
    return least;
}

bool pack_overfull(const PackProblem *problem, Budget *budget, Arena *scratch) {
    Sweep sweep = sweep_begin(problem, NULL, problem->count, scratch);
    uint64_t demand[GROUP_COUNT] = {0};
    budget_spend(budget, 8 * sweep.count); /* mostly for the sort */
    for (size_t e = 0; e < sweep.count; e++) {
        const PackItem *item = &problem->items[sweep.events[e].id];
        for (uint32_t g = 0; g < GROUP_COUNT; g++) {
            uint64_t area = (uint64_t)certain_share(item, GROUPS[g]) * item->height;
            demand[g] += is_start(sweep.events[e]) ? area : 0 - area;
            if (demand[g] > (uint64_t)__builtin_popcount(GROUPS[g]) * problem->size) return true;
        }
    }
    return false;
}

/* The quadrants where an item can be placed. */
static uint8_t reach(const PackItem *item) {
    if (item->fixed) return item->band;
    Bands bands = class_bands(item->class);
    uint8_t mask = 0;
    for (uint32_t b = 0; b < bands.count; b++)
        mask |= bands.masks[b];
    return mask;
}

/* Two items as they overlap at the start of one of the two; may come more than once. */
typedef struct {
    uint32_t a, b;
} Pair;

/* Drops repeated neighbours and closes the lists up. */
static void drop_repeats(PackGraph *neighbours, Arena *scratch) {
    uint32_t *seen = NEW_ARRAY(scratch, uint32_t, neighbours->count); /* item + 1 */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < neighbours->count; i++) {
        uint32_t from = neighbours->start[i], to = neighbours->start[i + 1];
        neighbours->start[i] = kept;
        for (uint32_t k = from; k < to; k++) {
            uint32_t other = neighbours->list[k];
            if (seen[other] == i + 1) continue;
            seen[other] = i + 1;
            neighbours->list[kept++] = other;
        }
    }
    neighbours->start[neighbours->count] = kept;
}

static void fill_lists(PackGraph *neighbours, const Pair *pairs, size_t count, Arena *scratch) {
    uint32_t n = neighbours->count;
    neighbours->start = NEW_ARRAY(scratch, uint32_t, (size_t)n + 1);
    neighbours->list = RAW_ARRAY(scratch, uint32_t, 2 * count);
    uint32_t *next = RAW_ARRAY(scratch, uint32_t, n);
    for (size_t p = 0; p < count; p++) {
        neighbours->start[pairs[p].a + 1]++;
        neighbours->start[pairs[p].b + 1]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        neighbours->start[i + 1] += neighbours->start[i];
        next[i] = neighbours->start[i];
    }
    for (size_t p = 0; p < count; p++) {
        neighbours->list[next[pairs[p].a]++] = pairs[p].b;
        neighbours->list[next[pairs[p].b]++] = pairs[p].a;
    }
    drop_repeats(neighbours, scratch);
}

bool pack_neighbours(const PackProblem *problem, Budget *budget, Arena *scratch,
                     PackGraph *neighbours) {
    enum { MOST_PAIRS = 1 << 24 };
    Sweep sweep = sweep_begin(problem, NULL, problem->count, scratch);
    Pair *pairs = NULL;
    size_t count = 0, capacity = 0;
    for (size_t e = 0; e < sweep.count; e++) {
        uint32_t id = sweep.events[e].id;
        sweep_step(&sweep, sweep.events[e]);
        if (!is_start(sweep.events[e])) continue;
        if (!budget_spend(budget, sweep.nlive) || count + sweep.nlive > MOST_PAIRS) return false;
        uint8_t mask = reach(&problem->items[id]);
        for (uint32_t k = 0; k + 1 < sweep.nlive; k++) {
            uint32_t other = sweep.live[k];
            if (!(mask & reach(&problem->items[other]))) continue;
            PUSH(scratch, pairs, count, capacity, ((Pair){id, other}));
        }
    }
    neighbours->count = problem->count;
    fill_lists(neighbours, pairs, count, scratch);
    return true;
}

bool pack_sections(const PackPart *part, size_t most, Arena *scratch, Sections *sections) {
    Sweep sweep = sweep_begin(part->problem, part->ids, part->count, scratch);
    size_t capacity = 0, start_capacity = 0, members = 0, starts = 0;
    *sections = (Sections){0};
    bool grown = false;
    for (size_t e = 0; e < sweep.count; e++) {
        if (grown && !is_start(sweep.events[e])) {
            if (members + sweep.nlive > most) return false;
            PUSH(scratch, sections->start, starts, start_capacity, (uint32_t)members);
            for (uint32_t k = 0; k < sweep.nlive; k++)
                PUSH(scratch, sections->members, members, capacity, sweep.live[k]);
        }
        grown = is_start(sweep.events[e]);
        sweep_step(&sweep, sweep.events[e]);
    }
    sections->count = (uint32_t)starts;
    PUSH(scratch, sections->start, starts, start_capacity, (uint32_t)members);
    return true;
}

/* Room to collect cliques, clean between uses. */
typedef struct {
    uint32_t *common;  /* [items] members of the clique that each overlaps */
    uint32_t *members; /* [items] */
    uint32_t count;
} Clique;

/* The neighbour of `id` that overlaps all members and has the largest degree times height. */
static uint32_t next_member(const PackPart *part, const Clique *clique, uint32_t id) {
    const uint32_t *start = part->neighbours->start, *list = part->neighbours->list;
    uint32_t next = UINT32_MAX;
    uint64_t best = 0;
    for (uint32_t k = start[id]; k < start[id + 1]; k++) {
        uint32_t other = list[k];
        if (clique->common[other] != clique->count) continue;
        uint64_t degree = start[other + 1] - start[other];
        uint64_t worth = degree * part->problem->items[other].height;
        if (worth <= best) continue;
        best = worth;
        next = other;
    }
    return next;
}

/* Collects a clique around `id`, greedily. */
static void collect_clique(const PackPart *part, uint32_t id, Budget *budget, Clique *clique) {
    const uint32_t *start = part->neighbours->start, *list = part->neighbours->list;
    for (uint32_t next = id; next != UINT32_MAX;) {
        clique->members[clique->count++] = next;
        for (uint32_t k = start[next]; k < start[next + 1]; k++)
            clique->common[list[k]]++;
        next = next_member(part, clique, id);
        budget_spend(budget, 2 * (start[id + 1] - start[id]));
    }
}

static bool is_too_high(const PackProblem *problem, const Clique *clique) {
    for (uint32_t g = 0; g < GROUP_COUNT; g++) {
        uint64_t demand = 0;
        for (uint32_t c = 0; c < clique->count; c++) {
            const PackItem *item = &problem->items[clique->members[c]];
            demand += (uint64_t)certain_share(item, GROUPS[g]) * item->height;
        }
        if (demand > (uint64_t)__builtin_popcount(GROUPS[g]) * problem->size) return true;
    }
    return false;
}

static void clear_clique(const PackPart *part, Clique *clique) {
    const uint32_t *start = part->neighbours->start, *list = part->neighbours->list;
    for (uint32_t c = 0; c < clique->count; c++)
        for (uint32_t k = start[clique->members[c]]; k < start[clique->members[c] + 1]; k++)
            clique->common[list[k]] = 0;
    clique->count = 0;
}

bool pack_clique_too_high(const PackPart *part, Budget *budget, Arena *scratch) {
    bool holes = false;
    for (uint32_t k = 0; k < part->count; k++)
        holes |= part->problem->items[part->ids[k]].range.count > 1;
    if (!holes || budget->used >= budget->limit) return false;
    Clique clique = {.common = NEW_ARRAY(scratch, uint32_t, part->problem->count),
                     .members = RAW_ARRAY(scratch, uint32_t, part->problem->count)};
    uint64_t enough = budget->used + (budget->limit - budget->used) / 16;
    bool too_high = false;
    for (uint32_t k = 0; k < part->count && budget->used < enough && !too_high; k++) {
        collect_clique(part, part->ids[k], budget, &clique);
        too_high = is_too_high(part->problem, &clique);
        clear_clique(part, &clique);
    }
    return too_high;
}
