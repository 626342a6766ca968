#include "spill/conflicts.h"

#include <math.h>
#include <string.h>

#include "spill/chaitin.h"

typedef struct {
    Plan *plan;
    const Rewritten *current;
    const Target *target;
    uint32_t size;
    Round *round;
    uint32_t
        *point_of; /* [instructions of the input] where each stands now, UINT32_MAX if dropped */
    double *trips; /* [nloops] */
    Arena *memory;
    Arena scratch;
    uint32_t cuts;
} Part;

/* Accesses of the plan that a node serves; empty where it cannot be cut. */
typedef struct {
    uint32_t tensor; /* of the plan */
    uint32_t first, end;
} Served;

static Served served_by(const Part *pass, const Node *node) {
    const Rewritten *current = pass->current;
    uint32_t origin = current->origin[node->tensor];
    Served served = {.tensor = origin};
    if (node->fixed || node->blocks > 1 || !pass->plan->spillable[origin]) return served;
    bool copy = current->role[node->tensor] == ROLE_COPY;
    served.first = copy ? current->first_access[node->tensor] : pass->plan->first[origin];
    served.end = copy ? current->end_access[node->tensor] : pass->plan->first[origin + 1];
    for (uint32_t a = served.first; a < served.end; a++)
        if (pass->plan->accesses[a].inst == ENTRY ||
            pass->plan->accesses[a].loop != pass->plan->accesses[served.first].loop)
            served.end = served.first;
    return served;
}

/* Points between two accesses of the input, as they are numbered now; false where none. */
static bool gap_points(const Part *pass, uint32_t access, Interval *gap) {
    const PlanAccess *accesses = pass->plan->accesses;
    uint32_t before = pass->point_of[accesses[access - 1].inst];
    uint32_t after = pass->point_of[accesses[access].inst];
    if (before == UINT32_MAX || after == UINT32_MAX || after < before + 2) return false;
    *gap = (Interval){before + 1, after - 1};
    return true;
}

static double gap_cost(const Part *pass, uint32_t tensor, uint32_t access) {
    const Tensor *info = &pass->plan->func->tensors[tensor];
    uint32_t loop = pass->plan->accesses[access].loop;
    double one = (double)latency_dram(pass->target, info->partitions, info->bytes) *
                 (loop == NO_LOOP ? 1 : pass->trips[loop]);
    return pass->plan->accesses[access].reads ? one : one / 2;
}

/* A placed neighbour, and what meeting it would cost: gaps of the node itself, or of the neighbour.
 */
typedef struct {
    Rect rect;
    uint32_t node;
    uint32_t first_gap, ngaps; /* of the node's own gaps that it meets: positions in a list */
    bool at_access;            /* it meets the node at an access */
    double eviction;           /* what its own gap there costs; INFINITY where it cannot be cut */
} Neighbour;

typedef struct {
    Neighbour *items;
    uint32_t count;
    uint32_t *gaps; /* accesses behind gaps */
    size_t ngaps, gap_capacity;
} Surroundings;

/* The gap of a neighbour that spans all of an interval, as the access behind it; 0 if none does. */
static uint32_t spanning_gap(const Part *pass, Served served, Interval interval) {
    uint32_t low = served.first + 1, high = served.end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t point = pass->point_of[pass->plan->accesses[middle].inst];
        if (point == UINT32_MAX || point <= interval.last)
            low = middle + 1;
        else
            high = middle;
    }
    Interval gap;
    bool spans = served.end > served.first && low < served.end && gap_points(pass, low, &gap) &&
                 gap.first <= interval.first && gap.last >= interval.last;
    return spans ? low : 0;
}

static Interval hull_of(LiveRange range) {
    return (Interval){range.items[0].first, range.items[range.count - 1].last};
}

static void look_at(Part *pass, const Node *node, Served served, uint32_t m, Surroundings *around) {
    const Node *other = &pass->round->nodes.items[m];
    for (uint32_t b = 0; b < other->blocks; b++) {
        LiveRange range = node_block_range(other, b);
        Neighbour item = {.rect = pass->round->placement.rects[m][b],
                          .node = m,
                          .first_gap = (uint32_t)around->ngaps,
                          .at_access = true,
                          .eviction = INFINITY};
        if (served.end > served.first + 1) {
            item.at_access = false;
            uint32_t inside = 0;
            for (uint32_t a = served.first + 1; a < served.end; a++) {
                Interval gap;
                if (!gap_points(pass, a, &gap)) continue;
                LiveRange one = {&gap, 1};
                if (!live_overlap(one, range)) continue;
                PUSH(&pass->scratch, around->gaps, around->ngaps, around->gap_capacity, a);
                inside++;
            }
            item.ngaps = inside;
            for (uint32_t a = served.first; a < served.end; a++) {
                uint32_t point = pass->point_of[pass->plan->accesses[a].inst];
                Interval access = {point, point};
                LiveRange one = {&access, 1};
                if (point != UINT32_MAX && live_overlap(one, range)) item.at_access = true;
            }
        }
        if (item.at_access) {
            Served theirs = served_by(pass, other);
            uint32_t gap = spanning_gap(pass, theirs, hull_of(node->range));
            if (gap) item.eviction = gap_cost(pass, theirs.tensor, gap);
        }
        around->items[around->count++] = item;
    }
}

