#include "place/coalesce.h"

#include <assert.h>
#include <string.h>

#include "support/sort.h"

/* NeighbourList of a node that leads a group; members of groups may be in it under old numbers. */
typedef struct {
    uint32_t *items;
    size_t count, capacity;
} NeighbourList;

typedef struct {
    const Handing *handing;
    const Func *func;
    const Nodes *before;
    Axis axis;
    bool conservative;
    Node *items;      /* [before] of leaders: the merged node */
    uint32_t *leader; /* [before] of each node, always up to date */
    uint32_t *next;   /* [before] ring of the nodes of one group */
    NeighbourList *neighbours;
    int64_t *caps;     /* [before] of leaders: places left wherever the neighbours are */
    uint32_t *marks_a; /* [before] stamp: a neighbour of the one, of the other */
    uint32_t *marks_b;
    uint32_t stamp;
    uint32_t *fixed; /* fixed nodes, for they have no partners of each other */
    uint32_t nfixed;
    bool *odd;    /* [before] fixed where sballoc would not place a tensor */
    Arena *arena; /* of the result */
    Arena scratch;
} Coalesce;

/* ---- the merged node ---- */

static void unite_ranges(const Node *a, const Node *b, Node *merged, Arena *arena) {
    merged->range = live_union(a->range, b->range, arena);
    merged->block_ranges = NULL;
    if (!a->block_ranges && !b->block_ranges) return;
    merged->block_ranges = RAW_ARRAY(arena, LiveRange, a->blocks);
    for (uint32_t block = 0; block < a->blocks; block++)
        merged->block_ranges[block] =
            live_union(node_block_range(a, block), node_block_range(b, block), arena);
}

/* The node that both would be, but for its ranges; false where no place suits both. */
static bool merge_shapes(const Node *a, const Node *b, Node *merged) {
    const Node *given = a->fixed ? a : b, *other = a->fixed ? b : a;
    if (other->fixed) return false;
    *merged = *given;
    merged->tensor = a->tensor < b->tensor ? a->tensor : b->tensor;
    merged->copy = a->copy || b->copy;
    merged->cost = a->cost + b->cost;
    if (given->fixed) {
        Bands bands = class_bands(other->class);
        for (uint32_t i = 0; i < given->blocks; i++) {
            Rect rect = given->rects[i];
            bool suits = rect.high - rect.low == other->height && rect.low % other->align == 0;
            bool found = false;
            for (int band = 0; band < bands.count; band++)
                found |= bands.masks[band] == rect.mask;
            if (!suits || !found) return false;
        }
        return true;
    }
    if (a->align > merged->align) merged->align = a->align;
    if (b->align > merged->align) merged->align = b->align;
    bool narrower = class_bands(other->class).count < class_bands(given->class).count;
    if (narrower) merged->class = other->class;
    return narrower || class_bands(other->class).count > class_bands(given->class).count ||
           other->class == given->class;
}

/* True if the merged node, fixed now as a whole, overlaps no other fixed node. */
static bool clear_of_fixed(const Coalesce *pass, const Node *merged, uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < pass->nfixed; i++) {
        uint32_t leader = pass->leader[pass->fixed[i]];
        if (leader == a || leader == b) continue;
        const Node *other = &pass->items[leader];
        for (uint32_t x = 0; x < merged->blocks; x++)
            for (uint32_t y = 0; y < other->blocks; y++) {
                if (rects_meet(merged->rects[x], other->rects[y]) &&
                    live_overlap(node_block_range(merged, x), node_block_range(other, y)))
                    return false;
            }
    }
    return true;
}

/* ---- how hard it is to colour ---- */

static void start_neighbours(Coalesce *pass, const Graph *graph) {
    for (uint32_t n = 0; n < pass->before->count; n++) {
        NeighbourList *list = &pass->neighbours[n];
        pass->caps[n] = own_capacity(&pass->axis, &pass->items[n]);
        list->items = RAW_ARRAY(&pass->scratch, uint32_t, degree_of(graph, n));
        list->count = 0;
        list->capacity = degree_of(graph, n);
        uint32_t m;
        for (NeighbourWalk walk = neighbours_of(graph, n); next_neighbour(&walk, &m);) {
            pass->caps[n] -= impact_of_all(&pass->axis, &pass->items[n], &pass->items[m]);
            list->items[list->count++] = m;
        }
    }
}

/* Marks the leaders of all neighbours of the node, without the two to be merged. */
static void mark_neighbours(Coalesce *pass, uint32_t n, uint32_t *marks, uint32_t a, uint32_t b) {
    for (size_t i = 0; i < pass->neighbours[n].count; i++) {
        uint32_t m = pass->leader[pass->neighbours[n].items[i]];
        if (m != a && m != b) marks[m] = pass->stamp;
    }
}

