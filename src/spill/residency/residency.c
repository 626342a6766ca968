#include "spill/residency/residency.h"

#include "ir/dma.h"
#include "spill/residency/solve.h"
#include "support/checked.h"

/* A step in the life of a tensor: one access, or all accesses in a loop that is not cut. */
typedef struct {
    uint32_t first, end; /* accesses of the plan */
    uint32_t loop;       /* that loop, or NO_LOOP for a single access */
    uint32_t level;      /* loop in whose body it stands */
} Element;

/* What an item of the choice decides. */
typedef struct {
    uint32_t tensor;
    uint32_t access; /* the gap before this access... */
    PlanLoop *loop;  /* ...or, if not NULL, residence in this loop */
} ItemDecision;

typedef struct {
    Plan *plan;
    const Sources *sources;
    const Func *func;
    const Live *live;
    const Target *target;
    ResideOptions options;
    bool remat; /* of the facts */
    Arena scratch;  /* of one level */
    int64_t *trips; /* [nloops] */
    Gap *gaps;
    size_t ngaps, gap_capacity;
    ItemDecision *decisions;
    size_t ndecisions, decision_capacity;
    int64_t *stores;
    size_t nstores, store_capacity;
} Reside;

enum { MOST_LEVELS = 64 };

static int64_t trips_of(const Reside *pass, uint32_t loop) {
    return loop == NO_LOOP ? 1 : pass->trips[loop];
}

static int64_t dma_of(const Reside *pass, uint32_t tensor) {
    return block_dma(pass->target, &pass->func->tensors[tensor]);
}

/* ---- accesses ---- */

static int64_t blocks_named(const Reside *pass, uint32_t tensor, uint32_t access) {
    const PlanAccess *info = &pass->plan->accesses[access];
    int64_t all = pass->func->tensors[tensor].blocks, named = 0;
    if (info->inst == ENTRY || all == 1) return all;
    const Inst *inst = &pass->func->insts[info->inst];
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        const Operand *operand = &inst->operands[o];
        if (operand->tensor != tensor) continue;
        BlockSpan span = operand_blocks(pass->func, operand);
        bool one = operand->blocks && operand->blocks->kind == BLOCKS_ONE;
        named += one ? 1 : span.last - span.first + 1;
    }
    return named < all ? named : all;
}

/* True if the access writes all blocks whole, always, and reads nothing: older values end there. */
static bool is_kill(const Reside *pass, uint32_t tensor, uint32_t access) {
    const PlanAccess *info = &pass->plan->accesses[access];
    if (info->inst == ENTRY) return true;
    if (info->reads) return false;
    const Inst *inst = &pass->func->insts[info->inst];
    if (inst->condition) return false;
    for (uint32_t o = 0; o < inst->ndst; o++) {
        const Operand *operand = &inst->operands[o];
        if (operand->tensor != tensor || !operand_is_whole(pass->func, operand)) continue;
        BlockSpan span = operand_blocks(pass->func, operand);
        if (span.exact && span.first == 0 && span.last == pass->func->tensors[tensor].blocks - 1)
            return true;
    }
    return false;
}

/* The load that a reload before `access` may repeat, as an access; UINT32_MAX if it needs a home.
 */
static uint32_t source_of(Reside *pass, uint32_t tensor, uint32_t access) {
    const PlanAccess *info = &pass->plan->accesses[access];
    if (!pass->remat || info->inst == ENTRY ||
        pass->sources->last_write[access] == UINT32_MAX)
        return UINT32_MAX;
    const Inst *inst = &pass->func->insts[info->inst];
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        const Operand *operand = &inst->operands[o];
        if (operand->tensor != tensor) continue;
        Window window = window_make(pass->func, info->loop, &operand, &inst, 1, &pass->scratch);
        DramSource source;
        bool found = source_find(pass->plan, pass->sources, tensor, access, &window,
                                 window.offsets[0], info->inst, &pass->scratch, &source);
        return found ? source.access : UINT32_MAX;
    }
    return UINT32_MAX;
}

