#include "spill/residency/residency.h"

#include <assert.h>

#include "ir/region.h"
#include "spill/parts.h"
#include "spill/residency/solve.h"
#include "support/checked.h"

/* What cutting a gap of the problem cuts in the plan. */
typedef struct {
    uint32_t tensor;
    bool of_loop;    /* the residency in `loop`; else the gap before `access` */
    uint32_t access; /* of the plan */
    uint32_t loop;   /* of the function */
} SplitPoint;

typedef struct {
    const State *state;
    Plan *plan; /* of the state */
    const Func *func;
    Arena scratch; /* of one level */
    Gap *gaps;
    size_t ngaps, gap_capacity;
    SplitPoint *splits; /* [ngaps] */
    size_t nsplits, split_capacity;
    int64_t *stores;
    size_t nstores, store_capacity;
    Region
        moved; /* of each block of the tensor that is looked at: what reloads may need together */
    bool listing; /* the stretches, instead of having their gaps compete */
    Stretch *stretches;
    size_t nstretches, stretch_capacity;
} Pass;

enum { MOST_LEVELS = 64 };

/* ---- accesses ---- */

static int64_t blocks_named(const Pass *pass, uint32_t tensor, uint32_t access) {
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
static bool is_kill(const Pass *pass, uint32_t tensor, uint32_t access) {
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

/* Where a reload finds the value. */
typedef struct {
    bool clean;    /* DRAM has it: no home, no store */
    uint32_t load; /* the load that the reload repeats, as an access; UINT32_MAX: none */
} GapSource;

static const GapSource NOT_CLEAN = {false, UINT32_MAX};

/* Where the blocks of an operand lie before its access: clean if all do in DRAM. */
static GapSource source_of_operand(Pass *pass, uint32_t access, const Operand *operand) {
    const PlanAccess *info = &pass->plan->accesses[access];
    const Inst *inst = &pass->func->insts[info->inst];
    BlockRange range = block_range_make(pass->func, info->loop, &operand, &inst, 1, &pass->scratch);
    GapSource found = {.clean = true, .load = UINT32_MAX};
    for (int64_t b = 0; b < range.count; b++) {
        DramSource source;
        RematQuery query = {.plan = pass->plan,
                            .sources = &pass->state->facts->sources,
                            .tensor = operand->tensor,
                            .access = access,
                            .range = &range,
                            .offset = range.offsets[b],
                            .point = info->inst};
        if (!remat(&query, &pass->scratch, &source)) return NOT_CLEAN;
        if (!source.saved) found.load = source.access;
    }
    return found;
}

/* Where a reload before `access` finds what its first operand names. */
static GapSource source_of(Pass *pass, uint32_t tensor, uint32_t access) {
    const PlanAccess *info = &pass->plan->accesses[access];
    if (!pass->state->facts->remat || info->inst == ENTRY ||
        pass->state->facts->sources.last_write[access] == UINT32_MAX)
        return NOT_CLEAN;
    const Inst *inst = &pass->func->insts[info->inst];
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
        if (inst->operands[o].tensor == tensor)
            return source_of_operand(pass, access, &inst->operands[o]);
    return NOT_CLEAN;
}

/* ---- stretches ---- */

/* The outermost loop around an access that is not cut, or NO_LOOP; *level is what lies around it.
 */
static uint32_t whole_loop(const Pass *pass, uint32_t tensor, uint32_t access, uint32_t *level) {
    uint32_t whole = NO_LOOP, loop = pass->plan->accesses[access].loop;
    for (; loop != NO_LOOP && !plan_loop(pass->plan, tensor, loop)->cut;
         loop = pass->func->loops[loop].parent)
        whole = loop;
    *level = loop;
    return whole;
}

static Stretch next_stretch(const Pass *pass, uint32_t tensor, uint32_t access) {
    Stretch stretch = {.tensor = tensor, .first = access, .end = access + 1};
    stretch.loop = whole_loop(pass, tensor, access, &stretch.level);
    if (stretch.loop == NO_LOOP) return stretch;
    while (stretch.end < pass->plan->first[tensor + 1] &&
           pass->plan->accesses[stretch.end].inst < pass->func->loops[stretch.loop].end)
        stretch.end++;
    return stretch;
}

static bool stretch_writes(const Pass *pass, const Stretch *stretch) {
    for (uint32_t a = stretch->first; a < stretch->end; a++)
        if (pass->plan->accesses[a].writes) return true;
    return false;
}

/* The first point that belongs to it, and the last. */
static uint32_t stretch_begin(const Pass *pass, const Stretch *stretch) {
    return stretch->loop == NO_LOOP ? pass->plan->accesses[stretch->first].inst
                                    : pass->func->loops[stretch->loop].first;
}

static uint32_t stretch_end(const Pass *pass, const Stretch *stretch) {
    return stretch->loop == NO_LOOP ? pass->plan->accesses[stretch->first].inst
                                    : pass->func->loops[stretch->loop].end - 1;
}

/* ---- gaps ---- */

static uint32_t add_store(Pass *pass, int64_t cycles) {
    PUSH(&pass->scratch, pass->stores, pass->nstores, pass->store_capacity, cycles);
    return (uint32_t)pass->nstores - 1;
}

/* What the DMAs of a part of the blocks that an access names take, in a body of the loop. */
static int64_t part_cycles(const Pass *pass, uint32_t tensor, uint32_t access, Region part,
                           uint32_t loop) {
    int64_t once = saturating_mul(part_dma(pass->state->facts->target, part),
                                  blocks_named(pass, tensor, access));
    return saturating_mul(once, loop_trips(pass->func, loop));
}

/* The same of all that any access may need: a reload may serve several. */
static int64_t access_cycles(const Pass *pass, uint32_t tensor, uint32_t access, uint32_t loop) {
    return part_cycles(pass, tensor, access, pass->moved, loop);
}

/* Adds a gap to the problem: its owner, height and class are those of the tensor that is split. */
static void push_gap(Pass *pass, SplitPoint split, Gap gap) {
    const Tensor *info = &pass->func->tensors[split.tensor];
    gap.owner = split.tensor;
    gap.height = tensor_height(info) * (uint32_t)info->blocks;
    gap.class = (uint8_t)shape_class(info->partitions, info->base);
    if (gap.load < 0) gap.load = 0;
    PUSH(&pass->scratch, pass->gaps, pass->ngaps, pass->gap_capacity, gap);
    PUSH(&pass->scratch, pass->splits, pass->nsplits, pass->split_capacity, split);
}

static LiveRange one_interval(Pass *pass, uint32_t first, uint32_t end) {
    if (first >= end) return (LiveRange){NULL, 0};
    Interval *interval = NEW(&pass->scratch, Interval);
    *interval = (Interval){first, end - 1};
    return (LiveRange){interval, 1};
}

/* The points of a loop where the tensor is live, except at its own accesses, where it must be on
 * chip anyway. */
static LiveRange loop_points(Pass *pass, const Stretch *stretch) {
    const Loop *loop = &pass->func->loops[stretch->loop];
    LiveRange range = pass->state->live.whole[stretch->tensor];
    size_t most = (size_t)(stretch->end - stretch->first) + range.count;
    Interval *items = RAW_ARRAY(&pass->scratch, Interval, most);
    uint32_t count = 0, a = stretch->first;
    for (uint32_t i = 0; i < range.count && range.items[i].first < loop->end; i++) {
        uint32_t next = range.items[i].first > loop->first ? range.items[i].first : loop->first;
        uint32_t end = range.items[i].last < loop->end ? range.items[i].last + 1 : loop->end;
        for (; a < stretch->end && pass->plan->accesses[a].inst < end; a++) {
            uint32_t point = pass->plan->accesses[a].inst;
            if (point > next) items[count++] = (Interval){next, point - 1};
            if (point >= next) next = point + 1;
        }
        if (next < end) items[count++] = (Interval){next, end - 1};
    }
    return (LiveRange){items, count};
}

/* What the DMAs inside a loop cost if each run of accesses in one body loads and stores for
 * itself. */
static int64_t cost_inside(Pass *pass, const Stretch *stretch) {
    const PlanAccess *accesses = pass->plan->accesses;
    uint32_t tensor = stretch->tensor;
    int64_t sum = 0;
    for (uint32_t a = stretch->first; a < stretch->end; a++) {
        uint32_t loop = accesses[a].loop;
        int64_t one = access_cycles(pass, tensor, a, loop);
        bool begins = a == stretch->first || accesses[a - 1].loop != loop;
        bool ends = a + 1 == stretch->end || accesses[a + 1].loop != loop;
        if (begins && !is_kill(pass, tensor, a)) sum = saturating_add(sum, one);
        if (ends && accesses[a].writes) sum = saturating_add(sum, one);
    }
    return sum;
}

/* What dropping the original load saves, if only what follows `before` reads what it loaded. */
static int64_t load_credit(const Pass *pass, GapSource source, const Stretch *before) {
    uint32_t load = source.load;
    if (load == UINT32_MAX || !before || before->loop != NO_LOOP || before->first != load) return 0;
    Region part = access_part(pass->plan, before->tensor, load);
    return part_cycles(pass, before->tensor, load, part, pass->plan->accesses[load].loop);
}

static void add_gap(Pass *pass, const Stretch *before, const Stretch *after, uint32_t value) {
    uint32_t tensor = after->tensor;
    if (is_kill(pass, tensor, after->first)) return; /* no value crosses it */
    bool across = before->level != after->level;
    bool at_entry = pass->plan->accesses[before->first].inst == ENTRY;
    uint32_t first = at_entry ? 0 : stretch_end(pass, before) + 1;
    GapSource source = source_of(pass, tensor, after->first);
    push_gap(pass, (SplitPoint){.tensor = tensor, .access = after->first},
             (Gap){.points = one_interval(pass, first, across ? 0 : stretch_begin(pass, after)),
                   .load = access_cycles(pass, tensor, after->first, after->level) -
                           load_credit(pass, source, before),
                   .value = source.clean ? NO_VALUE : value,
                   .cut = across || pass->plan->accesses[after->first].permanent});
}

static void add_loop(Pass *pass, const Stretch *before, const Stretch *stretch, uint32_t value) {
    GapSource source = source_of(pass, stretch->tensor, stretch->first);
    push_gap(pass, (SplitPoint){.tensor = stretch->tensor, .of_loop = true, .loop = stretch->loop},
             (Gap){.points = loop_points(pass, stretch),
                   .load = cost_inside(pass, stretch) - load_credit(pass, source, before),
                   .value = source.clean ? NO_VALUE : value});
}

/* Where a stretch must be on chip. */
static LiveRange stretch_points(Pass *pass, const Stretch *stretch) {
    const PlanAccess *first = &pass->plan->accesses[stretch->first];
    uint32_t begin = first->inst == ENTRY ? 0 : first->inst;
    if (stretch->loop == NO_LOOP) return one_interval(pass, begin, begin + 1);
    const Loop *loop = &pass->func->loops[stretch->loop];
    LiveRange range = pass->state->live.whole[stretch->tensor];
    Interval *items = RAW_ARRAY(&pass->scratch, Interval, range.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < range.count; i++) {
        Interval part = range.items[i];
        if (part.first < loop->first) part.first = loop->first;
        if (part.last >= loop->end) part.last = loop->end - 1;
        if (part.first <= part.last) items[count++] = part;
    }
    if (count == 0) /* no access finds a value, but each needs its place */
        return one_interval(pass, begin, pass->plan->accesses[stretch->end - 1].inst + 1);
    return (LiveRange){items, count};
}

/* Lists a stretch; `gap`: the one before it, NULL if there is none. */
static void list_stretch(Pass *pass, Stretch stretch, const Gap *gap) {
    stretch.points = stretch_points(pass, &stretch);
    if (gap && !gap->cut) {
        stretch.linked = true;
        stretch.gap = gap->points;
        stretch.load = gap->load;
        stretch.value = gap->value;
    }
    PUSH(&pass->scratch, pass->stretches, pass->nstretches, pass->stretch_capacity, stretch);
}

static Region moved_part(const Pass *pass, uint32_t tensor) {
    Region moved = {0};
    for (uint32_t a = pass->plan->first[tensor]; a < pass->plan->first[tensor + 1]; a++)
        if (!is_kill(pass, tensor, a))
            moved = region_hull(moved, access_part(pass->plan, tensor, a));
    const Tensor *info = &pass->func->tensors[tensor];
    return moved.p1 == 0 ? whole_region(info) : region_widened(info, moved);
}

/* Has the gaps of a tensor compete, or lists its stretches. */
static void add_tensor(Pass *pass, uint32_t tensor) {
    const Plan *plan = pass->plan;
    pass->moved = moved_part(pass, tensor);
    uint32_t value = NO_VALUE;
    Stretch last, *before = NULL;
    for (uint32_t a = plan->first[tensor]; a < plan->first[tensor + 1]; a = last.end) {
        Stretch stretch = next_stretch(pass, tensor, a);
        size_t gaps = pass->ngaps;
        if (before) add_gap(pass, before, &stretch, value);
        if (pass->listing)
            list_stretch(pass, stretch, pass->ngaps > gaps ? &pass->gaps[gaps] : NULL);
        else if (stretch.loop != NO_LOOP)
            add_loop(pass, before, &stretch, value);
        if (stretch_writes(pass, &stretch))
            value = add_store(pass, access_cycles(pass, tensor, a, stretch.level));
        last = stretch;
        before = &last;
    }
}

/* ---- what must be on chip ---- */

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

/* A tensor that stays on chip: it takes the band with the least area taken. */
static void take_whole(Pass *pass, uint32_t tensor, uint32_t *taken, uint64_t *area) {
    const Tensor *info = &pass->func->tensors[tensor];
    Bands bands = class_bands(shape_class(info->partitions, info->base));
    for (int64_t b = 0; b < info->blocks; b++) {
        LiveRange range = live_block(&pass->state->live, tensor, b);
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

/* A spill candidate at its accesses. Its band is open, so that each band bears a share. */
static void take_accesses(Pass *pass, uint32_t tensor, uint32_t *taken) {
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

static uint32_t *find_taken(Pass *pass) {
    const Func *func = pass->func;
    size_t count = ((size_t)func->ninsts + 1) * QUADRANTS;
    uint32_t *taken = NEW_ARRAY(&pass->scratch, uint32_t, count);
    uint64_t area[QUADRANTS] = {0};
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (func->tensors[t].space != SPACE_SB) continue;
        if (pass->plan->spillable[t])
            take_accesses(pass, t, taken);
        else
            take_whole(pass, t, taken, area);
    }
    for (size_t i = QUADRANTS; i < count; i++)
        taken[i] += taken[i - QUADRANTS]; /* changes, wrapped where they fall, become sums */
    for (uint32_t p = 0; p < func->ninsts; p++)
        for (int q = 0; q < QUADRANTS; q++)
            taken[(size_t)p * QUADRANTS + q] += pass->state->headroom.granules[p];
    return taken;
}

/* ---- one level of loops ---- */

/* Cuts in the plan what the solution cuts; true if that opens a loop. */
static bool carry_out(Pass *pass) {
    bool opened = false;
    for (size_t i = 0; i < pass->ngaps; i++) {
        if (!pass->gaps[i].cut) continue;
        SplitPoint split = pass->splits[i];
        if (split.of_loop) {
            PlanLoop *loop = plan_loop(pass->plan, split.tensor, split.loop);
            opened |= !loop->cut;
            plan_cut_loop(pass->plan, split.tensor, loop, false);
        } else {
            plan_cut_gap(pass->plan, split.tensor, split.access, false);
        }
    }
    return opened;
}

/* Where a value ends, the next needs no part of its storage: that cut is free if it cuts no loop.
 */
static void cut_at_kills(Pass *pass, uint32_t tensor) {
    Plan *plan = pass->plan;
    for (uint32_t a = plan->first[tensor] + 1; a < plan->first[tensor + 1]; a++)
        if (is_kill(pass, tensor, a) && plan->accesses[a - 1].inst != ENTRY &&
            loop_common(pass->func, plan->accesses[a - 1].loop, plan->accesses[a].loop) == NO_LOOP)
            plan_cut_gap(plan, tensor, a, false);
}

/* A value that each iteration defines again, and of which one copy serves all accesses, is never
 * spilled: closes the loops that were opened for it. */
static void reset_if_whole(Pass *pass, uint32_t tensor) {
    Plan *plan = pass->plan;
    uint32_t first = plan->first[tensor];
    if (!is_kill(pass, tensor, first) || plan->accesses[first].inst == ENTRY) return;
    for (uint32_t a = first; a < plan->first[tensor + 1]; a++)
        if (plan->accesses[a].cut) return;
    plan_uncut_all(plan, tensor);
}

static void close_all(Pass *pass) {
    for (uint32_t t = 0; t < pass->func->ntensors; t++) {
        if (!pass->plan->spilled[t]) continue;
        cut_at_kills(pass, t);
        plan_close(pass->plan, t);
        reset_if_whole(pass, t);
    }
}

uint32_t residency_room(const State *state) {
    uint64_t size = state->facts->size;
    return (uint32_t)(size - size * state->method.percent / 100);
}

/* The first residency counts most; later ones differ little. */
static uint64_t steps_of(const State *state) {
    enum { FIRST = 30000000, LATER = 10000000 };
    return (state->rounds == 0 ? FIRST : LATER) * state->method.scale * state->method.length;
}

/* True if that opens a loop. */
static bool decide_level(Pass *pass) {
    arena_reset(&pass->scratch);
    pass->ngaps = pass->gap_capacity = pass->nsplits = pass->split_capacity = 0;
    pass->nstores = pass->store_capacity = 0;
    for (uint32_t t = 0; t < pass->func->ntensors; t++)
        if (pass->plan->spillable[t]) add_tensor(pass, t);
    GapProblem problem = {.gaps = pass->gaps,
                          .count = (uint32_t)pass->ngaps,
                          .store = pass->stores,
                          .nvalues = (uint32_t)pass->nstores,
                          .npoints = pass->func->ninsts,
                          .taken = find_taken(pass),
                          .size = residency_room(pass->state)};
    solve_gaps(&problem, steps_of(pass->state), &pass->scratch);
    return carry_out(pass);
}

/* Opened loops stay open; each level decides all gaps again. */
static void reset_gaps(Plan *plan) {
    for (uint32_t a = 0; a < plan->first[plan->func->ntensors]; a++)
        plan->accesses[a].cut = plan->accesses[a].permanent;
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spilled[t]) plan_note_spilled(plan, t);
}

void residency(State *state) {
    Plan *plan = &state->plan;
    assert(plan->func == state->facts->func);
    Pass pass = {.state = state, .plan = plan, .func = plan->func};
    plan_reset(plan);
    plan_close_all(plan);
    bool opened = true;
    for (int level = 0; opened && level < MOST_LEVELS; level++) {
        if (level > 0) reset_gaps(plan);
        opened = decide_level(&pass);
        plan_close_all(plan);
    }
    close_all(&pass);
    arena_free(&pass.scratch);
}

Stretches list_stretches(State *state) {
    Plan *plan = &state->plan;
    assert(plan_is_closed(plan));
    Pass pass = {.state = state,
                 .plan = plan,
                 .func = plan->func,
                 .scratch = state->memory,
                 .listing = true};
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spillable[t] && plan->func->tensors[t].blocks == 1) add_tensor(&pass, t);
    state->memory = pass.scratch;
    return (Stretches){pass.stretches, (uint32_t)pass.nstretches, pass.stores,
                       (uint32_t)pass.nstores};
}
