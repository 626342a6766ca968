#include "driver/feasible.h"

#include "analysis/partners.h"
#include "analysis/pressure.h"
#include "driver/least_nodes.h"
#include "place/place.h"
#include "support/checked.h"
#include "support/sort.h"

/* ---- what is needed at the least ---- */

uint32_t infeasible_instruction(const Facts *facts) {
    Arena scratch;
    arena_init(&scratch);
    Nodes staying = renumber(facts->func, &facts->live, NULL, &scratch);
    clip_fixed(&staying, facts->size, &scratch);
    uint32_t point = UINT32_MAX;
    if (find_pressure(&staying, &scratch).peak > facts->size) { /* else all fits at once */
        share_fixed(&staying, &scratch);
        LeastNodes least = find_least_nodes(facts, &staying, &scratch);
        Pressure pressure = find_pressure(&least.nodes, &scratch);
        if (pressure.peak > facts->size) point = pressure.peak_point;
    }
    arena_free(&scratch);
    return point;
}

/* Adds those blocks of a node that are live at the point. */
static void add_blocks(PackProblem *problem, const Node *node, const Interval *point) {
    for (uint32_t b = 0; b < node->blocks; b++) {
        PackItem item = pack_item(node, b);
        if (item.height == 0 || !live_at(item.range, point->first)) continue;
        item.range = (LiveRange){point, 1};
        problem->items[problem->count++] = item;
    }
}

/* True if the items fit on each other in any order, each in all of the width. */
static bool surely_fits(const PackProblem *problem) {
    uint64_t sum = 0;
    bool fixed = false;
    for (uint32_t i = 0; i < problem->count; i++) {
        sum += problem->items[i].height + problem->items[i].align - 1;
        fixed |= problem->items[i].fixed;
    }
    return !fixed && sum <= problem->size;
}

/* The first point at which what must be there has no places. */
static uint32_t impossible_point(const LeastNodes *least, uint32_t size, Arena *scratch) {
    enum { STEPS = 200000, STEPS_OF_ALL = 100 * STEPS };
    const Nodes *nodes = &least->nodes;
    uint32_t staying = least->staying;
    PackItem *items = RAW_ARRAY(scratch, PackItem, nodes_blocks(nodes));
    Arena search;
    arena_init(&search);
    uint64_t left = STEPS_OF_ALL, used;
    uint32_t found = UINT32_MAX, next = staying;
    for (uint32_t p = 0; p < nodes->npoints && found == UINT32_MAX && left >= STEPS; p++) {
        PackProblem problem = {items, 0, size};
        Interval point = {p, p};
        for (uint32_t n = 0; n < staying; n++)
            add_blocks(&problem, &nodes->items[n], &point);
        for (; next < nodes->count && nodes->items[next].range.items[0].first == p; next++)
            add_blocks(&problem, &nodes->items[next], &point);
        if (surely_fits(&problem)) continue;
        PackOptions options = {.steps = STEPS, .seed = 1};
        if (pack(&problem, options, &search, &used) == PACK_IMPOSSIBLE) found = p;
        left -= used < left ? used : left;
        arena_reset(&search);
    }
    arena_free(&search);
    return found;
}

uint32_t impossible_instruction(const Facts *facts) {
    Arena scratch;
    arena_init(&scratch);
    Nodes staying = renumber(facts->func, &facts->live, NULL, &scratch);
    clip_fixed(&staying, facts->size, &scratch);
    LeastNodes least = find_least_nodes(facts, &staying, &scratch);
    uint32_t point = impossible_point(&least, facts->size, &scratch);
    arena_free(&scratch);
    return point;
}

bool may_need_less(const Facts *facts, uint32_t inst) {
    const Func *func = facts->func;
    if (inst != ENTRY && facts->dead && facts->dead[inst]) return true;
    Arena scratch;
    arena_init(&scratch);
    SameValues values = same_values_begin(func, &scratch);
    bool may = false;
    for (uint32_t t = 0; t < func->ntensors; t++)
        may |= values.copied[t] && tensor_stays(&func->tensors[t]);
    for (uint32_t o = 0; inst != ENTRY && o < func->insts[inst].ndst + func->insts[inst].nsrc; o++)
        may |= values.copied[func->insts[inst].operands[o].tensor];
    arena_free(&scratch);
    return may;
}

/* ---- what is told ---- */

/* A tensor that must be there, and how many of its blocks. */
typedef struct {
    uint32_t tensor;
    int64_t blocks;
    bool stays;      /* it is no operand: fixed, pinned, an output or an input at entry */
    uint32_t shares; /* 1 + the need before it whose place it may share; 0: none */
} Need;