/* ---- elements ---- */

/* The outermost loop around an access that is not cut, or NO_LOOP; *level is what lies around it.
 */
static uint32_t whole_loop(const Reside *pass, uint32_t tensor, uint32_t access, uint32_t *level) {
    uint32_t whole = NO_LOOP, loop = pass->plan->accesses[access].loop;
    for (; loop != NO_LOOP && !plan_loop(pass->plan, tensor, loop)->cut;
         loop = pass->func->loops[loop].parent)
        whole = loop;
    *level = loop;
    return whole;
}

static Element next_element(const Reside *pass, uint32_t tensor, uint32_t access) {
    Element element = {.first = access, .end = access + 1};
    element.loop = whole_loop(pass, tensor, access, &element.level);
    if (element.loop == NO_LOOP) return element;
    while (element.end < pass->plan->first[tensor + 1] &&
           pass->plan->accesses[element.end].inst < pass->func->loops[element.loop].end)
        element.end++;
    return element;
}

static bool element_writes(const Reside *pass, const Element *element) {
    for (uint32_t a = element->first; a < element->end; a++)
        if (pass->plan->accesses[a].writes) return true;
    return false;
}

/* The first point that belongs to it, and the last. */
static uint32_t element_begin(const Reside *pass, const Element *element) {
    return element->loop == NO_LOOP ? pass->plan->accesses[element->first].inst
                                    : pass->func->loops[element->loop].first;
}

static uint32_t element_end(const Reside *pass, const Element *element) {
    return element->loop == NO_LOOP ? pass->plan->accesses[element->first].inst
                                    : pass->func->loops[element->loop].end - 1;
}

/* ---- items ---- */

static uint32_t add_store(Reside *pass, int64_t cycles) {
    PUSH(&pass->scratch, pass->stores, pass->nstores, pass->store_capacity, cycles);
    return (uint32_t)pass->nstores - 1;
}

static void add_item(Reside *pass, uint32_t tensor, LiveRange points, int64_t load, uint32_t value,
                     bool cut, ItemDecision decision) {
    const Tensor *info = &pass->func->tensors[tensor];
    Gap gap = {.points = points,
               .owner = tensor,
               .height = tensor_height(info) * (uint32_t)info->blocks,
               .class = (uint8_t)shape_class(info->partitions, info->base),
               .load = load > 0 ? load : 0,
               .value = value,
               .cut = cut};
    PUSH(&pass->scratch, pass->gaps, pass->ngaps, pass->gap_capacity, gap);
    PUSH(&pass->scratch, pass->decisions, pass->ndecisions, pass->decision_capacity, decision);
}

static LiveRange one_interval(Reside *pass, uint32_t first, uint32_t end) {
    if (first >= end) return (LiveRange){NULL, 0};
    Interval *interval = NEW(&pass->scratch, Interval);
    *interval = (Interval){first, end - 1};
    return (LiveRange){interval, 1};
}

/* The points of a loop where the tensor is live, but those of its own accesses, where it must be
 * anyway. */
static LiveRange loop_points(Reside *pass, uint32_t tensor, const Element *element) {
    const Loop *loop = &pass->func->loops[element->loop];
    LiveRange range = pass->live->whole[tensor];
    size_t most = (size_t)(element->end - element->first) + range.count;
    Interval *items = RAW_ARRAY(&pass->scratch, Interval, most);
    uint32_t count = 0, a = element->first;
    for (uint32_t i = 0; i < range.count && range.items[i].first < loop->end; i++) {
        uint32_t next = range.items[i].first > loop->first ? range.items[i].first : loop->first;
        uint32_t end = range.items[i].last < loop->end ? range.items[i].last + 1 : loop->end;
        for (; a < element->end && pass->plan->accesses[a].inst < end; a++) {
            uint32_t point = pass->plan->accesses[a].inst;
            if (point > next) items[count++] = (Interval){next, point - 1};
            if (point >= next) next = point + 1;
        }
        if (next < end) items[count++] = (Interval){next, end - 1};
    }
    return (LiveRange){items, count};
}

