#include "spill/joint/joint.h"

#include "place/first_fit.h"
#include "spill/joint/solve.h"
#include "spill/residency/residency.h"

#include <string.h>

typedef struct {
    State *state;
    Stretches list;
    JointSegment *items; /* those of the list first, then blocks of nodes */
    uint32_t count;
    uint32_t *point_at; /* [points of the rewrite + 1] input points before each */
} JointPass;

/* True if the segments of the tensor are in the list. */
static bool is_listed(const JointPass *pass, uint32_t tensor) {
    return pass->state->plan.spillable[tensor] &&
           pass->state->plan.func->tensors[tensor].blocks == 1;
}

/* The place that was found before, {0} where there is none: a copy that held a part of its block
 * may have had a smaller one than all of it needs. */
static Rect hinted_place(const Rect *hint, Shape shape) {
    Rect rect;
    return hint && fit_in_place(*hint, shape, &rect) ? rect : (Rect){0};
}

static void add_segment(JointPass *pass, const Stretch *stretch) {
    const Tensor *tensor = &pass->state->plan.func->tensors[stretch->tensor];
    const Rect *hint = transfer_find_access(&pass->state->hints, stretch->tensor, stretch->first);
    Shape shape = {tensor_height(tensor), tensor_align(tensor), 1,
                   shape_class(tensor->partitions, tensor->base)};
    pass->items[pass->count++] =
        (JointSegment){.points = stretch->points,
                       .height = shape.height,
                       .align = shape.align,
                       .class = shape.class,
                       .rect = hinted_place(hint, shape),
                       .linked = stretch->linked,
                       .kept = stretch->linked && !pass->state->plan.accesses[stretch->first].cut,
                       .gap = stretch->gap,
                       .load = stretch->load,
                       .value = stretch->value};
}

static void number_points(JointPass *pass) {
    const Func *func = pass->state->code.func;
    pass->point_at = NEW_ARRAY(&pass->state->memory, uint32_t, (size_t)func->ninsts + 1);
    for (uint32_t p = 0; p < func->ninsts; p++)
        pass->point_at[p + 1] = pass->point_at[p] + (pass->state->code.origin_inst[p] != INSERTED);
}

/* A range of the rewrite in points of the input: what is live among inserted DMAs alone counts at
 * the next point. */
static LiveRange input_range(const JointPass *pass, LiveRange range) {
    Interval *items = RAW_ARRAY(&pass->state->memory, Interval, range.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < range.count; i++) {
        uint32_t first = pass->point_at[range.items[i].first];
        uint32_t end = pass->point_at[range.items[i].last + 1];
        if (end <= first) { /* among inserted DMAs alone */
            first -= first == pass->state->plan.func->ninsts;
            end = first + 1;
        }
        if (count > 0 && items[count - 1].last + 1 >= first)
            items[count - 1].last = end - 1;
        else
            items[count++] = (Interval){first, end - 1};
    }
    return (LiveRange){items, count};
}

static void add_node(JointPass *pass, const Node *node) {
    const Rect *hints = transfer_find_node(&pass->state->hints, &pass->state->code, node);
    for (uint32_t b = 0; b < node->blocks; b++) {
        LiveRange range = node_block_range(node, b);
        if (range.count == 0) continue;
        JointSegment item = {.points = input_range(pass, range),
                             .height = node->height,
                             .align = node->align,
                             .class = node->class,
                             .fixed = node->fixed,
                             .rect = hinted_place(hints ? &hints[b] : NULL, shape_of(node))};
        if (node->fixed) {
            item.rect = node->rects[b];
            item.height = item.rect.high - item.rect.low;
        }
        pass->items[pass->count++] = item;
    }
}

/* The list, then the blocks of all other nodes. */
static void gather_items(JointPass *pass) {
    const Nodes *nodes = &pass->state->now.nodes;
    size_t most = pass->list.count;
    for (uint32_t n = 0; n < nodes->count; n++)
        most += nodes->items[n].blocks;
    pass->items = RAW_ARRAY(&pass->state->memory, JointSegment, most);
    for (uint32_t i = 0; i < pass->list.count; i++)
        add_segment(pass, &pass->list.items[i]);
    for (uint32_t n = 0; n < nodes->count; n++)
        if (!is_listed(pass, pass->state->code.origin[nodes->items[n].tensor]))
            add_node(pass, &nodes->items[n]);
}

/* ---- carrying it out ---- */

/* Sets the gaps of the tensor whose segments begin at `from`; returns where the next one's do.
 * Where a value ends, the next may be elsewhere: that cut is free. */
static uint32_t cut_tensor(JointPass *pass, uint32_t from) {
    const Stretch *list = pass->list.items;
    uint32_t tensor = list[from].tensor, end = from;
    Plan *plan = &pass->state->plan;
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

static Transfer note_places(JointPass *pass) {
    const Nodes *nodes = &pass->state->now.nodes;
    TransferList list = transfer_begin(pass->list.count + nodes->count, &pass->state->memory);
    for (uint32_t i = 0; i < pass->list.count; i++) {
        const Stretch *stretch = &pass->list.items[i];
        if (pass->items[i].rect.mask)
            transfer_access(&list, stretch->tensor, stretch->first, &pass->items[i].rect);
    }
    const JointSegment *next = pass->items + pass->list.count;
    for (uint32_t n = 0; n < nodes->count; n++) {
        const Node *node = &nodes->items[n];
        if (is_listed(pass, pass->state->code.origin[node->tensor])) continue;
        Rect *rects = RAW_ARRAY(&pass->state->memory, Rect, node->blocks);
        bool all = true;
        for (uint32_t b = 0; b < node->blocks; b++) {
            bool lives = node_block_range(node, b).count > 0;
            rects[b] = (Rect){0, node->height, class_bands(node->class).masks[0]};
            if (lives) rects[b] = next++->rect;
            all &= rects[b].mask != 0;
        }
        if (all) transfer_node(&list, &pass->state->code, node, rects);
    }
    return transfer_end(&list, &pass->state->memory);
}

void search_jointly(State *state) {
    const Facts *facts = state->facts;
    rewrite_state(state);
    analyse_state(state);
    JointPass pass = {.state = state, .list = list_stretches(state)};
    number_points(&pass);
    gather_items(&pass);
    JointProblem problem = {.items = pass.items,
                            .count = pass.count,
                            .store = pass.list.stores,
                            .nvalues = pass.list.nstores,
                            .npoints = facts->func->ninsts,
                            .size = facts->size,
                            .full = !state->hinted && residency_room(state) == facts->size,
                            .placed = state->hinted};
    const Method *method = &state->method;
    JointEffort effort = {method->joint_steps * method->scale * method->length, facts->deadline};
    solve_joint(&problem, effort, &state->memory);
    for (uint32_t i = 0; i < pass.list.count;)
        i = cut_tensor(&pass, i);
    state->hints = note_places(&pass);
    state->hinted = true;
}