/* Never certain to be colourable: a neighbour that counts. */
static bool is_significant(const Coalesce *pass, uint32_t m) {
    return pass->items[m].fixed || pass->caps[m] <= 0;
}

/* George: each neighbour of one end, b or a, that could take a place is one of the other already.
 */
static bool adds_nothing(const Coalesce *pass, uint32_t a, uint32_t b, bool from_b,
                         const Node *merged) {
    const Node *to = &pass->items[from_b ? a : b];
    const NeighbourList *list = &pass->neighbours[from_b ? b : a];
    const uint32_t *marks_of_to = from_b ? pass->marks_a : pass->marks_b;
    if (!to->fixed && (to->class != merged->class || to->align != merged->align)) return false;
    for (size_t i = 0; i < list->count; i++) {
        uint32_t m = pass->leader[list->items[i]];
        if (m == a || m == b || marks_of_to[m] == pass->stamp) continue;
        if (is_significant(pass, m)) return false;
    }
    return true;
}

/* Briggs: places are left when all neighbours that could take some have done so. */
static bool stays_colourable(Coalesce *pass, uint32_t a, uint32_t b, const Node *merged) {
    int64_t cap = own_capacity(&pass->axis, merged);
    for (int end = 0; end < 2; end++) {
        const NeighbourList *list = &pass->neighbours[end ? b : a];
        for (size_t i = 0; i < list->count; i++) {
            uint32_t m = pass->leader[list->items[i]];
            bool first =
                end == 0 ? pass->marks_a[m] == pass->stamp : pass->marks_b[m] == pass->stamp;
            if (m == a || m == b || !first || !is_significant(pass, m)) continue;
            cap -= impact_of_all(&pass->axis, merged, &pass->items[m]);
            /* Once only, for both ends. */
            pass->marks_a[m] = pass->marks_b[m] = pass->stamp - 1;
        }
    }
    return cap > 0;
}

static bool is_as_easy(Coalesce *pass, uint32_t a, uint32_t b, const Node *merged) {
    pass->stamp += 2;
    mark_neighbours(pass, a, pass->marks_a, a, b);
    mark_neighbours(pass, b, pass->marks_b, a, b);
    for (int from_b = 0; from_b < 2; from_b++)
        if (!pass->items[from_b ? b : a].fixed && adds_nothing(pass, a, b, from_b, merged))
            return true;
    return !merged->fixed && stays_colourable(pass, a, b, merged);
}

/* The neighbours of a and b become those of a; the places left change for each. */
static void merge_neighbours(Coalesce *pass, uint32_t a, uint32_t b, const Node *merged) {
    pass->stamp += 2;
    mark_neighbours(pass, a, pass->marks_a, a, b);
    mark_neighbours(pass, b, pass->marks_b, a, b);
    NeighbourList all = {0};
    int64_t cap = own_capacity(&pass->axis, merged);
    for (int end = 0; end < 2; end++) {
        const NeighbourList *list = &pass->neighbours[end ? b : a];
        for (size_t i = 0; i < list->count; i++) {
            uint32_t m = pass->leader[list->items[i]];
            bool of_a = pass->marks_a[m] == pass->stamp, of_b = pass->marks_b[m] == pass->stamp;
            if (!of_a && !of_b) continue;
            const Node *node = &pass->items[m];
            if (of_a) pass->caps[m] += impact_of_all(&pass->axis, node, &pass->items[a]);
            if (of_b) pass->caps[m] += impact_of_all(&pass->axis, node, &pass->items[b]);
            pass->caps[m] -= impact_of_all(&pass->axis, node, merged);
            cap -= impact_of_all(&pass->axis, merged, node);
            pass->marks_a[m] = pass->marks_b[m] = 0;
            PUSH(&pass->scratch, all.items, all.count, all.capacity, m);
        }
    }
    pass->caps[a] = cap;
    pass->neighbours[a] = all;
}

/* ---- merging ---- */

static void merge(Coalesce *pass, uint32_t a, uint32_t b, const Node *merged) {
    if (pass->conservative) merge_neighbours(pass, a, b, merged);
    for (uint32_t n = pass->next[b];; n = pass->next[n]) {
        pass->leader[n] = a;
        if (n == b) break;
    }
    uint32_t after = pass->next[a];
    pass->next[a] = pass->next[b];
    pass->next[b] = after;
    pass->items[a] = *merged;
}

static bool try_merge(Coalesce *pass, uint32_t a, uint32_t b) {
    if (a == b || pass->odd[a] || pass->odd[b]) return false;
    Node merged;
    if (!merge_shapes(&pass->items[a], &pass->items[b], &merged) ||
        !partners_meet_rightly(pass->handing, (NodeGroups){pass->leader, pass->next},
                               &pass->items[a], &pass->items[b]))
        return false;
    if (!merged.fixed && own_capacity(&pass->axis, &merged) <= 0)
        return false; /* too large for SB */
    unite_ranges(&pass->items[a], &pass->items[b], &merged, pass->arena);
    if (merged.fixed && !clear_of_fixed(pass, &merged, a, b)) return false;
    if (pass->conservative && !is_as_easy(pass, a, b, &merged)) return false;
    merge(pass, a, b, &merged);
    return true;
}

