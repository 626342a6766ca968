#include "spill/everywhere.h"

#include "place/first_fit.h"
#include "support/sort.h"

static const uint64_t SEARCH_STEPS = 2000000;

typedef struct {
    Rewritten *result;
    Func *func;
    Live live;
    uint32_t size;   /* granules of the byte axis */
    Rect *taken;     /* of what stays: places in order of declaration */
    uint32_t *owner; /* [ntaken] the tensor of each */
    size_t ntaken, taken_capacity, owner_capacity;
    size_t nfixed; /* of those, at places that the input gives */
    Arena *arena, *scratch;
} Pass;

/* Tensors that are placed together. */
typedef struct {
    const uint32_t *tensors;
    uint32_t count;
} Group;

static bool must_stay(const Pass *pass, uint32_t tensor) {
    const Tensor *info = &pass->func->tensors[tensor];
    return info->space == SPACE_SB && tensor_stays(info) && pass->live.whole[tensor].count > 0;
}

static void record_places(Pass *pass, uint32_t tensor, const Rect *rects) {
    Tensor *info = &pass->func->tensors[tensor];
    Place *places = RAW_ARRAY(pass->arena, Place, (size_t)info->blocks);
    for (int64_t b = 0; b < info->blocks; b++)
        places[b] = place_at(rects[b].low, rects[b].mask);
    info->at = places;
}

static void note_taken(Pass *pass, uint32_t tensor) {
    const Tensor *info = &pass->func->tensors[tensor];
    for (int64_t b = 0; b < info->blocks; b++) {
        Rect rect = tensor_rect(info, info->at[b]);
        PUSH(pass->scratch, pass->taken, pass->ntaken, pass->taken_capacity, rect);
        size_t count = pass->ntaken - 1;
        PUSH(pass->scratch, pass->owner, count, pass->owner_capacity, tensor);
    }
}

/* What stays and is live where `range` is, sorted by first granule, with room for `more`. */
static Rect *conflicts(Pass *pass, LiveRange range, size_t more, uint32_t *count, Arena *scratch) {
    Rect *rects = RAW_ARRAY(scratch, Rect, pass->ntaken + more);
    SortKey *order = RAW_ARRAY(scratch, SortKey, pass->ntaken);
    *count = 0;
    for (uint32_t i = 0; i < pass->ntaken; i++)
        if (live_overlap(range, pass->live.whole[pass->owner[i]]))
            order[(*count)++] = (SortKey){pass->taken[i].low, i};
    sort_keys(order, *count, scratch);
    for (uint32_t i = 0; i < *count; i++)
        rects[i] = pass->taken[order[i].id];
    return rects;
}

/* First-fit of all blocks of a tensor among sorted rectangles, to which they are added. */
static bool fit_blocks(Pass *pass, uint32_t tensor, Rect *rects, uint32_t *count, Rect *fits) {
    const Tensor *info = &pass->func->tensors[tensor];
    Shape shape = {.height = tensor_height(info),
                   .align = tensor_align(info),
                   .class = shape_class(info->partitions, info->base)};
    RectList taken = {rects, *count}, all = {fits, (uint32_t)info->blocks};
    if (!first_fit_all(&taken, shape, pass->size, &all)) return false;
    uint32_t left = *count, at = *count += all.count; /* both lists ascend */
    for (uint32_t b = all.count; b > 0; at--)
        rects[at - 1] =
            left > 0 && rects[left - 1].low > fits[b - 1].low ? rects[--left] : fits[--b];
    return true;
}

static PackItem fixed_item(Rect rect, LiveRange range) {
    return (PackItem){.class = CLASS_FULL,
                      .height = rect.high - rect.low,
                      .align = 1,
                      .range = range,
                      .fixed = true,
                      .band = rect.mask,
                      .offset = rect.low};
}

static void add_items(const Pass *pass, uint32_t tensor, LiveRange range, PackProblem *problem) {
    const Tensor *info = &pass->func->tensors[tensor];
    PackItem item = {.class = shape_class(info->partitions, info->base),
                     .height = tensor_height(info),
                     .align = tensor_align(info),
                     .range = range};
    for (int64_t b = 0; b < info->blocks; b++)
        problem->items[problem->count++] = item;
}

/* The exact search for the blocks of some tensors, the last items of the problem. Records the
 * places that it finds. */
static PackStatus search(Pass *pass, PackProblem problem, uint32_t nfixed, Group group) {
    uint64_t used;
    PackStatus status =
        pack(&problem, (PackOptions){.steps = SEARCH_STEPS, .seed = 1}, pass->scratch, &used);
    if (status != PACK_FOUND) return status;
    const PackItem *next = problem.items + nfixed;
    for (uint32_t i = 0; i < group.count; i++) {
        int64_t blocks = pass->func->tensors[group.tensors[i]].blocks;
        Rect *fits = RAW_ARRAY(pass->scratch, Rect, (size_t)blocks);
        for (int64_t b = 0; b < blocks; b++, next++)
            fits[b] = (Rect){next->offset, next->offset + next->height, next->band};
        record_places(pass, group.tensors[i], fits);
    }
    return status;
}

