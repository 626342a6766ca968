#include "place/simplify.h"

#include <assert.h>
#include <math.h>

#include "place/weigh.h"

/* The three worklists, in one array of states. */
typedef enum { SAFE, UNSAFE, INFINITE, REMOVED, FIXED } NodeState;

/* An entry of the heap of spill candidates. Its keys may be out of date: relief and degree only
 * fall, so the true ratio is never less than the one in the heap. */
typedef struct {
    double ratio;
    bool copy;
    int64_t relief;
    uint32_t node;
} Candidate;

typedef struct {
    const Nodes *nodes;
    const Graph *graph;
    const Axis *axis;
    int metric;
    Shape *shapes;   /* [nodes] */
    uint8_t *states; /* [nodes] NodeState */
    Weights weights; /* beside the neighbours left */
    uint32_t *safe;  /* stack of SAFE nodes */
    uint32_t nsafe;
    Candidate *heap;
    uint32_t nheap;
    NodeStack stack;
} Simplify;

static Candidate candidate_of(const Simplify *pass, uint32_t n) {
    double cost = pass->nodes->items[n].cost;
    double relief = (double)pass->weights.reliefs[n], degree = pass->weights.degrees[n];
    double divisor = pass->metric == 0   ? relief
                     : pass->metric == 1 ? relief * relief
                                         : degree * degree;
    return (Candidate){divisor > 0 ? cost / divisor : INFINITY, pass->nodes->items[n].copy,
                       pass->weights.reliefs[n], n};
}

static bool before(const Candidate *a, const Candidate *b) {
    if (a->ratio != b->ratio) return a->ratio < b->ratio;
    if (a->copy != b->copy) return b->copy;
    if (a->relief != b->relief) return a->relief > b->relief;
    return a->node < b->node;
}

enum { FANOUT = 4 };

/* The best of the children of `at`, or `at` where it has none. */
static uint32_t best_child(const Simplify *pass, uint32_t at) {
    uint32_t first = FANOUT * at + 1;
    if (first >= pass->nheap) return at;
    uint32_t end = first + FANOUT < pass->nheap ? first + FANOUT : pass->nheap, best = first;
    for (uint32_t child = first + 1; child < end; child++)
        if (before(&pass->heap[child], &pass->heap[best])) best = child;
    return best;
}

static void sift_down(Simplify *pass, uint32_t at) {
    Candidate moved = pass->heap[at];
    for (uint32_t child; (child = best_child(pass, at)) != at; at = child) {
        if (!before(&pass->heap[child], &moved)) break;
        pass->heap[at] = pass->heap[child];
    }
    pass->heap[at] = moved;
}

static void order_heap(Simplify *pass) {
    for (uint32_t at = (pass->nheap + FANOUT - 2) / FANOUT; at-- > 0;)
        sift_down(pass, at);
}

/* Gives all candidates their true keys at once. */
static void renew_heap(Simplify *pass) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < pass->nheap; i++) {
        uint32_t n = pass->heap[i].node;
        if (pass->states[n] == UNSAFE) pass->heap[left++] = candidate_of(pass, n);
    }
    pass->nheap = left;
    order_heap(pass);
}

/* The best candidate by true keys: one that is out of date sinks to where it belongs, and the next
 * is looked at. Where most are out of date, as the one before it was a neighbour of all, they are
 * renewed together, which saves the logarithm. */
static uint32_t pop_candidate(Simplify *pass) {
    enum { PART = 16 };
    for (uint32_t sunk = 0; pass->nheap > 0;) {
        uint32_t n = pass->heap[0].node;
        if (pass->states[n] == UNSAFE) {
            Candidate now = candidate_of(pass, n);
            bool fresh = now.ratio == pass->heap[0].ratio && now.relief == pass->heap[0].relief;
            if (!fresh && sunk++ == pass->nheap / PART) {
                renew_heap(pass);
                continue;
            }
            if (!fresh) {
                pass->heap[0] = now;
                sift_down(pass, 0);
                continue;
            }
        }
        pass->heap[0] = pass->heap[--pass->nheap];
        sift_down(pass, 0);
        if (pass->states[n] == UNSAFE) return n;
    }
    return NO_NODE;
}

static void make_safe(Simplify *pass, uint32_t n) {
    pass->states[n] = SAFE;
    pass->safe[pass->nsafe++] = n;
}

