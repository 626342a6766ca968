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
    Arena *arena, *scratch;
} Resort;

static bool must_stay(const Resort *resort, uint32_t tensor) {
    const Tensor *info = &resort->func->tensors[tensor];
    return info->space == SPACE_SB && (info->fixed || info->pin || info->output) &&
           resort->live.whole[tensor].count > 0;
}

static void record_places(Resort *resort, uint32_t tensor, const Rect *rects) {
    Tensor *info = &resort->func->tensors[tensor];
    Place *places = RAW_ARRAY(resort->arena, Place, (size_t)info->blocks);
    for (int64_t b = 0; b < info->blocks; b++)
        places[b] = place_at(rects[b].low, rects[b].mask);
    info->at = places;
}

static void note_taken(Resort *resort, uint32_t tensor) {
    const Tensor *info = &resort->func->tensors[tensor];
    for (int64_t b = 0; b < info->blocks; b++) {
        Rect rect = tensor_rect(info, info->at[b]);
        PUSH(resort->scratch, resort->taken, resort->ntaken, resort->taken_capacity, rect);
        size_t count = resort->ntaken - 1;
        PUSH(resort->scratch, resort->owner, count, resort->owner_capacity, tensor);
    }
}

/* What stays and is live where `range` is, sorted by first granule, with room for `more`. */
static Rect *conflicts(Resort *resort, LiveRange range, size_t more, uint32_t *count,
                       Arena *scratch) {
    Rect *rects = RAW_ARRAY(scratch, Rect, resort->ntaken + more);
    SortKey *order = RAW_ARRAY(scratch, SortKey, resort->ntaken);
    *count = 0;
    for (uint32_t i = 0; i < resort->ntaken; i++)
        if (live_overlap(range, resort->live.whole[resort->owner[i]]))
            order[(*count)++] = (SortKey){resort->taken[i].low, i};
    sort_keys(order, *count, scratch);
    for (uint32_t i = 0; i < *count; i++)
        rects[i] = resort->taken[order[i].id];
    return rects;
}

/* First-fit of all blocks of a tensor among sorted rectangles, to which they are added. */
static bool fit_blocks(Resort *resort, uint32_t tensor, Rect *rects, uint32_t *count, Rect *fits) {
    const Tensor *info = &resort->func->tensors[tensor];
    Shape shape = {.height = tensor_height(info),
                   .align = tensor_align(info),
                   .class = shape_class(info->partitions, info->base)};
    for (int64_t b = 0; b < info->blocks; b++) {
        if (!first_fit(rects, *count, shape, resort->size, &fits[b])) return false;
        insert_by_low(rects, (*count)++, fits[b]);
    }
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

/* The exact search for the blocks of some tensors beside `nfixed` items at the front of `items`,
 * which has room for all. They are live in `range`, or each in its own where that is NULL. */
static PackStatus search(Resort *resort, PackItem *items, uint32_t nfixed, const uint32_t *tensors,
                         uint32_t count, const LiveRange *range) {
    PackProblem problem = {items, nfixed, resort->size};
    for (uint32_t i = 0; i < count; i++) {
        const Tensor *info = &resort->func->tensors[tensors[i]];
        PackItem item = {.class = shape_class(info->partitions, info->base),
                         .height = tensor_height(info),
                         .align = tensor_align(info),
                         .range = range ? *range : resort->live.whole[tensors[i]]};
        for (int64_t b = 0; b < info->blocks; b++)
            items[problem.count++] = item;
    }
    uint64_t used;
    PackStatus status =
        pack(&problem, (PackOptions){.steps = SEARCH_STEPS, .seed = 1}, resort->scratch, &used);
    if (status != PACK_FOUND) return status;
    const PackItem *next = items + nfixed;
    for (uint32_t i = 0; i < count; i++) {
        int64_t blocks = resort->func->tensors[tensors[i]].blocks;
        Rect *fits = RAW_ARRAY(resort->scratch, Rect, (size_t)blocks);
        for (int64_t b = 0; b < blocks; b++, next++)
            fits[b] = (Rect){next->offset, next->offset + next->height, next->band};
        record_places(resort, tensors[i], fits);
    }
    return status;
}

static size_t count_blocks(const Resort *resort, const uint32_t *tensors, uint32_t count) {
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += (size_t)resort->func->tensors[tensors[i]].blocks;
    return total;
}

/* ---- what stays ---- */

/* All that stays at once, when stacking has failed. */
static PackStatus search_what_stays(Resort *resort) {
    uint32_t *free_ones = RAW_ARRAY(resort->scratch, uint32_t, resort->func->ntensors);
    uint32_t count = 0;
    resort->ntaken = 0;
    for (uint32_t t = 0; t < resort->func->ntensors; t++) {
        if (!must_stay(resort, t)) continue;
        if (resort->func->tensors[t].fixed)
            note_taken(resort, t);
        else
            free_ones[count++] = t;
    }
    uint32_t nfixed = (uint32_t)resort->ntaken;
    PackItem *items =
        NEW_ARRAY(resort->scratch, PackItem, nfixed + count_blocks(resort, free_ones, count));
    for (uint32_t i = 0; i < nfixed; i++)
        items[i] = fixed_item(resort->taken[i], resort->live.whole[resort->owner[i]]);
    PackStatus status = search(resort, items, nfixed, free_ones, count, NULL);
    for (uint32_t i = 0; status == PACK_FOUND && i < count; i++)
        note_taken(resort, free_ones[i]);
    return status;
}

/* Fixed tensors first, then pinned ones and outputs in order of declaration, each as low as it
 * goes. */
static PackStatus place_what_stays(Resort *resort) {
    Func *func = resort->func;
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (must_stay(resort, t) && func->tensors[t].fixed) note_taken(resort, t);
    Arena scratch;
    arena_init(&scratch);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (!must_stay(resort, t) || func->tensors[t].fixed) continue;
        size_t blocks = (size_t)func->tensors[t].blocks;
        uint32_t count;
        Rect *rects = conflicts(resort, resort->live.whole[t], blocks, &count, &scratch);
        Rect *fits = RAW_ARRAY(&scratch, Rect, blocks);
        if (!fit_blocks(resort, t, rects, &count, fits)) {
            arena_free(&scratch);
            return search_what_stays(resort);
        }
        record_places(resort, t, fits);
        note_taken(resort, t);
        arena_reset(&scratch);
    }
    arena_free(&scratch);
    return PACK_FOUND;
}

