#include "spill/conflicts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "spill/chaitin.h"
#include "support/search.h"

typedef struct {
    State *state;
    uint32_t *point_of; /* [instructions of the input] its point now, UINT32_MAX if dropped */
    Arena scratch;      /* of one node */
    uint32_t cuts;
} Splitter;

/* Accesses of the plan that a node serves; empty where it cannot be split. */
typedef struct {
    uint32_t tensor; /* of the plan */
    uint32_t first, end;
} Served;

static Served served_by(const Splitter *pass, const Node *node) {
    const Rewritten *code = &pass->state->code;
    uint32_t origin = code->origin[node->tensor];
    Served served = {.tensor = origin};
    if (node->fixed || node->blocks > 1 || !pass->state->plan.spillable[origin]) return served;
    bool copy = code->role[node->tensor] == ROLE_COPY;
    served.first = copy ? code->first_access[node->tensor] : pass->state->plan.first[origin];
    served.end = copy ? code->end_access[node->tensor] : pass->state->plan.first[origin + 1];
    for (uint32_t a = served.first; a < served.end; a++)
        if (pass->state->plan.accesses[a].inst == ENTRY ||
            pass->state->plan.accesses[a].loop != pass->state->plan.accesses[served.first].loop)
            served.end = served.first;
    return served;
}

/* Points between two accesses of the input, as they are numbered now; false where none. */
static bool gap_points(const Splitter *pass, uint32_t access, Interval *gap) {
    const PlanAccess *accesses = pass->state->plan.accesses;
    uint32_t before = pass->point_of[accesses[access - 1].inst];
    uint32_t after = pass->point_of[accesses[access].inst];
    if (before == UINT32_MAX || after == UINT32_MAX || after < before + 2) return false;
    *gap = (Interval){before + 1, after - 1};
    return true;
}

static double gap_cost(const Splitter *pass, uint32_t tensor, uint32_t access) {
    const Tensor *info = &pass->state->plan.func->tensors[tensor];
    uint32_t loop = pass->state->plan.accesses[access].loop;
    double one = (double)latency_dram(pass->state->facts->target, info->partitions, info->bytes) *
                 (double)loop_trips(pass->state->plan.func, loop);
    return pass->state->plan.accesses[access].reads ? one : one / 2;
}

/* A placed block of a neighbour, and what it costs to overlap it. */
typedef struct {
    Rect rect;
    uint32_t node;
    uint32_t first_gap, ngaps; /* positions in a list: the gaps of the node in which it lives */
    bool at_access;            /* it lives at an access of the node: a gap of its own must be cut */
    double eviction;           /* the cost of that gap; INFINITY where it cannot be cut */
} Conflict;

/* A failed node and all that is in its way. */
typedef struct {
    uint32_t n;
    const Node *node;
    Served served;
    Conflict *conflicts;
    uint32_t count;
    uint32_t *gaps; /* accesses behind gaps of the node */
    size_t ngaps, gap_capacity;
    uint8_t *chosen; /* [accesses served] the gap before it must be cut at the place looked at */
} Failed;

/* The gap of a neighbour that spans all of an interval, as the access behind it; 0 if none does. */
static uint32_t spanning_gap(const Splitter *pass, Served served, Interval interval) {
    const PlanAccess *accesses = pass->state->plan.accesses;
    if (served.end == served.first) return 0;
    uint32_t at;
    FIND_FIRST(at, served.first + 1, served.end,
               pass->point_of[accesses[at].inst] != UINT32_MAX &&
                   pass->point_of[accesses[at].inst] > interval.last);
    Interval gap;
    bool spans = at < served.end && gap_points(pass, at, &gap) && gap.first <= interval.first &&
                 gap.last >= interval.last;
    return spans ? at : 0;
}

static Interval hull_of(LiveRange range) {
    return (Interval){range.items[0].first, range.items[range.count - 1].last};
}