/* What the DMAs inside a loop cost if each run of accesses in one body fetches and stores for
 * itself. */
static int64_t cost_inside(Reside *pass, uint32_t tensor, const Element *element) {
    const PlanAccess *accesses = pass->plan->accesses;
    int64_t dma = dma_of(pass, tensor), sum = 0;
    for (uint32_t a = element->first; a < element->end; a++) {
        uint32_t loop = accesses[a].loop;
        int64_t blocks = saturating_mul(blocks_named(pass, tensor, a), trips_of(pass, loop));
        int64_t one = saturating_mul(dma, blocks);
        bool begins = a == element->first || accesses[a - 1].loop != loop;
        bool ends = a + 1 == element->end || accesses[a + 1].loop != loop;
        if (begins && !is_kill(pass, tensor, a)) sum = saturating_add(sum, one);
        if (ends && accesses[a].writes) sum = saturating_add(sum, one);
    }
    return sum;
}

/* What dropping the load saves if nothing but what lies behind it reads what it brought. */
static int64_t load_credit(const Reside *pass, uint32_t tensor, uint32_t source,
                           const Element *before) {
    if (source == UINT32_MAX || !before || before->loop != NO_LOOP || before->first != source)
        return 0;
    return saturating_mul(saturating_mul(dma_of(pass, tensor), blocks_named(pass, tensor, source)),
                          trips_of(pass, pass->plan->accesses[source].loop));
}

static void add_gap(Reside *pass, uint32_t tensor, const Element *before, const Element *after,
                    uint32_t value) {
    if (is_kill(pass, tensor, after->first)) return; /* no value crosses it */
    bool across = before->level != after->level;
    bool at_entry = pass->plan->accesses[before->first].inst == ENTRY;
    uint32_t first = at_entry ? 0 : element_end(pass, before) + 1;
    LiveRange points = one_interval(pass, first, across ? 0 : element_begin(pass, after));
    uint32_t source = source_of(pass, tensor, after->first);
    int64_t load = saturating_mul(
        saturating_mul(dma_of(pass, tensor), blocks_named(pass, tensor, after->first)),
        trips_of(pass, after->level));
    load -= load_credit(pass, tensor, source, before);
    bool cut = across || pass->plan->accesses[after->first].lasting;
    add_item(pass, tensor, points, load, source == UINT32_MAX ? value : NO_VALUE, cut,
             (ItemDecision){.tensor = tensor, .access = after->first});
}

static void add_loop(Reside *pass, uint32_t tensor, const Element *before, const Element *element,
                     uint32_t value) {
    uint32_t source = source_of(pass, tensor, element->first);
    int64_t load = cost_inside(pass, tensor, element) - load_credit(pass, tensor, source, before);
    PlanLoop *loop = plan_loop(pass->plan, tensor, element->loop);
    add_item(pass, tensor, loop_points(pass, tensor, element), load,
             source == UINT32_MAX ? value : NO_VALUE, false,
             (ItemDecision){.tensor = tensor, .loop = loop});
}

static void add_tensor(Reside *pass, uint32_t tensor) {
    const Plan *plan = pass->plan;
    uint32_t value = NO_VALUE;
    Element before = {0};
    bool has_before = false;
    for (uint32_t a = plan->first[tensor]; a < plan->first[tensor + 1];) {
        Element element = next_element(pass, tensor, a);
        if (has_before) add_gap(pass, tensor, &before, &element, value);
        if (element.loop != NO_LOOP)
            add_loop(pass, tensor, has_before ? &before : NULL, &element, value);
        if (element_writes(pass, &element))
            value = add_store(pass, saturating_mul(saturating_mul(dma_of(pass, tensor),
                                                                  blocks_named(pass, tensor, a)),
                                                   trips_of(pass, element.level)));
        before = element;
        has_before = true;
        a = element.end;
    }
}

