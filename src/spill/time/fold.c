#include "spill/time/fold.h"

#include <string.h>

#include "ir/build.h"
#include "ir/region.h"
#include "spill/conditions/conditions.h"
#include "spill/inserted.h"
#include "spill/parts.h"
#include "spill/time/cells.h"
#include "spill/time/classes.h"
#include "support/checked.h"
#include "support/search.h"
#include "support/sort.h"

/* Weight of an iteration in which a DMA must not run at all. */
#define FORBIDDEN (INT64_C(1) << 42)
enum { FEW = 4 /* conjunctions for the DMAs of one access */ };

typedef enum { EVENT_RELOAD, EVENT_STORE } EventKind;

/* A DMA of one block at one point. */
typedef struct {
    EventKind kind;
    uint32_t inst, operand; /* of the function: what it serves */
    uint32_t point;
    int64_t position;
    uint32_t source; /* a dram tensor, or NO_SOURCE: the home */
    uint32_t form;   /* the class whose form of the source's block it has; 0 for the home */
} Event;

/* Events that one place of the text stands for. */
typedef struct {
    uint32_t first, end; /* in Folder.order */
    Conditions conditions;
    Sides sides;
} EventGroup;

/* What may be inserted at one spot, in a list. */
typedef struct Inserted {
    Inst inst;
    struct Inserted *next;
} Inserted;

typedef struct {
    Inserted *head, *tail;
} InsertedList;

typedef struct {
    const Decided *decided;
    const Func *func;
    Arena *arena; /* of the result */
    Arena scratch;
    Arena probe;  /* of one question */
    bool *stored; /* [nvalues] some reload needs its home */
    /* Iterations that a condition can tell apart. */
    uint32_t *first_frame; /* [nloops + 1] into `frames` */
    uint32_t *frames;      /* by loop */
    uint32_t *sample_of;   /* [nframes] the first sample of a frame, among those of its loop */
    uint32_t *first_point; /* [ninsts + 1] into `points` */
    uint32_t *points;      /* by instruction, in order of time */
    Event *events;
    size_t nevents, event_capacity;
    uint32_t *order; /* events by group */
    EventGroup *groups;
    uint32_t ngroups;
    int64_t *home_first, *home_last; /* [ntensors] blocks stored; none where first > last */
    uint32_t *homes;                 /* [ntensors] of the result */
    InsertedList *before, *after;    /* [ninsts] */
    bool changed;                    /* gaps were cut to make the text simpler */
    bool *dropped;                   /* [ninsts] loads */
    const Condition **narrowed;      /* [ninsts] condition of loads that are narrowed */
    Builder build;
} Folder;

static const TimePoint *time_point(const Folder *folder, uint32_t point) {
    return &folder->decided->facts->timeline.points[point];
}

static bool is_resident(const Folder *folder, uint32_t cell) {
    return folder->decided->facts->gaps.resident[folder->decided->facts->cells.tensor[cell]];
}

/* ---- events ---- */

static void find_stored(Folder *folder) {
    const TimeGaps *gaps = &folder->decided->facts->gaps;
    folder->stored = NEW_ARRAY(&folder->scratch, bool, (size_t)gaps->nvalues + 1);
    for (uint32_t g = 0; g < gaps->count; g++)
        if (!folder->decided->kept[g] && gaps->gaps[g].source == NO_SOURCE)
            folder->stored[gaps->gaps[g].value] = true;
}

static void add_event(Folder *folder, Event event) {
    PUSH(&folder->scratch, folder->events, folder->nevents, folder->event_capacity, event);
}

/* The first class of the same place of the text with the same form. */
static uint32_t form_of(const Folder *folder, uint32_t class) {
    const GapClass *items = folder->decided->facts->classes.items;
    const Affine *forms = folder->decided->facts->sources;
    uint32_t form = class;
    while (form > 0 && share_place(&items[form - 1], &items[class]) && forms[form - 1].count > 0 &&
           affine_equal(forms[form - 1], forms[class]))
        form--;
    return form;
}

static void add_events_of(Folder *folder, uint32_t cell, int64_t *indices) {
    const Decided *decided = folder->decided;
    const Cells *cells = &decided->facts->cells;
    for (uint32_t a = cells->first[cell]; a < cells->first[cell + 1]; a++) {
        const CellAccess *access = &cells->accesses[a];
        uint32_t g = decided->facts->gaps.of[a], value = decided->facts->gaps.value_of[a];
        bool reload = g != UINT32_MAX && !decided->kept[g];
        bool store = value != UINT32_MAX && folder->stored[value];
        if (!reload && !store) continue;
        Event event = {.inst = time_point(folder, access->point)->inst,
                       .operand = access->operand,
                       .point = access->point,
                       .position = access_position(decided->facts, cell, a, indices),
                       .source = NO_SOURCE};
        if (store) {
            event.kind = EVENT_STORE;
            add_event(folder, event);
        }
        if (!reload) continue;
        event.kind = EVENT_RELOAD;
        event.source = decided->facts->gaps.gaps[g].source;
        if (event.source != NO_SOURCE) event.form = form_of(folder, decided->facts->classes.of[g]);
        add_event(folder, event);
    }
}

