#include "spill/unspill.h"

#include <assert.h>
#include <string.h>

#include "ir/region.h"
#include "place/first_fit.h"
#include "support/search.h"
#include "support/sort.h"

/* A node, or several joined into one: a union of nodes whose root is the first of them. */
typedef struct {
    uint32_t joined_to; /* itself at the root */
    uint32_t next;      /* the next node of the union, NO_NODE at the end */
    uint32_t last;      /* the last of that list, kept by the root */
    LiveRange range;
    Region part;        /* of the block that it holds */
    uint32_t *overlaps; /* nodes that overlap it because a gap was joined: not in the graph */
    size_t noverlaps, overlaps_capacity;
} Union;

typedef struct {
    State *state;
    Arena *memory;
    Union *unions;  /* [nodes] */
    uint32_t *seen; /* [nodes] the last cut for which it was looked at */
    uint32_t stamp;
    SortKey *starts; /* intervals by first point; id is the node */
    size_t nstarts;
    Rect *taken;
    uint32_t ntaken;
    uint64_t steps; /* probes of nodes that are left */
    Arena scratch;
} Pass;

/* Long gaps conflict with many nodes: stop after a limit of probes. */
enum { UNSPILL_STEPS = 30000000 };

/* A cut between two copies. */
typedef struct {
    uint32_t before, after; /* nodes */
    uint32_t access;        /* the plan's access behind the cut */
} Cut;

static uint32_t root_of(const Pass *pass, uint32_t n) {
    while (pass->unions[n].joined_to != n)
        n = pass->unions[n].joined_to;
    return n;
}

static uint32_t tensor_of(const Pass *pass, uint32_t n) {
    return pass->state->now.nodes.items[n].tensor;
}

/* ---- cuts ---- */

/* Two copies of one block in one loop body, the second of which reloads what the first held. */
static bool is_joinable(const Pass *pass, uint32_t before, uint32_t after) {
    const Rewritten *code = &pass->state->code;
    uint32_t a = tensor_of(pass, before), b = tensor_of(pass, after);
    const PlanAccess *accesses = pass->state->plan.accesses;
    if (code->origin[a] != code->origin[b] || code->end_access[a] != code->first_access[b] ||
        pass->state->plan.func->tensors[code->origin[a]].blocks != 1)
        return false;
    uint32_t loop = accesses[code->first_access[a]].loop;
    for (uint32_t i = code->first_access[a]; i < code->end_access[b]; i++)
        if (accesses[i].loop != loop) return false;
    const PlanAccess *first = &accesses[code->first_access[b]];
    return first->reads;
}

/* Copies by tensor and access. */
static SortKey *copies_in_order(Pass *pass, uint32_t *count) {
    const Nodes *nodes = &pass->state->now.nodes;
    SortKey *copies = RAW_ARRAY(pass->memory, SortKey, nodes->count);
    *count = 0;
    for (uint32_t n = 0; n < nodes->count; n++)
        if (pass->state->code.role[nodes->items[n].tensor] == ROLE_COPY)
            copies[(*count)++] =
                (SortKey){(uint64_t)pass->state->code.origin[nodes->items[n].tensor] << 32 |
                              pass->state->code.first_access[nodes->items[n].tensor],
                          n};
    sort_keys(copies, *count, pass->memory);
    return copies;
}

static uint32_t gap_first(const Pass *pass, uint32_t before) {
    LiveRange range = pass->unions[before].range;
    return range.items[range.count - 1].last + 1;
}

/* Cycles saved for each granule and point that joining takes. */
static double worth(const Pass *pass, const Cut *cut) {
    const Node *node = &pass->state->now.nodes.items[cut->before];
    const Tensor *tensor = &pass->state->code.func->tensors[tensor_of(pass, cut->after)];
    int64_t trips =
        loop_trips(pass->state->plan.func, pass->state->plan.accesses[cut->access].loop);
    double saved =
        (double)latency_dram(pass->state->facts->target, tensor->partitions, tensor->bytes) *
        (double)trips;
    double length =
        pass->unions[cut->after].range.items[0].first - (double)gap_first(pass, cut->before) + 1;
    return saved / (length * node->height);
}