/* ---- what must be there ---- */

static void add_taken(uint32_t *taken, uint32_t first, uint32_t last, uint8_t mask,
                      uint32_t height) {
    for (int q = 0; q < QUADRANTS; q++) {
        if (!(mask & (1 << q))) continue;
        taken[(size_t)first * QUADRANTS + q] += height;
        taken[((size_t)last + 1) * QUADRANTS + q] -= height;
    }
}

static void take_range(uint32_t *taken, LiveRange range, uint8_t mask, uint32_t height) {
    for (uint32_t i = 0; i < range.count; i++)
        add_taken(taken, range.items[i].first, range.items[i].last, mask, height);
}

/* A tensor that stays, in the band where least area stays already. */
static void take_whole(Reside *pass, uint32_t tensor, uint32_t *taken, uint64_t *area) {
    const Tensor *info = &pass->func->tensors[tensor];
    Bands bands = class_bands(shape_class(info->partitions, info->base));
    for (int64_t b = 0; b < info->blocks; b++) {
        LiveRange range = live_block(pass->live, tensor, b);
        uint32_t height = tensor_height(info);
        uint8_t mask = bands.masks[0];
        if (info->fixed) {
            Rect rect = tensor_rect(info, info->at[b]);
            mask = rect.mask;
            height = rect.high - rect.low;
        }
        for (int band = 1; !info->fixed && band < bands.count; band++)
            if (area[__builtin_ctz(bands.masks[band])] < area[__builtin_ctz(mask)])
                mask = bands.masks[band];
        for (int q = 0; q < QUADRANTS; q++)
            if (mask & (1 << q)) area[q] += height;
        take_range(taken, range, mask, height);
    }
}

/* A candidate at its accesses: which band it will choose is open, so all bands bear a share. */
static void take_accesses(Reside *pass, uint32_t tensor, uint32_t *taken) {
    const Tensor *info = &pass->func->tensors[tensor];
    Bands bands = class_bands(shape_class(info->partitions, info->base));
    uint8_t mask = 0;
    for (int b = 0; b < bands.count; b++)
        mask |= bands.masks[b];
    for (uint32_t a = pass->plan->first[tensor]; a < pass->plan->first[tensor + 1]; a++) {
        uint32_t point = pass->plan->accesses[a].inst;
        if (point == ENTRY) continue;
        uint32_t height = tensor_height(info) * (uint32_t)blocks_named(pass, tensor, a);
        add_taken(taken, point, point, mask, (height + bands.count - 1) / bands.count);
    }
}

static uint32_t *find_taken(Reside *pass) {
    const Func *func = pass->func;
    size_t count = ((size_t)func->ninsts + 1) * QUADRANTS;
    uint32_t *taken = NEW_ARRAY(&pass->scratch, uint32_t, count);
    uint64_t area[QUADRANTS] = {0};
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (func->tensors[t].space != SPACE_SB) continue;
        if (pass->options.candidate[t])
            take_accesses(pass, t, taken);
        else
            take_whole(pass, t, taken, area);
    }
    for (size_t i = QUADRANTS; i < count; i++)
        taken[i] += taken[i - QUADRANTS]; /* changes, wrapped where they fall, become sums */
    for (uint32_t p = 0; p < func->ninsts; p++)
        for (int q = 0; q < QUADRANTS; q++)
            taken[(size_t)p * QUADRANTS + q] += pass->options.held[p];
    return taken;
}

/* ---- one level of loops ---- */