static size_t count_blocks(const Pass *pass, Group group) {
    size_t total = 0;
    for (uint32_t i = 0; i < group.count; i++)
        total += (size_t)pass->func->tensors[group.tensors[i]].blocks;
    return total;
}

/* ---- what stays ---- */

/* All that stays at once, when stacking has failed. */
static PackStatus search_what_stays(Pass *pass) {
    uint32_t *free_ones = RAW_ARRAY(pass->scratch, uint32_t, pass->func->ntensors);
    uint32_t count = 0;
    pass->ntaken = 0;
    for (uint32_t t = 0; t < pass->func->ntensors; t++) {
        if (!must_stay(pass, t)) continue;
        if (pass->func->tensors[t].fixed)
            note_taken(pass, t);
        else
            free_ones[count++] = t;
    }
    Group group = {free_ones, count};
    uint32_t nfixed = (uint32_t)pass->ntaken;
    PackItem *items = NEW_ARRAY(pass->scratch, PackItem, nfixed + count_blocks(pass, group));
    for (uint32_t i = 0; i < nfixed; i++)
        items[i] = fixed_item(pass->taken[i], pass->live.whole[pass->owner[i]]);
    PackProblem problem = {items, nfixed, pass->size};
    for (uint32_t i = 0; i < count; i++)
        add_items(pass, free_ones[i], pass->live.whole[free_ones[i]], &problem);
    PackStatus status = search(pass, problem, nfixed, group);
    for (uint32_t i = 0; status == PACK_FOUND && i < count; i++)
        note_taken(pass, free_ones[i]);
    return status;
}

/* Fixed tensors first, then pinned ones and outputs in order of declaration, each as low as it
 * goes. */
static PackStatus place_what_stays(Pass *pass) {
    Func *func = pass->func;
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (must_stay(pass, t) && func->tensors[t].fixed) note_taken(pass, t);
    pass->nfixed = pass->ntaken;
    Arena scratch;
    arena_init(&scratch);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (!must_stay(pass, t) || func->tensors[t].fixed) continue;
        size_t blocks = (size_t)func->tensors[t].blocks;
        uint32_t count;
        Rect *rects = conflicts(pass, pass->live.whole[t], blocks, &count, &scratch);
        Rect *fits = RAW_ARRAY(&scratch, Rect, blocks);
        if (!fit_blocks(pass, t, rects, &count, fits)) {
            arena_free(&scratch);
            return search_what_stays(pass);
        }
        record_places(pass, t, fits);
        note_taken(pass, t);
        arena_reset(&scratch);
    }
    arena_free(&scratch);
    return PACK_FOUND;
}

/* ---- copies ---- */

/* The points from the first where any of the tensors is live to the last. */
static LiveRange hull(const Pass *pass, Group group, Interval *hull_interval) {
    *hull_interval = (Interval){UINT32_MAX, 0};
    for (uint32_t i = 0; i < group.count; i++) {
        LiveRange range = pass->live.whole[group.tensors[i]];
        if (range.count == 0) continue;
        if (range.items[0].first < hull_interval->first)
            hull_interval->first = range.items[0].first;
        if (range.items[range.count - 1].last > hull_interval->last)
            hull_interval->last = range.items[range.count - 1].last;
    }
    return (LiveRange){hull_interval, hull_interval->first <= hull_interval->last ? 1u : 0u};
}

/* First-fit of the copies of one instruction, which are all needed at once, among `nrects` sorted
 * rectangles, which it adds to. */
static bool fit_group(Pass *pass, Group group, Rect *rects, uint32_t nrects, Arena *scratch) {
    for (uint32_t i = 0; i < group.count; i++) {
        uint32_t tensor = group.tensors[i];
        Rect *fits = RAW_ARRAY(scratch, Rect, (size_t)pass->func->tensors[tensor].blocks);
        if (!fit_blocks(pass, tensor, rects, &nrects, fits)) return false;
        record_places(pass, tensor, fits);
    }
    return true;
}

/* First-fit beside what stays, else only above all that stays: literal stacking. */
static bool stack_group(Pass *pass, Group group, const Rect *stays, uint32_t nstays,
                        Arena *scratch) {
    Rect *rects = RAW_ARRAY(scratch, Rect, nstays + count_blocks(pass, group));
    uint32_t top = 0;
    for (uint32_t i = 0; i < nstays; i++) {
        rects[i] = stays[i];
        if (stays[i].high > top) top = stays[i].high;
    }
    if (fit_group(pass, group, rects, nstays, scratch)) return true;
    if (top > 0) rects[0] = (Rect){0, top, 0xF};
    return fit_group(pass, group, rects, top > 0, scratch);
}