static void group_events(Folder *folder) {
    enum { KEYS = 4 };
    uint32_t count = (uint32_t)folder->nevents;
    uint64_t(*keys)[KEYS] = arena_raw(&folder->scratch, count, sizeof *keys);
    folder->order = RAW_ARRAY(&folder->scratch, uint32_t, count);
    folder->groups = NEW_ARRAY(&folder->scratch, EventGroup, count);
    for (uint32_t e = 0; e < count; e++) {
        const Event *event = &folder->events[e];
        folder->order[e] = e;
        keys[e][0] = event->point;
        keys[e][1] = (uint64_t)(event->source + 1) << 32 | event->form;
        keys[e][2] = (uint64_t)event->position;
        keys[e][3] = (uint64_t)event->inst << 17 | (uint64_t)event->kind << 16 | event->operand;
    }
    sort_rows(&keys[0][0], KEYS, folder->order, count, &folder->scratch);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *now = keys[folder->order[i]],
                       *before = i ? keys[folder->order[i - 1]] : NULL;
        if (!before || memcmp(now + 1, before + 1, 3 * sizeof *now) != 0)
            folder->groups[folder->ngroups++].first = i;
        folder->groups[folder->ngroups - 1].end = i + 1;
    }
}

/* ---- samples ---- */

/* A frame inside a run stands for many iterations: the first, one in the middle, and the last. */
static uint32_t samples_in(const Timeline *timeline, uint32_t frame) {
    for (; frame != NO_FRAME; frame = timeline->frames[frame].parent)
        if (timeline->frames[frame].low != timeline->frames[frame].high) return 3;
    return 1;
}

static void set_sample(const Timeline *timeline, uint32_t frame, uint32_t sample,
                       int64_t *indices) {
    for (; frame != NO_FRAME; frame = timeline->frames[frame].parent) {
        const Frame *info = &timeline->frames[frame];
        int64_t values[] = {info->low, info->low + (info->high - info->low) / 2, info->high};
        indices[info->loop] = values[sample];
    }
}

static void find_frames(Folder *folder) {
    const Timeline *timeline = &folder->decided->facts->timeline;
    uint32_t nloops = folder->func->nloops;
    folder->first_frame = NEW_ARRAY(&folder->scratch, uint32_t, (size_t)nloops + 2);
    folder->frames = RAW_ARRAY(&folder->scratch, uint32_t, timeline->nframes);
    folder->sample_of = RAW_ARRAY(&folder->scratch, uint32_t, timeline->nframes);
    uint32_t *samples = NEW_ARRAY(&folder->scratch, uint32_t, nloops);
    for (uint32_t f = 0; f < timeline->nframes; f++)
        folder->first_frame[timeline->frames[f].loop + 2]++;
    for (uint32_t l = 2; l <= nloops + 1; l++)
        folder->first_frame[l] += folder->first_frame[l - 1];
    for (uint32_t f = 0; f < timeline->nframes; f++) {
        uint32_t loop = timeline->frames[f].loop;
        folder->frames[folder->first_frame[loop + 1]++] = f;
        folder->sample_of[f] = samples[loop];
        samples[loop] += samples_in(timeline, f);
    }
}

static void find_points_of_insts(Folder *folder) {
    const Timeline *timeline = &folder->decided->facts->timeline;
    uint32_t ninsts = folder->func->ninsts;
    folder->first_point = NEW_ARRAY(&folder->scratch, uint32_t, (size_t)ninsts + 2);
    folder->points = RAW_ARRAY(&folder->scratch, uint32_t, timeline->npoints);
    for (uint32_t p = 0; p < timeline->npoints; p++)
        folder->first_point[timeline->points[p].inst + 2]++;
    for (uint32_t i = 2; i <= ninsts + 1; i++)
        folder->first_point[i] += folder->first_point[i - 1];
    for (uint32_t p = 0; p < timeline->npoints; p++)
        folder->points[folder->first_point[timeline->points[p].inst + 1]++] = p;
}

/* All iterations around an instruction, as samples of `sides`; labels are all unwanted. */
typedef struct {
    uint32_t count;
    int64_t *values;
    uint8_t *labels;
    int64_t *weights;
} Iterations;