/* Removes n: its neighbours get back the places that it could take. */
static void remove_node(Simplify *pass, uint32_t n) {
    Shape node = pass->shapes[n];
    pass->states[n] = REMOVED;
    pass->stack.items[pass->stack.count++] = n;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(pass->graph, n); next_neighbour(&walk, &m);) {
        /* Removed ones change too: nobody looks at them, and a branch costs more. */
        Shape other = pass->shapes[m];
        pass->weights.caps[m] += node.blocks * shape_impact(pass->axis, other, node);
        pass->weights.reliefs[m] -= other.blocks * shape_impact(pass->axis, node, other);
        pass->weights.degrees[m]--;
        if (pass->weights.caps[m] > 0 && pass->states[m] > SAFE && pass->states[m] < REMOVED)
            make_safe(pass, m);
    }
}

static void drain(Simplify *pass) {
    while (pass->nsafe > 0)
        remove_node(pass, pass->safe[--pass->nsafe]);
}

/* Pushes a node that must not be spilled, and its partners after it, so that select places them one
 * after another. */
static void force_push(Simplify *pass, uint32_t n) {
    remove_node(pass, n);
    const Node *nodes = pass->nodes->items;
    for (uint32_t m = nodes[n].partner; m != 0 && m - 1 != n; m = nodes[m - 1].partner)
        if (pass->states[m - 1] == INFINITE) remove_node(pass, m - 1);
}

static void classify(Simplify *pass) {
    for (uint32_t n = 0; n < pass->nodes->count; n++) {
        pass->shapes[n] = shape_of(&pass->nodes->items[n]);
        if (pass->nodes->items[n].fixed) {
            pass->states[n] = FIXED;
            continue;
        }
        if (pass->weights.caps[n] > 0) {
            pass->states[n] = SAFE;
            pass->stack.low++;
        } else if (!isinf(pass->nodes->items[n].cost)) {
            pass->states[n] = UNSAFE;
            pass->heap[pass->nheap++] = candidate_of(pass, n);
            pass->stack.high++;
        } else {
            pass->states[n] = INFINITE;
            pass->stack.infinite++;
        }
    }
    /* The smallest number is removed first. */
    for (uint32_t n = pass->nodes->count; n-- > 0;)
        if (pass->states[n] == SAFE) make_safe(pass, n);
    order_heap(pass);
}

/* For the assert: all nodes have costs that can be compared. */
static inline bool has_costs(const Nodes *nodes) {
    for (uint32_t n = 0; n < nodes->count; n++)
        if (!(nodes->items[n].cost >= 0)) return false;
    return true;
}

/* For the assert: the stack has each node that is not fixed just once. */
static inline bool is_complete(const Simplify *pass) {
    uint32_t left = 0;
    for (uint32_t n = 0; n < pass->nodes->count; n++)
        left += pass->states[n] != REMOVED && pass->states[n] != FIXED;
    return left == 0 &&
           pass->stack.count == pass->stack.low + pass->stack.high + pass->stack.infinite + 1;
}

NodeStack simplify(const Nodes *nodes, const Graph *graph, const Axis *axis, int metric,
                   Arena *arena) {
    assert(graph->built && has_costs(nodes) && metric >= 0 && metric <= 2);
    Arena scratch;
    arena_init(&scratch);
    Simplify pass = {.nodes = nodes,
                     .graph = graph,
                     .axis = axis,
                     .metric = metric,
                     .shapes = RAW_ARRAY(&scratch, Shape, nodes->count),
                     .states = NEW_ARRAY(&scratch, uint8_t, nodes->count),
                     .weights = weigh(nodes, graph, axis, &scratch),
                     .safe = RAW_ARRAY(&scratch, uint32_t, nodes->count),
                     .heap = RAW_ARRAY(&scratch, Candidate, nodes->count)};
    pass.stack.items = RAW_ARRAY(arena, uint32_t, (size_t)nodes->count + 1);
    classify(&pass);
    drain(&pass);
    pass.stack.items[pass.stack.count++] = SENTINEL;
    for (uint32_t n; (n = pop_candidate(&pass)) != NO_NODE;) {
        make_safe(&pass, n);
        drain(&pass);
    }
    for (uint32_t n = 0; n < nodes->count; n++)
        if (pass.states[n] == INFINITE) force_push(&pass, n);
    drain(&pass);
    assert(is_complete(&pass));
    arena_free(&scratch);
    return pass.stack;
}
