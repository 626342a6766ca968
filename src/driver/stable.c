#include "driver/stable.h"

#include <math.h>
#include <string.h>

#include "ir/dma.h"
#include "ir/names.h"
#include "place/coalesce.h"
#include "place/evict.h"
#include "support/sort.h"

/* ---- which tensor is which ---- */

Made made_of(const Tensor *tensor, Str *of) {
    static const char *const MARKS[] = {COPY_MARK, PART_MARK, HOME_MARK};
    const Meta *meta = meta_find(tensor->meta, "of");
    if (!meta || meta->kind != META_TEXT) return MADE_NOT;
    *of = meta->text;
    for (Made made = MADE_COPY; made < MADE_NOT; made++) {
        uint32_t length = (uint32_t)strlen(MARKS[made]);
        if (tensor->name.length <= of->length + length) continue;
        Str mark = {tensor->name.text + of->length, length};
        if (str_is(mark, MARKS[made])) return made;
    }
    return MADE_NOT;
}

/* Of each tensor the first instruction that names it, DMAs inserted for spilling aside; of a home
 * that of the first copy that it serves. */
typedef struct {
    const Func *func;
    const Inst **users; /* [ntensors] */
    uint32_t *order;    /* [ntensors] all tensors, as they are first used; the unused behind */
    uint32_t count;
    bool *seen; /* [ntensors] */
} Users;

static void note_user(Users *users, uint32_t t, const Inst *inst) {
    if (users->seen[t]) return;
    users->seen[t] = true;
    users->users[t] = inst;
    users->order[users->count++] = t;
}

static Users find_users(const Func *func, Arena *arena) {
    Users users = {func, NEW_ARRAY(arena, const Inst *, func->ntensors),
                   RAW_ARRAY(arena, uint32_t, func->ntensors), 0,
                   NEW_ARRAY(arena, bool, func->ntensors)};
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (uint32_t o = 0; !dma_is_inserted(inst) && o < inst->ndst + inst->nsrc; o++)
            note_user(&users, inst->operands[o].tensor, inst);
    }
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        if (!dma_is_inserted(inst) || inst->ndst != 1 || inst->nsrc != 1) continue;
        for (int o = 0; o < 2; o++)
            note_user(&users, inst->operands[o].tensor, users.users[inst->operands[1 - o].tensor]);
    }
    for (uint32_t t = 0; t < func->ntensors; t++)
        note_user(&users, t, NULL);
    return users;
}

/* `KIND of A for the first OP that makes B`; more than one tensor may have it. */
static Str family_of(const Func *func, Made made, Str of, const Inst *user, Arena *arena) {
    Str op = user ? user->op : STR(""), to = STR(""), root;
    if (user && user->ndst > 0) {
        const Tensor *tensor = &func->tensors[inst_dst(user)->tensor];
        to = made_of(tensor, &root) == MADE_NOT ? tensor->name : root;
    }
    return str_format(arena, "%d\n%.*s\n%.*s\n%.*s", (int)made, (int)of.length, of.text,
                      (int)op.length, op.text, (int)to.length, to.text);
}

/* [ntensors] the name; of what was added its family, and which of it they are. */
static Str *find_identities(const Func *func, Arena *arena) {
    Str *identities = NEW_ARRAY(arena, Str, func->ntensors);
    uint32_t *serials = NEW_ARRAY(arena, uint32_t, func->ntensors);
    Users users = find_users(func, arena);
    StrMap families;
    strmap_init(&families, arena);
    for (uint32_t i = 0; i < func->ntensors; i++) {
        uint32_t t = users.order[i];
        const Tensor *tensor = &func->tensors[t];
        Str of;
        Made made = made_of(tensor, &of);
        identities[t] = tensor->name;
        if (made == MADE_NOT) continue;
        Str family = family_of(func, made, of, users.users[t], arena);
        uint32_t number = strmap_add(&families, family, families.count);
        identities[t] =
            str_format(arena, "%.*s\n%u", (int)family.length, family.text, serials[number]++);
    }
    return identities;
}