static Iterations iterations_of(Folder *folder, uint32_t inst, const Sides *sides) {
    const Timeline *timeline = &folder->decided->facts->timeline;
    uint32_t loop = folder->func->insts[inst].loop;
    Arena *arena = &folder->probe;
    Iterations all = {.count = 1};
    uint32_t first = loop == NO_LOOP ? 0 : folder->first_frame[loop];
    uint32_t end = loop == NO_LOOP ? 0 : folder->first_frame[loop + 1];
    if (loop != NO_LOOP) {
        uint32_t last = folder->frames[end - 1];
        all.count = folder->sample_of[last] + samples_in(timeline, last);
    }
    all.values = NEW_ARRAY(arena, int64_t, (size_t)all.count * sides->count + 1);
    all.labels = NEW_ARRAY(arena, uint8_t, all.count);
    all.weights = RAW_ARRAY(arena, int64_t, all.count);
    for (uint32_t i = 0; i < all.count; i++)
        all.weights[i] = FORBIDDEN;
    int64_t *indices = NEW_ARRAY(arena, int64_t, folder->func->nloops);
    for (uint32_t i = first; i < end; i++) {
        uint32_t frame = folder->frames[i], sample = folder->sample_of[frame];
        uint32_t count = samples_in(timeline, frame);
        for (uint32_t k = 0; k < count; k++) {
            set_sample(timeline, frame, k, indices);
            for (uint32_t s = 0; s < sides->count; s++)
                all.values[(size_t)(sample + k) * sides->count + s] =
                    affine_value(sides->items[s], indices);
        }
    }
    return all;
}

static void label_point(const Folder *folder, Iterations *all, uint32_t point, SampleLabel label,
                        int64_t weight) {
    const Timeline *timeline = &folder->decided->facts->timeline;
    uint32_t frame = timeline->points[point].frame;
    uint32_t first = frame == NO_FRAME ? 0 : folder->sample_of[frame];
    uint32_t count = frame == NO_FRAME ? 1 : samples_in(timeline, frame);
    for (uint32_t i = first; i < first + count; i++) {
        all->labels[i] = (uint8_t)label;
        all->weights[i] = weight < MOST_CYCLES ? weight : MOST_CYCLES;
    }
}

static Samples samples_of(const Iterations *all, const Sides *sides) {
    return (Samples){sides->count, all->count, all->values, all->labels, all->weights};
}

/* ---- conditions of groups ---- */

static Sides sides_of(Folder *folder, uint32_t inst, uint32_t operand) {
    Sides sides = find_sides(folder->func, inst, operand, folder->arena);
    if (sides.count > MOST_FEATURES) sides.count = MOST_FEATURES;
    return sides;
}

/* A store may run where its write does, also if no reload needs it: the home has room for it. */
static void allow_stores(Folder *folder, const EventGroup *group, Iterations *all) {
    const Decided *decided = folder->decided;
    const Event *event = &folder->events[folder->order[group->first]];
    uint32_t tensor = folder->func->insts[event->inst].operands[event->operand].tensor;
    int64_t dma = part_dma(decided->facts->target, decided->facts->gaps.moved[tensor]);
    for (uint32_t i = folder->first_point[event->inst]; i < folder->first_point[event->inst + 1];
         i++)
        label_point(folder, all, folder->points[i], SAMPLE_UNWANTED,
                    saturating_mul(dma, point_trips(&decided->facts->timeline, folder->points[i])));
}

static bool is_covered(const Conditions *conditions, const int64_t *values) {
    for (uint32_t c = 0; c < conditions->count; c++) {
        bool holds = true;
        for (uint32_t l = 0; holds && l < conditions->items[c].count; l++) {
            const Literal *literal = &conditions->items[c].literals[l];
            holds = comparison_holds(values[literal->feature], literal->comparison, literal->bound);
        }
        if (holds) return true;
    }
    return false;
}

/* True if the group's conditions hold in some sample of a frame. */
static bool covers_some(Folder *folder, const EventGroup *group, uint32_t frame) {
    const Timeline *timeline = &folder->decided->facts->timeline;
    int64_t *indices = NEW_ARRAY(&folder->probe, int64_t, folder->func->nloops);
    int64_t *values = RAW_ARRAY(&folder->probe, int64_t, (size_t)group->sides.count + 1);
    uint32_t count = frame == NO_FRAME ? 1 : samples_in(timeline, frame);
    for (uint32_t k = 0; k < count; k++) {
        set_sample(timeline, frame, k, indices);
        for (uint32_t s = 0; s < group->sides.count; s++)
            values[s] = affine_value(group->sides.items[s], indices);
        if (is_covered(&group->conditions, values)) return true;
    }
    return false;
}

/* Cycles that cutting a kept gap costs. */
static int64_t cut_cost(const Folder *folder, const TimeGap *gap) {
    if (gap->source != NO_SOURCE || folder->stored[gap->value]) return gap->load;
    return saturating_add(gap->load, folder->decided->facts->gaps.store[gap->value]);
}

/* True if the gap could be cut by a reload of the group. */
static bool could_join(const Folder *folder, const Event *event, uint32_t g) {
    const Decided *decided = folder->decided;
    uint32_t class = decided->facts->classes.of[g];
    const GapClass *info = &decided->facts->classes.items[class];
    const TimeGap *gap = &decided->facts->gaps.gaps[g];
    return decided->kept[g] && info->inst == event->inst && info->operand == event->operand &&
           info->position == event->position && gap->source == event->source &&
           (gap->source == NO_SOURCE || form_of(folder, class) == event->form) &&
           !is_resident(folder, gap->cell);
}