static bool carry_out(Reside *pass) {
    bool opened = false;
    for (size_t i = 0; i < pass->ngaps; i++) {
        if (!pass->gaps[i].cut) continue;
        ItemDecision *decision = &pass->decisions[i];
        if (decision->loop) {
            opened |= !decision->loop->cut;
            plan_cut_loop(pass->plan, decision->tensor, decision->loop, false);
        } else {
            plan_cut_gap(pass->plan, decision->tensor, decision->access, false);
        }
    }
    return opened;
}

/* Where a value ends, the same storage need not serve the next: a free cut, if it cuts no loop. */
static void cut_at_kills(Reside *pass, uint32_t tensor) {
    Plan *plan = pass->plan;
    for (uint32_t a = plan->first[tensor] + 1; a < plan->first[tensor + 1]; a++)
        if (is_kill(pass, tensor, a) && plan->accesses[a - 1].inst != ENTRY &&
            loop_common(pass->func, plan->accesses[a - 1].loop, plan->accesses[a].loop) == NO_LOOP)
            plan_cut_gap(plan, tensor, a, false);
}

/* A value that is made anew in each iteration and serves all accesses from one copy never leaves:
 * the loops that were opened for it say nothing. */
static void forget_if_whole(Reside *pass, uint32_t tensor) {
    Plan *plan = pass->plan;
    uint32_t first = plan->first[tensor];
    if (!is_kill(pass, tensor, first) || plan->accesses[first].inst == ENTRY) return;
    for (uint32_t a = first; a < plan->first[tensor + 1]; a++)
        if (plan->accesses[a].cut) return;
    for (uint32_t l = plan->first_loop[tensor]; l < plan->first_loop[tensor + 1]; l++)
        plan->loops[l].cut = plan->loops[l].lasting = false;
    plan->spilled[tensor] = false;
}

static void close_all(Reside *pass) {
    for (uint32_t t = 0; t < pass->func->ntensors; t++) {
        if (!pass->plan->spilled[t]) continue;
        cut_at_kills(pass, t);
        plan_close(pass->plan, t);
        forget_if_whole(pass, t);
    }
}

static int64_t decide_level(Reside *pass, bool *opened) {
    arena_reset(&pass->scratch);
    pass->ngaps = pass->gap_capacity = pass->ndecisions = pass->decision_capacity = 0;
    pass->nstores = pass->store_capacity = 0;
    for (uint32_t t = 0; t < pass->func->ntensors; t++)
        if (pass->options.candidate[t]) add_tensor(pass, t);
    GapProblem problem = {.gaps = pass->gaps,
                          .count = (uint32_t)pass->ngaps,
                          .store = pass->stores,
                          .nvalues = (uint32_t)pass->nstores,
                          .npoints = pass->func->ninsts,
                          .taken = find_taken(pass),
                          .size = pass->options.size};
    int64_t cost = choose_gaps(&problem, pass->options.steps, &pass->scratch);
    *opened = carry_out(pass);
    return cost;
}

/* Loops that were opened stay open; the gaps are decided anew at each level. */
static void forget_gaps(Plan *plan) {
    for (uint32_t a = 0; a < plan->first[plan->func->ntensors]; a++)
        plan->accesses[a].cut = plan->accesses[a].lasting;
}

static void count_trips(Reside *pass, Arena *arena) {
    pass->trips = RAW_ARRAY(arena, int64_t, pass->func->nloops);
    for (uint32_t l = 0; l < pass->func->nloops; l++) {
        const Loop *loop = &pass->func->loops[l];
        pass->trips[l] =
            saturating_mul(trips_of(pass, loop->parent), saturating_sub(loop->high, loop->low));
    }
}

static Reside reside_begin(const Facts *facts, ResideOptions options, Plan *plan) {
    return (Reside){.plan = plan,
                    .sources = &facts->sources,
                    .func = plan->func,
                    .live = options.live,
                    .target = facts->target,
                    .options = options,
                    .remat = facts->remat};
}