static Cut *find_cuts(Pass *pass, uint32_t *count) {
    uint32_t ncopies;
    SortKey *copies = copies_in_order(pass, &ncopies);
    Cut *cuts = RAW_ARRAY(pass->memory, Cut, ncopies);
    SortKey *order = RAW_ARRAY(pass->memory, SortKey, ncopies);
    *count = 0;
    for (uint32_t i = 1; i < ncopies; i++) {
        if (!is_joinable(pass, copies[i - 1].id, copies[i].id)) continue;
        Cut cut = {copies[i - 1].id, copies[i].id,
                   pass->state->code.first_access[tensor_of(pass, copies[i].id)]};
        double value = worth(pass, &cut) * 1e6;
        uint64_t key = value < 1e18 ? (uint64_t)value : (uint64_t)1e18;
        order[*count] = (SortKey){UINT64_MAX - key, *count};
        cuts[(*count)++] = cut;
    }
    sort_keys(order, *count, pass->memory);
    Cut *sorted = RAW_ARRAY(pass->memory, Cut, *count);
    for (uint32_t i = 0; i < *count; i++)
        sorted[i] = cuts[order[i].id];
    return sorted;
}

/* ---- conflicts ---- */

static void add_overlap(Pass *pass, uint32_t n, LiveRange range) {
    uint32_t root = root_of(pass, n);
    if (pass->seen[root] == pass->stamp) return;
    pass->seen[root] = pass->stamp;
    const Node *node = &pass->state->now.nodes.items[root];
    if (!live_overlap(pass->unions[root].range, range)) return;
    for (uint32_t b = 0; b < node->blocks; b++) {
        if (node->block_ranges && !live_overlap(node->block_ranges[b], range)) continue;
        pass->taken[pass->ntaken++] = pass->state->now.placement.rects[root][b];
    }
}

/* The position in `starts` of the first interval that begins at `point` or later. */
static size_t starts_from(const Pass *pass, uint32_t point) {
    size_t at;
    FIND_FIRST(at, 0, pass->nstarts, pass->starts[at].key >= point);
    return at;
}

/* How many blocks may overlap either half or begin in the gap, at most. */
static size_t most_overlaps(const Pass *pass, const Cut *cut) {
    const Graph *graph = &pass->state->now.graph;
    size_t most = 0;
    uint32_t ends[2] = {root_of(pass, cut->before), root_of(pass, cut->after)};
    for (int e = 0; e < 2; e++)
        for (uint32_t n = ends[e]; n != NO_NODE; n = pass->unions[n].next) {
            uint32_t m;
            for (NeighbourWalk walk = neighbours_of(graph, n); next_neighbour(&walk, &m);)
                most += pass->state->now.nodes.items[m].blocks;
            most += pass->unions[n].noverlaps;
        }
    size_t from = starts_from(pass, gap_first(pass, ends[0]));
    for (size_t i = from;
         i < pass->nstarts && pass->starts[i].key < pass->unions[ends[1]].range.items[0].first; i++)
        most += pass->state->now.nodes.items[pass->starts[i].id].blocks;
    return most;
}

static void find_taken(Pass *pass, const Cut *cut, LiveRange range) {
    const Graph *graph = &pass->state->now.graph;
    uint32_t ends[2] = {root_of(pass, cut->before), root_of(pass, cut->after)};
    size_t most = most_overlaps(pass, cut);
    pass->steps -= most < pass->steps ? most : pass->steps;
    pass->taken = RAW_ARRAY(&pass->scratch, Rect, most);
    pass->ntaken = 0;
    pass->stamp++;
    pass->seen[ends[0]] = pass->seen[ends[1]] = pass->stamp;
    for (int e = 0; e < 2; e++)
        for (uint32_t n = ends[e]; n != NO_NODE; n = pass->unions[n].next) {
            uint32_t m;
            for (NeighbourWalk walk = neighbours_of(graph, n); next_neighbour(&walk, &m);)
                add_overlap(pass, m, range);
            for (size_t i = 0; i < pass->unions[n].noverlaps; i++)
                add_overlap(pass, pass->unions[n].overlaps[i], range);
        }
    for (size_t i = starts_from(pass, gap_first(pass, ends[0]));
         i < pass->nstarts && pass->starts[i].key < pass->unions[ends[1]].range.items[0].first; i++)
        add_overlap(pass, pass->starts[i].id, range);
}