static Surroundings survey(Part *pass, uint32_t n, Served served) {
    const Graph *graph = &pass->round->graph;
    Surroundings around = {0};
    size_t most = 0;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(graph, n); next_neighbour(&walk, &m);)
        most += pass->round->nodes.items[m].blocks;
    around.items = RAW_ARRAY(&pass->scratch, Neighbour, most);
    for (NeighbourWalk walk = neighbours_of(graph, n); next_neighbour(&walk, &m);)
        if (pass->round->placement.rects[m])
            look_at(pass, &pass->round->nodes.items[n], served, m, &around);
    return around;
}

/* What standing at a rectangle costs; marks in `chosen` the own gaps that it needs cut. */
static double price_at(const Part *pass, Served served, const Surroundings *around, Rect rect,
                       uint8_t *chosen) {
    double price = 0;
    memset(chosen, 0, served.end - served.first);
    for (uint32_t i = 0; i < around->count; i++) {
        const Neighbour *item = &around->items[i];
        if (!rects_meet(item->rect, rect)) continue;
        if (item->at_access) {
            price += item->eviction;
            continue;
        }
        for (uint32_t g = 0; g < item->ngaps; g++) {
            uint32_t access = around->gaps[item->first_gap + g];
            if (!chosen[access - served.first]++) price += gap_cost(pass, served.tensor, access);
        }
    }
    return price;
}

static bool find_cheapest(const Part *pass, const Node *node, Served served,
                          const Surroundings *around, uint8_t *chosen, Rect *best) {
    Bands bands = class_bands(node->class);
    double least = INFINITY;
    if (node->height > pass->size) return false;
    for (int b = 0; b < bands.count; b++)
        for (uint32_t i = 0; i <= 2 * around->count; i++) {
            uint32_t low = 0;
            if (i < around->count) {
                low = (around->items[i].rect.high + node->align - 1) / node->align * node->align;
            } else if (i < 2 * around->count) {
                uint32_t high = around->items[i - around->count].rect.low;
                if (high < node->height) continue;
                low = (high - node->height) / node->align * node->align;
            }
            Rect rect = {low, low + node->height, bands.masks[b]};
            if (rect.high > pass->size) continue;
            double price = price_at(pass, served, around, rect, chosen);
            if (price >= least) continue;
            least = price;
            *best = rect;
        }
    return !isinf(least);
}

static void cut(Part *pass, uint32_t tensor, uint32_t access) {
    if (pass->plan->accesses[access].permanent) return;
    plan_cut_gap(pass->plan, tensor, access, true);
    pass->cuts++;
}

/* Takes the place: own gaps are cut where they meet others, others where they meet an access. */
static void take(Part *pass, uint32_t n, Served served, const Surroundings *around, Rect rect,
                 uint8_t *chosen) {
    const Node *node = &pass->round->nodes.items[n];
    price_at(pass, served, around, rect, chosen);
    for (uint32_t a = served.first + 1; a < served.end; a++)
        if (chosen[a - served.first]) cut(pass, served.tensor, a);
    for (uint32_t i = 0; i < around->count; i++) {
        const Neighbour *item = &around->items[i];
        if (!item->at_access || !rects_meet(item->rect, rect)) continue;
        Served theirs = served_by(pass, &pass->round->nodes.items[item->node]);
        cut(pass, theirs.tensor, spanning_gap(pass, theirs, hull_of(node->range)));
    }
    pass->round->placement.rects[n] = NEW(pass->memory, Rect);
    pass->round->placement.rects[n][0] = rect;
}

static void part_node(Part *pass, uint32_t n) {
    const Node *node = &pass->round->nodes.items[n];
    if (node->blocks > 1) return;
    Served served = served_by(pass, node);
    Surroundings around = survey(pass, n, served);
    uint8_t *chosen = NEW_ARRAY(&pass->scratch, uint8_t, (size_t)(served.end - served.first) + 1);
    Rect rect = {0};
    if (find_cheapest(pass, node, served, &around, chosen, &rect))
        take(pass, n, served, &around, rect, chosen);
    arena_reset(&pass->scratch);
}

static double *count_trips(const Func *func, Arena *memory) {
    double *trips = RAW_ARRAY(memory, double, func->nloops);
    for (uint32_t l = 0; l < func->nloops; l++) {
        const Loop *loop = &func->loops[l];
        trips[l] = ((double)loop->high - (double)loop->low) *
                   (loop->parent == NO_LOOP ? 1 : trips[loop->parent]);
    }
    return trips;
}

/* Returns how many gaps were cut. */
static uint32_t split_failed(State *state) {
    Part pass = {.plan = &state->plan,
                 .current = &state->code,
                 .target = state->facts->target,
                 .size = state->facts->size,
                 .round = &state->now,
                 .memory = &state->memory};
    uint32_t ninsts = state->plan.func->ninsts;
    pass.trips = count_trips(state->plan.func, pass.memory);
    pass.point_of = RAW_ARRAY(pass.memory, uint32_t, ninsts);
    memset(pass.point_of, 0xFF, ninsts * sizeof *pass.point_of);
    for (uint32_t p = 0; p < state->code.func->ninsts; p++)
        if (state->code.origin_inst[p] != INSERTED) pass.point_of[state->code.origin_inst[p]] = p;
    for (uint32_t i = 0; i < state->now.placement.nfailed; i++)
        part_node(&pass, state->now.placement.failed[i]);
    plan_close_all(&state->plan);
    arena_free(&pass.scratch);
    return pass.cuts;
}

bool spill_by_conflicts(State *state) {
    uint32_t cuts = split_failed(state);
    state->hints = transfer_note(&state->code, &state->now, NULL, &state->memory);
    state->hinted = true;
    return cuts > 0 || spill_failed(&state->plan, &state->code, &state->now);
}