int64_t reside(const Facts *facts, ResideOptions options, Plan *plan) {
    Reside pass = reside_begin(facts, options, plan);
    Arena own;
    arena_init(&own);
    count_trips(&pass, &own);
    plan_reset(plan);
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spilled[t]) plan_close(plan, t);
    int64_t cost = 0;
    bool opened = true;
    for (int level = 0; opened && level < MOST_LEVELS; level++) {
        if (level > 0) forget_gaps(plan);
        cost = decide_level(&pass, &opened);
        for (uint32_t t = 0; t < plan->func->ntensors; t++)
            if (plan->spilled[t]) plan_close(plan, t);
    }
    close_all(&pass);
    arena_free(&pass.scratch);
    arena_free(&own);
    return cost;
}

/* ---- stretches ---- */

static LiveRange points_in_loop(Reside *pass, uint32_t tensor, const Element *element) {
    const Loop *loop = &pass->func->loops[element->loop];
    LiveRange range = pass->live->whole[tensor];
    Interval *items = RAW_ARRAY(&pass->scratch, Interval, range.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < range.count; i++) {
        Interval part = range.items[i];
        if (part.first < loop->first) part.first = loop->first;
        if (part.last >= loop->end) part.last = loop->end - 1;
        if (part.first <= part.last) items[count++] = part;
    }
    const PlanAccess *accesses = pass->plan->accesses;
    if (count == 0) /* no value is there at any access, but each needs its place */
        return one_interval(pass, accesses[element->first].inst,
                            accesses[element->end - 1].inst + 1);
    return (LiveRange){items, count};
}

static Stretch make_stretch(Reside *pass, uint32_t tensor, const Element *before,
                            const Element *element, uint32_t value) {
    Stretch stretch = {.tensor = tensor, .first = element->first, .end = element->end};
    uint32_t point = pass->plan->accesses[element->first].inst;
    if (element->loop != NO_LOOP)
        stretch.points = points_in_loop(pass, tensor, element);
    else
        stretch.points =
            one_interval(pass, point == ENTRY ? 0 : point, point == ENTRY ? 1 : point + 1);
    size_t gaps = pass->ngaps;
    if (before) add_gap(pass, tensor, before, element, value);
    if (pass->ngaps == gaps || pass->gaps[gaps].cut) return stretch;
    stretch.linked = true;
    stretch.gap = pass->gaps[gaps].points;
    stretch.load = pass->gaps[gaps].load;
    stretch.value = pass->gaps[gaps].value;
    return stretch;
}

static void list_tensor(Reside *pass, uint32_t tensor, Stretches *list, size_t *capacity) {
    uint32_t value = NO_VALUE;
    Element before = {0};
    bool has_before = false;
    for (uint32_t a = pass->plan->first[tensor]; a < pass->plan->first[tensor + 1];) {
        Element element = next_element(pass, tensor, a);
        Stretch stretch = make_stretch(pass, tensor, has_before ? &before : NULL, &element, value);
        size_t count = list->count;
        PUSH(&pass->scratch, list->items, count, *capacity, stretch);
        list->count = (uint32_t)count;
        if (element_writes(pass, &element))
            value = add_store(pass,
                              saturating_mul(dma_of(pass, tensor), trips_of(pass, element.level)));
        before = element;
        has_before = true;
        a = element.end;
    }
}

Stretches list_stretches(const Facts *facts, ResideOptions options, Plan *plan, Arena *arena) {
    Reside pass = reside_begin(facts, options, plan);
    pass.scratch = *arena;
    count_trips(&pass, &pass.scratch);
    Stretches list = {0};
    size_t capacity = 0;
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (options.candidate[t] && plan->func->tensors[t].blocks == 1)
            list_tensor(&pass, t, &list, &capacity);
    list.stores = pass.stores;
    list.nstores = (uint32_t)pass.nstores;
    *arena = pass.scratch;
    return list;
}