/* Lists the gaps of the failed node that overlap a range; returns how many. */
static uint32_t list_gaps(Splitter *pass, Failed *failed, LiveRange range) {
    uint32_t count = 0;
    for (uint32_t a = failed->served.first + 1; a < failed->served.end; a++) {
        Interval gap;
        if (!gap_points(pass, a, &gap) || !live_overlap((LiveRange){&gap, 1}, range)) continue;
        PUSH(&pass->scratch, failed->gaps, failed->ngaps, failed->gap_capacity, a);
        count++;
    }
    return count;
}

static bool covers_access(const Splitter *pass, Served served, LiveRange range) {
    for (uint32_t a = served.first; a < served.end; a++) {
        uint32_t point = pass->point_of[pass->state->plan.accesses[a].inst];
        Interval access = {point, point};
        if (point != UINT32_MAX && live_overlap((LiveRange){&access, 1}, range)) return true;
    }
    return false;
}

/* What cutting the neighbour's gap costs across all of the failed node. */
static double eviction_cost(const Splitter *pass, const Failed *failed, const Node *other) {
    Served theirs = served_by(pass, other);
    uint32_t gap = spanning_gap(pass, theirs, hull_of(failed->node->range));
    return gap ? gap_cost(pass, theirs.tensor, gap) : INFINITY;
}

static void add_conflicts(Splitter *pass, Failed *failed, uint32_t m) {
    const Node *other = &pass->state->now.nodes.items[m];
    bool has_gaps = failed->served.end > failed->served.first + 1;
    for (uint32_t b = 0; b < other->blocks; b++) {
        LiveRange range = node_block_range(other, b);
        Conflict conflict = {.rect = pass->state->now.placement.rects[m][b],
                             .node = m,
                             .first_gap = (uint32_t)failed->ngaps,
                             .eviction = INFINITY};
        if (has_gaps) conflict.ngaps = list_gaps(pass, failed, range);
        conflict.at_access = !has_gaps || covers_access(pass, failed->served, range);
        if (conflict.at_access) conflict.eviction = eviction_cost(pass, failed, other);
        failed->conflicts[failed->count++] = conflict;
    }
}

static Failed find_conflicts(Splitter *pass, uint32_t n) {
    const Graph *graph = &pass->state->now.graph;
    const Node *nodes = pass->state->now.nodes.items;
    Failed failed = {.n = n, .node = &nodes[n], .served = served_by(pass, &nodes[n])};
    size_t most = 0;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(graph, n); next_neighbour(&walk, &m);)
        most += nodes[m].blocks;
    failed.conflicts = RAW_ARRAY(&pass->scratch, Conflict, most);
    for (NeighbourWalk walk = neighbours_of(graph, n); next_neighbour(&walk, &m);)
        if (pass->state->now.placement.rects[m]) add_conflicts(pass, &failed, m);
    size_t accesses = failed.served.end - failed.served.first;
    failed.chosen = NEW_ARRAY(&pass->scratch, uint8_t, accesses + 1);
    return failed;
}

/* What it costs to place the node at a rectangle; marks in `chosen` its own gaps that this cuts. */
static double price_at(const Splitter *pass, Failed *failed, Rect rect) {
    Served served = failed->served;
    double price = 0;
    memset(failed->chosen, 0, served.end - served.first);
    for (uint32_t i = 0; i < failed->count; i++) {
        const Conflict *conflict = &failed->conflicts[i];
        if (!rects_meet(conflict->rect, rect)) continue;
        if (conflict->at_access) {
            price += conflict->eviction;
            continue;
        }
        for (uint32_t g = 0; g < conflict->ngaps; g++) {
            uint32_t access = failed->gaps[conflict->first_gap + g];
            if (!failed->chosen[access - served.first]++)
                price += gap_cost(pass, served.tensor, access);
        }
    }
    return price;
}

/* The i-th candidate for the node's lower end: above each conflict, below each, and the bottom.
 * False where there is no room. */