static PackStatus place_group(Pass *pass, Group group) {
    Arena scratch;
    arena_init(&scratch);
    Interval interval;
    LiveRange range = hull(pass, group, &interval);
    uint32_t nstays;
    Rect *stays = conflicts(pass, range, 0, &nstays, &scratch);
    PackStatus status = PACK_FOUND;
    if (range.count > 0 && !stack_group(pass, group, stays, nstays, &scratch)) {
        PackItem *items = NEW_ARRAY(&scratch, PackItem, nstays + count_blocks(pass, group));
        for (uint32_t i = 0; i < nstays; i++)
            items[i] = fixed_item(stays[i], range);
        PackProblem problem = {items, nstays, pass->size};
        for (uint32_t i = 0; i < group.count; i++)
            add_items(pass, group.tensors[i], range, &problem);
        status = search(pass, problem, nstays, group);
    }
    arena_free(&scratch);
    return status;
}

/* Copies in order of the instruction that they serve, those of entry first. */
static SortKey *copies_by_inst(const Pass *pass, const Plan *plan, uint32_t *count) {
    const Rewritten *result = pass->result;
    SortKey *copies = RAW_ARRAY(pass->scratch, SortKey, pass->func->ntensors);
    *count = 0;
    for (uint32_t t = 0; t < pass->func->ntensors; t++) {
        uint32_t origin = result->origin[t];
        bool entry = result->role[t] == ROLE_KEPT && plan->spilled[origin];
        if (result->role[t] != ROLE_COPY && !entry) continue;
        uint64_t key = entry ? 0 : (uint64_t)plan->accesses[result->first_access[t]].inst + 1;
        copies[(*count)++] = (SortKey){key, t};
    }
    sort_keys(copies, *count, pass->scratch);
    return copies;
}

/* True if the live ranges show a copy live beyond the code around its instruction: an index or a
 * condition may hide that its value does not go round a loop. */
static bool is_long(const Pass *pass, Group group) {
    for (uint32_t i = 0; i < group.count; i++) {
        LiveRange range = pass->live.whole[group.tensors[i]];
        if (range.count > 1 ||
            (range.count == 1 && range.items[0].last - range.items[0].first > 4 * group.count + 4))
            return true;
    }
    return false;
}

/* Places the copies of one instruction after the other. Groups with long ranges come first and keep
 * others away where that is possible, so that the places are legal by the live ranges too. */
static Everywhere place_copies(Pass *pass, const Plan *plan) {
    uint32_t count;
    SortKey *copies = copies_by_inst(pass, plan, &count);
    uint32_t *group = RAW_ARRAY(pass->scratch, uint32_t, count);
    size_t staying = pass->ntaken;
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < count;) {
            uint32_t size = 0, first = i;
            for (; i < count && copies[i].key == copies[first].key; i++)
                group[size++] = copies[i].id;
            bool is_first = copies[first].key == 0 || is_long(pass, (Group){group, size});
            if (is_first != (turn == 0)) continue;
            PackStatus status = place_group(pass, (Group){group, size});
            if (status != PACK_FOUND && pass->ntaken > staying) {
                size_t all = pass->ntaken;
                pass->ntaken = staying;
                status = place_group(pass, (Group){group, size});
                pass->ntaken = all;
            }
            if (status != PACK_FOUND)
                return (Everywhere){.inst = (uint32_t)(copies[first].key - 1),
                                    .proved = status == PACK_IMPOSSIBLE && staying == pass->nfixed};
            for (uint32_t g = 0; is_first && g < size; g++)
                note_taken(pass, group[g]);
        }
    return (Everywhere){.placed = true};
}

/* The instruction at which what stays takes most. */
static uint32_t fullest_point(const Pass *pass) {
    const Func *func = pass->func;
    int64_t *change = NEW_ARRAY(pass->scratch, int64_t, (size_t)func->ninsts + 1);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (!must_stay(pass, t)) continue;
        LiveRange range = pass->live.whole[t];
        int64_t area = func->tensors[t].bytes * func->tensors[t].blocks;
        for (uint32_t i = 0; i < range.count; i++) {
            change[range.items[i].first] += area;
            change[range.items[i].last + 1] -= area;
        }
    }
    uint32_t fullest = 0;
    int64_t most = 0, sum = 0;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        sum += change[p];
        if (sum <= most) continue;
        most = sum;
        fullest = p;
    }
    return fullest;
}

Everywhere everywhere(Plan *plan, const Sources *sources, const Target *target, Arena *arena,
                      Rewritten *result) {
    Arena scratch;
    arena_init(&scratch);
    for (uint32_t t = 0; t < plan->func->ntensors; t++)
        if (plan->spillable[t]) plan_cut_all(plan, t);
    *result = rewrite(plan, sources, (RewriteOptions){.store_inputs = true}, arena);
    Pass pass = {.result = result,
                 .func = result->func,
                 .size = target_granules(target),
                 .arena = arena,
                 .scratch = &scratch};
    pass.live = live_range(result->func, arena);
    PackStatus status = place_what_stays(&pass);
    Everywhere outcome;
    if (status == PACK_FOUND) {
        outcome = place_copies(&pass, plan);
    } else {
        uint32_t point = fullest_point(&pass);
        while (result->origin_inst[point] == INSERTED && point + 1 < result->func->ninsts)
            point++;
        outcome =
            (Everywhere){.inst = result->origin_inst[point], .proved = status == PACK_IMPOSSIBLE};
    }
    arena_free(&scratch);
    return outcome;
}