Earlier earlier_find(const Module *previous, Str name, Arena *arena) {
    Earlier earlier = {0};
    strmap_init(&earlier.tensors, arena);
    for (uint32_t f = 0; previous && f < previous->nfuncs; f++)
        if (str_equal(previous->funcs[f].name, name)) earlier.func = &previous->funcs[f];
    if (!earlier.func) return earlier;
    const Str *identities = find_identities(earlier.func, arena);
    for (uint32_t t = 0; t < earlier.func->ntensors; t++)
        strmap_add(&earlier.tensors, identities[t], t);
    return earlier;
}

const Str *earlier_names(const Earlier *earlier, const Func *func, Arena *arena) {
    Str *names = NEW_ARRAY(arena, Str, func->ntensors);
    const Str *identities = find_identities(func, arena);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        Str of;
        uint32_t found = strmap_get(&earlier->tensors, identities[t]);
        if (found != UINT32_MAX && made_of(&func->tensors[t], &of) != MADE_NOT)
            names[t] = earlier->func->tensors[found].name;
    }
    return names;
}

/* ---- where they were ---- */

typedef struct {
    const KeepOptions *options;
    Arena *arena;
    const Func *func;
    Round *round; /* of keep_places() */
    Axis axis;
    Rect **old;     /* [ntensors] the earlier places of the blocks, NULL where there are none */
    bool *reshaped; /* [ntensors] its size is not what it was */
    Partners partners;
    Merged merged; /* nodes that share a place are one from here on */
    Graph graph;   /* of these */
    Rect **asked;  /* [merged nodes] the earlier place, or NULL */
    Rect **wish;   /* [merged nodes] where it should lie, or NULL */
    Rect **now;    /* [merged nodes] where it lies, where the function has places */
} Keep;

/* The rectangles of the earlier places if the tensor may stand there, else NULL. */
static Rect *old_rects(const Tensor *tensor, const Tensor *before, uint32_t size, Arena *arena) {
    if (before->blocks != tensor->blocks) return NULL;
    Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
    Rect *rects = RAW_ARRAY(arena, Rect, (size_t)tensor->blocks);
    for (int64_t b = 0; b < tensor->blocks; b++) {
        Place place = before->at[b];
        if (!start_is_legal(place.partition, tensor->partitions) || place.byte < 0 ||
            place.byte % GRANULE || place.byte % tensor->align ||
            place.byte / GRANULE + tensor_height(tensor) > size)
            return NULL;
        rects[b] = tensor_rect(tensor, place);
        rects[b].high = rects[b].low + tensor_height(tensor);
        bool allowed = false;
        for (int i = 0; i < bands.count; i++)
            allowed |= bands.masks[i] == rects[b].mask;
        if (!allowed) return NULL;
    }
    return rects;
}

static void find_old(Keep *keep) {
    const Func *func = keep->func;
    const Earlier *earlier = keep->options->earlier;
    const Str *identities = find_identities(func, keep->arena);
    keep->old = NEW_ARRAY(keep->arena, Rect *, func->ntensors);
    keep->reshaped = NEW_ARRAY(keep->arena, bool, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        uint32_t found = strmap_get(&earlier->tensors, identities[t]);
        if (found == UINT32_MAX || tensor->space != SPACE_SB || tensor->fixed) continue;
        const Tensor *before = &earlier->func->tensors[found];
        if (before->space != SPACE_SB || !before->at) continue;
        keep->old[t] = old_rects(tensor, before, keep->axis.size, keep->arena);
        keep->reshaped[t] =
            tensor->bytes != before->bytes || tensor->partitions != before->partitions;
    }
}

static bool same_rects(const Rect *a, const Rect *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!rects_same(a[i], b[i])) return false;
    return true;
}

/* ---- which nodes are one ---- */

static Rect *present_rects(const Keep *keep, uint32_t t) {
    const Tensor *tensor = &keep->func->tensors[t];
    Rect *rects = RAW_ARRAY(keep->arena, Rect, (size_t)tensor->blocks);
    for (int64_t b = 0; b < tensor->blocks; b++) {
        rects[b] = tensor_rect(tensor, tensor->at[b]);
        if (!tensor->fixed) rects[b].high = rects[b].low + tensor_height(tensor);
    }
    return rects;
}