static bool candidate_low(const Failed *failed, uint32_t i, uint32_t *low) {
    const Node *node = failed->node;
    *low = 0;
    if (i < failed->count) {
        *low = (failed->conflicts[i].rect.high + node->align - 1) / node->align * node->align;
    } else if (i < 2 * failed->count) {
        uint32_t high = failed->conflicts[i - failed->count].rect.low;
        if (high < node->height) return false;
        *low = (high - node->height) / node->align * node->align;
    }
    return true;
}

static bool find_cheapest(const Splitter *pass, Failed *failed, Rect *best) {
    const Node *node = failed->node;
    Bands bands = class_bands(node->class);
    double least = INFINITY;
    if (node->height > pass->state->facts->size) return false;
    for (int b = 0; b < bands.count; b++)
        for (uint32_t low, i = 0; i <= 2 * failed->count; i++) {
            if (!candidate_low(failed, i, &low)) continue;
            Rect rect = {low, low + node->height, bands.masks[b]};
            if (rect.high > pass->state->facts->size) continue;
            double price = price_at(pass, failed, rect);
            if (price >= least) continue;
            least = price;
            *best = rect;
        }
    return !isinf(least);
}

static void cut(Splitter *pass, uint32_t tensor, uint32_t access) {
    if (pass->state->plan.accesses[access].permanent) return;
    plan_cut_gap(&pass->state->plan, tensor, access, true);
    pass->cuts++;
}

/* Places the node: cuts its own gaps that overlap others, and gaps of others at its accesses. */
static void split_at(Splitter *pass, Failed *failed, Rect rect) {
    price_at(pass, failed, rect);
    Served served = failed->served;
    for (uint32_t a = served.first + 1; a < served.end; a++)
        if (failed->chosen[a - served.first]) cut(pass, served.tensor, a);
    for (uint32_t i = 0; i < failed->count; i++) {
        const Conflict *conflict = &failed->conflicts[i];
        if (!conflict->at_access || !rects_meet(conflict->rect, rect)) continue;
        Served theirs = served_by(pass, &pass->state->now.nodes.items[conflict->node]);
        cut(pass, theirs.tensor, spanning_gap(pass, theirs, hull_of(failed->node->range)));
    }
    Rect **rects = &pass->state->now.placement.rects[failed->n];
    *rects = NEW(&pass->state->memory, Rect);
    **rects = rect;
}

static void split_node(Splitter *pass, uint32_t n) {
    if (pass->state->now.nodes.items[n].blocks > 1) return;
    Failed failed = find_conflicts(pass, n);
    Rect rect = {0};
    if (find_cheapest(pass, &failed, &rect)) split_at(pass, &failed, rect);
    arena_reset(&pass->scratch);
}

/* Where each instruction of the input is now. */
static uint32_t *points_now(const State *state, Arena *arena) {
    uint32_t ninsts = state->plan.func->ninsts;
    uint32_t *point_of = RAW_ARRAY(arena, uint32_t, ninsts);
    memset(point_of, 0xFF, ninsts * sizeof *point_of);
    for (uint32_t p = 0; p < state->code.func->ninsts; p++)
        if (state->code.origin_inst[p] != INSERTED) point_of[state->code.origin_inst[p]] = p;
    return point_of;
}

/* Returns how many gaps were cut. */
static uint32_t split_failed(State *state) {
    Splitter pass = {.state = state, .point_of = points_now(state, &state->memory)};
    for (uint32_t i = 0; i < state->now.placement.nfailed; i++)
        split_node(&pass, state->now.placement.failed[i]);
    plan_close_all(&state->plan);
    arena_free(&pass.scratch);
    return pass.cuts;
}

bool spill_by_conflicts(State *state) {
    assert(!state->now.placed && state->now.func == state->code.func);
    uint32_t cuts = split_failed(state);
    state->hints = transfer_note(&state->code, &state->now, NULL, &state->memory);
    state->hinted = true;
    return cuts > 0 || spill_failed(&state->plan, &state->code, &state->now);
}