/* ---- copies ---- */

/* The points at which any of the tensors is live, from the first to the last. */
static LiveRange hull(const Resort *resort, const uint32_t *tensors, uint32_t count,
                      Interval *hull_interval) {
    *hull_interval = (Interval){UINT32_MAX, 0};
    for (uint32_t i = 0; i < count; i++) {
        LiveRange range = resort->live.whole[tensors[i]];
        if (range.count == 0) continue;
        if (range.items[0].first < hull_interval->first)
            hull_interval->first = range.items[0].first;
        if (range.items[range.count - 1].last > hull_interval->last)
            hull_interval->last = range.items[range.count - 1].last;
    }
    return (LiveRange){hull_interval, hull_interval->first <= hull_interval->last ? 1u : 0u};
}

/* First-fit of the copies of one instruction, which are all needed at once; `above`: only above all
 * that stays, as literal stacking has it. */
static bool stack_group(Resort *resort, const uint32_t *tensors, uint32_t count, const Rect *stays,
                        uint32_t nstays, bool above, size_t total, Arena *scratch) {
    Rect *rects = RAW_ARRAY(scratch, Rect, nstays + total);
    uint32_t nrects = 0, top = 0;
    for (uint32_t i = 0; i < nstays; i++) {
        rects[nrects++] = stays[i];
        if (stays[i].high > top) top = stays[i].high;
    }
    if (above && top > 0) {
        rects[0] = (Rect){0, top, 0xF};
        nrects = 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        Rect *fits = RAW_ARRAY(scratch, Rect, (size_t)resort->func->tensors[tensors[i]].blocks);
        if (!fit_blocks(resort, tensors[i], rects, &nrects, fits)) return false;
        record_places(resort, tensors[i], fits);
    }
    return true;
}