/* The classes of the group's place in the text: [*first, *end). */
static void classes_of_place(const Folder *folder, const Event *event, uint32_t *first,
                             uint32_t *end) {
    const Classes *classes = &folder->decided->facts->classes;
    FIND_FIRST(*first, 0u, classes->count,
               classes->items[*first].inst > event->inst ||
                   (classes->items[*first].inst == event->inst &&
                    classes->items[*first].operand >= event->operand));
    *end = *first;
    while (*end < classes->count && classes->items[*end].inst == event->inst &&
           classes->items[*end].operand == event->operand)
        ++*end;
}

/* Reloads that do not fold run more often: the gaps that are kept there are cut. */
static bool cut_to_fold(Folder *folder, EventGroup *group, Iterations *all) {
    const Decided *decided = folder->decided;
    const Event *event = &folder->events[folder->order[group->first]];
    uint32_t first, end;
    classes_of_place(folder, event, &first, &end);
    uint32_t begin = first < end ? decided->facts->classes.items[first].first : 0;
    uint32_t last = first < end ? decided->facts->classes.items[end - 1].end : 0;
    for (uint32_t m = begin; m < last; m++) {
        uint32_t g = decided->facts->classes.members[m];
        const TimeGap *gap = &decided->facts->gaps.gaps[g];
        if (could_join(folder, event, g))
            label_point(folder, all, decided->facts->cells.accesses[gap->access].point,
                        SAMPLE_UNWANTED, cut_cost(folder, gap));
    }
    Samples samples = samples_of(all, &group->sides);
    group->conditions = find_conditions(&samples, FEW, true, folder->arena, &folder->probe);
    if (group->conditions.count == 0 || group->conditions.extra >= FORBIDDEN) return false;
    for (uint32_t m = begin; m < last; m++) {
        uint32_t g = decided->facts->classes.members[m];
        uint32_t point = decided->facts->cells.accesses[decided->facts->gaps.gaps[g].access].point;
        uint32_t frame = decided->facts->timeline.points[point].frame;
        if (!could_join(folder, event, g) || !covers_some(folder, group, frame)) continue;
        decided->kept[g] = false;
        folder->changed = true;
    }
    return true;
}

/* Reloads of one place that come from several tensors do not fold where those from one do: all come
 * from the home. */
static void lose_sources(Folder *folder, const Event *event) {
    const TimeFacts *facts = folder->decided->facts;
    uint32_t first, end;
    classes_of_place(folder, event, &first, &end);
    for (uint32_t c = first; c < end; c++)
        for (uint32_t m = facts->classes.items[c].first; m < facts->classes.items[c].end; m++) {
            TimeGap *gap = &facts->gaps.gaps[facts->classes.members[m]];
            if (gap->source == NO_SOURCE) continue;
            gap->source = NO_SOURCE;
            folder->changed = true;
        }
}

static bool find_group_conditions(Folder *folder, EventGroup *group) {
    const Event *event = &folder->events[folder->order[group->first]];
    group->sides = sides_of(folder, event->inst, event->operand);
    Iterations all = iterations_of(folder, event->inst, &group->sides);
    bool store = event->kind == EVENT_STORE;
    if (store) allow_stores(folder, group, &all);
    for (uint32_t i = group->first; i < group->end; i++)
        label_point(folder, &all, folder->events[folder->order[i]].point, SAMPLE_WANTED, 0);
    Samples samples = samples_of(&all, &group->sides);
    group->conditions = find_conditions(&samples, FEW, false, folder->arena, &folder->probe);
    if (group->conditions.count > 0) return true;
    if (!store && cut_to_fold(folder, group, &all)) return true;
    group->conditions =
        find_conditions(&samples, MOST_CONJUNCTIONS, store, folder->arena, &folder->probe);
    if (group->conditions.count > 0 && group->conditions.extra < FORBIDDEN) return true;
    if (!store) lose_sources(folder, event);
    return folder->changed; /* then all groups are found again */
}

/* The blocks that the stores of a group cover are the home's. */
static void widen_home(Folder *folder, const EventGroup *group) {
    const Timeline *timeline = &folder->decided->facts->timeline;
    const Event *event = &folder->events[folder->order[group->first]];
    const Operand *operand = &folder->func->insts[event->inst].operands[event->operand];
    const Blocks *blocks = operand->blocks;
    bool all = !blocks || blocks->kind == BLOCKS_ALL;
    uint32_t loop = folder->func->insts[event->inst].loop;
    int64_t *indices = NEW_ARRAY(&folder->probe, int64_t, folder->func->nloops);
    uint32_t first = loop == NO_LOOP ? 0 : folder->first_frame[loop];
    uint32_t end = loop == NO_LOOP ? 1 : folder->first_frame[loop + 1];
    for (uint32_t i = first; i < end; i++) {
        uint32_t frame = loop == NO_LOOP ? NO_FRAME : folder->frames[i];
        if (!covers_some(folder, group, frame)) continue;
        frame_first(timeline, frame, indices);
        int64_t block = event->position + (all ? 0 : affine_value(blocks->low, indices));
        if (block < folder->home_first[operand->tensor])
            folder->home_first[operand->tensor] = block;
        if (block > folder->home_last[operand->tensor]) folder->home_last[operand->tensor] = block;
    }
}