typedef struct {
    const Func *func;
    Arena scratch;
    uint32_t *number; /* [ntensors] 1 + the tensor's need; 0: it has none */
    Need *needs;
    size_t count, capacity;
} Needs;

static void add_need(Needs *needs, uint32_t tensor, int64_t blocks, bool stays) {
    if (needs->number[tensor] > 0) {
        Need *need = &needs->needs[needs->number[tensor] - 1];
        int64_t sum = need->blocks + blocks, most = needs->func->tensors[tensor].blocks;
        need->blocks = sum < most ? sum : most;
        return;
    }
    Need need = {tensor, blocks, stays, 0};
    PUSH(&needs->scratch, needs->needs, needs->count, needs->capacity, need);
    needs->number[tensor] = (uint32_t)needs->count;
}

/* True if one of the operand's last few namesakes before it has the same blocks. `before[o]`: 1 +
 * the operand before o that names the same tensor; 0: there is none. */
static bool is_named_before(const Inst *inst, const uint32_t *before, uint32_t operand) {
    enum { MOST_COMPARED = 64 };
    uint32_t o = before[operand];
    for (int i = 0; i < MOST_COMPARED && o > 0; i++, o = before[o - 1])
        if (blocks_equal(inst->operands[o - 1].blocks, inst->operands[operand].blocks)) return true;
    return false;
}

/* Operands in the order written, each tensor once; blocks that two operands name alike count once.
 */
static void gather_operands(Needs *needs, const Inst *inst) {
    uint32_t *last = NEW_ARRAY(&needs->scratch, uint32_t, needs->func->ntensors);
    uint32_t *before = RAW_ARRAY(&needs->scratch, uint32_t, (size_t)inst->ndst + inst->nsrc);
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        const Operand *operand = &inst->operands[o];
        before[o] = last[operand->tensor];
        last[operand->tensor] = o + 1;
        if (needs->func->tensors[operand->tensor].space != SPACE_SB) continue;
        if (!is_named_before(inst, before, o))
            add_need(needs, operand->tensor, operand_most_blocks(needs->func, operand), false);
    }
}

static int64_t count_live(const Live *live, const Func *func, uint32_t tensor, uint32_t point) {
    int64_t blocks = 0;
    for (int64_t b = 0; b < func->tensors[tensor].blocks; b++)
        blocks += live_at(live_block(live, tensor, b), point);
    return blocks;
}

/* What is there whether the instruction names it or not: also blocks that it does not name. */
static void gather_what_stays(Needs *needs, const Live *live, uint32_t point, bool entry) {
    const Func *func = needs->func;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        bool stays = tensor_stays(tensor) || (entry && tensor->input);
        if (tensor->space != SPACE_SB || !stays || !live_at(live->whole[t], point)) continue;
        if (blocks_may_share(func, t)) continue;
        int64_t blocks = count_live(live, func, t, point);
        Need *need = needs->number[t] > 0 ? &needs->needs[needs->number[t] - 1] : NULL;
        if (!need)
            add_need(needs, t, blocks, true);
        else if (need->blocks < blocks)
            need->blocks = blocks;
    }
}

/* True if two tensors that stay could lie in one place as long as they live. */
static bool are_partners(const Needs *needs, const Live *live, uint32_t a, uint32_t b,
                         Arena *scratch) {
    Nodes nodes = renumber(needs->func, live, NULL, scratch);
    Handing handing = find_handing(needs->func, &nodes, scratch);
    Partners partners = find_partners(&handing, scratch);
    for (uint32_t i = 0; i < partners.count; i++) {
        uint32_t dst = nodes.items[partners.items[i].dst].tensor;
        uint32_t src = nodes.items[partners.items[i].src].tensor;
        if ((dst == a && src == b) || (dst == b && src == a)) return true;
    }
    return false;
}

/* The need before need i whose place it may share, plus 1; the last few are looked at. */
static uint32_t find_shared(const Needs *needs, const Live *live, SameValues *values, size_t i) {
    enum { MOST_COMPARED = 64 };
    uint32_t tensor = needs->needs[i].tensor, found = 0;
    if (!values->copied[tensor]) return 0;
    Arena scratch;
    arena_init(&scratch);
    for (size_t j = i; j-- > 0 && i - j <= MOST_COMPARED && found == 0;) {
        uint32_t other = needs->needs[j].tensor;
        if (needs->needs[j].shares > 0 || !may_share_place(values, tensor, other)) continue;
        bool stay = tensor_stays(&needs->func->tensors[tensor]) &&
                    tensor_stays(&needs->func->tensors[other]);
        if (!stay || are_partners(needs, live, tensor, other, &scratch)) found = (uint32_t)j + 1;
    }
    arena_free(&scratch);
    return found;
}

