#include "spill/lodging.h"

#include "spill/choose_gaps.h"
#include "spill/lodge.h"

#include <string.h>

typedef struct {
    Plan *plan;
    const Rewritten *current;
    const Round *round;
    Stretches list;
    Lodger *items; /* stretches first, then blocks of nodes */
    uint32_t count;
    uint32_t *point_at; /* [points of the rewrite + 1] input points that stand before it */
    Arena *memory;
} Lodging;

static bool is_listed(const Lodging *pass, const bool *candidate, uint32_t tensor) {
    return candidate[tensor] && pass->plan->func->tensors[tensor].blocks == 1;
}

static void add_stretch(Lodging *pass, const Stretch *stretch) {
    const Tensor *tensor = &pass->plan->func->tensors[stretch->tensor];
    pass->items[pass->count++] =
        (Lodger){.points = stretch->points,
                 .height = tensor_height(tensor),
                 .align = tensor_align(tensor),
                 .class = shape_class(tensor->partitions, tensor->base),
                 .linked = stretch->linked,
                 .kept = stretch->linked && !pass->plan->accesses[stretch->first].cut,
                 .gap = stretch->gap,
                 .load = stretch->load,
                 .value = stretch->value};
}

static void number_points(Lodging *pass) {
    const Func *func = pass->current->func;
    pass->point_at = NEW_ARRAY(pass->memory, uint32_t, (size_t)func->ninsts + 1);
    for (uint32_t p = 0; p < func->ninsts; p++)
        pass->point_at[p + 1] = pass->point_at[p] + (pass->current->origin_inst[p] != INSERTED);
}

/* A range of the rewrite in points of the input: what is live among inserted DMAs alone counts at
 * the next point. */
static LiveRange input_range(const Lodging *pass, LiveRange range) {
    Interval *items = RAW_ARRAY(pass->memory, Interval, range.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < range.count; i++) {
        uint32_t first = pass->point_at[range.items[i].first];
        uint32_t end = pass->point_at[range.items[i].last + 1];
        if (end <= first) { /* among inserted DMAs alone */
            first -= first == pass->plan->func->ninsts;
            end = first + 1;
        }
        if (count > 0 && items[count - 1].last + 1 >= first)
            items[count - 1].last = end - 1;
        else
            items[count++] = (Interval){first, end - 1};
    }
    return (LiveRange){items, count};
}

static void add_node(Lodging *pass, const Node *node) {
    for (uint32_t b = 0; b < node->blocks; b++) {
        LiveRange range = node_block_range(node, b);
        if (range.count == 0) continue;
        Lodger item = {.points = input_range(pass, range),
                       .height = node->height,
                       .align = node->align,
                       .class = node->class,
                       .fixed = node->fixed};
        if (node->fixed) {
            item.rect = node->rects[b];
            item.height = item.rect.high - item.rect.low;
        }
        pass->items[pass->count++] = item;
    }
}

/* Stretches, then the blocks of all nodes that are none. */
static void gather_items(Lodging *pass, const bool *candidate) {
    const Nodes *nodes = &pass->round->nodes;
    size_t most = pass->list.count;
    for (uint32_t n = 0; n < nodes->count; n++)
        most += nodes->items[n].blocks;
    pass->items = RAW_ARRAY(pass->memory, Lodger, most);
    for (uint32_t i = 0; i < pass->list.count; i++)
        add_stretch(pass, &pass->list.items[i]);
    for (uint32_t n = 0; n < nodes->count; n++)
        if (!is_listed(pass, candidate, pass->current->origin[nodes->items[n].tensor]))
            add_node(pass, &nodes->items[n]);
}

/* ---- carrying it out ---- */

/* Sets the gaps of the tensor whose stretches begin at `from`; returns where the next one's do.
 * Where a value ends, the next may stand elsewhere: that cut is free. */
static uint32_t cut_tensor(Lodging *pass, uint32_t from) {
    const Stretch *list = pass->list.items;
    uint32_t tensor = list[from].tensor, end = from;
    Plan *plan = pass->plan;
    for (; end < pass->list.count && list[end].tensor == tensor; end++)
        if (list[end].linked) plan->accesses[list[end].first].cut = !pass->items[end].kept;
    plan_note_spilled(plan, tensor);
    bool moved = false;
    for (uint32_t i = from + 1; i < end; i++)
        moved |= !rects_same(pass->items[i].rect, pass->items[i - 1].rect);
    for (uint32_t i = from + 1; i < end; i++)
        if (!list[i].linked && (moved || plan->spilled[tensor]))
            plan_cut_gap(plan, tensor, list[i].first, false);
    if (plan->spilled[tensor]) plan_close(plan, tensor);
    return end;
}

static Transfer note_places(Lodging *pass, const bool *candidate) {
    const Nodes *nodes = &pass->round->nodes;
    TransferList list = transfer_begin(pass->list.count + nodes->count, pass->memory);
    for (uint32_t i = 0; i < pass->list.count; i++) {
        const Stretch *stretch = &pass->list.items[i];
        if (pass->items[i].rect.mask)
            transfer_access(&list, stretch->tensor, stretch->first, &pass->items[i].rect);
    }
    const Lodger *next = pass->items + pass->list.count;
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        if (is_listed(pass, candidate, pass->current->origin[node->tensor])) continue;
        Rect *rects = RAW_ARRAY(pass->memory, Rect, node->blocks);
        bool all = true;
        for (uint32_t b = 0; b < node->blocks; b++) {
            bool lives = node_block_range(node, b).count > 0;
            rects[b] = (Rect){0, node->height, class_bands(node->class).masks[0]};
            if (lives) rects[b] = next++->rect;
            all &= rects[b].mask != 0;
        }
        if (all) transfer_node(&list, pass->current, node, rects);
    }
    return transfer_end(&list, pass->memory);
}

void search_jointly(State *state) {
    const Facts *facts = state->facts;
    rewrite_state(state);
    analyse_state(state);
    ResideOptions options = choice_options(state);
    Lodging pass = {.plan = &state->plan,
                    .current = &state->code,
                    .round = &state->now,
                    .memory = &state->memory};
    pass.list = list_stretches(facts, options, &state->plan, &state->memory);
    number_points(&pass);
    gather_items(&pass, options.candidate);
    LodgeProblem problem = {.items = pass.items,
                            .count = pass.count,
                            .store = pass.list.stores,
                            .nvalues = pass.list.nstores,
                            .npoints = facts->func->ninsts,
                            .size = facts->size,
                            .full = options.size == facts->size};
    lodge(&problem, (LodgeEffort){state->method.joint_steps * state->method.scale, facts->deadline}, &state->memory);
    for (uint32_t i = 0; i < pass.list.count;)
        i = cut_tensor(&pass, i);
    state->hints = note_places(&pass, options.candidate);
    state->hinted = true;
}