static bool find_conditions_of_all(Folder *folder) {
    uint32_t ntensors = folder->func->ntensors;
    folder->home_first = RAW_ARRAY(&folder->scratch, int64_t, ntensors);
    folder->home_last = RAW_ARRAY(&folder->scratch, int64_t, ntensors);
    for (uint32_t t = 0; t < ntensors; t++) {
        folder->home_first[t] = INT64_MAX;
        folder->home_last[t] = -1;
    }
    for (uint32_t i = 0; i < folder->ngroups; i++) {
        arena_reset(&folder->probe);
        EventGroup *group = &folder->groups[i];
        if (!find_group_conditions(folder, group)) return false;
        if (folder->events[folder->order[group->first]].kind == EVENT_STORE)
            widen_home(folder, group);
    }
    return true;
}

/* ---- instructions ---- */

static const Condition *condition_from(Folder *folder, const Sides *sides,
                                       const Conjunction *conjunction, const Condition *own) {
    uint32_t kept = own ? own->count : 0, count = kept + conjunction->count;
    if (count == 0) return NULL;
    Compare *compares = RAW_ARRAY(folder->arena, Compare, count);
    if (kept) memcpy(compares, own->compares, kept * sizeof *compares);
    for (uint32_t l = 0; l < conjunction->count; l++) {
        const Literal *literal = &conjunction->literals[l];
        compares[kept + l] =
            (Compare){sides->items[literal->feature],
                      affine_constant(folder->arena, literal->bound), literal->comparison};
    }
    Condition *condition = NEW(folder->arena, Condition);
    *condition = (Condition){compares, count};
    return condition;
}

static const Blocks *one_block(Folder *folder, const Tensor *tensor, Affine index) {
    if (tensor->blocks == 1) return NULL;
    Blocks *blocks = NEW(folder->arena, Blocks);
    *blocks = (Blocks){.kind = BLOCKS_ONE, .low = index};
    return blocks;
}

static uint32_t home_of(Folder *folder, uint32_t t) {
    if (folder->homes[t] == UINT32_MAX) {
        int64_t blocks = folder->home_last[t] - folder->home_first[t] + 1;
        folder->homes[t] = build_tensor(
            &folder->build, added_tensor(&folder->func->tensors[t], SPACE_DRAM, blocks));
    }
    return folder->homes[t];
}

static Affine block_of_event(Folder *folder, const Event *event) {
    const Blocks *blocks = folder->func->insts[event->inst].operands[event->operand].blocks;
    if (!blocks || blocks->kind == BLOCKS_ALL)
        return affine_constant(folder->arena, event->position);
    return shift_affine(folder->arena, blocks->low, event->position);
}

static void insert(Folder *folder, InsertedList *list, Inst inst) {
    Inserted *item = NEW(&folder->scratch, Inserted);
    item->inst = inst;
    if (list->tail)
        list->tail->next = item;
    else
        list->head = item;
    list->tail = item;
}

/* The part of each block that DMAs of the tensor name; NULL where that is all. */
static const Region *moved_region(const Folder *folder, uint32_t t) {
    const Region *moved = &folder->decided->facts->gaps.moved[t];
    return region_equal(*moved, whole_region(&folder->func->tensors[t])) ? NULL : moved;
}

/* The instruction of one conjunction of a group. */
static void insert_dma(Folder *folder, const EventGroup *group, const Conjunction *conjunction) {
    const Event *event = &folder->events[folder->order[group->first]];
    const Inst *served = &folder->func->insts[event->inst];
    uint32_t t = served->operands[event->operand].tensor;
    const Tensor *tensor = &folder->func->tensors[t];
    Affine block = block_of_event(folder, event);
    const Operand *own =
        &folder->decided->webs->facts.func->insts[event->inst].operands[event->operand];
    Operand sb = {.tensor = own->tensor, .blocks = one_block(folder, tensor, block)};
    Operand dram = {0};
    if (event->source == NO_SOURCE) {
        dram.tensor = home_of(folder, t);
        dram.blocks = one_block(folder, &folder->build.func.tensors[dram.tensor],
                                shift_affine(folder->arena, block, -folder->home_first[t]));
    } else {
        dram.tensor = event->source;
        dram.blocks = one_block(folder, &folder->func->tensors[event->source],
                                folder->decided->facts->sources[event->form]);
    }
    sb.region = dram.region = moved_region(folder, t);
    bool reload = event->kind == EVENT_RELOAD;
    SpillDma dma = {.kind = reload ? OP_LOAD : OP_SAVE,
                    .dst = reload ? sb : dram,
                    .src = reload ? dram : sb,
                    .condition = condition_from(folder, &group->sides, conjunction, NULL),
                    .served = served};
    insert(folder, reload ? &folder->before[event->inst] : &folder->after[event->inst],
           inserted_dma(dma, folder->arena));
}