/* Partners stay together or apart as they are now; before there are places, as they were. */
static bool is_apart(const Keep *keep, Partner partner) {
    const Node *dst = &keep->round->nodes.items[partner.dst];
    const Node *src = &keep->round->nodes.items[partner.src];
    if (!keep->options->coalesce || dst->blocks != src->blocks) return true;
    if (keep->options->placed)
        return !same_rects(present_rects(keep, dst->tensor), present_rects(keep, src->tensor),
                           dst->blocks);
    const Rect *a = dst->fixed ? dst->rects : keep->old[dst->tensor];
    const Rect *b = src->fixed ? src->rects : keep->old[src->tensor];
    return a && b && !same_rects(a, b, dst->blocks);
}

/* True if blocks of the node that live together are apart at these places. */
static bool is_apart_in_itself(const Node *node, const Rect *rects) {
    for (uint32_t i = 1; i < node->blocks; i++)
        for (uint32_t j = 0; j < i; j++)
            if (rects_meet(rects[i], rects[j]) && blocks_meet(node, i, node, j)) return false;
    return true;
}

static void merge_partners(Keep *keep) {
    Round *round = keep->round;
    Handing handing = find_handing(round->func, &round->nodes, keep->arena);
    keep->partners = find_partners(&handing, keep->arena);
    bool *apart = NEW_ARRAY(keep->arena, bool, keep->partners.count);
    for (uint32_t i = 0; i < keep->partners.count; i++)
        apart[i] = is_apart(keep, keep->partners.items[i]);
    CoalesceOptions options = {.size = keep->axis.size, .frozen = apart};
    keep->merged = coalesce(&handing, &keep->partners, options, keep->arena);
    keep->graph = build(&keep->merged.nodes, keep->arena);
    uint32_t count = keep->merged.nodes.count;
    keep->asked = NEW_ARRAY(keep->arena, Rect *, count);
    keep->wish = RAW_ARRAY(keep->arena, Rect *, count);
    keep->now = NEW_ARRAY(keep->arena, Rect *, count);
    for (uint32_t n = 0; n < round->nodes.count; n++) {
        uint32_t t = round->nodes.items[n].tensor, m = keep->merged.into[n];
        if (!keep->asked[m] && !keep->merged.nodes.items[m].fixed) keep->asked[m] = keep->old[t];
        if (keep->options->placed && !keep->now[m]) keep->now[m] = present_rects(keep, t);
    }
    for (uint32_t m = 0; m < count; m++)
        if (keep->asked[m] && !is_apart_in_itself(&keep->merged.nodes.items[m], keep->asked[m]))
            keep->asked[m] = NULL;
}

/* ---- who is in whose way ---- */

/* Where the node would lie; fixed ones where they are. */
static const Rect *wished(const Keep *keep, uint32_t n) {
    const Node *node = &keep->merged.nodes.items[n];
    return node->fixed ? node->rects : keep->wish[n];
}

static uint32_t count_in_the_way(const Keep *keep, uint32_t n) {
    const Nodes *nodes = &keep->merged.nodes;
    uint32_t count = 0;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(&keep->graph, n); next_neighbour(&walk, &m);) {
        const Rect *other = wished(keep, m);
        count += other && nodes_meet(&nodes->items[n], keep->wish[n], &nodes->items[m], other);
    }
    return count;
}

static bool is_reshaped(const Keep *keep, uint32_t n) {
    return keep->reshaped[keep->merged.nodes.items[n].tensor];
}

/* Which of two wishes is dropped first where each is in the way of as many: the small node, which
 * is easy to place anew, or the large one. */
typedef enum { SMALL_FIRST, LARGE_FIRST, DROP_ORDERS } DropOrder;

/* Wishes that cannot all come true: those that stand in most others' way go first, among equals the
 * tensors that are not what they were. */
static void drop_wishes(Keep *keep, DropOrder drop) {
    const Nodes *nodes = &keep->merged.nodes;
    SortKey *order = RAW_ARRAY(keep->arena, SortKey, nodes->count);
    uint32_t count = 0;
    for (uint32_t n = 0; n < nodes->count; n++) {
        uint32_t others = keep->wish[n] ? count_in_the_way(keep, n) : 0;
        if (others == 0) continue;
        uint64_t first = (uint64_t)(INT32_MAX - others) << 33;
        uint64_t second = is_reshaped(keep, n) ? 0 : (uint64_t)1 << 32;
        uint32_t height = nodes->items[n].height;
        order[count++] =
            (SortKey){first | second | (drop == SMALL_FIRST ? height : UINT32_MAX - height), n};
    }
    sort_keys(order, count, keep->arena);
    for (uint32_t i = 0; i < count; i++)
        if (count_in_the_way(keep, order[i].id) > 0) keep->wish[order[i].id] = NULL;
}