/* Copies may have given several one value: those take room once. */
static void find_sharers(Needs *needs, const Live *live, uint32_t inst) {
    SameValues values = same_values_begin(needs->func, &needs->scratch);
    while (values.next < inst)
        same_values_next(&values);
    for (size_t i = 0; i < needs->count && values.any; i++)
        needs->needs[i].shares = find_shared(needs, live, &values, i);
}

static int64_t need_bytes(const Needs *needs, const Need *need) {
    return saturating_mul(need->blocks, needs->func->tensors[need->tensor].bytes);
}

static void load_band(int64_t *loads, uint8_t mask, int64_t bytes) {
    for (int q = 0; q < QUADRANTS; q++)
        if (mask & (1 << q)) loads[q] = saturating_add(loads[q], bytes);
}

static int64_t band_load(const int64_t *loads, uint8_t mask) {
    int64_t most = 0;
    for (int q = 0; q < QUADRANTS; q++)
        if ((mask & (1 << q)) && loads[q] > most) most = loads[q];
    return most;
}

/* Bytes per partition in the fullest quadrant, when those that can choose go where least is: wide
 * ones first. */
static int64_t bytes_at_once(const Needs *needs) {
    int64_t loads[QUADRANTS] = {0};
    static const uint8_t most_bands[] = {1, 2, 4};
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < needs->count; i++) {
            const Tensor *tensor = &needs->func->tensors[needs->needs[i].tensor];
            Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
            if (bands.count != most_bands[turn] || needs->needs[i].shares > 0) continue;
            int64_t height = ceil_div(tensor->bytes, GRANULE) * GRANULE;
            if (bands.count == 1)
                load_band(loads, bands.masks[0], saturating_mul(height, needs->needs[i].blocks));
            for (int64_t b = 0; bands.count > 1 && b < needs->needs[i].blocks; b++) {
                uint8_t best = 0;
                for (uint8_t band = 1; band < bands.count; band++)
                    if (band_load(loads, bands.masks[band]) < band_load(loads, bands.masks[best]))
                        best = band;
                load_band(loads, bands.masks[best], height);
            }
        }
    return band_load(loads, 0xF);
}

/* What no placement can go below: the even share of all, or what one quadrant must hold. */
static int64_t least_at_once(const Needs *needs) {
    int64_t loads[QUADRANTS] = {0}, area = 0;
    for (size_t i = 0; i < needs->count; i++) {
        const Tensor *tensor = &needs->func->tensors[needs->needs[i].tensor];
        if (needs->needs[i].shares > 0) continue;
        Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
        int64_t height = ceil_div(tensor->bytes, GRANULE) * GRANULE;
        int64_t all = saturating_mul(height, needs->needs[i].blocks);
        area = saturating_add(area, saturating_mul(all, __builtin_popcount(bands.masks[0])));
        if (bands.count == 1) load_band(loads, bands.masks[0], all);
    }
    int64_t share = ceil_div(ceil_div(area, QUADRANTS), GRANULE) * GRANULE;
    int64_t most = band_load(loads, 0xF);
    return most > share ? most : share;
}

static Str why_there(const Needs *needs, const Need *need, Arena *arena) {
    const Tensor *tensor = &needs->func->tensors[need->tensor];
    const char *why = !need->stays     ? ""
                      : tensor->fixed  ? ", fixed and live here"
                      : tensor->pin    ? ", pinned and live here"
                      : tensor->output ? ", an output and live here"
                                       : ", an input";
    if (need->shares == 0) return str_format(arena, "%s", why);
    Str other = needs->func->tensors[needs->needs[need->shares - 1].tensor].name;
    return str_format(arena, "%s, can share the place of %%%.*s", why, STR_ARGS(other));
}

static void note_need(Needs *needs, const Need *need, Span span, DiagQueue *diags) {
    const Tensor *tensor = &needs->func->tensors[need->tensor];
    Str why = why_there(needs, need, &needs->scratch);
    int32_t first = tensor->at ? tensor->at[0].partition : tensor->base < 0 ? 0 : tensor->base;
    Bands bands = class_bands(shape_class(tensor->partitions, tensor->base));
    if (bands.count > 1 && !tensor->at)
        diag_note(diags, span, false, "  %%%.*s  %lld bytes, %lld partitions of any %s%.*s",
                  STR_ARGS(tensor->name), (long long)need_bytes(needs, need),
                  (long long)tensor->partitions, bands.count == 4 ? "quadrant" : "half",
                  STR_ARGS(why));
    else
        diag_note(diags, span, false, "  %%%.*s  %lld bytes, partitions %d-%lld%.*s",
                  STR_ARGS(tensor->name), (long long)need_bytes(needs, need), first,
                  (long long)(first + tensor->partitions - 1), STR_ARGS(why));
}