static void insert_all(Folder *folder) {
    folder->before = NEW_ARRAY(&folder->scratch, InsertedList, folder->func->ninsts);
    folder->after = NEW_ARRAY(&folder->scratch, InsertedList, folder->func->ninsts);
    folder->homes = RAW_ARRAY(&folder->scratch, uint32_t, folder->func->ntensors);
    memset(folder->homes, 0xFF, folder->func->ntensors * sizeof *folder->homes);
    for (uint32_t i = 0; i < folder->ngroups; i++)
        for (uint32_t c = 0; c < folder->groups[i].conditions.count; c++)
            insert_dma(folder, &folder->groups[i], &folder->groups[i].conditions.items[c]);
}

/* ---- loads that nobody needs ---- */

/* True if what an access writes is read from its place, or stored. */
static bool is_needed(const Folder *folder, uint32_t cell, uint32_t access) {
    const Decided *decided = folder->decided;
    const Cells *cells = &decided->facts->cells;
    const CellAccess *info = &cells->accesses[access];
    uint32_t value = decided->facts->gaps.value_of[access];
    if (info->reads || folder->stored[value]) return true;
    uint32_t next = access + 1;
    if (next < cells->first[cell + 1] && decided->facts->gaps.of[next] != UINT32_MAX &&
        decided->kept[decided->facts->gaps.of[next]])
        return true;
    for (uint32_t r = time_point(folder, info->point)->run; r != NO_RUN;
         r = decided->facts->timeline.runs[r].parent) {
        const Run *run = &decided->facts->timeline.runs[r];
        if (next < cells->first[cell + 1] && cells->accesses[next].point < run->end) return false;
        uint32_t first = first_access_in_run(decided->facts, cell, r);
        uint32_t round = decided->facts->gaps.of[first];
        if (round != UINT32_MAX && decided->kept[round]) return true;
    }
    return false;
}

/* True if an access is one of the instruction at its point: what an input holds on entry stands at
 * the first point, whatever runs there. */
static bool is_of_its_point(const Folder *folder, uint32_t cell, const CellAccess *access) {
    const Inst *inst = &folder->func->insts[time_point(folder, access->point)->inst];
    return access->operand != ENTRY_OPERAND ||
           (inst->ndst > 0 &&
            inst->operands[0].tensor == folder->decided->facts->cells.tensor[cell]);
}

/* [npoints] points of loads whose value is needed: of any of their blocks. */
static bool *find_needed(Folder *folder) {
    const Cells *cells = &folder->decided->facts->cells;
    bool *needed = NEW_ARRAY(&folder->scratch, bool, folder->decided->facts->timeline.npoints);
    for (uint32_t c = 0; c < cells->ncells; c++)
        for (uint32_t a = cells->first[c]; a < cells->first[c + 1]; a++) {
            uint32_t point = cells->accesses[a].point;
            if (!cells->accesses[a].writes || !is_of_its_point(folder, c, &cells->accesses[a]))
                continue;
            needed[point] |=
                folder->func->tensors[cells->tensor[c]].output || is_needed(folder, c, a);
        }
    return needed;
}

static bool names_one_block(const Folder *folder, const Operand *operand) {
    return folder->func->tensors[operand->tensor].blocks == 1 ||
           (operand->blocks && operand->blocks->kind == BLOCKS_ONE);
}

/* Samples that a condition leaves out matter no more: true if some that were unwanted do. */
static bool leave_out(Iterations *all, const Sides *sides, const Conditions *conditions) {
    bool some = false;
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->labels[i] != SAMPLE_UNWANTED ||
            is_covered(conditions, &all->values[(size_t)i * sides->count]))
            continue;
        all->labels[i] = SAMPLE_EITHER;
        some = true;
    }
    return some;
}

/* Appends parts as long as they leave something out: else there would be more to append when the
 * result is read again. NULL if there are none. */
static const Condition *narrow_condition(Folder *folder, Iterations *all, const Sides *sides,
                                         const Condition *own) {
    enum { MANY = 8 };
    const Condition *condition = own;
    bool more = true;
    while (more && (!condition || condition->count < MANY)) {
        Samples samples = samples_of(all, sides);
        Conditions found = find_conditions(&samples, 1, true, folder->arena, &folder->probe);
        more = found.count == 1 && leave_out(all, sides, &found);
        if (more) condition = condition_from(folder, sides, &found.items[0], condition);
    }
    return condition == own ? NULL : condition;
}

/* A load of several blocks stays or goes as a whole. Of text that has spill code and is left as it
 * is, none goes but what nothing reads: what another row of the table has left would be less. */