static bool is_free(const Pass *pass, Rect rect) {
    for (uint32_t i = 0; i < pass->ntaken; i++)
        if (rects_meet(pass->taken[i], rect)) return false;
    return true;
}

/* What one copy holds that stands for both. */
static Region joined_part(const Pass *pass, uint32_t before, uint32_t after) {
    Region both = region_hull(pass->unions[before].part, pass->unions[after].part);
    uint32_t origin = pass->state->code.origin[tensor_of(pass, before)];
    return region_widened(&pass->state->plan.func->tensors[origin], both);
}

static Shape shape_of_part(Pass *pass, uint32_t before, Region part) {
    uint32_t origin = pass->state->code.origin[tensor_of(pass, before)];
    Tensor joined =
        tensor_of_region(&pass->state->plan.func->tensors[origin], part, &pass->scratch);
    return (Shape){tensor_height(&joined), tensor_align(&joined), 1,
                   shape_class(joined.partitions, joined.base)};
}

/* A free place for both halves and the gap: that of one of them, else the lowest. */
static bool find_place(Pass *pass, uint32_t before, uint32_t after, Shape shape, Rect *rect) {
    const Placement *placement = &pass->state->now.placement;
    uint32_t halves[] = {before, after};
    for (int i = 0; i < 2; i++)
        if (fit_in_place(placement->rects[halves[i]][0], shape, rect) && is_free(pass, *rect))
            return true;
    sort_by_low(pass->taken, pass->ntaken, &pass->scratch);
    return first_fit(pass->taken, pass->ntaken, shape, pass->state->facts->size, rect);
}

/* ---- joining ---- */

/* The two ranges and what lies between them. */
static LiveRange joined_range(LiveRange before, LiveRange after, Arena *arena) {
    Interval *items = RAW_ARRAY(arena, Interval, (size_t)before.count + after.count);
    memcpy(items, before.items, before.count * sizeof *items);
    memcpy(items + before.count, after.items, after.count * sizeof *items);
    items[before.count - 1].last = after.items[0].last;
    memmove(items + before.count, items + before.count + 1, (after.count - 1) * sizeof *items);
    return (LiveRange){items, before.count + after.count - 1};
}

static void join(Pass *pass, uint32_t before, uint32_t after, LiveRange range, Rect rect) {
    Union *first = &pass->unions[before], *second = &pass->unions[after];
    for (size_t i = starts_from(pass, gap_first(pass, before));
         i < pass->nstarts && pass->starts[i].key < second->range.items[0].first; i++) {
        uint32_t other = pass->starts[i].id;
        Union *one = &pass->unions[other];
        PUSH(pass->memory, one->overlaps, one->noverlaps, one->overlaps_capacity, before);
        PUSH(pass->memory, first->overlaps, first->noverlaps, first->overlaps_capacity, other);
    }
    first->range = range;
    second->joined_to = before;
    pass->unions[first->last].next = after;
    first->last = second->last;
    pass->state->now.placement.rects[before][0] = rect;
}