/* A note for each need in order; where there are many, for the largest ones, the largest first. */
static void note_needs(Needs *needs, Span span, DiagQueue *diags) {
    enum { MOST_NOTED = 20 };
    if (needs->count <= MOST_NOTED) {
        for (size_t i = 0; i < needs->count; i++)
            note_need(needs, &needs->needs[i], span, diags);
        return;
    }
    SortKey *order = RAW_ARRAY(&needs->scratch, SortKey, needs->count);
    for (size_t i = 0; i < needs->count; i++)
        order[i] = (SortKey){INT64_MAX - need_bytes(needs, &needs->needs[i]), (uint32_t)i};
    sort_keys(order, needs->count, &needs->scratch);
    int64_t bytes = 0;
    for (size_t i = 0; i < needs->count; i++)
        if (i < MOST_NOTED)
            note_need(needs, &needs->needs[order[i].id], span, diags);
        else
            bytes = saturating_add(bytes, need_bytes(needs, &needs->needs[order[i].id]));
    diag_note(diags, span, false, "  and %zu more, of %lld bytes", needs->count - MOST_NOTED,
              (long long)bytes);
}

static bool nothing_can_go(const Needs *needs) {
    for (size_t i = 0; i < needs->count; i++) {
        if (!tensor_stays(&needs->func->tensors[needs->needs[i].tensor])) return false;
    }
    return true;
}

static Shortage shortage_of(const Needs *needs, uint32_t inst, int64_t over, Arena *arena) {
    uint32_t *tensors = RAW_ARRAY(arena, uint32_t, needs->count);
    int64_t *blocks = RAW_ARRAY(arena, int64_t, needs->count);
    SortKey *order = RAW_ARRAY(arena, SortKey, needs->count);
    for (uint32_t i = 0; i < needs->count; i++)
        order[i] = (SortKey){UINT64_MAX - (uint64_t)need_bytes(needs, &needs->needs[i]), i};
    sort_keys(order, needs->count, arena);
    for (uint32_t i = 0; i < needs->count; i++) {
        tensors[i] = needs->needs[order[i].id].tensor;
        blocks[i] = needs->needs[order[i].id].blocks;
    }
    return (Shortage){tensors, blocks, (uint32_t)needs->count, over > 0 ? over : 0, inst};
}

Shortage report_infeasible(const Infeasible *what, DiagQueue *diags, Arena *arena) {
    const Func *func = what->func;
    uint32_t inst = what->inst;
    bool proved = what->proved;
    Needs needs = {.func = func};
    needs.number = NEW_ARRAY(&needs.scratch, uint32_t, func->ntensors);
    bool entry = inst == UINT32_MAX;
    if (!entry) gather_operands(&needs, &func->insts[inst]);
    gather_what_stays(&needs, what->live, entry ? 0 : inst, entry);
    if (!entry) find_sharers(&needs, what->live, inst);
    Span span = entry && needs.count > 0 ? func->tensors[needs.needs[0].tensor].span
                : entry                  ? func->span
                                         : func->insts[inst].span;
    int64_t bytes = bytes_at_once(&needs), usable = target_usable(what->target);
    if (bytes > usable && !proved) bytes = least_at_once(&needs);
    diag_error(diags, span, "couldn't allocate every tensor in SB and spilling can't help");
    const char *subject = entry ? "the inputs need" : "this instruction needs";
    if (bytes > usable)
        diag_note(diags, span, false,
                  "%s %lld bytes/partition at once, %lld are usable, %lld too few", subject,
                  (long long)bytes, (long long)usable, (long long)(bytes - usable));
    else
        diag_note(diags, span, false, "%s %lld bytes/partition at once, %lld are usable, but %s",
                  subject, (long long)bytes, (long long)usable,
                  proved ? "bands, alignment and fixed places leave no room for them"
                         : "found no placement within the budget of steps");
    if (nothing_can_go(&needs))
        diag_note(diags, span, false, "all of them are pinned, fixed or outputs");
    note_needs(&needs, span, diags);
    Shortage shortage = shortage_of(&needs, inst, bytes - usable, arena);
    arena_free(&needs.scratch);
    return shortage;
}