/* ---- places ---- */

/* Looks for places of the others while all wishes are granted. */
static void place_around(Keep *keep, Round *view) {
    Nodes *nodes = &view->nodes;
    nodes->items = RAW_ARRAY(keep->arena, Node, nodes->count);
    for (uint32_t n = 0; n < nodes->count; n++) {
        nodes->items[n] = keep->merged.nodes.items[n];
        if (!keep->wish[n]) continue;
        nodes->items[n].fixed = true;
        nodes->items[n].rects = keep->wish[n];
    }
    PlaceProblem problem = {&view->nodes, &view->pressure, keep->axis.size};
    Placed found = place(&problem, &keep->options->placer, keep->arena);
    view->graph = found.graph;
    view->stack = found.stack;
    view->placement = found.placement;
    view->placed = found.placed;
    nodes->items = keep->merged.nodes.items;
}

static bool is_free(const Keep *keep, const Placement *placement, uint32_t n, const Rect *rects) {
    const Nodes *nodes = &keep->merged.nodes;
    uint32_t m;
    for (NeighbourWalk walk = neighbours_of(&keep->graph, n); next_neighbour(&walk, &m);) {
        if (placement->rects[m] &&
            nodes_meet(&nodes->items[n], rects, &nodes->items[m], placement->rects[m]))
            return false;
    }
    return true;
}

/* Who has been moved goes back where that has become possible, until nobody can. */
static void go_back(Keep *keep, Placement *placement) {
    for (bool any = true; any;) {
        any = false;
        for (uint32_t n = 0; n < keep->merged.nodes.count; n++) {
            uint32_t blocks = keep->merged.nodes.items[n].blocks;
            if (!keep->asked[n] || same_rects(placement->rects[n], keep->asked[n], blocks) ||
                !is_free(keep, placement, n, keep->asked[n]))
                continue;
            placement->rects[n] = keep->asked[n];
            any = true;
        }
    }
}

/* Steps of eviction for each edge of the graph, and beside that. */
enum { EVICT_PER_EDGE = 10, EVICT_STEPS = 4000000 };

static uint32_t count_granted(const Keep *keep, const Placement *placement) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < keep->merged.nodes.count; n++)
        count += keep->asked[n] && same_rects(keep->asked[n], placement->rects[n],
                                              keep->merged.nodes.items[n].blocks);
    return count;
}

/* Takes a complete placement if it keeps more than the best so far. */
static void offer(Keep *keep, const Round *view, Round *best) {
    if (best->placed &&
        count_granted(keep, &view->placement) <= count_granted(keep, &best->placement))
        return;
    *best = *view;
    best->placed = true;
}

/* Places of the merged nodes around what is kept, else with some of that moved too. True if nothing
 * had to move. */
static bool try_order(Keep *keep, DropOrder drop, Round *best) {
    Round view = {.func = best->func, .live = best->live, .nodes = keep->merged.nodes};
    view.pressure = best->pressure;
    memcpy(keep->wish, keep->asked, keep->merged.nodes.count * sizeof *keep->wish);
    drop_wishes(keep, drop);
    place_around(keep, &view);
    bool around = view.placed;
    EvictLimits limits = {keep->axis.size, EVICT_STEPS + EVICT_PER_EDGE * keep->graph.edges, false};
    bool placed =
        around || evict(&keep->merged.nodes, &keep->graph, limits, &view.placement, keep->arena);
    if (!placed) return false;
    go_back(keep, &view.placement);
    offer(keep, &view, best);
    return around;
}

/* The best of a few ways; where there are places already, one is to start from them. */
static bool find_places(Keep *keep, Round *best) {
    for (DropOrder drop = 0; drop < DROP_ORDERS; drop++)
        if (try_order(keep, drop, best)) return true;
    if (!keep->options->placed) return best->placed;
    Round view = *best;
    view.placement = (Placement){.rects = keep->now};
    go_back(keep, &view.placement);
    offer(keep, &view, best);
    return true;
}