static SortKey *deepest_first(const Func *func, const Partners *partners, Arena *scratch) {
    SortKey *order = RAW_ARRAY(scratch, SortKey, partners->count);
    for (uint32_t i = 0; i < partners->count; i++) {
        uint32_t loop = func->insts[partners->items[i].inst].loop;
        uint32_t depth = loop == NO_LOOP ? 0 : func->loops[loop].depth + 1;
        order[i] = (SortKey){UINT32_MAX - depth, i};
    }
    sort_keys(order, partners->count, scratch);
    return order;
}

/* The leaders, in order of their first tensors, as nodes of their own. */
static Merged number_leaders(const Coalesce *pass) {
    uint32_t count = pass->before->count;
    Merged merged = {.into = RAW_ARRAY(pass->arena, uint32_t, count)};
    merged.nodes = (Nodes){.items = RAW_ARRAY(pass->arena, Node, count),
                           .of = RAW_ARRAY(pass->arena, uint32_t, pass->func->ntensors),
                           .npoints = pass->before->npoints};
    memset(merged.into, 0xFF, count * sizeof *merged.into);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t leader = pass->leader[n];
        if (merged.into[leader] == UINT32_MAX) {
            merged.into[leader] = merged.nodes.count;
            merged.nodes.items[merged.nodes.count] = pass->items[leader];
            merged.nodes.items[merged.nodes.count++].partner = 0;
        }
        merged.into[n] = merged.into[leader];
    }
    for (uint32_t t = 0; t < pass->func->ntensors; t++) {
        uint32_t n = pass->before->of[t];
        merged.nodes.of[t] = n == NO_NODE ? NO_NODE : merged.into[n];
    }
    merged.merges = count - merged.nodes.count;
    return merged;
}

static void start(Coalesce *pass, const Graph *graph) {
    uint32_t count = pass->before->count;
    pass->items = RAW_ARRAY(&pass->scratch, Node, count);
    pass->leader = RAW_ARRAY(&pass->scratch, uint32_t, count);
    pass->next = RAW_ARRAY(&pass->scratch, uint32_t, count);
    pass->fixed = RAW_ARRAY(&pass->scratch, uint32_t, count);
    pass->odd = NEW_ARRAY(&pass->scratch, bool, count);
    for (uint32_t n = 0; n < count; n++) {
        pass->items[n] = pass->before->items[n];
        pass->leader[n] = pass->next[n] = n;
        if (!pass->items[n].fixed) continue;
        pass->fixed[pass->nfixed++] = n;
        const Tensor *tensor = &pass->func->tensors[pass->items[n].tensor];
        for (int64_t b = 0; b < tensor->blocks; b++)
            pass->odd[n] |= tensor->at[b].byte % GRANULE != 0;
    }
    if (!pass->conservative) return;
    pass->marks_a = NEW_ARRAY(&pass->scratch, uint32_t, count);
    pass->marks_b = NEW_ARRAY(&pass->scratch, uint32_t, count);
    pass->caps = RAW_ARRAY(&pass->scratch, int64_t, count);
    pass->neighbours = RAW_ARRAY(&pass->scratch, NeighbourList, count);
    start_neighbours(pass, graph);
}

/* For the asserts: partners are two nodes each, and nothing is linked yet. */
static inline bool are_partners_of(const Partners *partners, const Nodes *nodes) {
    for (uint32_t i = 0; i < partners->count; i++) {
        Partner partner = partners->items[i];
        if (partner.dst >= nodes->count || partner.src >= nodes->count) return false;
        if (nodes->items[partner.dst].partner || nodes->items[partner.src].partner) return false;
    }
    return true;
}

Merged coalesce(const Handing *handing, const Partners *partners, CoalesceOptions options,
                Arena *arena) {
    assert(are_partners_of(partners, handing->nodes));
    assert(!options.conservative || options.graph->built);
    Coalesce pass = {.handing = handing,
                     .func = handing->func,
                     .before = handing->nodes,
                     .axis = axis_make(options.size),
                     .conservative = options.conservative,
                     .arena = arena};
    start(&pass, options.graph);
    SortKey *order = deepest_first(pass.func, partners, &pass.scratch);
    for (uint32_t i = 0; i < partners->count; i++) {
        Partner partner = partners->items[order[i].id];
        if (!options.frozen[order[i].id])
            try_merge(&pass, pass.leader[partner.dst], pass.leader[partner.src]);
    }
    Merged merged = number_leaders(&pass);
    link_partners(partners, merged.into, &merged.nodes);
    arena_free(&pass.scratch);
    return merged;
}