static void narrow_load(Folder *folder, uint32_t inst, const bool *needed) {
    const uint32_t *points = folder->points + folder->first_point[inst];
    uint32_t count = folder->first_point[inst + 1] - folder->first_point[inst];
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < count; i++)
        wanted += needed[points[i]];
    folder->dropped[inst] = is_dead(folder->decided->facts, inst);
    if (folder->decided->settled) return;
    folder->dropped[inst] |= count > 0 && wanted == 0;
    const Inst *info = &folder->func->insts[inst];
    if (wanted == count || wanted == 0 || !names_one_block(folder, &info->operands[0])) return;
    arena_reset(&folder->probe);
    Sides sides = sides_of(folder, inst, 0);
    Iterations all = iterations_of(folder, inst, &sides);
    memset(all.labels, SAMPLE_EITHER, all.count);
    for (uint32_t i = 0; i < count; i++)
        label_point(folder, &all, points[i], needed[points[i]] ? SAMPLE_WANTED : SAMPLE_UNWANTED,
                    point_trips(&folder->decided->facts->timeline, points[i]));
    folder->narrowed[inst] = narrow_condition(folder, &all, &sides, info->condition);
}

static uint32_t web_of(const Folder *folder, uint32_t inst, uint32_t o) {
    return folder->decided->webs->facts.func->insts[inst].operands[o].tensor;
}

/* A read that never runs needs a write before it in the text all the same: the load stays. */
static void keep_first_loads(Folder *folder) {
    const Func *func = folder->decided->webs->facts.func;
    bool *written = NEW_ARRAY(&folder->scratch, bool, func->ntensors);
    uint32_t *load = NEW_ARRAY(&folder->scratch, uint32_t, func->ntensors); /* 1 + the first */
    uint32_t *early = NEW_ARRAY(&folder->scratch, uint32_t, func->ntensors);
    for (uint32_t i = 0; i < func->ninsts; i++) {
        const Inst *inst = &func->insts[i];
        for (const Inserted *item = folder->before[i].head; item; item = item->next)
            written[item->inst.operands[0].tensor] = true;
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            uint32_t t = web_of(folder, i, o);
            if ((o < inst->ndst && !inst->accumulate) || written[t]) continue;
            if (!load[t] && !early[t] && !func->tensors[t].input) early[t] = i + 1;
            if (!load[t]) continue;
            folder->dropped[load[t] - 1] = false;
            written[t] = true;
        }
        for (uint32_t o = 0; o < inst->ndst; o++) {
            uint32_t t = web_of(folder, i, o);
            if (!folder->dropped[i])
                written[t] = true;
            else if (!load[t] && !is_dead(folder->decided->facts, i))
                load[t] = i + 1;
        }
    }
    keep_later_writes(func, early, folder->dropped, &folder->scratch);
}

static void narrow_loads(Folder *folder) {
    uint32_t ninsts = folder->func->ninsts;
    folder->dropped = NEW_ARRAY(&folder->scratch, bool, ninsts);
    folder->narrowed = arena_alloc(&folder->scratch, ninsts, sizeof *folder->narrowed);
    const bool *needed = find_needed(folder);
    for (uint32_t i = 0; i < ninsts; i++) {
        const Inst *inst = &folder->func->insts[i];
        if (inst->kind == OP_LOAD && !inst->accumulate) narrow_load(folder, i, needed);
    }
    keep_first_loads(folder);
}

/* ---- the text ---- */

static void emit(Folder *folder, Inst inst, uint32_t origin, uint32_t *origins) {
    origins[build_inst(&folder->build, inst)] = origin;
}

static void emit_list(Folder *folder, const InsertedList *list, uint32_t *origins) {
    for (const Inserted *item = list->head; item; item = item->next)
        emit(folder, item->inst, INSERTED, origins);
}

static uint32_t count_inserted(const Folder *folder) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < folder->ngroups; i++)
        count += folder->groups[i].conditions.count;
    return count;
}

static void emit_inst(Folder *folder, uint32_t i, Rewritten *rewritten) {
    Inst inst = folder->decided->webs->facts.func->insts[i];
    emit_list(folder, &folder->before[i], rewritten->origin_inst);
    if (folder->narrowed[i]) inst.condition = folder->narrowed[i];
    if (!folder->dropped[i]) emit(folder, inst, i, rewritten->origin_inst);
    rewritten->removed += folder->dropped[i];
    emit_list(folder, &folder->after[i], rewritten->origin_inst);
}

static void emit_text(Folder *folder, Rewritten *rewritten) {
    const Func *func = folder->func;
    rewritten->origin_inst =
        RAW_ARRAY(folder->arena, uint32_t, (size_t)func->ninsts + count_inserted(folder));
    for (Walk walk = walk_begin(func); walk_next(&walk);) {
        if (walk.event == WALK_INST) emit_inst(folder, walk.inst, rewritten);
        build_walked(&folder->build, func, &walk);
    }
}