static void count_kept(const Keep *keep, KeepCount *count) {
    const Round *round = keep->round;
    *count = (KeepCount){0};
    for (uint32_t n = 0; n < round->nodes.count; n++) {
        const Node *node = &round->nodes.items[n];
        const Rect *old = keep->old[node->tensor];
        if (!old) continue;
        count->known++;
        count->kept += same_rects(old, round->placement.rects[n], node->blocks);
    }
}

static void spread(Keep *keep, const Round *view) {
    Round *round = keep->round;
    round->graph = build(&round->nodes, keep->arena);
    round->stack = view->stack;
    round->placement = (Placement){.rects = RAW_ARRAY(keep->arena, Rect *, round->nodes.count)};
    for (uint32_t n = 0; n < round->nodes.count; n++)
        round->placement.rects[n] = view->placement.rects[keep->merged.into[n]];
    round->placed = true;
    round->groups = keep->partners.groups;
    round->coalesced = keep->merged.merges;
}

/* A graph larger than this is not built for it. */
static const uint64_t MOST_CONFLICTS = (uint64_t)1 << 28;

bool keep_places(const KeepOptions *options, Arena *arena, Round *round, KeepCount *count) {
    uint32_t size = options->size;
    if (round->conflicts > MOST_CONFLICTS) return false;
    Keep keep = {.options = options,
                 .arena = arena,
                 .func = round->func,
                 .round = round,
                 .axis = axis_make(size)};
    find_old(&keep);
    merge_partners(&keep);
    Round view = {.func = round->func, .live = round->live, .nodes = keep.merged.nodes};
    view.pressure = find_pressure(&view.nodes, arena);
    if (view.pressure.peak > size) return false;
    if (!find_places(&keep, &view)) return false;
    spread(&keep, &view);
    count_kept(&keep, count);
    return true;
}

/* ---- blocks in time ---- */

/* Every block is a node of its own. */
static void ask_for_blocks(Keep *keep, const TimeBlocks *blocks) {
    uint32_t count = blocks->nodes.count;
    keep->merged = (Merged){.nodes = blocks->nodes};
    keep->graph = build(&keep->merged.nodes, keep->arena);
    keep->asked = NEW_ARRAY(keep->arena, Rect *, count);
    keep->wish = RAW_ARRAY(keep->arena, Rect *, count);
    keep->now = RAW_ARRAY(keep->arena, Rect *, count);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t t = blocks->nodes.items[n].tensor, block = blocks->block[n];
        keep->now[n] = present_rects(keep, t) + block;
        if (keep->old[t]) keep->asked[n] = keep->old[t] + block;
    }
}

/* Blocks that never live lie where the first one that does lies. */
static void set_block_places(const TimeBlocks *blocks, Rect *const *rects, Func *func,
                             Arena *arena) {
    bool *seen = NEW_ARRAY(arena, bool, func->ntensors);
    for (uint32_t n = 0; n < blocks->nodes.count; n++) {
        uint32_t t = blocks->nodes.items[n].tensor;
        Tensor *tensor = &func->tensors[t];
        if (tensor->fixed) continue;
        Place *places = (Place *)(uintptr_t)tensor->at; /* copied when the first was seen */
        Place place = place_at(rects[n]->low, rects[n]->mask);
        if (!seen[t]) tensor->at = places = RAW_ARRAY(arena, Place, (size_t)tensor->blocks);
        for (int64_t b = 0; !seen[t] && b < tensor->blocks; b++)
            places[b] = place;
        places[blocks->block[n]] = place;
        seen[t] = true;
    }
}

void keep_blocks(const KeepOptions *options, Arena *arena, Rewritten *rewritten, KeepCount *count) {
    const TimeBlocks *blocks = &rewritten->blocks;
    if (count_conflicts(&blocks->nodes, arena) > MOST_CONFLICTS) return;
    Keep keep = {.options = options,
                 .arena = arena,
                 .func = rewritten->func,
                 .axis = axis_make(options->size)};
    find_old(&keep);
    ask_for_blocks(&keep, blocks);
    Round view = {.func = keep.func, .nodes = keep.merged.nodes};
    view.pressure = find_pressure(&view.nodes, arena);
    find_places(&keep, &view);
    *count = (KeepCount){0};
    for (uint32_t n = 0; n < blocks->nodes.count; n++)
        count->known += keep.asked[n] != NULL;
    count->kept = count_granted(&keep, &view.placement);
    set_block_places(blocks, view.placement.rects, rewritten->func, arena);
}