static PackStatus place_group(Resort *resort, const uint32_t *tensors, uint32_t count) {
    Arena scratch;
    arena_init(&scratch);
    Interval interval;
    LiveRange range = hull(resort, tensors, count, &interval);
    size_t total = count_blocks(resort, tensors, count);
    uint32_t nstays;
    Rect *stays = conflicts(resort, range, 0, &nstays, &scratch);
    PackStatus status = PACK_FOUND;
    if (range.count > 0 &&
        !stack_group(resort, tensors, count, stays, nstays, false, total, &scratch) &&
        !stack_group(resort, tensors, count, stays, nstays, true, total, &scratch)) {
        PackItem *items = NEW_ARRAY(&scratch, PackItem, nstays + total);
        for (uint32_t i = 0; i < nstays; i++)
            items[i] = fixed_item(stays[i], range);
        status = search(resort, items, nstays, tensors, count, &range);
    }
    arena_free(&scratch);
    return status;
}

/* Copies in order of the instruction that they serve, those of entry first. */
static SortKey *copies_by_inst(const Resort *resort, const Plan *plan, uint32_t *count) {
    const Rewritten *result = resort->result;
    SortKey *copies = RAW_ARRAY(resort->scratch, SortKey, resort->func->ntensors);
    *count = 0;
    for (uint32_t t = 0; t < resort->func->ntensors; t++) {
        uint32_t origin = result->origin[t];
        bool entry = result->role[t] == ROLE_KEPT && plan->spilled[origin];
        if (result->role[t] != ROLE_COPY && !entry) continue;
        uint64_t key = entry ? 0 : (uint64_t)plan->accesses[result->first_access[t]].inst + 1;
        copies[(*count)++] = (SortKey){key, t};
    }
    sort_keys(copies, *count, resort->scratch);
    return copies;
}

/* True if the live ranges see a copy live beyond the code around its instruction: where an index or
 * a condition hides that its value does not go round a loop. */
static bool is_long(const Resort *resort, const uint32_t *group, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        LiveRange range = resort->live.whole[group[i]];
        if (range.count > 1 ||
            (range.count == 1 && range.items[0].last - range.items[0].first > 4 * count + 4))
            return true;
    }
    return false;
}

/* Copies of one instruction after the other. Groups with long ranges come first and keep others
 * away where there is room for that, so that the result passes for placed by its live ranges too.
 */
static Everywhere place_copies(Resort *resort, const Plan *plan) {
    uint32_t count;
    SortKey *copies = copies_by_inst(resort, plan, &count);
    uint32_t *group = RAW_ARRAY(resort->scratch, uint32_t, count);
    size_t staying = resort->ntaken;
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < count;) {
            uint32_t size = 0, first = i;
            for (; i < count && copies[i].key == copies[first].key; i++)
                group[size++] = copies[i].id;
            bool lasting = copies[first].key == 0 || is_long(resort, group, size);
            if (lasting != (turn == 0)) continue;
            PackStatus status = place_group(resort, group, size);
            if (status != PACK_FOUND && resort->ntaken > staying) {
                size_t all = resort->ntaken;
                resort->ntaken = staying;
                status = place_group(resort, group, size);
                resort->ntaken = all;
            }
            if (status != PACK_FOUND)
                return (Everywhere){.inst = (uint32_t)(copies[first].key - 1),
                                    .proved = status == PACK_IMPOSSIBLE};
            for (uint32_t g = 0; lasting && g < size; g++)
                note_taken(resort, group[g]);
        }
    return (Everywhere){.placed = true};
}

/* The instruction at which what stays takes most. */
static uint32_t fullest_point(const Resort *resort) {
    const Func *func = resort->func;
    int64_t *change = NEW_ARRAY(resort->scratch, int64_t, (size_t)func->ninsts + 1);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (!must_stay(resort, t)) continue;
        LiveRange range = resort->live.whole[t];
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
    Resort resort = {.result = result,
                     .func = result->func,
                     .size = target_granules(target),
                     .arena = arena,
                     .scratch = &scratch};
    resort.live = live_range(result->func, arena);
    PackStatus status = place_what_stays(&resort);
    Everywhere outcome;
    if (status == PACK_FOUND) {
        outcome = place_copies(&resort, plan);
    } else {
        uint32_t point = fullest_point(&resort);
        while (result->origin_inst[point] == INSERTED && point + 1 < result->func->ninsts)
            point++;
        outcome =
            (Everywhere){.inst = result->origin_inst[point], .proved = status == PACK_IMPOSSIBLE};
    }
    arena_free(&scratch);
    return outcome;
}