static void describe_tensors(Folder *folder, Rewritten *rewritten) {
    uint32_t own = folder->func->ntensors, count = rewritten->func->ntensors;
    const Webs *webs = folder->decided->webs;
    rewritten->origin = RAW_ARRAY(folder->arena, uint32_t, count);
    rewritten->role = NEW_ARRAY(folder->arena, uint8_t, count);
    rewritten->first_access = NEW_ARRAY(folder->arena, uint32_t, count);
    rewritten->end_access = NEW_ARRAY(folder->arena, uint32_t, count);
    for (uint32_t t = 0; t < webs->facts.func->ntensors; t++) {
        rewritten->origin[t] = webs->parent[t];
        rewritten->role[t] = t < own ? ROLE_KEPT : ROLE_COPY;
    }
    for (uint32_t t = 0; t < own; t++) {
        if (folder->homes[t] == UINT32_MAX) continue;
        rewritten->origin[folder->homes[t]] = t;
        rewritten->role[folder->homes[t]] = ROLE_HOME;
    }
}

/* Events, their groups and conditions. They are found again where that has cut gaps. */
static bool find_groups(Folder *folder) {
    const Cells *cells = &folder->decided->facts->cells;
    folder->nevents = folder->event_capacity = 0;
    folder->ngroups = 0;
    folder->changed = false;
    find_stored(folder);
    int64_t *indices = NEW_ARRAY(&folder->scratch, int64_t, folder->func->nloops);
    for (uint32_t c = 0; c < cells->ncells; c++)
        if (!is_resident(folder, c)) add_events_of(folder, c, indices);
    group_events(folder);
    return find_conditions_of_all(folder);
}

bool fold(const Decided *decided, Arena *arena, Rewritten *rewritten) {
    const Func *func = decided->facts->func;
    Folder folder = {.decided = decided, .func = func, .arena = arena};
    arena_init(&folder.scratch);
    arena_init(&folder.probe);
    find_frames(&folder);
    find_points_of_insts(&folder);
    bool folds;
    do
        folds = find_groups(&folder);
    while (folds && folder.changed);
    *rewritten = (Rewritten){0};
    if (folds) {
        build_begin(&folder.build, arena, func->name, func->meta, func->span);
        for (uint32_t t = 0; t < decided->webs->facts.func->ntensors; t++)
            build_tensor(&folder.build, decided->webs->facts.func->tensors[t]);
        insert_all(&folder);
        narrow_loads(&folder);
        emit_text(&folder, rewritten);
        rewritten->func = build_finish(&folder.build);
        describe_tensors(&folder, rewritten);
    }
    arena_free(&folder.scratch);
    arena_free(&folder.probe);
    return folds;
}

/* [ntensors of the input] tensors for which DMAs were inserted. */
static bool *find_spilled(const Rewritten *rewritten, Arena *arena) {
    const Func *func = rewritten->func;
    bool *spilled = NEW_ARRAY(arena, bool, func->ntensors);
    for (uint32_t i = 0; i < func->ninsts; i++)
        for (uint32_t o = 0; rewritten->origin_inst[i] == INSERTED && o < 2; o++) {
            uint32_t t = func->insts[i].operands[o].tensor;
            if (func->tensors[t].space == SPACE_SB) spilled[rewritten->origin[t]] = true;
        }
    return spilled;
}

static void move_tensor(Rewritten *rewritten, uint32_t to, uint32_t from) {
    const Live *live = rewritten->live;
    rewritten->func->tensors[to] = rewritten->func->tensors[from];
    rewritten->origin[to] = rewritten->origin[from];
    rewritten->role[to] = rewritten->role[from];
    if (live) live->whole[to] = live->whole[from];
    if (live) live->blocks[to] = live->blocks[from];
}

static void renumber_blocks(TimeBlocks *blocks, const uint32_t *new_id) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < blocks->nodes.count; n++) {
        Node node = blocks->nodes.items[n];
        node.tensor = new_id[node.tensor];
        if (node.tensor == UINT32_MAX) continue;
        blocks->block[count] = blocks->block[n];
        blocks->nodes.items[count++] = node;
    }
    blocks->nodes.count = count;
}

void drop_unnamed(Rewritten *rewritten, const Func *from, Arena *arena) {
    Func *func = rewritten->func;
    const bool *named = find_named(func, arena), *was = find_named(from, arena);
    const bool *spilled = find_spilled(rewritten, arena);
    uint32_t *new_id = RAW_ARRAY(arena, uint32_t, func->ntensors), count = 0;
    memset(new_id, 0xFF, func->ntensors * sizeof *new_id);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        bool copy = rewritten->role[t] == ROLE_COPY;
        bool gone = rewritten->role[t] == ROLE_KEPT && func->tensors[t].space == SPACE_SB &&
                    was[t] && spilled[t] && !func->tensors[t].input;
        if (!named[t] && (copy || gone)) continue;
        move_tensor(rewritten, count, t);
        new_id[t] = count++;
    }
    func->ntensors = count;
    renumber_blocks(&rewritten->blocks, new_id);
    for (uint32_t i = 0; i < func->ninsts; i++)
        for (uint32_t o = 0; o < func->insts[i].ndst + func->insts[i].nsrc; o++) {
            /* The operands were made for this text and belong to it. */
            Operand *operand = (Operand *)(uintptr_t)&func->insts[i].operands[o];
            operand->tensor = new_id[operand->tensor];
        }
}