static bool try_join(Pass *pass, const Cut *cut) {
    uint32_t before = root_of(pass, cut->before), after = root_of(pass, cut->after);
    LiveRange one = pass->unions[before].range, other = pass->unions[after].range;
    if (one.items[one.count - 1].last >= other.items[0].first) return false;
    LiveRange range = joined_range(one, other, pass->memory);
    find_taken(pass, cut, range);
    Rect rect;
    Region part = joined_part(pass, before, after);
    bool found = find_place(pass, before, after, shape_of_part(pass, before, part), &rect);
    if (found) {
        join(pass, before, after, range, rect);
        pass->unions[before].part = part;
        PlanAccess *access = &pass->state->plan.accesses[cut->access];
        access->cut = access->permanent = false;
    }
    arena_reset(&pass->scratch);
    return found;
}

/* ---- the whole ---- */

static void index_starts(Pass *pass) {
    const Nodes *nodes = &pass->state->now.nodes;
    size_t total = 0;
    for (uint32_t n = 0; n < nodes->count; n++)
        total += nodes->items[n].range.count;
    pass->starts = RAW_ARRAY(pass->memory, SortKey, total);
    for (uint32_t n = 0; n < nodes->count; n++)
        for (uint32_t i = 0; i < nodes->items[n].range.count; i++)
            pass->starts[pass->nstarts++] = (SortKey){nodes->items[n].range.items[i].first, n};
    sort_keys(pass->starts, pass->nstarts, pass->memory);
}

static void note_spilled(Plan *plan) {
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spilled[t]) plan_note_spilled(plan, t);
}

/* For the assert. */
static inline bool all_have_places(const Round *round) {
    for (uint32_t n = 0; n < round->nodes.count; n++)
        if (!round->placement.rects[n]) return false;
    return true;
}

/* Of tensors that are no copies it does not matter. */
static Region part_of(const State *state, uint32_t tensor) {
    bool copy = state->code.role[tensor] == ROLE_COPY;
    return copy ? state->code.block_range[tensor]->part : (Region){0};
}

Transfer join_cuts(State *state, Arena *memory, uint32_t *joined) {
    assert(state->now.graph.built && all_have_places(&state->now));
    Pass pass = {.state = state,
                 .memory = memory,
                 .steps = UNSPILL_STEPS,
                 .unions = NEW_ARRAY(memory, Union, state->now.nodes.count),
                 .seen = NEW_ARRAY(memory, uint32_t, state->now.nodes.count)};
    const Nodes *nodes = &state->now.nodes;
    for (uint32_t n = 0; n < nodes->count; n++)
        pass.unions[n] = (Union){.joined_to = n,
                                 .next = NO_NODE,
                                 .last = n,
                                 .range = nodes->items[n].range,
                                 .part = part_of(state, nodes->items[n].tensor)};
    index_starts(&pass);
    uint32_t count;
    Cut *cuts = find_cuts(&pass, &count);
    *joined = 0;
    for (uint32_t i = 0; i < count && pass.steps > 0; i++)
        *joined += try_join(&pass, &cuts[i]);
    note_spilled(&state->plan);
    uint32_t *roots = RAW_ARRAY(memory, uint32_t, nodes->count);
    for (uint32_t n = 0; n < nodes->count; n++)
        roots[n] = root_of(&pass, n);
    arena_free(&pass.scratch);
    return transfer_note(&state->code, &state->now, roots, memory);
}

/* Rewrites with fewer cuts and takes the places found. True if all nodes have one and the code is
 * cheaper. */
static bool try_joined(State *state, const Transfer *places, int64_t before) {
    rewrite_state(state);
    analyse_state(state);
    state->now.graph = build(&state->now.nodes, &state->round_memory);
    transfer_places(places, &state->code, &state->now, &state->round_memory);
    if (!state->now.placed || state_cycles(state) >= before) return false;
    commit_places(state);
    return true;
}

void unspill(State *state) {
    if (!state->facts->reload_elim || state->minimal || !state->now.graph.built ||
        !plan_spills(&state->plan))
        return;
    Decision decision = state_decision(state);
    int64_t before = state_cycles(state);
    uint32_t joined;
    Transfer places = join_cuts(state, &state->memory, &joined);
    if (joined > 0 && try_joined(state, &places, before)) return;
    return_to_decision(state, &decision);
}
